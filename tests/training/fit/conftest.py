from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from training.fit import kept
from training.fit.cross_encoder import GroupFitting


@pytest.fixture
def trainings(monkeypatch) -> list[Path]:
    """The folders of the checkpoints of trainings that take ten seconds and end before they are whole."""
    found: list[Path] = []

    def train(model: Any, fitting: GroupFitting, folder: Path) -> dict[str, Any]:
        found.append(folder)
        return {"groups": len(fitting.groups), "steps": 1, "whole": False, "seconds": 10.0}

    monkeypatch.setattr(kept, "fit_cross_encoder", train)
    return found
