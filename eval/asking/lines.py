"""Splitting a reply into lines: which lines are the judge's own, and which repeat the texts that it was shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from eval.asking.reply import clean, plain

BEFORE = 200  # characters of a neighbouring line that tell a quotation from a judge's own words
LONGEST_LINE = 200  # of a verdict; a longer one is prose
QUOTATION = "…"  # in the place of quoted lines
STATED = "\0"  # a line that begins with it holds a formal statement

_FENCE = re.compile(r"(?:```|~~~)\s*\w*")


def own_lines(text: str, is_label: Callable[[str], object]) -> list[str]:
    """Return the lines of a reply that are the judge's own. Quotations and fenced blocks are replaced by a placeholder,
    so that the line before them is not taken for the last one. A fenced label alone is kept."""
    lines: list[str] = []
    inside: list[str] | None = None
    for line in (line.strip() for line in text.splitlines()):
        if _FENCE.fullmatch(line):
            lines += [] if inside is None else _of_fence(inside, is_label)
            inside = [] if inside is None else None
        elif line and inside is not None:
            inside.append(line)
        elif line:
            lines.append(QUOTATION if line.startswith(">") else line)
    return lines + ([] if inside is None else _of_fence(inside, is_label))


def _of_fence(inside: list[str], is_label: Callable[[str], object]) -> list[str]:
    if len(inside) == 1 and is_label(inside[0][:LONGEST_LINE]):
        return inside
    return [line for line in inside if line.startswith(STATED)] or [QUOTATION]


def is_repeated(lines: Sequence[str], place: int, shown: Sequence[str]) -> bool:
    """True if the line at ``place`` is copied from a text ``shown`` to the judge, together with a neighbouring line."""
    near = [f"{lines[place - 1][-BEFORE:]}\n{lines[place]}"] if place else []
    near += [f"{lines[place]}\n{lines[place + 1][:BEFORE]}"] if place + 1 < len(lines) else []
    return any(folded(two_lines) in comparable(text) for two_lines in near for text in shown)


@lru_cache(maxsize=8)  # the texts of one item, for each line of each of its replies
def comparable(text: str) -> str:
    """Normalise a text that the judge was shown as replies are normalised, so that a copy in a reply can be found."""
    return folded(plain(clean(text)))


def quotes_half(line: str) -> bool:
    """True if the line has an unpaired quotation mark, so that its quotation spans several lines."""
    return line.count('"') % 2 == 1 or line.count("“") != line.count("”")


@lru_cache(maxsize=4096)  # check after check asks for the same texts, and a file has a few thousand of them
def folded(text: str | None) -> str:
    """Return the text in lower case, with single blanks as whitespace; empty for None."""
    return " ".join((text or "").split()).casefold()
