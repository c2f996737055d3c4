"""Temporary folders for imports and backups, and unpacking into them within limits.

A killed process leaves its folder behind; the next import, backup or server removes it. A lock file next to the folder,
which is locked before the folder is made, tells whether the folder's process is alive.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from uuid import uuid4

from filelock import FileLock, Timeout

from pearl.errors import StoreError
from pearl.text.files.whole import NO_ROOM
from pearl.text.history.files import check_unpacked

FOLDER_NAME = "pearl-import-"
KEPT_AT_MOST = 20  # times the packed size that temporary files may have; texts pack to a fifth or tenth


@contextmanager
def temporary_folder(within: Path | None = None) -> Iterator[Path]:
    """Make a folder, by default in the system's temporary folder; remove it at the end of the block."""
    folder = (within or Path(tempfile.gettempdir())) / f"{FOLDER_NAME}{uuid4().hex}"
    try:
        with FileLock(_lock_of(folder), thread_local=False):
            folder.mkdir(mode=0o700)
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    finally:
        _lock_of(folder).unlink(missing_ok=True)


def clear_abandoned(within: Path | None = None) -> None:
    """Remove the folders and the locks of processes that were killed."""
    for lock in (within or Path(tempfile.gettempdir())).glob(f"{FOLDER_NAME}*.lock"):
        folder = lock.with_suffix("")
        with suppress(OSError, Timeout):
            if not folder.is_symlink() and (os.name == "nt" or lock.lstat().st_uid == os.getuid()):
                with FileLock(lock, timeout=0):
                    if folder.exists():
                        shutil.rmtree(folder)
                lock.unlink(missing_ok=True)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


class Unpacking:
    """Unpacks the files of one source into a folder, with one limit for all, which grows with ``packed_bytes``."""

    def __init__(self, source: Path, folder: Path, packed_bytes: int) -> None:
        self._source, self._folder = source, folder
        self._packed, self._unpacked = packed_bytes, 0

    def unpack(self, stream: IO[bytes] | gzip.GzipFile) -> Path:
        """Write the stream to a new file. Raises InputError if it is too long, StoreError if the disk is full."""
        handle, name = tempfile.mkstemp(dir=self._folder)
        try:
            with os.fdopen(handle, "wb") as file:
                while piece := stream.read(1 << 20):
                    self._unpacked += len(piece)
                    check_unpacked(self._source, self._unpacked, self._packed, KEPT_AT_MOST)
                    file.write(piece)
        except OSError as error:
            if error.errno in NO_ROOM:  # not the source's fault
                raise temporary_full(error) from error
            raise
        return Path(name)


def temporary_full(error: Exception) -> StoreError:
    """Make the error for a full temporary folder."""
    return StoreError(
        f"The temporary folder {tempfile.gettempdir()} cannot be written ({error}); "
        "free some space there or point TMPDIR elsewhere.",
        code="disk_full",
    )
