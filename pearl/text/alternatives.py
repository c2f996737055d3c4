"""Many regular expressions that begin at a word, looked for together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

LONGEST = 6  # characters of a beginning


class Alternatives:
    """Finds what ``(?<!\\w)(?:A|B|...)(?!\\w)`` finds, in the same order, but tries an alternative only where one of
    the beginnings that it can have stands. With hundreds of alternatives few words are the beginning of any."""

    def __init__(self, patterns: Sequence[str], flags: int = 0) -> None:
        self._patterns = [re.compile(rf"(?:{pattern})(?!\w)", flags) for pattern in patterns]
        by_beginning: dict[str, list[int]] = {}
        for index, pattern in enumerate(patterns):
            for beginning in {text for text, _ in _beginnings(_parser.parse(pattern, flags))}:
                by_beginning.setdefault(beginning, []).append(index)
        self._by_beginning = {
            text: [self._patterns[index] for index in sorted({*_of_parts(text, by_beginning)})] for text in by_beginning
        }
        self._beginning = re.compile(rf"(?<!\w)(?=({_any_of(by_beginning)}))")

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        end = 0
        for at in self._beginning.finditer(text):
            if at.start() >= end:
                for pattern in self._by_beginning[at[1]]:
                    if found := pattern.match(text, at.start()):
                        yield found
                        end = found.end()
                        break


def _of_parts(text: str, by_beginning: dict[str, list[int]]) -> Iterator[int]:
    for end in range(len(text) + 1):
        yield from by_beginning.get(text[:end], ())


def _any_of(texts: Iterable[str]) -> str:
    """A pattern of the longest of the texts that stands somewhere."""
    rest: dict[str, list[str]] = {}
    for text in texts:
        rest.setdefault(text[:1], []).append(text[1:])
    ends = rest.pop("", None) is not None
    branches = "|".join(re.escape(first) + _any_of(behind) for first, behind in sorted(rest.items()))
    return f"(?:{branches}){'?' if ends else ''}" if branches else ""


def _beginnings(items: Iterable[tuple[Any, Any]]) -> set[tuple[str, bool]]:
    """Return what a match can begin with, and whether that may be all of it."""
    begun, cut = {""}, set[tuple[str, bool]]()
    for kind, value in items:
        if kind in (_constants.AT, _constants.ASSERT, _constants.ASSERT_NOT):
            continue
        more = {(text + part, whole) for text in begun for part, whole in _parts(kind, value)}
        begun = {text for text, whole in more if whole and len(text) < LONGEST}
        cut |= {(text[:LONGEST], False) for text, whole in more if not whole or len(text) >= LONGEST}
    return cut | {(text, True) for text in begun}


def _parts(kind: Any, value: Any) -> set[tuple[str, bool]]:
    if kind is _constants.LITERAL:
        return {(chr(value), True)}
    if kind is _constants.IN and all(each is _constants.LITERAL for each, _ in value):
        return {(chr(code), True) for _, code in value}
    if kind is _constants.SUBPATTERN:
        return _beginnings(value[-1])
    if kind is _constants.BRANCH:
        return {part for branch in value[1] for part in _beginnings(branch)}
    if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
        least, most, items = value
        once = {(text, whole and most == 1) for text, whole in _beginnings(items)}
        return once if least else once | {("", True)}
    return {("", False)}
