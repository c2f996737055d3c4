from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

import pytest

from pearl.errors import InputError
from service.importing.guessing import guess_importer
from service.importing.sources.archive import folder_entries


def test_files_come_in_order_links_as_links(tmp_path):
    (tmp_path / "b").mkdir()
    for name in ("b/tea.md", "a.md", ".hidden.md", "c.md"):
        (tmp_path / name).write_text("Tea.")
    (tmp_path / "link.md").symlink_to("/etc/passwd")
    (tmp_path / "linked").symlink_to("/etc")
    names = [(entry.name, entry.is_link) for entry in folder_entries(tmp_path, hidden=False)]
    assert names == [("a.md", False), ("b/tea.md", False), ("c.md", False), ("link.md", True), ("linked", True)]
    assert folder_entries(tmp_path)[0].name == ".hidden.md"


def test_what_is_no_file_is_passed_over(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    assert folder_entries(tmp_path) == []


@pytest.fixture
def closed(tmp_path, monkeypatch):
    """A folder that nobody may list, root neither."""
    folder = tmp_path / "closed"
    folder.mkdir()
    listed = os.scandir

    def refused(path="."):
        if Path(path) == folder:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", refused)
    monkeypatch.setattr(os, "listdir", refused)
    return folder


@pytest.mark.parametrize("kind", ["markdown", "reddit", "discord", "slack", "mbox"])
def test_a_folder_that_cannot_be_read(read, closed, kind):
    with pytest.raises(InputError, match=r"closed: cannot be read: .*Permission denied"):
        read(kind, closed)
    with pytest.raises(InputError, match=r"closed: cannot be read: .*Permission denied"):
        guess_importer(closed)


def test_a_folder_in_it_that_cannot_be_read_is_passed_over(closed):
    (closed.parent / "tea.md").write_text("Tea.")
    assert [entry.name for entry in folder_entries(closed.parent)] == ["tea.md"]


@pytest.fixture
def deep(tmp_path):
    """A folder 1,500 deep with one note; removed by a program, for pytest's own cleanup recurses."""
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    file = os.open("tea.md", os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.write(file, b"Tea.")
    os.close(file)
    os.close(here)
    yield tmp_path
    subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


@pytest.mark.slow
def test_no_depth_is_too_deep(read, deep):
    assert guess_importer(deep).kind == "markdown"
    assert read("markdown", deep).texts == ["Tea."]
