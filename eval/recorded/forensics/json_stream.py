"""A large JSON object read piece by piece: one array in it may be longer than memory, everything else is small."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from io import TextIOWrapper
from json.decoder import JSONDecodeError
from pathlib import Path
from typing import IO, Any

from pearl.errors import InputError
from pearl.history.files import MAX_LINE_BYTES, decompressed, reading

CHUNK = 1 << 22  # characters read at a time
BLANK = " \t\r\n"


def read_members(path: Path, streamed: Collection[str]) -> Iterator[tuple[int, str, Any]]:
    """Yield the line, the name and the value of each member of a file's object; those of each item of the arrays
    ``streamed``.

    Raises InputError that names the file and the line.
    """
    try:
        with reading(path) as raw, TextIOWrapper(decompressed(raw), encoding="utf-8-sig") as text:
            yield from _Cursor(path, text).members(streamed)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 ({error.reason}).", code="invalid_unicode") from error


class _Cursor:
    """A place in a text that is read in chunks."""

    def __init__(self, path: Path, text: IO[str]) -> None:
        self._path, self._text = path, text
        self._held, self._at, self._ended = "", 0, False
        self._line, self._counted = 1, 0  # the line of the place up to which line breaks are counted
        self._decoder = json.JSONDecoder(parse_constant=self._refuse_constant)

    def members(self, streamed: Collection[str]) -> Iterator[tuple[int, str, Any]]:
        if self._next() == "":
            raise InputError(f"{self._path}: is empty.", code="empty_file")
        if self._next() != "{":
            raise self._fault("must be one object with metadata, annotators and comparisons")
        for _ in self._items("{", "}"):
            if self._next() != '"':
                raise self._fault("has no name for a field")
            name = self._value()
            self._expect(":")
            many = name in streamed and self._next() == "["
            for _ in self._items("[", "]") if many else (None,):
                self._next()
                line = self._count_lines()
                yield line, name, self._value()
        if self._next():
            raise self._fault("goes on after the object; is it JSON Lines? Name it .jsonl then")

    def _items(self, opening: str, closing: str) -> Iterator[None]:
        """Yield where each item begins."""
        self._expect(opening)
        if self._next() != closing:
            yield
            while self._next() != closing:
                self._expect(",")
                yield
        self._at += 1

    def _expect(self, character: str) -> None:
        if self._next() != character:
            raise self._fault(f"must have {character} here")
        self._at += 1

    def _next(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            while self._at < len(self._held) and self._held[self._at] in BLANK:
                self._at += 1
            if self._at < len(self._held) or not self._more():
                return self._held[self._at : self._at + 1]

    def _value(self) -> Any:
        self._next()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._held, self._at)
            except JSONDecodeError as error:
                # what is cut off fails near the end of what is held, or in a string that has no end yet
                if (error.pos < len(self._held) - 16 and "Unterminated" not in error.msg) or not self._more():
                    self._at = error.pos
                    raise self._fault(f"is not JSON: {error.msg}") from None
                continue
            except ValueError:  # Python reads no number of thousands of digits
                raise self._fault("has a number with more digits than can be read") from None
            except RecursionError:
                raise self._fault("is nested too deeply") from None
            if end == len(self._held) and self._more():  # a number may go on
                continue
            self._at = end
            return value

    def _more(self) -> bool:
        """Read on; False at the end of the file."""
        if self._ended:
            return False
        if len(self._held) - self._at > MAX_LINE_BYTES:
            raise self._fault(f"has {MAX_LINE_BYTES:,} characters or more in one pair")
        chunk = self._text.read(CHUNK)
        self._ended = not chunk
        self._count_lines()
        self._held, self._at, self._counted = self._held[self._at :] + chunk, 0, 0
        return bool(chunk)

    def _count_lines(self) -> int:
        """The line of this place."""
        self._line += self._held.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _fault(self, what: str) -> InputError:
        return InputError(f"{self._path}:{self._count_lines()}: {what}.", code="invalid_json")

    def _refuse_constant(self, constant: str) -> None:
        raise self._fault(f"has {constant}, which is no number of JSON")
