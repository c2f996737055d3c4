"""Separating quoted lines, which are other people's words, from a person's own."""

from __future__ import annotations

import re
from dataclasses import dataclass

LINE_CHARACTERS = 300  # of a line that rules look at, so that each takes time that grows with the text only
INVISIBLE = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
QUOTE_MARK = re.compile(r"^ {0,3}(?:> ?)+")


@dataclass(frozen=True, slots=True)
class Parts:
    """A text's own words, and the quoted words without their marks."""

    own: str
    quoted: str


def split_quotes(text: str, mark: re.Pattern[str] = QUOTE_MARK, mark_of_all: re.Pattern[str] | None = None) -> Parts:
    """Separate lines that begin with a quote mark from the others. ``mark_of_all``: a mark that quotes all that
    follows."""
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
    """Join the lines: no two empty lines in a row, none at the beginning or the end."""
    tidied: list[str] = []
    for line in lines:
        line = line.rstrip()
        if line or (tidied and tidied[-1]):
            tidied.append(line)
    return "\n".join(tidied).strip("\n")
