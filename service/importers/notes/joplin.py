"""Joplin's raw export: a folder, or a tar archive (.jex), of notes with their fields below the text.

Folders, tags and other records of Joplin are files of the same kind.
"""

from __future__ import annotations

import os
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pearl.history.watched import open_watched
from service.importers.html_text import html_to_text
from service.importers.notes.front_matter import field_name
from service.importers.notes.kinds import CLIPPING
from service.process.temporary import Unpacking

SUFFIX = ".jex"
FIELD = re.compile(r"([a-z][a-z_]{0,40}):(?: (.*))?")
LAST_FIELD = re.compile(r"\ntype_: \d{1,3}\s*\Z")
NOTE, HTML = "1", "2"  # of type_ and of markup_language
TAR_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Record:
    """A file of the export; ``left_out`` is the reason why it is no text."""

    fields: dict[str, Any]
    body: str
    left_out: str | None


def split_record(text: str) -> Record | None:
    """The record in the text of a file; None for any other text."""
    if not LAST_FIELD.search(text[-20:]):
        return None
    head, _, tail = ("\n\n" + text.rstrip()).rpartition("\n\n")
    matches = [FIELD.fullmatch(line) for line in tail.split("\n")]
    raw = {match[1]: match[2] or "" for match in matches if match}
    if not all(matches) or "id" not in raw:
        return None
    title, _, body = head[2:].partition("\n")
    if raw.get("markup_language") == HTML:
        body = html_to_text(body)
    fields = {field_name(name): value for name, value in raw.items() if name not in ("type_", "source")}
    return Record(fields | {"title": title}, body.lstrip("\n"), _why_no_text(raw))


def _why_no_text(raw: dict[str, str]) -> str | None:
    if raw["type_"] != NOTE:
        return "folder, tag or other record of Joplin"
    if raw.get("encryption_applied") == "1":
        return "encrypted"
    if raw.get("is_conflict") == "1":
        return "conflicting copy"
    if raw.get("deleted_time", "0") not in ("", "0"):
        return "in the trash"
    return CLIPPING if raw.get("source_url") else None  # of Joplin's web clipper


def unpack(source: Path, folder: Path) -> None:
    """Unpack the notes. Raises TarError or OSError for an archive that cannot be read to its end."""
    size = source.stat().st_size
    unpacking = Unpacking(source, folder, size)
    with open_watched(source) as raw, tarfile.open(fileobj=raw, mode="r:") as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() and member.name.endswith(".md") else None
            if stream is not None:
                path = folder / PurePosixPath(member.name).name
                unpacking.unpack(stream).rename(path)
                os.utime(path, (member.mtime, member.mtime))
    with source.open("rb") as file:
        file.seek(max(0, size - TAR_BLOCK))
        if any(file.read(TAR_BLOCK)):  # each archive ends with an empty block
            raise tarfile.ReadError("it breaks off")
