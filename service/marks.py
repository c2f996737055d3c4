"""Taking the <document> marks off an answer, and ending it where it is to end, while it streams."""

from __future__ import annotations

from collections.abc import Sequence

from pearl.prompts import CLOSING, OPENING, unfenced


class MarkFilter:
    """Fed an answer in any pieces, gives in all what :func:`pearl.prompts.unfenced` makes of the whole.

    Text is held back only while it may still be part of a mark or of blanks at the end.
    """

    def __init__(self) -> None:
        self._held = ""
        self._opened = False  # past the place where an opening mark may stand
        self._begun = False  # some text was given
        self._ended = False

    def feed(self, text: str) -> str:
        """What of the answer is certain now."""
        if self._ended:
            return ""
        self._held += text
        if not self._opened:
            start = self._held.lstrip()
            if OPENING.startswith(start):
                return ""
            self._held = start.removeprefix(OPENING)
            self._opened = True
        if CLOSING in self._held:
            self._ended = True
            return self._give(len(self._held.split(CLOSING, 1)[0]))
        return self._give(_certain(self._held, CLOSING))

    def finish(self) -> str:
        """What was held back and belongs to the answer after all."""
        if not self._opened:
            return unfenced(self._held)
        return "" if self._ended else self._give(len(self._held))

    def _give(self, length: int) -> str:
        ready = self._held[:length].rstrip()
        self._held = self._held[len(ready) :]
        if not self._begun:
            ready = ready.lstrip()
            self._begun = bool(ready)
        return ready


class StopFilter:
    """Cuts a text off before the first of the texts that are to end it. They are not left to the model, for there
    they would also match the marks around its answer."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._held = ""
        self.ended = False

    def feed(self, text: str) -> str:
        """What of the text is certain now."""
        if self.ended:
            return ""
        self._held += text
        # (end, start) of each: the first to be complete counts, as when the text comes letter by letter
        found = [(at + len(stop), at) for stop in self._stops if (at := self._held.find(stop)) >= 0]
        self.ended = bool(found)
        return self._give(min(found)[1] if found else _certain(self._held, *self._stops))

    def finish(self) -> str:
        """What was held back and belongs to the text after all."""
        return "" if self.ended else self._give(len(self._held))

    def _give(self, length: int) -> str:
        ready, self._held = self._held[:length], self._held[length:]
        return ready


def _certain(text: str, *marks: str) -> int:
    """How much of the text cannot be the beginning of one of the marks."""
    for length in range(min(max(map(len, marks), default=1) - 1, len(text)), 0, -1):
        if any(len(mark) > length and mark.startswith(text[-length:]) for mark in marks):
            return len(text) - length
    return len(text)
