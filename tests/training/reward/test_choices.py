from __future__ import annotations

from pathlib import Path

import pytest

from pearl.errors import InputError
from training.choices import CORRECTED
from training.reward.choices import (
    CODE,
    PAPER,
    REWARD_CHOICES,
    REWARD_PRESETS,
    RewardOptions,
    reward_choices_help,
    reward_choices_of,
    reward_values,
)


def test_as_published_is_the_papers_and_its_codes() -> None:
    code, paper = reward_values(CODE), reward_values(PAPER)
    assert (code["head"], code["weight"], code["average"]) == ("mlp", 1 / 4, "kinds")
    assert (paper["head"], paper["weight"], paper["average"]) == ("linear", 1.0, "items")
    assert (code["schedule"], code["clip"]) == ("linear", 0.0)
    assert (code["dev_steps"], paper["dev_steps"]) == (20, 0)
    for values in (code, paper):
        assert values["max_tokens"] == 8192  # nothing of a pair is cut
        assert (values["rate"], values["epochs"], values["batch"]) == (1e-5, 5, 8)
        assert (values["pair_rule"], values["layers"], values["fitted"]) == ("cosine", "last", "all")


def test_every_choice_is_documented() -> None:
    options = RewardOptions(data=(), out=Path("out"), work=Path("work"), variant="PR")
    assert options.choices == reward_values(CORRECTED)
    for each in REWARD_CHOICES:
        assert each.why.endswith(".")
        assert f"  {each.name}: " in reward_choices_help()


@pytest.mark.parametrize("preset", REWARD_PRESETS)
def test_what_is_given_overrides_the_preset(preset: str) -> None:
    assert reward_choices_of(preset, ["weight=2"]) == reward_values(preset) | {"weight": 2.0}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("head=round", "--choose head=round: there are linear, mlp."),
        ("pair_rule=coin", "--choose pair_rule=coin: there are scores, cosine."),
        ("fitted=none", "--choose fitted=none: there are head, all."),
        ("rate=0", "--choose rate=0: there are numbers above 0."),
    ],
)
def test_values_that_cannot_be(given: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        reward_choices_of(CORRECTED, [given])
    assert caught.value.message == said
