"""Quoted lines: other people's words in the middle of one's own."""

from __future__ import annotations

import re
from dataclasses import dataclass

LINE_CHARACTERS = 300  # of a line that rules look at, so that each takes time that grows with the text only
INVISIBLE = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
QUOTE_MARK = re.compile(r"^ {0,3}(?:> ?)+")


@dataclass(frozen=True, slots=True)
class Parts:
    """The author's own words, and those they quoted, without the marks."""

    own: str
    quoted: str


def split_quotes(text: str, mark: re.Pattern[str] = QUOTE_MARK, mark_of_all: re.Pattern[str] | None = None) -> Parts:
    """Part the lines that start with the mark of a quote from the others; ``mark_of_all`` quotes what follows, too."""
    own, quoted = [], []
    rest_is_quoted = False
    for line in text.splitlines():
        whole = mark_of_all.match(line) if mark_of_all and not rest_is_quoted else None
        rest_is_quoted = rest_is_quoted or whole is not None
        match = whole or mark.match(line)
        if match or rest_is_quoted:
            quoted.append(line[match.end() :] if match else line)
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
