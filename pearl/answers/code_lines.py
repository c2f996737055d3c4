"""Code in a text that comes in pieces: is a given place within it?"""

from __future__ import annotations

import re
from dataclasses import dataclass

FENCE_START = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
LONGEST = 1000  # characters of a line that are kept: it is looked at wherever a mark stands in it


@dataclass(frozen=True, slots=True)
class CodePosition:
    """A place in a text. ``line``: the beginning of its line, LONGEST characters, and one more where it is longer;
    ``quoted``: a backtick is open in the line; ``in_block``: a block of code is open."""

    line: str = ""
    quoted: bool = False
    in_block: bool = False


class CodeLines:
    """Follows a text."""

    def __init__(self) -> None:
        self._place = CodePosition()

    def after(self, text: str) -> CodePosition:
        """The place behind more text, which is not taken yet."""
        now = self._place
        head, newline, rest = text.partition("\n")
        line = (now.line + head[: LONGEST + 1])[: LONGEST + 1]
        quoted = now.quoted ^ bool(head.count("`") % 2)
        fences = bool(FENCE_START.match(line)) - bool(FENCE_START.match(now.line))
        if newline:
            fences += len(FENCE_START.findall(rest))
            last = rest.rpartition("\n")[2]
            line, quoted = last[: LONGEST + 1], bool(last.count("`") % 2)
        return CodePosition(line, quoted, now.in_block ^ bool(fences % 2))

    def take(self, text: str) -> str:
        self._place = self.after(text)
        return text
