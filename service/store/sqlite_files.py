"""Checks that the files of an open SQLite database exist, are writable and are whole."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import IO

from pearl.errors import StoreError
from pearl.text.files.whole import private_file

LEAST_ROOM = 2**20  # bytes on the disk, for a draft to be stored
RESERVE = 16 * 2**20  # bytes kept for deletions: what is deleted is overwritten, by way of the write-ahead log
INDEX_BYTES = 2**15  # of the log's index, at least
WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")


class SqliteFiles:
    """Checks an SQLite database's files before each transaction. SQLite itself would go on with deleted or replaced
    files, and the process would crash (SIGBUS) if the index of the write-ahead log were truncated or immutable."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._wal, self._index = (file.with_name(file.name + end) for end in ("-wal", "-shm"))
        self._reserve = file.with_name(file.name + "-reserve")
        self._opened: tuple[int, int] | None = None
        self._index_bytes = INDEX_BYTES
        self._lost: Path | None = None  # a missing file; what is written now would be lost

    def note_opened(self) -> None:
        """Remember which file the first connection opened."""
        if self._opened is None:
            self._opened = _identity(self.file)

    def check(self, *, to_write: bool) -> None:
        """Check that a transaction would neither be lost nor crash. Raises StoreError: store_gone, store_read_only."""
        if self._opened is None:
            return
        self._check_there()
        # readers write to the index, too
        for file in (self.file, self._wal, self._index) if to_write else (self._index,):
            if not os.access(file, os.W_OK) and file.exists():
                self._check_folder()
                raise read_only(file)
        if self._index.exists():
            size = _size(self._index)
            if size < self._index_bytes:  # zeros in place of what was cut: SQLite makes the index anew from the log
                os.truncate(self._index, self._index_bytes)
            self._index_bytes = max(size, self._index_bytes)

    def check_kept(self) -> None:
        """Check after a commit that the next start will find the data. Raises StoreError if it will not."""
        try:
            with self._wal.open("rb") as log:
                begins = log.read(4)
        except FileNotFoundError:
            begins = b"gone"
        if begins and begins not in WAL_MAGIC:
            self._lost = self._wal
        self._check_there()

    def _check_there(self) -> None:
        if _identity(self.file) != self._opened:
            self._lost = self.file
        if self._lost is not None:
            raise of_file(
                "{file} was deleted, replaced or cut while PEARL had it open, so nothing is stored any more. Stop "
                "PEARL, put the file back or restore a backup (pearl restore), and start it again.",
                self._lost,
                "store_gone",
            )

    def check_room(self) -> None:
        """Check, without a write, that the disk has room for data. Raises StoreError if it has not."""
        self._check_folder()
        folder = self.file.resolve().parent
        if shutil.disk_usage(folder).free < LEAST_ROOM:
            raise disk_full(folder)

    def _check_folder(self) -> None:
        folder = self.file.resolve().parent
        if not os.access(folder, os.W_OK):  # of a read-only file system it says so to root, too
            raise disk_fails(folder, "store_read_only")

    def keep_room(self) -> None:
        """Reserve disk space for deletions, RESERVE bytes or, on a small disk, half of the free space."""
        if self._opened is None or _size(self._reserve) >= LEAST_ROOM:
            return
        with suppress(OSError):  # the next sweep tries again
            size = min(RESERVE, shutil.disk_usage(self.file.resolve().parent).free // 2)
            if size >= LEAST_ROOM:
                private_file(self._reserve)
                with self._reserve.open("r+b") as reserve:
                    _fill(reserve, size)

    def give_room(self) -> None:
        """Release the space reserved for deletions if the disk is so full that they need it."""
        with suppress(OSError):
            if _size(self._reserve) and shutil.disk_usage(self.file.resolve().parent).free < RESERVE:
                os.truncate(self._reserve, 0)


def _identity(file: Path) -> tuple[int, int] | None:
    """Return the file's device and inode; None if it is missing or empty, as no file is that SQLite opened."""
    try:
        found = file.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_size else None


def _fill(file: IO[bytes], size: int) -> None:
    """Fill the file to this size, without writing if the system can do that."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for _ in range(0, size, LEAST_ROOM):
        file.write(bytes(LEAST_ROOM))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def of_file(message: str, file: Path | str, code: str) -> StoreError:
    """Make an error about a file or folder of the database; the path is shown only to the operator."""
    public = message.format(file="the database")
    return StoreError(message.format(file=file), public=public[:1].upper() + public[1:], code=code)


def disk_full(folder: Path) -> StoreError:
    return of_file(
        "The disk is full: {file} has no room left. Free some space there and try again; nothing was half-written.",
        folder,
        "disk_full",
    )


def disk_fails(folder: Path, code: str = "disk_failed") -> StoreError:
    return of_file(
        "The disk under {file} fails: it is read-only, over a quota, full or broken. The system's log says which; "
        "mend it and try again; nothing was half-written.",
        folder,
        code,
    )


def read_only(file: Path | str) -> StoreError:
    return of_file(
        "{file} takes no changes: it is read-only or immutable. Make it writable again for PEARL's user (chmod, chattr "
        "-i); nothing was half-written.",
        file,
        "store_read_only",
    )
