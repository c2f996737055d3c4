from __future__ import annotations

from pathlib import Path

from training.config import CORRECTED, choices_help, choices_in, values_of
from training.reward.config import CODE, PAPER, RewardConfig, RewardOptions


def test_as_published_is_the_papers_and_its_codes():
    code, paper = values_of(RewardConfig, CODE), values_of(RewardConfig, PAPER)
    assert (code["head"], code["weight"], code["average"]) == ("mlp", 1 / 4, "kinds")
    assert (paper["head"], paper["weight"], paper["average"]) == ("linear", 1.0, "items")
    assert (code["schedule"], code["clip"]) == ("linear", 0.0)
    assert (code["dev_steps"], paper["dev_steps"]) == (20, 0)
    for values in (code, paper):
        assert values["max_tokens"] == 8192  # nothing of a pair is cut
        assert (values["rate"], values["epochs"], values["batch"]) == (1e-5, 5, 8)
        assert (values["pair_rule"], values["layers"], values["fitted"]) == ("cosine", "last", "all")


def test_every_choice_is_documented():
    options = RewardOptions(data=(), out=Path("out"), work=Path("work"), variant="PR")
    assert options.record() == values_of(RewardConfig, CORRECTED)
    for each in choices_in(RewardConfig).values():
        assert each.why.endswith(".")
        assert f"  {each.name}: " in choices_help(RewardConfig)
