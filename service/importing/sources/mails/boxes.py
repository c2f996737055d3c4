"""Finding mailboxes: mbox files, ``.eml`` files, Maildirs, and folders or zip files of them; each may be gzipped.

Packed files are unpacked into a temporary folder, because a mail is read again when another mail answers it.
"""

from __future__ import annotations

import gzip
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from zipfile import ZipFile, ZipInfo

from pearl.errors import InputError
from pearl.text.history.files import GZIP_MAGIC
from pearl.text.history.watched import open_watched
from service.importing.sources.archive import DAMAGED, is_zip, open_zip
from service.importing.sources.mails.spans import BOM, HEAD_BYTES, LINE_BYTES, Span, find_spans, is_mbox, unescaped
from service.process.temporary import Unpacking, temporary_folder

MESSAGE_BYTES = 4_000_000  # of a mail that are kept
ATTACHMENT_BYTES = 400_000  # of an attachment in a mail that has more; a photo may stand above the text
BASE64_LINE = re.compile(rb"[A-Za-z0-9+/=]{60,}\r?\n?")
HEADER_LINE = re.compile(rb"[A-Za-z][A-Za-z0-9-]{1,60}:[ \t]")
SENDER_LINE = re.compile(rb"^>*from:", re.IGNORECASE | re.MULTILINE)
MAILDIR = {"cur", "new"}
NO_BOX = "is not an mbox file; its first line must start with 'From ', and the header of a mail must follow."


@dataclass(frozen=True, slots=True)
class Box:
    """A file that holds one mail or many."""

    name: str  # for a person
    place: str  # its path in the source
    path: Path  # where it lies on the disk
    single: bool  # it is one mail
    flaw: str | None = None  # why it cannot be read

    def spans(self, advance: Callable[[int], None]) -> Iterator[Span]:
        """Yield the places of the file's mails in order; tell ``advance`` of the bytes read."""
        if self.flaw:
            return
        if self.single:
            size = self.path.stat().st_size
            advance(size)
            yield Span(1, b"", 0, size)
            return
        with open_watched(self.path) as file:
            yield from find_spans(file, advance)

    def ends_with(self, span: Span) -> bool:
        """True if the mail is the last one of an mbox file and short enough to be read completely."""
        return not self.single and span.length <= MESSAGE_BYTES and span.start + span.length >= self.path.stat().st_size

    def content(self, start: int, length: int) -> bytes:
        """Read a mail, at most 4 MB of it. In a longer mail the attachments are cut after their beginnings."""
        with open_watched(self.path) as file:
            file.seek(start)
            content = file.read(length) if length <= MESSAGE_BYTES else _without_attachments(file, length)
        return unescaped(content.lstrip(BOM + b"\r\n") if self.single else content, not self.single)


@contextmanager
def open_boxes(source: Path) -> Iterator[list[Box]]:
    """Open the mailboxes of a source; packed ones stay unpacked until the context ends. A damaged file among several
    becomes a Box with a ``flaw``. Raises InputError if there are no mailboxes or if the source itself is damaged."""
    with temporary_folder() as folder:
        try:
            yield _boxes(source, folder)
        except DAMAGED as error:
            raise InputError(f"{source}: cannot be read: {error}", code="unreadable_file") from error


def plain_size(source: Path) -> int | None:
    """Return the size of all mailboxes in bytes; None if any is packed, because its size is unknown before it is
    unpacked."""
    try:
        if source.is_dir():
            paths = list(_paths(source))
            if any(_head(path).startswith(GZIP_MAGIC) for path in paths):
                return None
            return sum(path.stat().st_size for path in paths if _kind(path, _head(path)))
        packed = is_zip(source) or _head(source).startswith(GZIP_MAGIC)
        return None if packed else source.stat().st_size
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error}", code="unreadable_file") from error


