"""Ending a text before the first of the texts that a caller named, while it streams."""

from __future__ import annotations

from collections.abc import Sequence


class StopFilter:
    """Cuts a text off before the first of the texts that are to end it. They are not left to the model, for there
    they would also match the marks around its answer."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [_Stop(stop) for stop in stops]
        self._held = ""  # as much as may begin one of them
        self.ended = False

    def feed(self, text: str) -> str:
        """Take more of the text; return the part that has become certain."""
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
    """A text that is looked for in another, each character of which is read once (Knuth, Morris and Pratt)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.begun = 0  # characters of it at the end of what was read
        self._shorter = [0]  # for each number of characters begun: how many they end with that begin it, too
        for place in range(1, len(text)):
            self._shorter.append(self._next(self._shorter[-1], text[place]))

    def feed(self, text: str) -> int:
        """Read more; return the place in it where the text looked for ends first, 0 if it does not."""
        place = 0
        while place < len(text):
            if not self.begun and (place := text.find(self.text[0], place)) < 0:
                return 0
            self.begun = self._next(self.begun, text[place])
            place += 1
            if self.begun == len(self.text):
                return place
        return 0

    def _next(self, begun: int, character: str) -> int:
        while begun and self.text[begun] != character:
            begun = self._shorter[begun - 1]
        return begun + (self.text[begun] == character)
