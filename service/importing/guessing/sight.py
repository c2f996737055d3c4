"""A view of a path from outside: the names in a folder or zip file, the beginning of a file."""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pearl.errors import InputError
from pearl.history.files import GZIP_MAGIC, UTF_16
from service.importers.archive import is_zip, open_archive, open_zip
from service.importers.folders import walk

HEAD_BYTES = 1 << 16
MAX_NAMES = 20_000


@dataclass(frozen=True, slots=True)
class FileSniff:
    """``names`` are the paths in a folder or zip file, in lower case; ``head`` is how a file begins, gunzipped, and
    in UTF-8 where the file is UTF-16 by its byte order mark.

    Of a folder hidden files are not named, and no symbolic link is followed.
    """

    source: Path
    names: tuple[str, ...]
    head: bytes

    @property
    def is_folder(self) -> bool:
        return self.source.is_dir()

    @property
    def suffix(self) -> str:
        """The file's last suffix in lower case, that of the packed file where it is gzipped."""
        name = self.source.name.lower()
        return Path(name.removesuffix(".gz")).suffix

    def holds(self, pattern: str) -> list[str]:
        """The names that match a regular expression from a part's beginning to the end."""
        wanted = re.compile(rf"(?:.*/)?(?:{pattern})")
        return [name for name in self.names if wanted.fullmatch(name)]

    def head_of(self, pattern: str) -> bytes:
        """The beginning of the first file in it whose name matches; b"" where there is none that can be read."""
        wanted = re.compile(rf"(?:.*/)?(?:{pattern})", re.IGNORECASE)
        with suppress(InputError), open_archive(self.source) as archive:
            for name in filter(wanted.fullmatch, archive.files):
                with archive.open(name) as stream:
                    return stream.read(HEAD_BYTES)
        return b""

    def begins(self, pattern: bytes) -> bool:
        """True if the head, without blanks before it, matches a regular expression."""
        start = self.head.lstrip(b"\xef\xbb\xbf \t\r\n")
        return re.match(pattern, start, re.DOTALL | re.IGNORECASE) is not None


def look(source: Path) -> FileSniff:
    """The names in a folder, or the beginning of a file. Raises InputError if neither can be read."""
    try:
        if source.is_dir():
            names = [entry.name.lower() for entry in islice(walk(source, hidden=False), MAX_NAMES) if not entry.is_link]
            return FileSniff(source, tuple(names), b"")
        with source.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if head.startswith(b"PK") and is_zip(source):
            with open_zip(source) as packed:
                names = [member.filename.lower() for member in packed.infolist() if not member.is_dir()]
            return FileSniff(source, tuple(names[:MAX_NAMES]), head)
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{source}: cannot be read: {error}", code="unreadable_file") from error
    if head.startswith(GZIP_MAGIC):
        head = _unpacked(source)
    elif head.startswith(UTF_16):
        head = head.decode("UTF-16", errors="replace").encode()
    return FileSniff(source, (), head)


def _unpacked(source: Path) -> bytes:
    try:
        with gzip.open(source) as stream:
            return stream.read(HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        return b""