def _boxes(source: Path, folder: Path) -> list[Box]:
    paths = list(_paths(source)) if source.is_dir() else [source]
    unpacking = Unpacking(source, folder, sum(path.stat().st_size for path in paths))
    if source.is_dir():
        boxes = []
        for path in paths:
            place = str(path.relative_to(source))
            boxes += _readable(str(path), place, _opened(str(path), place, path, unpacking))
    elif is_zip(source):
        boxes = list(_unzipped(source, unpacking))
    else:
        if not _head(source).strip():
            raise InputError(f"{source}: is empty.", code="empty_file")
        boxes = list(_opened(str(source), source.name, source, unpacking))
        if not boxes:
            raise InputError(f"{source}: {NO_BOX}", code="not_an_mbox")
    if boxes and all(box.flaw for box in boxes):
        raise InputError(f"{source}: {boxes[0].flaw}", code="unreadable_file")
    if not boxes:
        raise InputError(f"{source}: there is no mbox file, no Maildir and no .eml file in it.", code="no_files")
    return boxes


def _paths(source: Path) -> Iterator[Path]:
    """Yield a folder's files. Links are not followed; of hidden folders only those of Maildirs and KMail are read."""
    os.scandir(source).close()  # os.walk passes over what cannot be read, the source itself too
    for where, folders, files in os.walk(source):
        here = Path(where)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") or name.endswith(".directory") or (here / name / "cur").is_dir()
        )
        for name in sorted(files):
            path = here / name
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path


def _readable(name: str, place: str, boxes: Iterator[Box]) -> list[Box]:
    """Return the mailboxes of one file among several; if the file is damaged, a Box whose ``flaw`` says so."""
    try:
        return list(boxes)
    except DAMAGED as error:
        return [Box(name, place, Path(), True, f"cannot be read: {error}")]


def _opened(name: str, place: str, path: Path, unpacking: Unpacking) -> Iterator[Box]:
    """Yield the mailbox in a file; nothing if the file is no mailbox."""
    head = _head(path)
    if head.startswith(GZIP_MAGIC):
        with open_watched(path) as raw, gzip.open(raw) as packed:
            path = unpacking.unpack(packed)
        head = _head(path)
    if b"\r" in head and b"\n" not in head:
        with _MacLines(open_watched(path).detach()) as file:
            path = unpacking.unpack(file)
        head = _head(path)
    if kind := _kind(Path(name), head):
        yield Box(name, place, path, kind == "mail")


class _MacLines(io.BufferedReader):
    """A file whose line ends are an old Mac's (CR), read with line feeds instead."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(size).replace(b"\r", b"\n")


def _unzipped(source: Path, unpacking: Unpacking) -> Iterator[Box]:
    with open_zip(source) as packed:
        for member in packed.infolist():
            name = f"{source}/{member.filename}"
            if not member.is_dir():
                yield from _readable(name, member.filename, _member(packed, member, name, unpacking))


def _member(packed: ZipFile, member: ZipInfo, name: str, unpacking: Unpacking) -> Iterator[Box]:
    with packed.open(member) as stream:
        head = stream.read(HEAD_BYTES)
    if head.startswith(GZIP_MAGIC) or _kind(Path(name), head):
        with packed.open(member) as stream:
            path = unpacking.unpack(stream)
        yield from _opened(name, member.filename, path, unpacking)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD_BYTES)


def _kind(path: Path, head: bytes) -> str | None:
    """Return "mbox", or "mail" for a file with a single mail; None for other files."""
    start = head.lstrip(BOM + b"\r\n")
    if is_mbox(start):
        return "mbox"
    if path.name.lower().removesuffix(".gz").endswith(".eml"):
        return None if start.startswith(b"\0") else "mail"  # macOS packs a binary ._NAME.eml beside each
    is_mail = bool(HEADER_LINE.match(start) and SENDER_LINE.search(start))
    return "mail" if is_mail and (path.parent.name in MAILDIR or path.suffix == "") else None


def _without_attachments(file: IO[bytes], length: int) -> bytes:
    lines: list[bytes] = []
    size = attached = 0
    while length and size < MESSAGE_BYTES and (line := file.readline(min(length, LINE_BYTES))):
        length -= len(line)
        attached = attached + len(line) if BASE64_LINE.fullmatch(line) else 0
        if attached <= ATTACHMENT_BYTES:
            lines.append(line)
            size += len(line)
    return b"".join(lines)
