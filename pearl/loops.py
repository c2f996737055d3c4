"""Lines of a draft that repeat the one before, taken out as it streams: a small model falls into loops."""

from __future__ import annotations

import re

LOOP = 5  # words of a line that nobody writes twice in a row
ITEM = re.compile(r"\s*(?:\d{1,3}[.)]|[-*•])?\s*")  # the beginning of a list's line, its number
BEGUN = re.compile(r"\s*(?:\d{1,3}[.)]?|[-*•])?\s*")  # the same, as far as it has come


class LoopFilter:
    """Fed a draft in any pieces, gives it without the lines that repeat the one before but for a list's number;
    ``cut`` counts those. A line is held back only as long as it may be one."""

    def __init__(self) -> None:
        self._before = ""  # the last line that was not blank, without its number
        self._line = ""
        self._given = 0  # characters of the line
        self.cut = 0

    def feed(self, text: str) -> str:
        """Take more of the draft; return the part that has become certain."""
        *ended, rest = f"{self._line}{text}".split("\n")
        certain = ""
        for line in ended:
            certain += self._end(f"{line}\n")
        self._line = rest
        if self._given or not (self._before.startswith(_item(rest)) or BEGUN.fullmatch(rest)):
            certain += self._give()
        return certain

    def finish(self) -> str:
        """Return the part that was held back and is no repetition, not even one that was broken off."""
        rest = _item(self._line)
        if len(rest.split()) >= LOOP and self._before.startswith(rest) and not self._given:
            self.cut += 1
            return ""
        return self._give()

    def _end(self, line: str) -> str:
        item = _item(line)
        repeated = len(item.split()) >= LOOP and item == self._before and not self._given
        self._line = line
        certain = "" if repeated else self._give()
        self.cut += repeated
        self._before, self._line, self._given = item or self._before, "", 0
        return certain

    def _give(self) -> str:
        ready, self._given = self._line[self._given :], len(self._line)
        return ready


def _item(line: str) -> str:
    return ITEM.sub("", line, count=1).rstrip()


def without_loops(text: str) -> str:
    """A whole draft as the filter gives it, without blanks around it."""
    loops = LoopFilter()
    return (loops.feed(text) + loops.finish()).strip()
