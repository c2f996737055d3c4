"""XML that never ends, or is made to take memory: it is given up early, whichever way it grows."""

from __future__ import annotations

import io
import tracemalloc

import pytest

from pearl.errors import InputError
from service.importing.sources.notes.office import DEEPEST, LONGEST, PIECE, read_xml

MEMORY = 20_000_000  # bytes, that any of them may take
MOST = 1_000_000  # bytes, in place of the usual limit


class Events:
    """Counts the events."""

    def __init__(self) -> None:
        self.seen = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.seen += 1

    def end(self, name: str) -> None:
        pass

    def text(self, data: str) -> None:
        pass


class Endless(io.RawIOBase):
    """A beginning and then a piece over and over; by itself it would end far beyond the limits."""

    def __init__(self, begins: str, piece: str) -> None:
        self.given, self._held, self._piece = 0, begins.encode(), (piece * (PIECE // len(piece) + 1)).encode()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self.given > 100 * MOST:
            return b""
        while len(self._held) < size:
            self._held += self._piece
        taken, self._held = self._held[:size], self._held[size:]
        self.given += len(taken)
        return taken


@pytest.mark.parametrize(
    ("begins", "piece", "most"),
    [
        ("", "<a>", PIECE),
        ("", "<a:b xmlns:a='c'>", PIECE),
        ("", "<a><b>", PIECE),
        ("<", "a", 2 * LONGEST),
        ("<a b='", "x", 2 * LONGEST),
        ("<a ", "b='c' ", 2 * LONGEST),
        ("<a><!--", "x", 2 * LONGEST),
        ("<a><?", "x", 2 * LONGEST),
        ("<a>", "<b/>x", MOST + PIECE),
    ],
)
def test_what_never_ends_is_given_up(begins: str, piece: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.importing.sources.notes.office.MOST_BYTES", MOST)
    stream, events = Endless(begins, piece), Events()
    tracemalloc.start()
    try:
        with pytest.raises(InputError):
            read_xml(stream, events)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert stream.given <= most
    assert peak < MEMORY
    assert events.seen <= DEEPEST + 1 or most > LONGEST


def test_what_is_usual_is_read_whole() -> None:
    deep = "<a>" * (DEEPEST - 1)
    content = f"<d>{deep}{deep.replace('<', '</')}<b c='{'x' * 100_000}'/><!--{'y' * 100_000}-->{'z' * 1_000_000}</d>"
    events = Events()
    read_xml(io.BytesIO(content.encode()), events)
    assert events.seen == DEEPEST + 1
