"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import gzip
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pearl.files.private import private_file

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # of an OSError: a disk, a quota or a limit is reached


@contextmanager
def replaced_file(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Yield a name to write to; its file replaces ``path`` if all went well, else that stays as it was.

    Only the owner may read a ``private`` file; else the permissions of the replaced one stay. A file that is not
    :func:`replaceable` is written to itself.
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


def replaceable(path: Path) -> bool:
    """False for a pipe or device, and for a file in a folder where no other can be made."""
    # a pipe's name in /dev/fd resolves to one that does not exist
    return (path.is_file() or not path.exists()) and os.access(path.resolve().parent, os.W_OK)


@contextmanager
def opened(path: Path, *, private: bool = False) -> Iterator[IO[bytes]]:
    """Like :func:`replaced_file`, open for bytes; gzipped for a name that ends in ``.gz``.

    Equal content gives an equal file whenever it is written, since later steps know it by its digest.
    """
    with replaced_file(path, private=private) as partial, partial.open("wb") as raw:
        if path.suffix != ".gz":
            yield raw
            return
        with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            yield file  # type: ignore[misc]
