from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pearl.errors import InputError
from retriever.calibrated.artifact import read_manifest
from training.choose.margin import choose_margin


def point(margin: float | None, documents: float, rouge2: float) -> dict[str, Any]:
    return {"margin": margin, "documents": {"value": documents}, "rouge2": {"value": rouge2}}


HELPS = [point(0.0, 1.0, 0.2), point(0.5, 2.0, 0.3), point(1.0, 3.0, 0.3), point(None, 4.0, 0.25)]
HARMS = [point(0.0, 1.0, 0.2), point(0.5, 2.0, 0.25), point(None, 4.0, 0.25)]


def report(path: Path, **curves: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps({"models": [{"model": name, "curve": curve} for name, curve in curves.items()]}))
    return path


def test_of_equal_margins_the_widest() -> None:
    choice = choose_margin(HELPS, "rouge2")
    assert (choice.margin, choice.value, choice.with_all, choice.documents) == (1.0, 0.3, 0.25, 3.0)


def test_none_where_no_margin_helps() -> None:
    choice = choose_margin(HARMS, "rouge2")
    assert (choice.margin, choice.value, choice.documents) == (None, 0.25, 4.0)


@pytest.mark.parametrize(("curve", "metric"), [(HELPS, "rouge1"), (HELPS[:3], "rouge2"), ([], "rouge2")])
def test_a_curve_that_is_none(curve: list[dict[str, Any]], metric: str) -> None:
    with pytest.raises(InputError, match=f"no figures of '{metric}' for all"):
        choose_margin(curve, metric)


def test_the_command_writes_the_margin_into_the_artifact(
    train: Callable[..., Any], make_artifact: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_artifact(training={"seed": 1})
    ran = train("margin", model=folder, shown=report(tmp_path / "r.json", elsewhere=HELPS), json="-")
    assert ran.status == 0
    assert ran.err == "margin 1.000: rouge2 0.3000 at best, 0.2500 with all documents; 3.0 shown\n"
    assert json.loads(ran.out)["margin"] == 1.0
    artifact = read_manifest(folder)
    assert artifact.margin == artifact.calibration.margin == 1.0
    assert artifact.training == {"seed": 1, "margin": {"metric": "rouge2", "curve": HELPS}}

    ran = train("margin", model=folder, shown=report(tmp_path / "r.json", elsewhere=HARMS))
    assert ran.err.startswith("no margin: ")
    assert read_manifest(folder).margin is None

    (tmp_path / "r.json").write_text("{}")
    ran = train("margin", model=folder, shown=tmp_path / "r.json")
    assert ran.status == 2
    assert "is not a report of 'pearl eval shown --json'" in ran.err
