"""Ending a text before the first of the texts that a caller named, while it streams."""

from __future__ import annotations

from collections.abc import Sequence


class StopFilter:
    """Cuts a text off before the first of the texts that are to end it. They are not left to the model, for there
    they would also match the marks around its answer."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._held = ""
        self.ended = False

    def feed(self, text: str) -> str:
        """Take more of the text; return the part that has become certain."""
        if self.ended:
            return ""
        self._held += text
        # (end, start) of each: the first to be complete counts, as when the text comes letter by letter
        ends = [(at + len(stop), at) for stop in self._stops if (at := self._held.find(stop)) >= 0]
        self.ended = bool(ends)
        return self._give(min(ends)[1] if ends else _certain(self._held, *self._stops))

    def finish(self) -> str:
        """Return the part that was held back and belongs to the text after all."""
        return "" if self.ended else self._give(len(self._held))

    def _give(self, length: int) -> str:
        ready, self._held = self._held[:length], self._held[length:]
        return ready


def _certain(text: str, *marks: str) -> int:
    """The length of the text that cannot be the beginning of one of the marks."""
    for length in range(min(max(map(len, marks), default=1) - 1, len(text)), 0, -1):
        if any(len(mark) > length and mark.startswith(text[-length:]) for mark in marks):
            return len(text) - length
    return len(text)
