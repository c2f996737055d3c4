"""Code in a text that comes in pieces: is a given place within it?"""

from __future__ import annotations

import re

FENCE_START = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)


class CodeLines:
    """Follows a text: the line that goes on, and whether a block of code is open there."""

    def __init__(self) -> None:
        self.line = ""
        self.in_block = False

    def after(self, text: str) -> tuple[str, bool]:
        """The line and the block as they are behind more text, which is not taken yet."""
        head, newline, rest = text.partition("\n")
        line = self.line + head
        fences = bool(FENCE_START.match(line)) - bool(FENCE_START.match(self.line))
        if newline:
            fences += len(FENCE_START.findall(rest))
            line = rest.rpartition("\n")[2]
        return line, self.in_block ^ bool(fences % 2)

    def take(self, text: str) -> str:
        self.line, self.in_block = self.after(text)
        return text
