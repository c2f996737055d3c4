from __future__ import annotations

import json
from pathlib import Path

import pytest

from pearl.errors import InputError
from retriever.calibrated.artifact import SHIPPED
from training.config import (
    ALL,
    AS_PUBLISHED,
    CORRECTED,
    FITTED_CHOICES,
    SCORED_CHOICES,
    SELECTION_CHOICES,
    TrainingConfig,
    choices_help,
    choices_in,
    read_config,
    values_of,
)
from training.reward.config import CODE, PAPER, RewardConfig, RewardOptions
from training.run import TrainingOptions

NAMES = ("preset", *SCORED_CHOICES, *FITTED_CHOICES)


def test_corrected_is_what_a_training_does_without_a_preset():
    options = TrainingOptions((), Path("out"), Path("work"))
    assert options.record() == values_of(TrainingConfig, CORRECTED)
    assert options.preset == CORRECTED


def test_as_published_is_the_papers():
    values = values_of(TrainingConfig, AS_PUBLISHED)
    assert values["aux"] == "google/flan-t5-xl"
    assert (values["partition"], values["targets"], values["candidates"]) == ("latest", 8, 0)
    assert (values["y0"], values["tau"], values["weight"]) == ("median", 5.0, 1.0)
    assert (values["frozen_layers"], values["own_requests"], values["base"]) == (0, False, "mpnet")
    options = TrainingOptions((), Path("out"), Path("work"))
    assert (options.normalize, options.positives, options.negatives) == ("sum", 2, 3)  # as in both


@pytest.mark.parametrize("preset", [CORRECTED, AS_PUBLISHED])
def test_what_is_given_overrides_the_preset(preset):
    choose = [
        "weight=0.5",
        "tau=7.5",
        "y0=q3",
        " epochs = 2",
        "warm_start=no",
        "own_requests=yes",
        "candidates=all",
        "base=a=b",
    ]
    found, given = read_config(TrainingConfig, None, [f"preset={preset}", *choose], NAMES, aux=None)
    said = {"warm_start": False, "own_requests": True, "candidates": ALL, "base": "a=b"}
    assert given == {"preset": preset, "tau": 7.5, "y0": "q3", "weight": 0.5, "epochs": 2} | said
    assert found == values_of(TrainingConfig, preset) | given
    assert read_config(TrainingConfig, None, ["y0=-3", "tau=search"])[0]["y0"] == -3.0


@pytest.mark.parametrize(
    ("choose", "said"),
    [
        (["weight=1.5"], "weight=1.5: there are numbers from 0 to 1 and search."),
        (["weight=nan"], "weight=nan: there are numbers from 0 to 1 and search."),
        (["rate=0"], "rate=0: there are numbers above 0."),
        (["epochs=1.5"], "epochs=1.5: there are whole numbers from 1."),
        (["max_tokens=15"], "max_tokens=15: there are whole numbers from 16."),
        (["candidates=-1"], "candidates=-1: there are whole numbers from 0 and all."),
        (["partition=first"], "partition=first: there are latest, rolling."),
        (["warm_start=perhaps"], "warm_start=perhaps: there are yes, no."),
        (["preset=paper"], "preset=paper: there are corrected, as_published."),
        (["epochs"], "epochs: must be NAME=VALUE."),
        (["tau=median"], "tau=median: there are numbers above 0 and search."),
        (["y0=q2"], "y0=q2: there are numbers and q1, median, q3, search."),
        (["y0=inf"], "y0=inf: there are numbers and q1, median, q3, search."),
        (["loss=hinge"], "loss=hinge: there are calibrated, kl, distill, relevance."),
        (["gate=5"], "gate=5: there are preset, partition, targets, candidates, "),
        (["epochs=1", "epochs=2"], "epochs=2: --choose epochs=1 is given too; give one."),
    ],
)
def test_choices_that_cannot_be(choose, said):
    with pytest.raises(InputError) as caught:
        read_config(TrainingConfig, None, choose, (*NAMES, *SELECTION_CHOICES, "loss"))
    assert caught.value.message.startswith(f"--choose {said}")


def test_a_file_gives_choices_and_the_command_line_outranks_it(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text(
        'preset = "as_published"\nweight = 1\ncandidates = "all"\nwarm_start = true\nepochs = 2\nseed = 3\n'
    )
    found, given = read_config(TrainingConfig, file, ["epochs=4"], ("epochs",), aux="mine")
    assert found == values_of(TrainingConfig, AS_PUBLISHED) | given
    said = {"preset": AS_PUBLISHED, "weight": 1.0, "candidates": ALL, "warm_start": True, "seed": 3}
    assert given == said | {"epochs": 4, "aux": "mine"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"epochs = 0", "{file}: epochs = 0: there are whole numbers from 1."),
        (b'tau = "soon"', "{file}: tau = 'soon': there are numbers above 0 and search."),
        (b"tau = [1]", "{file}: tau = [1]: there are numbers above 0 and search."),
        (b"gate = 5", "{file}: gate: is no choice; there are preset, aux, "),
        (b"epochs", "--config {file}: cannot be read: Expected "),
        (b'base = "\xff"', "--config {file}: cannot be read: 'utf-8' codec"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path, content, said):
    file = tmp_path / "config.toml"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_config(TrainingConfig, file, [])
    assert caught.value.message.startswith(said.format(file=file))


def test_an_artifact_gives_the_choices_that_it_was_trained_with(tmp_path):
    """Also one from before it kept them as one record, such as the one that ships."""
    found, given = read_config(TrainingConfig, SHIPPED / "artifact.json", [])
    assert given.items() >= {"preset": CORRECTED, "loss": "calibrated", "share": 1.0, "tau": 20.0, "seed": 0}.items()
    made = TrainingOptions((), Path("out"), Path("work"), **found)
    file = tmp_path / "artifact.json"
    file.write_text(json.dumps({"training": {"config": made.record()}}))
    assert read_config(TrainingConfig, file, [])[0] == found
    file.write_text("{}")
    with pytest.raises(InputError, match=r"--config .*artifact.json: cannot be read: 'training'"):
        read_config(TrainingConfig, file, [])


def test_each_choice_has_a_reason():
    choices = choices_in(TrainingConfig)
    assert all(each.why.endswith(".") for each in choices.values())
    assert all(choices[name].values[0] != choices[name].values[1] for name in NAMES)
    shown = choices_help(TrainingConfig, {"tau", "candidates", "warm_start"})
    assert "  tau: search / 5 (numbers above 0 and search). " in shown
    assert "  candidates: 20 / all (whole numbers from 0 and all). " in shown
    assert "  warm_start: yes / no (yes, no). " in shown
    assert "rate" not in shown


def test_the_presets_values_can_be_typed():
    for choice in choices_in(TrainingConfig).values():
        assert [choice.parsed(text, "") for text in choice.shown] == pytest.approx(list(choice.values))


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
