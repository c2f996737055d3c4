from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pearl.files.private import private_file, private_folder


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture(params=[0o022, 0o000], ids=oct)
def umask(request) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def home(tmp_path, umask) -> Path:
    """A folder that everybody may read."""
    made = tmp_path / "home"
    made.mkdir()
    return made


def test_a_new_folder(tmp_path, umask):
    private_folder(tmp_path / "share" / "pearl")
    assert mode(tmp_path / "share" / "pearl") == 0o700
    assert mode(tmp_path / "share") != 0o700  # the platform's, for others as well


@pytest.mark.parametrize("names", [[], ["pearl.db", "pearl.db-wal", "sample.key"], ["editor-replies.sqlite", "models"]])
def test_a_folder_of_ours_is_closed(home, names):
    for name in names:
        (home / name).touch()
    private_folder(home)
    assert mode(home) == 0o700


def test_a_folder_that_somebody_uses_for_more_stays_as_it_is(home):
    (home / "pearl.db").touch()
    (home / "minutes.txt").touch()
    before = mode(home)
    private_folder(home)
    assert mode(home) == before


def test_files(home):
    (home / "old").write_text("kept")
    for name in ("old", "new"):
        private_file(home / name)
        assert mode(home / name) == 0o600
    assert (home / "old").read_text() == "kept"


def test_where_files_have_no_owner_by_number(home, monkeypatch):
    """As on Windows."""
    (home / "old").write_text("kept")
    monkeypatch.delattr("os.geteuid")
    private_file(home / "old")
    private_folder(home)
    assert (home / "old").read_text() == "kept"


def test_what_cannot_be_made_private_is_left_to_whoever_opens_it(tmp_path):
    private_file(tmp_path / "nowhere" / "file")
    assert list(tmp_path.iterdir()) == []
