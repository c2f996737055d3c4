from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PEARL_HOME of this test's, and no other setting of the one who runs it."""
    for name in [name for name in os.environ if name.startswith("PEARL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def command(own_home: Path, run_pearl: Callable[..., Any]) -> Callable[..., Any]:
    """The command line in this process, with a home of its own."""
    return run_pearl


@pytest.fixture
def process(own_home: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start the installed command in a process of its own."""

    def start(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(Path(sys.executable).with_name("pearl")), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start
