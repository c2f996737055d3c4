"""Files whose reading can be stopped. All that an import reads is opened here, so that no reader can forget to look:
one that yields nothing for long reads all the while."""

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
    """The reading of one import."""

    check: Callable[[], None] = lambda: None  # raises an error to stop it
    read: int = 0  # bytes so far, as they lie on the disk


_watch: ContextVar[ReadingWatch | None] = ContextVar("watch", default=None)


@contextmanager
def watched(watch: ReadingWatch) -> Iterator[None]:
    """ReadingWatch what this thread reads."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def watching() -> ReadingWatch:
    """The watch over this thread; a new one where there is none."""
    return _watch.get() or ReadingWatch()


def open_watched(path: Path) -> io.BufferedReader:
    """Open a file for reading; the watch is looked at before each piece. Raises OSError."""
    return io.BufferedReader(_WatchedFile(path), PIECE)


class _WatchedFile(io.FileIO):
    read, readall = io.RawIOBase.read, io.RawIOBase.readall  # type: ignore[assignment]  # by readinto, as all else

    def readinto(self, target: bytearray | memoryview) -> int | None:  # type: ignore[override]
        watch = watching()
        watch.check()
        amount = super().readinto(target)
        watch.read += amount or 0
        return amount
