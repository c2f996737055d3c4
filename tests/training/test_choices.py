from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from pearl.errors import InputError
from training.choices import AS_PUBLISHED, CHOICES, CORRECTED, SEARCH, choices_help, choices_of, preset_values
from training.options import TrainingOptions


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
    given: dict[str, Any] = {"tau": "7.5", "y0": "q3", "weight": "0.5", "epochs": 2, "warm_start": None}
    found = choices_of(preset, given)
    expected = preset_values(preset) | {"tau": 7.5, "y0": "q3", "weight": 0.5, "epochs": 2}
    assert found == expected
    assert choices_of(preset, {"y0": "-3", "tau": SEARCH})["y0"] == -3.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tau": "0"}, "--tau 0: there are numbers above 0 and search."),
        ({"tau": "median"}, "--tau median: there are numbers above 0 and search."),
        ({"y0": "q2"}, "--y0 q2: there are numbers and q1, median, q3, search."),
        ({"y0": "inf"}, "--y0 inf: there are numbers and q1, median, q3, search."),
        ({"weight": "1.5"}, "--weight 1.5: there are numbers from 0 to 1 and search."),
        ({"weight": "-0.1"}, "--weight -0.1: there are numbers from 0 to 1 and search."),
        ({"weight": "nan"}, "--weight nan: there are numbers from 0 to 1 and search."),
    ],
)
def test_values_that_cannot_be(given: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        choices_of(CORRECTED, given)
    assert caught.value.message == said


def test_an_unknown_preset() -> None:
    with pytest.raises(InputError, match="--preset paper: there are corrected, as_published"):
        choices_of("paper", {})


def test_each_choice_has_a_reason_and_a_field() -> None:
    named = {field.name for field in fields(TrainingOptions)} | {"targets"}
    assert {each.name for each in CHOICES} <= named
    assert all(each.why.endswith(".") and each.corrected != each.as_published for each in CHOICES)
    shown = choices_help({"tau", "candidates"})
    assert "--tau: search / 5. " in shown
    assert "--candidates: 20 / all. " in shown
    assert "--rate" not in shown
