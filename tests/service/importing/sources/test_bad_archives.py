"""Files that are no export, or are made to harm, given to each importer of archives."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pearl.errors import InputError
from tests.laid import laid, zipped

INSIDE = {
    "whatsapp": "_chat.txt",
    "telegram": "result.json",
    "chatgpt": "conversations.json",
    "claude": "conversations.json",
    "mastodon": "outbox.json",
    "x": "data/tweets.js",
    "takeout": "Takeout/Google Chat/Groups/DM a/messages.json",
    "linkedin": "messages.csv",
}
MORE = {
    "slack": "users.json",
    "bluesky": "repo.car",
    "notion": "Export-1/Tea 0123456789abcdef0123456789abcdef.md",
    "apple-notes": "iCloud Notes/Notes Details.csv",
    "markdown": "Tea.md",
}


def bomb(name: str) -> bytes:
    return zipped({name: bytes(150_000_000)}, zipfile.ZIP_DEFLATED)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        pytest.param(bomb, "unpacks to more than 200 times", marks=pytest.mark.slow),
        (lambda name: zipped({f"../../{name}": "[]"}), "a path that leads out of it"),
        (lambda name: zipped({f"\\etc\\{name}": "[]"}), "a path that leads out of it"),
        (lambda name: zipped({name: "[]" * 1_000})[:500], "zip file that breaks off"),
    ],
)
@pytest.mark.parametrize("kind", [*INSIDE, *MORE])
def test_a_zip_file_that_means_harm(
    read: Callable[..., object], tmp_path: Path, kind: str, make: Callable[[str], bytes], says: str
) -> None:
    laid(tmp_path, {"in/a.zip": make((INSIDE | MORE)[kind])})
    with pytest.raises(InputError, match=says):
        read(kind, tmp_path / "in" / "a.zip", "ann")
    assert [path.name for path in tmp_path.rglob("*")] == ["in", "a.zip"]


@pytest.mark.parametrize("content", [b"\x7fELF\x02\x01\x01\0\0", b"MZ\x90\0", b"", b"[" * 10_000, b'{"a": "\xff'])
@pytest.mark.parametrize("kind", INSIDE)
def test_what_is_something_else_brings_nothing_and_says_so(
    read: Callable[..., Any], tmp_path: Path, kind: str, content: bytes
) -> None:
    path = laid(tmp_path, {INSIDE[kind]: content}) / INSIDE[kind]
    source = tmp_path if kind == "takeout" else path
    if kind == "whatsapp":
        with pytest.raises(InputError, match="not a chat that WhatsApp exported"):
            read(kind, source, "ann")
    else:
        reading = read(kind, source, "ann")
        assert (reading.texts, len(reading.errors)) == ([], 1)


@pytest.mark.parametrize(
    ("kind", "file", "says"),
    [
        ("discord", None, "neither a Discord data package"),
        ("reddit", None, r"there are no comments\.csv"),
        ("slack", None, "not a Slack export"),
        ("mbox", "tea.txt", "there is no mbox file, no Maildir"),
        ("telegram", "messages.html", "Machine-readable JSON"),
    ],
)
def test_a_folder_of_something_else_says_what_to_give(
    read: Callable[..., Any], tmp_path: Path, kind: str, file: str | None, says: str
) -> None:
    if file:
        (tmp_path / file).write_text("<html>Tea.")
    with pytest.raises(InputError, match=says):
        read(kind, tmp_path, "ann")
