from __future__ import annotations

from pathlib import Path

import pytest

from pearl.errors import InputError
from training.choices import (
    ALL,
    AS_PUBLISHED,
    CHOICES,
    CORRECTED,
    FITTED_CHOICES,
    SCORED_CHOICES,
    SELECTION_CHOICES,
    choices_help,
    choices_of,
    preset_values,
)
from training.options import TrainingOptions

NAMES = (*SCORED_CHOICES, *FITTED_CHOICES)


def test_corrected_is_what_a_training_does_without_a_preset() -> None:
    options = TrainingOptions((), Path("out"), Path("work"))
    assert options.choices == preset_values(CORRECTED)
    assert options.preset == CORRECTED


def test_as_published_is_the_papers() -> None:
    values = preset_values(AS_PUBLISHED)
    assert values["aux"] == "google/flan-t5-xl"
    assert (values["partition"], values["targets"], values["candidates"]) == ("latest", 8, 0)
    assert (values["y0"], values["tau"], values["weight"]) == ("median", 5.0, 1.0)
    assert (values["frozen_layers"], values["own_requests"], values["base"]) == (0, False, "mpnet")
    options = TrainingOptions((), Path("out"), Path("work"))
    assert (options.normalize, options.positives, options.negatives) == ("sum", 2, 3)  # as in both


@pytest.mark.parametrize("preset", [CORRECTED, AS_PUBLISHED])
def test_what_is_given_overrides_the_preset(preset: str) -> None:
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
    found, given = choices_of(preset, choose, NAMES, aux=None)
    said = {"warm_start": False, "own_requests": True, "candidates": ALL, "base": "a=b"}
    assert given == {"tau": 7.5, "y0": "q3", "weight": 0.5, "epochs": 2} | said
    assert found == preset_values(preset) | given
    assert choices_of(preset, ["y0=-3", "tau=search"], NAMES)[0]["y0"] == -3.0


@pytest.mark.parametrize(
    ("choose", "said"),
    [
        (["weight=1.5"], "weight=1.5: there are numbers from 0 to 1 and search."),
        (["weight=-0.1"], "weight=-0.1: there are numbers from 0 to 1 and search."),
        (["weight=nan"], "weight=nan: there are numbers from 0 to 1 and search."),
        (["rate=0"], "rate=0: there are numbers above 0."),
        (["rate=search"], "rate=search: there are numbers above 0."),
        (["epochs=0"], "epochs=0: there are whole numbers from 1."),
        (["epochs=1.5"], "epochs=1.5: there are whole numbers from 1."),
        (["max_tokens=15"], "max_tokens=15: there are whole numbers from 16."),
        (["candidates=-1"], "candidates=-1: there are whole numbers from 0 and all."),
        (["partition=first"], "partition=first: there are latest, rolling."),
        (["warm_start=true"], "warm_start=true: there are yes, no."),
        (["epochs"], "epochs: must be NAME=VALUE."),
        (["tau=0"], "tau=0: there are numbers above 0 and search."),
        (["tau=median"], "tau=median: there are numbers above 0 and search."),
        (["y0=q2"], "y0=q2: there are numbers and q1, median, q3, search."),
        (["y0=inf"], "y0=inf: there are numbers and q1, median, q3, search."),
        (["share=1.5"], "share=1.5: there are numbers from 0 to 1."),
        (["loss=hinge"], "loss=hinge: there are calibrated, kl, distill, relevance."),
        (["gate=5"], "gate=5: there are partition, targets, candidates, "),
        (["epochs=1", "epochs=2"], "epochs=2: --choose epochs=1 is given too; give one."),
    ],
)
def test_choices_that_cannot_be(choose: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        choices_of(CORRECTED, choose, (*NAMES, *SELECTION_CHOICES, "loss"))
    assert caught.value.message.startswith(f"--choose {said}")


def test_an_unknown_preset() -> None:
    with pytest.raises(InputError, match="--preset paper: there are corrected, as_published"):
        choices_of("paper", [], NAMES)


def test_each_choice_has_a_reason_and_a_field() -> None:
    assert all(each.why.endswith(".") and each.values[0] != each.values[1] for each in CHOICES)
    shown = choices_help({"tau", "candidates", "aux", "warm_start"})
    assert "  tau: search / 5 (numbers above 0 and search). " in shown
    assert "  candidates: 20 / all (whole numbers from 0 and all). " in shown
    assert "  --aux: embedded / google/flan-t5-xl. " in shown
    assert "  warm_start: yes / no (yes, no). " in shown
    assert "rate" not in shown


def test_the_presets_values_can_be_typed() -> None:
    for choice in CHOICES:
        assert [choice.parsed(text) for text in choice.shown] == list(choice.values)
