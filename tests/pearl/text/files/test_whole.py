from __future__ import annotations

import gzip
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from pearl.text.files.whole import opened, private_file, private_folder, replaced_file


@pytest.mark.parametrize(("name", "unpack"), [("a.jsonl", bytes), ("a.jsonl.gz", gzip.decompress)])
def test_a_file_takes_the_others_place_only_when_it_is_whole(name, unpack, tmp_path):
    def write(content: bytes, *, whole: bool) -> None:
        with opened(tmp_path / name) as file:
            file.write(content)
            if not whole:
                raise KeyboardInterrupt

    write(b"before", whole=True)
    with pytest.raises(KeyboardInterrupt):
        write(b"half", whole=False)
    assert unpack((tmp_path / name).read_bytes()) == b"before"
    write(b"after", whole=True)
    assert unpack((tmp_path / name).read_bytes()) == b"after"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_equal_content_gives_equal_files(tmp_path):
    (tmp_path / "other").mkdir()
    paths = (tmp_path / "a.gz", tmp_path / "other" / "b.gz")
    for path in paths:
        with opened(path) as file:
            file.write(b"the same")
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert first[4:8] == b"\0\0\0\0"  # the header's time


def test_a_device_and_a_link_stay_what_they_are(tmp_path):
    with replaced_file(Path("/dev/null")) as path:
        assert path == Path("/dev/null")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for content in (b"before", b"after"):
        with opened(tmp_path / "link") as file:
            file.write(content)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"after"


def test_a_pipe_that_only_a_descriptor_names_is_written_to():
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as read:
        with opened(Path(f"/dev/fd/{writing}")) as file:
            file.write(b"whole")
        os.close(writing)
        assert read.read() == b"whole"


def test_permissions(tmp_path):
    def mode(name: str) -> int:
        return stat.S_IMODE((tmp_path / name).stat().st_mode)

    for name, private in (("new", False), ("old", False), ("secret", True), ("once open", True)):
        if name in ("old", "once open"):
            (tmp_path / name).write_bytes(b"before")
            (tmp_path / name).chmod(0o640 if name == "old" else 0o644)
        partial = f".{name}.{os.getpid()}.partial"
        (tmp_path / partial).write_bytes(b"left by a process that was killed")
        with opened(tmp_path / name, private=private) as file:
            if name != "new":
                assert mode(partial) == 0o600
            file.write(b"after")
        assert (tmp_path / name).read_bytes() == b"after"
    assert [mode(name) for name in ("old", "secret", "once open")] == [0o640, 0o600, 0o600]


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
