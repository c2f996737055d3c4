"""A JSON array read one element at a time, however long the file is."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Any

from pearl.errors import InputError
from pearl.texts import json_type

CHUNK_BYTES = 1 << 16
MAX_ELEMENT_CHARACTERS = 16_000_000
WHITESPACE = " \t\r\n"
STRUCTURE = re.compile(r'[\[\]{}",]')
IN_STRING = re.compile(r'["\\]')


def read_array(stream: IO[bytes], member: str | None = None) -> Iterator[Any]:
    """The elements of the file's array, or of the array that is ``member`` of the file's object.

    An element that is no JSON, too long or nested too deeply is an InputError in its place, and the next one follows.
    Bytes that are not UTF-8 become halves of surrogate pairs, so that the text they are in can be refused and the
    others kept. Raises InputError where the array itself is damaged or ends too early.
    """
    source = _Source(stream)
    if member is not None:
        _enter_member(source, member)
    source.expect("[", "an array")
    yield from _elements(source)


def read_members(stream: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """The members of the file's object in their order: names with values, and of an array with each of its elements.

    Raises InputError where the file stops being JSON.
    """
    source = _Source(stream)
    source.expect("{", "an object")
    if source.next_is("}"):
        return
    while True:
        name = source.value()
        source.expect(":", "a colon")
        if source.next_is("["):
            yield from ((name, element) for element in _elements(source))
        else:
            yield name, source.value()
        if source.next_is("}"):
            return
        source.expect(",", "a comma or the end of the object")


def _elements(source: _Source) -> Iterator[Any]:
    """What stands behind the bracket that opens an array."""
    if source.next_is("]"):
        return
    while True:
        yield source.value()
        if source.next_is("]"):
            return
        source.expect(",", "a comma or the end of the array")


def read_object(stream: IO[bytes]) -> dict[str, Any]:
    """The object that the file is. Raises InputError when it is none."""
    return as_object(_Source(stream).value())


def _enter_member(source: _Source, member: str) -> None:
    source.expect("{", "an object")
    while not source.next_is("}"):
        name = source.name()
        if name == member:
            return
        source.value()
        source.next_is(",")
    raise InputError(f"has no '{member}'; is it the right export?", param=member, code="missing_field")


class _Source:
    """Decoded text up to where JSON values were taken from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode
        self._text = ""
        self._at = 0
        self._ended = False
        self._json = json.JSONDecoder(strict=False)

    def _more(self, size: int = CHUNK_BYTES) -> bool:
        if self._ended:
            return False
        data = self._stream.read(size)
        self._ended = not data
        self._text = self._text[self._at :] + self._decode(data, final=self._ended)
        self._at = 0
        return True

    def _skip_space(self) -> None:
        while True:
            while self._at < len(self._text) and self._text[self._at] in WHITESPACE:
                self._at += 1
            if self._at < len(self._text) or not self._more():
                return

    def next_is(self, character: str) -> bool:
        """Step over the character if it comes next."""
        self._skip_space()
        found = self._text.startswith(character, self._at)
        self._at += found
        return found

    def expect(self, character: str, what: str) -> None:
        if not self.next_is(character):
            shown = repr(self._text[self._at : self._at + 20]) if self._at < len(self._text) else "the end of the file"
            raise InputError(f"is not the JSON it should be: {what} is missing before {shown}", code="invalid_json")

    def name(self) -> Any:
        """The next member's name; the colon behind it is passed over."""
        self._skip_space()
        while self._text.find('"', self._at + 1) < 0 and self._more():
            pass
        try:
            name, self._at = self._json.raw_decode(self._text, self._at)
        except (ValueError, RecursionError) as error:
            raise InputError(f"is not JSON: {error}", code="invalid_json") from None
        self.expect(":", "a colon")
        return name

    def value(self) -> Any:
        """The next value, or an InputError for one that cannot be used and was passed over."""
        self._skip_space()
        try:
            value, end = self._json.raw_decode(self._text, self._at)
        except (ValueError, RecursionError):
            return self._long_value()
        if end == len(self._text):  # a number may go on in the next chunk
            return self._long_value()
        self._at = end
        return value

    def _long_value(self) -> Any:
        """The value where it goes on behind the text that was read, or is no JSON: its end is looked for first."""
        pieces = self._to_end_of_value()
        if pieces is None:
            return InputError(f"has more than {MAX_ELEMENT_CHARACTERS:,} characters.", code="element_too_long")
        try:
            return self._json.decode(pieces.strip(WHITESPACE))
        except RecursionError:
            return InputError("is nested too deeply.", code="nested_too_deeply")
        except ValueError as error:  # a number of 5,000 digits among them
            return InputError(f"is not JSON: {error}", code="invalid_json")

    def _to_end_of_value(self) -> str | None:
        """The text up to the comma or bracket behind the value, None if it is too long; without recursion."""
        pieces: list[str] = []
        length = depth = 0
        in_string = escaped = False
        while True:
            at = self._at + escaped  # what follows a backslash at the end of the last chunk
            escaped = False
            end = -1
            while found := (IN_STRING if in_string else STRUCTURE).search(self._text, at):
                mark, at = found[0], found.end()
                if mark == "\\":
                    at += 1
                elif mark == '"':
                    in_string = not in_string
                elif mark in "[{":
                    depth += 1
                elif depth == 0:
                    end = found.start()  # a comma, or the bracket that closes what the value is in
                    break
                elif mark != ",":
                    depth -= 1
            stop = end if end >= 0 else len(self._text)
            length += stop - self._at
            if length <= MAX_ELEMENT_CHARACTERS:
                pieces.append(self._text[self._at : stop])
            escaped = at > len(self._text)
            self._at = stop
            if end >= 0:
                return "".join(pieces) if length <= MAX_ELEMENT_CHARACTERS else None
            if not self._more():
                if not in_string and depth == 0 and "".join(pieces).strip(WHITESPACE):
                    return "".join(pieces)  # a value that is not in anything ends with the file
                raise InputError("is not JSON: it breaks off in the middle.", code="invalid_json")


def as_object(value: Any) -> dict[str, Any]:
    """Raises InputError for anything but a JSON object, an InputError in its place itself."""
    if isinstance(value, InputError):
        raise value
    if not isinstance(value, dict):
        raise InputError(f"must be a JSON object, not {json_type(value)}", code="wrong_type")
    return value
