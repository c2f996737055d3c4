from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pearl.errors import Conflict
from service.hook.message import is_unwanted
from service.hook.script import install, remove, script_path


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))


def test_folders_whose_names_are_not_utf_8(tmp_path):
    folder = Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9"))
    subprocess.run(["git", "init", "-q", "--separate-git-dir", folder / ".git", folder / "tree"], check=True)
    assert script_path(folder / "tree") == folder / ".git/hooks/prepare-commit-msg"
    assert not is_unwanted(folder / "tree", None)
    (folder / ".git/CHERRY_PICK_HEAD").touch()
    assert is_unwanted(folder / "tree", None)


def test_the_line_goes_into_the_hook_that_huskys_generated_one_runs(tmp_path):
    generated = tmp_path / ".husky/_/prepare-commit-msg"
    generated.parent.mkdir(parents=True)
    generated.write_text('#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
    (generated.parent / "h").touch()
    with pytest.raises(
        Conflict, match=f"add this line to {tmp_path}/.husky/prepare-commit-msg: .* hook run --user ann"
    ):
        install(generated, ["--user", "ann"])
    with pytest.raises(Conflict, match=f"if {tmp_path}/.husky/prepare-commit-msg has a line"):
        remove(generated)
