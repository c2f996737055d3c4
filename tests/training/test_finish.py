from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

import pytest
from rich.console import Console

from pearl.clock import Budget
from pearl.errors import InputError
from pearl.text.templates import load_template
from retriever.calibrated.artifact import load_artifact
from training import finish
from training.finish import draft_template, measured, with_threshold
from training.run import TrainingOptions


@pytest.mark.parametrize(
    ("trained", "drafted"), [("commit", "commit"), ("post", "post"), ("comment", "message"), ("my/own.toml", "free")]
)
def test_drafts_of_what_was_trained_on(trained, drafted):
    assert draft_template(trained) == drafted
    assert load_template(drafted)


def test_drafts_are_measured_with_the_artifact_as_it_stands(make_artifact, tmp_path, monkeypatch):
    """The margin that was chosen before is in it, though this process loaded it without."""

    def measure(words: Sequence[str]) -> None:
        assert load_artifact.cache_info().currsize == 0
        raise InputError("There is no draft.")

    folder = make_artifact()
    load_artifact(folder)
    monkeypatch.setattr(finish, "run", measure)
    with pytest.raises(InputError, match="There is no draft") as failed:
        with_threshold(TrainingOptions((), folder, tmp_path), "embedded", "rouge2", None)
    assert failed.value.message.endswith("The artifact is whole, but without what 'pearl eval revision' measures.")


def test_when_the_time_is_over_nothing_is_measured(make_artifact, tmp_path, monkeypatch):
    folder, said = make_artifact(training={"test_requests": 4, "notes": []}), StringIO()
    monkeypatch.setattr(finish, "run", None)
    artifact = measured(TrainingOptions((), folder, tmp_path), Budget(0.0), Console(file=said, width=500))
    assert artifact.training["notes"] == [said.getvalue().removeprefix("Note: ").removesuffix(".\n")]
    assert artifact.training["notes"][0].startswith("the budget ended before the figures were measured")
