"""Lines of a draft that repeat the one before, taken out as it streams: a small model falls into loops."""

from __future__ import annotations

import re

LOOP = 5  # words of a line that nobody writes twice in a row
ITEM = re.compile(r"(?:\d{1,3}[.)]|[-*•])?\s*")  # the beginning of a list's line, its number
BEGUN = re.compile(r"\d{0,3}|(?:\d{1,3}[.)]|[-*•])\s*")  # the same, as far as it has come


class LoopFilter:
    """Fed a draft in any pieces, gives it without the lines that repeat the one before but for a list's number;
    ``cut`` counts those. A line is held back only as long as it may be one."""

    def __init__(self) -> None:
        self._before = ""  # the last line that was not blank, without its number
        self._line = _Line("")
        self.cut = 0

    def feed(self, text: str) -> str:
        """Take more of the draft; return the part that has become certain."""
        *ended, rest = text.split("\n")
        certain = []
        for part in ended:
            self._line.take(part)
            certain.append(self._end())
        self._line.take(rest)
        return "".join((*certain, "" if self._line.may_repeat else self._line.give()))

    def finish(self) -> str:
        """Return the part that was held back and is no repetition, not even one that was broken off."""
        if self._line.may_repeat and len(self._line.item.split()) >= LOOP:
            self.cut += 1
            return ""
        return self._line.give()

    def _end(self) -> str:
        line, item = self._line, self._line.item
        repeated = line.may_repeat and item == self._before and len(item.split()) >= LOOP
        self.cut += repeated
        self._before = item or self._before
        self._line = _Line(self._before)
        return "" if repeated else line.give() + "\n"


class _Line:
    """A line that comes in pieces. It ``may_repeat`` the item before as long as it is a beginning of that, and as long
    as only its number has come; each piece is compared once."""

    def __init__(self, before: str) -> None:
        self.may_repeat = True
        self._before = before
        self._pieces: list[str] = []
        self._given = 0  # pieces
        self._start: str | None = ""  # of the line without blanks before it, as long as only a number has come
        self._same = 0  # characters of the item before that have come
        self._blanks = 0  # behind them
        self._same_blanks = True  # as there

    @property
    def item(self) -> str:
        """The line without its number and the blanks around it."""
        return ITEM.sub("", "".join(self._pieces).lstrip(), count=1).rstrip()

    def take(self, text: str) -> None:
        self._pieces.append(text)
        if not self.may_repeat:
            return
        if self._start is not None:
            text = (self._start + text).lstrip()
            if BEGUN.fullmatch(text):
                self._start = text if text.isdigit() else text.rstrip()
                return
            self._start, text = None, ITEM.sub("", text, count=1)
        self._compare(text)

    def _compare(self, text: str) -> None:
        words = text.rstrip()
        if words:
            place = self._same + self._blanks
            self.may_repeat = self._same_blanks and self._before.startswith(words, place)
            self._same, self._blanks, self._same_blanks = place + len(words), 0, True
        behind = text[len(words) :]
        self._same_blanks &= self._before.startswith(behind, self._same + self._blanks)
        self._blanks += len(behind)

    def give(self) -> str:
        """The pieces that were not given yet. The line repeats nothing from now on: it would be cut in its middle."""
        ready, self._given = "".join(self._pieces[self._given :]), len(self._pieces)
        self.may_repeat = self.may_repeat and not ready
        return ready


def without_loops(text: str) -> str:
    """A whole draft as the filter gives it, without blanks around it."""
    loops = LoopFilter()
    return (loops.feed(text) + loops.finish()).strip()
