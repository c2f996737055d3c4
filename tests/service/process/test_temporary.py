"""Folders on the disk for the time of an import: gone at its end, and removed by the next one after a kill."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pearl.errors import InputError
from service.process.temporary import FOLDER_NAME, clear_abandoned, temporary_folder

WAITS = """
from service.process.temporary import temporary_folder
with temporary_folder() as folder:
    (folder / "index.db").write_text("Tea.")
    print(folder, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_only_the_folders_of_killed_processes_are_removed(temporary):
    run = subprocess.Popen([sys.executable, "-c", WAITS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with run, temporary_folder() as living:
        assert run.stdout is not None
        killed = Path(run.stdout.readline().strip())
        clear_abandoned()
        assert (killed / "index.db").exists()
        run.kill()
        run.wait()
        (temporary / f"{FOLDER_NAME}c.lock").touch()  # killed before it made its folder
        clear_abandoned()
        assert sorted(path.name for path in temporary.iterdir()) == [living.name, f"{living.name}.lock"]
    assert list(temporary.iterdir()) == []


def test_what_is_not_pearls_stays(temporary):
    named_alike, linked = temporary / f"{FOLDER_NAME}a", temporary / "linked"
    for folder in (named_alike, linked):
        folder.mkdir()
    (temporary / f"{FOLDER_NAME}b").symlink_to(linked)
    (temporary / f"{FOLDER_NAME}b.lock").touch()
    clear_abandoned()
    assert named_alike.exists()
    assert linked.exists()


def test_an_error_leaves_no_folder(temporary):
    with pytest.raises(InputError), temporary_folder():
        raise InputError("no")
    assert list(temporary.iterdir()) == []
