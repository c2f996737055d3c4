"""An export as it was downloaded: a folder, a zip file, or one file; read the same way. And the fields of its JSON."""

from __future__ import annotations

import csv
import io
import lzma
import os
import sqlite3
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import IO, Any, TypeVar

from pearl.errors import InputError
from pearl.text.files.csv_rows import why_not_csv
from pearl.text.files.json_stream import JsonStream
from pearl.text.history.files import TRAP_BYTES, check_unpacked, located
from pearl.text.history.watched import open_watched, watching
from pearl.text.usable import printable
from service.importing.sources.base import Importer, Items, LeftOut, Options, Remark
from service.process.temporary import KEPT_AT_MOST, temporary_folder, temporary_full

LINKED = "symbolic link"


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A file in a folder, or a symbolic link to a file or folder."""

    path: Path
    name: str  # relative to the folder, "/" between the parts
    is_link: bool


def folder_entries(folder: Path, hidden: bool = True) -> list[FolderEntry]:
    """Regular files and symbolic links in order; without ``hidden`` none with a dot before a part of its name.

    Raises InputError if the folder cannot be read.
    """
    return sorted(walk(folder, hidden), key=lambda entry: entry.path)


def walk(folder: Path, hidden: bool = True) -> Iterator[FolderEntry]:
    """Yield entries like :func:`folder_entries`, as they come. A folder in it that cannot be read is passed over.

    Raises InputError if ``folder`` itself cannot be read.
    """
    waiting = [folder]  # not by recursion, so that no depth is too deep
    while waiting:
        current = waiting.pop()
        try:
            with os.scandir(current) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if current is folder:
                raise InputError(f"{folder}: cannot be read: {error}", code="unreadable_file") from error
            continue
        for entry in listed:
            if not hidden and entry.name.startswith("."):
                continue
            path = Path(entry.path)
            if entry.is_symlink() or entry.is_file(follow_symlinks=False):
                yield FolderEntry(path, path.relative_to(folder).as_posix(), entry.is_symlink())
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)


def unread(source: Path, suffixes: Set[str], advice: str) -> Iterator[Remark]:
    """Yield a remark with the advice where a folder has files of these kinds, which hold texts but are not read."""
    kinds = (entry.path.suffix.lower() for entry in (walk(source, hidden=False) if source.is_dir() else ()))
    counts = Counter(kind for kind in kinds if kind in suffixes)
    if counts:
        yield Remark(f"Not read: {', '.join(f'{count:,} {kind}' for kind, count in counts.most_common())}; {advice}")


T = TypeVar("T")
Row = tuple[int, dict[str, str] | InputError]  # the line it starts on; by column, or why there is none
MAX_FIELD_CHARACTERS = 4_000_000  # more than a text may have, so that a longer one is refused with its line
ZIP_MAGIC = b"PK\3\4"
MOST_MEMBERS, MOST_DIRECTORY = 200_000, 64_000_000  # of a zip file; the bytes of its directory
UNPACKED = "unpack it, and import the folder."
# zipfile raises RuntimeError for an encrypted member or an unknown compression, struct.error for cut LZMA properties
DAMAGED = (OSError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, RuntimeError)


class CountingReader(io.RawIOBase):
    """Passes bytes on and tells ``advance`` how many."""

    def __init__(self, stream: IO[bytes], advance: Callable[[int], None]) -> None:
        self._stream = stream
        self._advance = advance

    def readable(self) -> bool:
        return True

    def readinto(self, target: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._stream.read(len(target))
        target[: len(data)] = data
        self._advance(len(data))
        return len(data)


class Archive:
    """The files of an export by their path in it, ``/`` between the parts."""

    def __init__(self, source: Path, files: dict[str, int], opener: Callable[[str], IO[bytes]]) -> None:
        self.source = source
        self.files = files  # path -> bytes
        self._open = opener

    def where(self, name: str) -> str:
        """The name of one of its files for people."""
        return str(self.source) if self.source.is_file() and list(self.files) == [name] else f"{self.source}/{name}"

    def matching(self, *patterns: str) -> list[str]:
        """Paths in order whose end matches a pattern such as ``c*/messages.json``, whatever their case."""
        lowered = [pattern.lower() for pattern in patterns]
        names = (name for name in self.files if any(PurePosixPath(name.lower()).match(pattern) for pattern in lowered))
        return sorted(names)

    def each(self, names: Iterable[str], read: Callable[[str], Iterator[T]]) -> Iterator[T | LeftOut]:
        """Read members one after the other; leave out the rest of one that is damaged. Raises InputError if --me is
        missing, without which none can be read."""
        for name in names:
            try:
                yield from read(name)
            except InputError as error:
                if error.code == "missing_me":
                    raise
                yield LeftOut.because_of(error, self.where(name))

    @contextmanager
    def open(self, name: str, advance: Callable[[int], None] = lambda amount: None) -> Iterator[IO[bytes]]:
        """Open a member for reading. Raises InputError if it is damaged, also while it is read."""
        try:
            with self._open(name) as stream, io.BufferedReader(CountingReader(stream, advance), 1 << 16) as counted:
                yield counted
        except DAMAGED as error:
            raise InputError(f"cannot be read: {error}", code="unreadable_file") from error

    def elements(
        self, name: str, member: str | None = None, advance: Callable[[int], None] = lambda amount: None
    ) -> Iterator[tuple[str, Any]]:
        """The elements of a JSON file's array with their places."""
        with self.open(name, advance) as stream:
            for number, value in enumerate(JsonStream(stream).array(member), start=1):
                yield f"{self.where(name)}:{number}", value

    def rows(
        self, name: str, required: tuple[str, ...], advance: Callable[[int], None] = lambda amount: None
    ) -> Iterator[tuple[str, dict[str, str] | InputError]]:
        """The rows of a table with their places; an error where one cannot be read."""
        with self.open(name, advance) as stream:
            for line, row in read_rows(stream, required):
                yield f"{self.where(name)}:{line}", row


