"""Files that are written atomically, and private files and folders, which only their owner may read: histories, keys,
drafts."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # of an OSError: a disk, a quota or a limit is reached


@contextmanager
def replaced_file(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path to write to; its file then replaces ``path``. After an error ``path`` is unchanged.

    Only the owner may read a ``private`` file; otherwise the permissions of a replaced file stay. A path that is not
    :func:`replaceable` is written to directly.
    """
    target = path.resolve()  # the file behind a link, which stays
    if not replaceable(path):
        if private and target.is_file():
            private_file(target)
        yield path
        return
    # with the process in its name: of two runs that write one file at once the last is there whole
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    before = target.stat().st_mode if target.exists() else None
    try:
        if private or before is not None:
            private_file(partial)
        yield partial
        if before is not None and not private:
            partial.chmod(stat.S_IMODE(before))
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def file_digest(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def replaceable(path: Path) -> bool:
    """False for a pipe or device, and for a file in a folder in which no other file can be made."""
    # a pipe's name in /dev/fd resolves to one that does not exist
    return (path.is_file() or not path.exists()) and os.access(path.resolve().parent, os.W_OK)


@contextmanager
def opened(path: Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """Open a file for bytes that are written atomically (:func:`replaced_file`), gzipped if its name ends in ``.gz``.

    Equal content gives an equal file whenever it is written, since later steps identify it by its digest.
    """
    with replaced_file(path, private=private) as partial, partial.open("wb") as raw:
        if path.suffix != ".gz":
            yield raw
            return
        with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            yield file  # type: ignore[misc]


FOLDER_MODE, FILE_MODE = 0o700, 0o600
OTHERS = 0o077

# what PEARL puts into PEARL_HOME; a folder with anything else in it may be shared on purpose
OWN = (
    "pearl.",
    "pearl-import-",
    "sample.key",
    "models",
    "generations.",
    "judge-replies.",
    "editor-replies.",
    "calibrations",
    "losses.",
    "mail",
)


def private_folder(folder: Path) -> None:
    """Make the folder, readable by the owner only. An existing folder is made private only if it is ours and holds
    nothing but PEARL's files, which are private in any case."""
    try:
        folder.mkdir(FOLDER_MODE, parents=True)
    except FileExistsError:
        if not folder.is_dir():
            raise
        with suppress(OSError):
            if all(entry.name.startswith(OWN) for entry in folder.iterdir()):
                _close(folder, FOLDER_MODE)


def private_file(path: Path) -> None:
    """Make an empty file readable by the owner only, or make an existing one of ours private. If neither can be done,
    opening it fails later.

    One that exists is never opened: closing it would drop the locks that SQLite holds on it in this process.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))
    with suppress(OSError):
        _close(path, FILE_MODE)


def _close(path: Path, mode: int) -> None:
    if not hasattr(os, "geteuid"):  # Windows, where the folders of a user are closed to others by themselves
        return
    status = path.stat()
    if status.st_uid == os.geteuid() and status.st_mode & OTHERS:
        path.chmod(mode)
