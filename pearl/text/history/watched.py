"""Reading of files that can be stopped. All that an import reads is opened here, so that no reader can forget the
check, even one that reads for long and yields nothing."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

PIECE = 1 << 16  # bytes read at once, before each of which the stop is looked at


@dataclass(slots=True)
class ReadingWatch:
    """Counts the bytes that one import reads, and can stop it."""

    check: Callable[[], None] = lambda: None  # raises an error to stop it
    read: int = 0  # bytes so far, as they lie on the disk


_watch: ContextVar[ReadingWatch | None] = ContextVar("watch", default=None)


@contextmanager
def watched(watch: ReadingWatch) -> Iterator[None]:
    """Make ``watch`` observe all that this thread reads within the block."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def watching() -> ReadingWatch:
    """Return the watch of this thread; a new one if there is none."""
    return _watch.get() or ReadingWatch()


def open_watched(path: Path) -> io.BufferedReader:
    """Open a file for reading; the watch's ``check`` is called before each piece is read. Raises OSError."""
    return io.BufferedReader(_WatchedFile(path), PIECE)


class _WatchedFile(io.FileIO):
    read, readall = io.RawIOBase.read, io.RawIOBase.readall  # type: ignore[assignment]  # by readinto, as all else

    def readinto(self, target: bytearray | memoryview) -> int | None:  # type: ignore[override]
        watch = watching()
        watch.check()
        amount = super().readinto(target)
        watch.read += amount or 0
        return amount
