"""Cutting a text off, while it streams, before the first of the stop texts that a caller named."""

from __future__ import annotations

from collections.abc import Sequence


class StopFilter:
    """Cuts a text off before the first of the stop texts. The model does not get these: there they would also match the
    marks around its answer."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [_Stop(stop) for stop in stops]
        self._held = ""  # the end of the text, which may begin a stop text
        self.ended = False

    def feed(self, text: str) -> str:
        """Take more of the text; return the part that later pieces cannot change."""
        if self.ended:
            return ""
        ends = [(end, len(self._held) + end - len(stop.text)) for stop in self._stops if (end := stop.feed(text))]
        self.ended = bool(ends)
        self._held += text
        # the first to be complete counts, as when the text comes letter by letter
        begun = max((stop.begun for stop in self._stops), default=0)
        certain = min(ends)[1] if ends else len(self._held) - begun
        ready, self._held = self._held[:certain], self._held[certain:]
        return ready

    def finish(self) -> str:
        """Return the part that was held back and belongs to the text after all."""
        ready, self._held = "" if self.ended else self._held, ""
        return ready


class _Stop:
    """The search for one text in a stream, which reads each character once (Knuth, Morris and Pratt)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.begun = 0  # characters of it at the end of what was read
        self._shorter = [0]  # by length of a prefix less one: the length of its longest proper suffix that is a prefix
        for index in range(1, len(text)):
            self._shorter.append(self._next(self._shorter[-1], text[index]))

    def feed(self, text: str) -> int:
        """Read more; return the index after the first match of the text looked for, 0 without a match."""
        index = 0
        while index < len(text):
            if not self.begun and (index := text.find(self.text[0], index)) < 0:
                return 0
            self.begun = self._next(self.begun, text[index])
            index += 1
            if self.begun == len(self.text):
                return index
        return 0

    def _next(self, begun: int, character: str) -> int:
        while begun and self.text[begun] != character:
            begun = self._shorter[begun - 1]
        return begun + (self.text[begun] == character)