@contextmanager
def open_archive(source: Path) -> Iterator[Archive]:
    """Open an archive or a folder. Raises InputError if it cannot be opened."""
    try:
        if source.is_dir():
            yield Archive(source, _folder_files(source), lambda name: open_watched(source / name))
        elif is_zip(source):
            with open_zip(source) as packed:
                members = (member for member in packed.infolist() if not member.is_dir())
                sizes = {member.filename: member.file_size for member in members if not _is_of_macos(member.filename)}
                yield Archive(source, sizes, lambda name: packed.open(name))
        else:
            yield Archive(source, {source.name: source.stat().st_size}, lambda name: open_watched(source))
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{source}: cannot be read: {error}", code="unreadable_file") from error


class _Members(list[zipfile.ZipInfo]):
    """The members of a zip file, with a limit while its directory is read: each takes memory."""

    def append(self, member: zipfile.ZipInfo) -> None:
        super().append(member)
        if len(self) > MOST_MEMBERS:
            raise InputError(f"has more than {MOST_MEMBERS:,} files; {UNPACKED}", code="too_many_files")


class _ZipSource(io.BufferedReader):
    """The bytes of a zip file, whose directory is read at once."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MOST_DIRECTORY:
            raise InputError(
                f"has a directory of more than {MOST_DIRECTORY:,} bytes; {UNPACKED}", code="too_many_files"
            )
        return super().read(size)


class ZipExport(zipfile.ZipFile):
    """A zip file whose damaged names and offsets are a BadZipFile, in its directory and before each member."""

    _source: _ZipSource | None = None

    def __init__(self, source: Path) -> None:
        self._source = _ZipSource(open_watched(source).detach())
        super().__init__(self._source)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, _Members() if name == "filelist" else value)

    def close(self) -> None:
        super().close()
        if self._source is not None:
            self._source.close()

    def open(self, *args: Any, **options: Any) -> IO[bytes]:
        try:
            return super().open(*args, **options)
        except (ValueError, OverflowError) as error:  # UnicodeDecodeError is a ValueError
            raise zipfile.BadZipFile(str(error)) from error


def is_zip(source: Path) -> bool:
    """True for a zip file. Raises InputError for one whose end is missing, as after a download that broke off, and for
    a pipe, which could not be read again."""
    if source.is_fifo():
        raise InputError(
            f"{source}: is a pipe, which can be read only once; write it to a file and import that.", code="is_a_pipe"
        )
    if zipfile.is_zipfile(source):
        return True
    with source.open("rb") as file:
        if file.read(len(ZIP_MAGIC)) == ZIP_MAGIC:
            raise InputError(f"{source}: is a zip file that breaks off; export or download it again.", code="cut_off")
    return False


def open_zip(source: Path) -> zipfile.ZipFile:
    """Open a zip file. Raises BadZipFile for one that cannot be read, also for names that are no UTF-8 though they are
    marked as it, and for a later version of the format; InputError for one that unpacks to too much."""
    try:
        with located(str(source)):
            packed = ZipExport(source)
    except (ValueError, OverflowError, NotImplementedError) as error:
        raise zipfile.BadZipFile(str(error)) from error
    check_unpacked(source, sum(member.file_size for member in packed.infolist()), source.stat().st_size)
    for member in packed.infolist():  # Windows PowerShell packs folders with its own separator
        member.filename = member.filename.replace("\\", "/")
        # nothing is unpacked; no export has it
        if member.filename.startswith("/") or ".." in member.filename.split("/"):
            raise InputError(
                f"{source}: holds '{printable(member.filename)}', a path that leads out of it.", code="unsafe_path"
            )
        packed.NameToInfo[member.filename] = member
    return packed


def _folder_files(folder: Path) -> dict[str, int]:
    entries = (entry for entry in folder_entries(folder) if not entry.is_link and not _is_of_macos(entry.name))
    return {entry.name: entry.path.stat().st_size for entry in entries}


def _is_of_macos(name: str) -> bool:
    """True for the companion that macOS packs beside each file; it has the file's name and suffix."""
    return PurePosixPath(name).name.startswith("._")


