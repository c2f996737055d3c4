"""Files that are written whole or not at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """A name to write to; the file takes the place of ``path`` when all went well, else that stays as it was.

    A pipe or a device, and a file in a folder that takes no other, is written to itself.
    """
    target = path.resolve()  # the file behind a link, which stays
    if (target.exists() and not target.is_file()) or not os.access(target.parent, os.W_OK):
        yield target
        return
    partial = target.with_name(f".{target.name}.partial")
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The same, open for bytes; gzipped for a name that ends in ``.gz``.

    Equal content gives an equal file whenever it is written, for later steps know it by its digest.
    """
    with replaced_file(path) as partial, partial.open("wb") as raw:
        if path.suffix != ".gz":
            yield raw
            return
        with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            yield file  # type: ignore[misc]
