from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from service.hook.message import is_unwanted
from service.hook.script import script_path


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))


def test_folders_whose_names_are_not_utf_8(tmp_path):
    folder = Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9"))
    subprocess.run(["git", "init", "-q", "--separate-git-dir", folder / ".git", folder / "tree"], check=True)
    assert script_path(folder / "tree") == folder / ".git/hooks/prepare-commit-msg"
    assert not is_unwanted(folder / "tree", None)
    (folder / ".git/CHERRY_PICK_HEAD").touch()
    assert is_unwanted(folder / "tree", None)