def read_rows(stream: IO[bytes], required: tuple[str, ...]) -> Iterator[Row]:
    """Stream the rows. Bytes that are not UTF-8 become halves of surrogate pairs, which the text check refuses.

    Raises InputError when a required column is missing.
    """
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    reader = csv.reader(text, strict=True)  # so that a file that ends within quotes does not end in half a text
    try:
        columns = next(reader, [])
    except csv.Error as error:
        raise InputError(why_not_csv(error, 1, reader.line_num), code="invalid_csv") from error
    missing = [name for name in required if name not in columns]
    if missing:
        raise InputError(
            f"has no column '{missing[0]}'; is it the right export?", param=missing[0], code="missing_field"
        )
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader, None)
        except csv.Error as error:
            yield line, InputError(why_not_csv(error, line, reader.line_num), code="invalid_csv")
            continue
        if fields is None:
            return
        if fields:
            # a row that is too short has empty fields; one that is too long has fields we know nothing of
            yield line, dict(zip(columns, fields + [""] * (len(columns) - len(fields)), strict=False))


class ArchiveImporter(Importer):
    """An importer of exports that are known by their files. A subclass names these and reads them."""

    patterns: tuple[str, ...]
    missing: str  # what is said where there is none
    times = 1  # that each is read
    by_any_name = False  # True where a file that is given alone is one of them, whatever its name is

    def names(self, archive: Archive) -> list[str]:
        alone = self.by_any_name and archive.source.is_file() and len(archive.files) == 1
        return list(archive.files) if alone else archive.matching(*self.patterns)

    def size(self, source: Path) -> int | None:
        with open_archive(source) as archive:
            return self.times * sum(archive.files[name] for name in self.names(archive))

    def read(self, source: Path, options: Options) -> Items:
        with open_archive(source) as archive:
            names = self.names(archive)
            if not names:
                raise InputError(f"{source}: {self.missing}", code="not_an_export")
            yield from self.items(archive, names, options)

    def items(self, archive: Archive, names: list[str], options: Options) -> Items:
        raise NotImplementedError


class DiskIndex:
    """Strings by key. Of several under one key the first stays. A context manager: the file goes with it."""

    def __init__(self) -> None:
        self._open, self._bytes = ExitStack(), 0
        folder = self._open.enter_context(temporary_folder())
        self._database = sqlite3.connect(folder / "index.db", isolation_level=None)
        self._open.callback(self._database.close)
        self._database.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF")
        self._database.execute("CREATE TABLE entries (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")
        self._database.execute("BEGIN")  # never committed: nobody else reads it

    def __enter__(self) -> DiskIndex:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    def put(self, key: str, value: str) -> None:
        """Keep the value, unless the key has one. Raises StoreError if the temporary folder is full, InputError if far
        more is kept than was read."""
        self._bytes += len(key) + len(value)
        if self._bytes > max(TRAP_BYTES, KEPT_AT_MOST * watching().read):
            raise InputError(f"needs more temporary space than {KEPT_AT_MOST} times its size.", code="too_large")
        try:
            self._database.execute("INSERT OR IGNORE INTO entries VALUES (?, ?)", (_storable(key), _storable(value)))
        except sqlite3.Error as error:
            raise temporary_full(error) from error

    def get(self, key: str) -> str | None:
        row = self._database.execute("SELECT value FROM entries WHERE key = ?", (_storable(key),)).fetchone()
        return None if row is None else str(row[0])


def _storable(text: str) -> str:
    return text.encode(errors="replace").decode()  # SQLite refuses halves of surrogate pairs


def missing_field(name: str) -> InputError:
    return InputError(f"'{name}' is missing.", param=name, code="missing_field")


def check_strings(fields: Mapping[str, Any], *names: str) -> None:
    """Raise InputError for the first of these fields that is no string."""
    for name in names:
        if not isinstance(fields.get(name), str):
            raise missing_field(name)


def check_given(fields: Mapping[str, Any], *names: str) -> None:
    """Raise InputError for the first of these fields that is not there, or empty."""
    for name in names:
        if not fields.get(name):
            raise missing_field(name)


def list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def object_or_empty(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def string_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None
