"""Quoted lines: other people's words in the middle of one's own."""

from __future__ import annotations

import re
from dataclasses import dataclass

QUOTE_MARK = re.compile(r"^ {0,3}(?:> ?)+")


@dataclass(frozen=True, slots=True)
class Parts:
    """The author's own words, and those they quoted, without the marks."""

    own: str
    quoted: str


def split_quotes(text: str) -> Parts:
    """Part the lines that start with ``>`` from the others."""
    own, quoted = [], []
    for line in text.splitlines():
        mark = QUOTE_MARK.match(line)
        if mark:
            quoted.append(line[mark.end() :])
        else:
            own.append(line)
    return Parts(tidy(own), tidy(quoted))


def tidy(lines: list[str]) -> str:
    """The lines as one text: at most one empty line in a row, none at the ends."""
    tidied: list[str] = []
    for line in lines:
        line = line.rstrip()
        if line or (tidied and tidied[-1]):
            tidied.append(line)
    return "\n".join(tidied).strip("\n")
