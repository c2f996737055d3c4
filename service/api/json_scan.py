"""Limits on JSON that is not parsed yet: how deep it is, and how many values and fields it has.

Parsed, a body of 2 MB can take a hundred times its size, so a body over the limits is refused while it arrives. Strings
are skipped by a search, and the counts are bounded by the limits, so the scan takes linear time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pearl.errors import Malformed, PearlError, TooLarge

# up to the quote that ends it, or to the end of the data; possessive, so that no byte is read twice
STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("|\\?\Z)', re.DOTALL)
INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+("|\\?\Z)', re.DOTALL)
MARKS = b"[]{},"
NOT_MARKS = bytes(set(range(256)) - set(MARKS))
OPEN, CLOSE = b"[{", b"]}"
PIECE = 65_536  # bytes scanned at a time


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """The most that a body may have."""

    values: int  # in all
    fields: int = 200  # in one object
    depth: int = 32  # levels of nesting


class JsonScan:
    """Counts the values, fields and levels of a body, piece by piece."""

    def __init__(self, limits: JsonLimits) -> None:
        self._limits = limits
        self._in_string = False
        self._carried = b""  # a backslash whose character has not come yet
        self._values = 0
        self._strings = 0
        self._fields: list[int | None] = []  # of every object that is open; None for an array

    def feed(self, data: bytes) -> None:
        """Scan the next bytes. Raises TooLarge, or Malformed if they are nested too deep or cannot be JSON."""
        for start in range(0, len(data), PIECE):
            self._count(self._outside_strings(self._carried + data[start : start + PIECE]))

    def _outside_strings(self, data: bytes) -> bytes:
        position, end = 0, b'"'
        if self._in_string:
            rest = INSIDE.match(data)
            assert rest is not None, "the expression matches anything"
            position, end = rest.end(), rest[1]
        parts = STRING.split(data[position:])  # alternately the bytes between strings, and the end of a string
        self._strings += len(parts) // 2
        end = parts[-2] if len(parts) > 1 else end
        self._in_string = end != b'"'
        self._carried = end if self._in_string else b""
        return b"".join(parts[::2])

    def _count(self, outside: bytes) -> None:
        marks = outside.translate(None, NOT_MARKS)
        opened = marks.count(b"[") + marks.count(b"{")
        commas = marks.count(b",")
        self._values += opened + commas
        if self._values > self._limits.values or self._strings > 2 * self._limits.values + 2:
            raise too_many(f"more than {self._limits.values:,} values")
        if len(marks) - commas - opened > opened + len(self._fields):
            raise Malformed("The body is not JSON: more brackets are closed than were opened.", code="invalid_json")
        for mark in marks:
            self._take(mark)

    def _take(self, mark: int) -> None:
        fields = self._fields
        if mark in OPEN:
            fields.append(1 if mark == OPEN[1] else None)
            if len(fields) > self._limits.depth:
                raise Malformed(
                    f"The body is nested deeper than {self._limits.depth} levels; no field here needs that.",
                    code="too_deep",
                )
        elif mark in CLOSE:
            if fields:
                fields.pop()
        elif fields and (count := fields[-1]) is not None:
            fields[-1] = count + 1
            if count + 1 > self._limits.fields:
                raise too_many(f"an object with more than {self._limits.fields:,} fields")


def too_many(what: str) -> PearlError:
    return TooLarge(f"The body has {what}; send less at once.", code="too_many_values")
