"""A JSON array read one element at a time, however long the file is."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import IO, Any

from pearl.errors import InputError
from pearl.text.usable import json_type

CHUNK_BYTES = 1 << 16
MAX_ELEMENT_CHARACTERS = 16_000_000
MOST_DIGITS = 1_000
WHITESPACE = " \t\r\n"


def read_array(stream: IO[bytes], member: str | None = None) -> Iterator[Any]:
    """The elements of the file's array, or of the array that is ``member`` of the file's object.

    Bytes that are not UTF-8 become halves of surrogate pairs, so that the text they are in can be refused and the
    others kept. Raises InputError where the file stops being JSON.
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
        name = source.name()
        if source.next_is("["):
            yield from ((name, element) for element in _elements(source))
        else:
            yield name, source.value()
        if source.next_is("}"):
            return
        source.expect(",", "a comma or the end of the object")


def _elements(source: _Source) -> Iterator[Any]:
    """Yield the elements behind the bracket that opens an array."""
    if source.next_is("]"):
        return
    while True:
        yield source.value()
        if source.next_is("]"):
            return
        source.expect(",", "a comma or the end of the array")


def _enter_member(source: _Source, member: str) -> None:
    source.expect("{", "an object")
    while not source.next_is("}"):
        if source.name() == member:
            return
        source.value()
        source.next_is(",")
    raise InputError(f"has no '{member}'; is it the right export?", param=member, code="missing_field")


def _whole_number(digits: str) -> int | float:
    """The number; as infinity where Python refuses to read so many digits, for one element must not cost the rest."""
    return int(digits) if len(digits) <= MOST_DIGITS else float(digits)


class _Source:
    """Decoded text up to where JSON values were taken from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode
        self._text = ""
        self._at = 0
        self._ended = False
        self._json = json.JSONDecoder(strict=False, parse_int=_whole_number)

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
        is_next = self._text.startswith(character, self._at)
        self._at += is_next
        return is_next

    def expect(self, character: str, what: str) -> None:
        if not self.next_is(character):
            shown = repr(self._text[self._at : self._at + 20]) if self._at < len(self._text) else "the end of the file"
            raise InputError(f"is not the JSON it should be: {what} is missing before {shown}", code="invalid_json")

    def name(self) -> str:
        """Read a member's name and the colon behind it."""
        name = self.value()
        if not isinstance(name, str):
            raise InputError(f"is not JSON: a member's name is {json_type(name)}", code="invalid_json")
        self.expect(":", "a colon")
        return name

    def value(self) -> Any:
        self._skip_space()
        size = CHUNK_BYTES
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except (json.JSONDecodeError, RecursionError) as error:
                if isinstance(error, RecursionError) or not self._more_of_element(size):
                    raise InputError(f"is not JSON: {error}", code="invalid_json") from None
            else:
                # a number may go on in the next chunk
                if end < len(self._text) or not self._more_of_element(size):
                    self._at = end
                    return value
            size *= 2  # so that an element is not read again for every chunk

    def _more_of_element(self, size: int) -> bool:
        """Read more, unless the element at which the text stands is too long already."""
        if len(self._text) - self._at > MAX_ELEMENT_CHARACTERS:
            raise InputError(f"an element has more than {MAX_ELEMENT_CHARACTERS:,} characters", code="invalid_json")
        return self._more(size)


def as_object(value: Any) -> dict[str, Any]:
    """The value itself. Raises InputError if it is not a JSON object."""
    if not isinstance(value, dict):
        raise InputError(f"must be a JSON object, not {json_type(value)}", code="wrong_type")
    return value
