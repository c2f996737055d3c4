"""The recipe of what ships, as far as it can be followed without its hours: what it does again."""

from __future__ import annotations

import sys

import pytest

from training.recipes import domains

FIGURES = {"top1_gain": {"value": 1.0, "low": 0.5, "high": 1.5}}


class Called(Exception):
    """A command, which is not run."""


@pytest.mark.parametrize(("figures", "again"), [({}, True), (FIGURES, False), (None, True)])
def test_a_fit_that_was_killed_before_its_figures_were_written_is_done_again(
    make_artifact, tmp_path, monkeypatch, figures, again
):
    out = tmp_path / "none" if figures is None else make_artifact(figures=figures)
    work = tmp_path / "work"
    (work / "fit").mkdir(parents=True)
    for domain in domains.DOMAINS:
        (work / "fit" / f"gains-test-{domain.name}.jsonl.gz").touch()

    def called(*words: object) -> None:
        raise Called(*words[:2], words[-1] == out)

    monkeypatch.chdir(tmp_path)  # so that the recipe's own folder is left again
    monkeypatch.setattr(domains, "pearl", called)
    monkeypatch.setattr(sys, "argv", ["domains.py", "--work", str(work), "--out", str(out)])
    with pytest.raises(Called) as first:
        domains.main()
    assert first.value.args == ("train", "fit", again)
