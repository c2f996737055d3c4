"""Reading a downloaded export, be it a folder, a zip file or a single file; and checking the fields of its JSON."""

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
    """List a folder's regular files and symbolic links, at any depth, sorted by path. Without ``hidden``, files and
    folders whose names begin with a dot are skipped. Raises InputError if the folder cannot be read."""
    return sorted(walk(folder, hidden), key=lambda entry: entry.path)


def walk(folder: Path, hidden: bool = True) -> Iterator[FolderEntry]:
    """Yield the entries of :func:`folder_entries` unsorted, without holding all in memory. Subfolders that cannot be
    read are skipped. Raises InputError if ``folder`` itself cannot be read."""
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
    """Yield a remark that ends in ``advice`` if a folder holds files with these suffixes, which are not read."""
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
    """A stream that reads from another stream and reports the number of bytes to ``advance``."""

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
    """The files of an export, named by their path in it, with ``/`` as the separator."""

    def __init__(self, source: Path, files: dict[str, int], opener: Callable[[str], IO[bytes]]) -> None:
        self.source = source
        self.files = files  # path -> bytes
        self._open = opener

    def where(self, name: str) -> str:
        """Return a file's full path, for messages to people."""
        return str(self.source) if self.source.is_file() and list(self.files) == [name] else f"{self.source}/{name}"

    def matching(self, *patterns: str) -> list[str]:
        """Return, sorted, the paths whose end matches any pattern such as ``c*/messages.json``; case is ignored."""
        lowered = [pattern.lower() for pattern in patterns]
        names = (name for name in self.files if any(PurePosixPath(name.lower()).match(pattern) for pattern in lowered))
        return sorted(names)

    def each(self, names: Iterable[str], read: Callable[[str], Iterator[T]]) -> Iterator[T | LeftOut]:
        """Yield what ``read`` yields for each file in turn. If a file is damaged, its rest is left out. Raises
        InputError if the person's identities (--me) are needed and missing."""
        for name in names:
            try:
                yield from read(name)
            except InputError as error:
                if error.code == "missing_me":
                    raise
                yield LeftOut.because_of(error, self.where(name))

    @contextmanager
    def open(self, name: str, advance: Callable[[int], None] = lambda amount: None) -> Iterator[IO[bytes]]:
        """Open a file for reading; ``advance`` is told of the bytes read. Raises InputError, also during reading, if
        the file is damaged."""
        try:
            with self._open(name) as stream, io.BufferedReader(CountingReader(stream, advance), 1 << 16) as counted:
                yield counted
        except DAMAGED as error:
            raise InputError(f"cannot be read: {error}", code="unreadable_file") from error

    def elements(
        self, name: str, member: str | None = None, advance: Callable[[int], None] = lambda amount: None
    ) -> Iterator[tuple[str, Any]]:
        """Yield the elements of a JSON array with their places. ``member``: the name of the array's field in the file's
        object; None if the file itself is the array."""
        with self.open(name, advance) as stream:
            for number, value in enumerate(JsonStream(stream).array(member), start=1):
                yield f"{self.where(name)}:{number}", value

    def rows(
        self, name: str, required: tuple[str, ...], advance: Callable[[int], None] = lambda amount: None
    ) -> Iterator[tuple[str, dict[str, str] | InputError]]:
        """Yield the rows of a CSV file with their places; in place of a row that cannot be read, its error."""
        with self.open(name, advance) as stream:
            for line, row in read_rows(stream, required):
                yield f"{self.where(name)}:{line}", row


@contextmanager
def open_archive(source: Path) -> Iterator[Archive]:
    """Open a zip file, a folder or a single file as an Archive. Raises InputError if it cannot be opened."""
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
    """The list of a zip file's members, which refuses more than MOST_MEMBERS: they are held in memory."""

    def append(self, member: zipfile.ZipInfo) -> None:
        super().append(member)
        if len(self) > MOST_MEMBERS:
            raise InputError(f"has more than {MOST_MEMBERS:,} files; {UNPACKED}", code="too_many_files")


class _ZipSource(io.BufferedReader):
    """The bytes of a zip file. Refuses to read a directory of more than MOST_DIRECTORY bytes at once."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MOST_DIRECTORY:
            raise InputError(
                f"has a directory of more than {MOST_DIRECTORY:,} bytes; {UNPACKED}", code="too_many_files"
            )
        return super().read(size)


class ZipExport(zipfile.ZipFile):
    """A zip file that raises BadZipFile for damaged names and offsets, where zipfile would raise other errors."""

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
    """True for a zip file. Raises InputError for a zip file whose end is missing, as after a broken download, and for a
    pipe, which cannot be read twice."""
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
    """Open a zip file. Raises BadZipFile if it cannot be read, InputError if it unpacks to too much or holds a path
    that leads out of it."""
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
    """True for the ``._name`` file with metadata that macOS packs beside each file."""
    return PurePosixPath(name).name.startswith("._")


def read_rows(stream: IO[bytes], required: tuple[str, ...]) -> Iterator[Row]:
    """Yield the rows of a CSV file, each with its line number; in place of a row that cannot be read, its error. Bytes
    that are not UTF-8 become surrogates, which the check of texts refuses. Raises InputError if a required column is
    missing."""
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
    """Base of importers for exports that are recognized by the names of their files. A subclass sets ``patterns`` for
    these names, and reads the files in ``items``."""

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
    """A map of strings to strings in a temporary file, which is removed when the context ends."""

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
        """Store the value, unless the key already has a value. Raises StoreError if the temporary folder is full,
        InputError if far more is stored than was read from the source."""
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
    """Raise InputError for the first of the named fields that is not a string."""
    for name in names:
        if not isinstance(fields.get(name), str):
            raise missing_field(name)


def check_given(fields: Mapping[str, Any], *names: str) -> None:
    """Raise InputError for the first of the named fields that is missing or empty."""
    for name in names:
        if not fields.get(name):
            raise missing_field(name)


def list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def object_or_empty(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def string_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None
