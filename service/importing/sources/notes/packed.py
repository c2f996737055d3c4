"""Unpacking archives of notes while they are read: Joplin's ``.jex``, or zip files, also with zip files inside."""

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
from pearl.text.history.watched import open_watched
from service.importing.sources.archive import DAMAGED, is_zip, open_zip
from service.importing.sources.html_text import html_to_text
from service.importing.sources.notes.front_matter import field_name
from service.importing.sources.notes.kinds import CLIPPING, OFFICE_SUFFIXES, SUFFIXES
from service.process.temporary import Unpacking, temporary_folder

SUFFIX = ".jex"
FIELD = re.compile(r"([a-z][a-z_]{0,40}):(?: (.*))?")
LAST_FIELD = re.compile(r"\ntype_: \d{1,3}\s*\Z")
NOTE, HTML = "1", "2"  # of type_ and of markup_language
TAR_BLOCK = 512


@dataclass(frozen=True, slots=True)
class Record:
    """A note in Joplin's export. ``left_out``: why it is not imported, None if it is."""

    fields: dict[str, Any]
    body: str
    left_out: str | None


def split_record(text: str) -> Record | None:
    """Parse a file of Joplin's export; None if the text is none."""
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
    """Unpack the notes of a ``.jex`` archive. Raises TarError or OSError if it cannot be read to its end."""
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


PART = ".zip"


def is_packed(source: Path) -> bool:
    """True for an archive of notes. Raises InputError for a zip file that is cut off."""
    if not source.is_file() or source.suffix.lower() in OFFICE_SUFFIXES:  # which are zip files as well
        return False
    return source.suffix.lower() == SUFFIX or is_zip(source)


@contextmanager
def unpacked(*sources: Path) -> Iterator[Path]:
    """Yield a folder with the notes of all archives, which exists until the context ends. If the first source is no
    archive, yield the source itself. Raises InputError if an archive cannot be read to its end."""
    if not is_packed(sources[0]):
        yield sources[0]
        return
    with temporary_folder() as folder:
        for source in sources:
            try:
                if source.suffix.lower() == SUFFIX:
                    unpack(source, folder)
                else:
                    _unzip(source, folder, Unpacking(source, folder, source.stat().st_size))
            except (*DAMAGED, tarfile.TarError) as error:
                raise InputError(
                    f"{source}: cannot be read: {error}; export it again.", code="unreadable_file"
                ) from error
        yield folder


def packed_whole(folder: Path) -> Path:
    """Return the only folder within the folder, if there is nothing else in it; otherwise the folder itself."""
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _unzip(source: Path, folder: Path, unpacking: Unpacking, *, parts: bool = True) -> None:
    """Unpack the notes in a zip file and in the zip files inside it."""
    with open_zip(source) as packed:
        for member in packed.infolist():
            suffix = PurePosixPath(member.filename.lower()).suffix
            hidden = any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(member.filename).parts)
            if member.is_dir() or hidden or suffix not in (*SUFFIXES, *((PART,) if parts else ())):
                continue
            with packed.open(member) as stream:
                taken = unpacking.unpack(stream)
            if suffix == PART:
                _unzip(taken, folder, unpacking, parts=False)
                taken.unlink()
                continue
            path = folder / member.filename
            if not path.is_relative_to(folder):  # on Windows, with the letter of a drive
                raise InputError(
                    f"{source}: holds '{member.filename}', a path that leads out of it.", code="unsafe_path"
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            taken.replace(path)
            with suppress(ValueError, OverflowError):  # of a time that no calendar has
                time = datetime(*member.date_time).timestamp()
                os.utime(path, (time, time))
