"""Joplin's raw export: a folder, or a tar archive (.jex), of notes with their fields below the text.

Folders, tags and other records of Joplin are files of the same kind.
"""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from pearl.errors import InputError
from service.importers.archive import DAMAGED, is_zip, open_zip
from service.importers.html_text import html_to_text
from service.importers.notes.front_matter import field_name
from service.importers.notes.kinds import CLIPPING, SUFFIXES
from service.process.temporary import Unpacking, temporary_folder

SUFFIX, ZIP = ".jex", ".zip"
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


@contextmanager
def unpacked(source: Path) -> Iterator[Path]:
    """The folder of what a zip file or an archive of Joplin's holds, while in use; any other source as it is.

    Raises InputError for an archive that cannot be read to its end.
    """
    unpack = {SUFFIX: _unpack, ZIP: _unzip}.get(source.suffix.lower())
    if unpack is None or source.is_dir():
        yield source
        return
    with temporary_folder() as folder:
        try:
            unpack(source, folder)
        except (tarfile.TarError, *DAMAGED) as error:
            raise InputError(f"{source}: cannot be read: {error}; export it again.", code="unreadable_file") from error
        inside = list(folder.iterdir())  # a folder that was packed whole is meant itself
        yield inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _unzip(source: Path, folder: Path) -> None:
    unpacking = Unpacking(source, folder, source.stat().st_size)
    is_zip(source)  # tells one that breaks off
    with open_zip(source) as archive:
        for member in archive.infolist():
            name = PurePosixPath(member.filename)
            if name.suffix.lower() not in SUFFIXES or name.name.startswith("."):
                continue
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as stream:
                unpacking.unpack(stream).rename(path)
            with suppress(ValueError, OverflowError):  # some programs write no time
                moment = datetime(*member.date_time).timestamp()
                os.utime(path, (moment, moment))


def _unpack(source: Path, folder: Path) -> None:
    size = source.stat().st_size
    unpacking = Unpacking(source, folder, size)
    with tarfile.open(source, "r:") as archive:
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
