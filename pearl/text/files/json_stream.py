"""JSON read one value at a time, however long the file is."""

from __future__ import annotations

import codecs
import json
from collections.abc import Collection, Iterator
from typing import IO, Any

from pearl.errors import InputError
from pearl.text.usable import json_type

CHUNK_BYTES = 1 << 16
MAX_ELEMENT_CHARACTERS = 16_000_000
MOST_DIGITS = 1_000
CUT_CHARACTERS = 16  # at the end of a chunk, in which a value that goes on may look whole or at fault
WHITESPACE = " \t\r\n"


def _whole_number(digits: str) -> int | float:
    """The number; as infinity where Python refuses to read so many digits, for one element must not cost the rest."""
    return int(digits) if len(digits) <= MOST_DIGITS else float(digits)


LENIENT = json.JSONDecoder(strict=False, parse_int=_whole_number)


class JsonStream:
    """Reads values one by one from a JSON file in UTF-8. Raises InputError where it stops being JSON.

    By default bytes that are not UTF-8 become halves of surrogate pairs, so that the text they are in can be refused
    and other texts kept.
    """

    def __init__(self, stream: IO[bytes], errors: str = "surrogateescape", decoder: json.JSONDecoder = LENIENT) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")(errors).decode
        self._decoder = decoder
        self._text, self._at, self._ended = "", 0, False
        self._counted = 0  # characters of the text up to which line breaks are counted
        self.line = 1  # where the last value began, or the next character was looked for

    def array(self, member: str | None = None) -> Iterator[Any]:
        """Yield the elements of the file's array, or of the array that is ``member`` of the file's object."""
        if member is not None:
            for name in self._names():
                if name == member:
                    break
                self._value()
            else:
                raise InputError(f"has no '{member}'; is it the right export?", param=member, code="missing_field")
        self._expect("[", "an array")
        yield from self._elements()

    def members(
        self, streamed: Collection[str] | None = None, within: frozenset[str] = frozenset()
    ) -> Iterator[tuple[str, Any]]:
        """Yield name and value of each member of the file's object. A member in ``streamed`` (by default any) that is
        an array is yielded element by element, each with the member's name. Members in ``within`` are objects, or
        arrays of objects, whose own members are yielded in the same way."""
        for name in self._names():
            if name in within:
                inner = within - {name}  # so that no file nests them deeper than there are names
                for _ in self._items("]", "array") if self._next_is("[") else (None,):
                    yield from self.members(streamed, inner)
            elif (streamed is None or name in streamed) and self._next_is("["):
                yield from ((name, element) for element in self._elements())
            else:
                yield name, self._value()

    def peek(self) -> str:
        """Return the next character that is not blank, "" at the end of the file."""
        self._skip_blanks()
        self._count_lines()
        return self._text[self._at : self._at + 1]

    def _names(self) -> Iterator[str]:
        """Yield the name of each member of an object whose value comes next."""
        self._expect("{", "an object")
        for _ in self._items("}", "object"):
            name = self._value()
            if not isinstance(name, str):
                raise InputError(f"is not JSON: a member's name is {json_type(name)}", code="invalid_json")
            self._expect(":", "a colon")
            yield name

    def _elements(self) -> Iterator[Any]:
        for _ in self._items("]", "array"):
            yield self._value()

    def _items(self, closing: str, whole: str) -> Iterator[None]:
        """Yield at the beginning of each item, after the bracket that opens the array or object."""
        if self._next_is(closing):
            return
        yield
        while not self._next_is(closing):
            self._expect(",", f"a comma or the end of the {whole}")
            yield

    def _next_is(self, character: str) -> bool:
        """Step over the character if it comes next."""
        self._skip_blanks()
        is_next = self._text.startswith(character, self._at)
        self._at += is_next
        return is_next

    def _expect(self, character: str, what: str) -> None:
        if not self._next_is(character):
            shown = repr(self._text[self._at : self._at + 20]) if self._at < len(self._text) else "the end of the file"
            raise self._fault(f"is not the JSON it should be: {what} is missing before {shown}")

    def _value(self) -> Any:
        self._skip_blanks()
        self._count_lines()
        size = CHUNK_BYTES
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.pos >= len(self._text) - CUT_CHARACTERS or "Unterminated" in error.msg
                if not cut or not self._more(size):
                    self._at = error.pos
                    raise self._fault(f"is not JSON: {error.msg}") from None
            except RecursionError:
                raise self._fault("is not JSON that can be read: it is nested too deeply") from None
            except ValueError:
                raise self._fault("has a number with more digits than can be read") from None
            else:
                if end < len(self._text) - CUT_CHARACTERS or not self._more(size):  # a number may go on: 1e+|30
                    self._at = end
                    return value
            size *= 2  # so that an element is not read again for every chunk

    def _skip_blanks(self) -> None:
        while True:
            while self._at < len(self._text) and self._text[self._at] in WHITESPACE:
                self._at += 1
            if self._at < len(self._text) or not self._more(CHUNK_BYTES):
                return

    def _more(self, size: int) -> bool:
        """Read more of the file; False at its end. Raises InputError if the current value is too long already."""
        if len(self._text) - self._at > MAX_ELEMENT_CHARACTERS:
            raise self._fault(f"an element has more than {MAX_ELEMENT_CHARACTERS:,} characters")
        if self._ended:
            return False
        data = self._stream.read(size)
        self._ended = not data
        self._count_lines()
        self._text = self._text[self._at :] + self._decode(data, final=self._ended)
        self._at = self._counted = 0
        return True

    def _count_lines(self) -> None:
        self.line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at

    def _fault(self, what: str) -> InputError:
        self._count_lines()
        return InputError(what, code="invalid_json")


def as_object(value: Any) -> dict[str, Any]:
    """Return the value. Raises InputError if it is not a JSON object."""
    if not isinstance(value, dict):
        raise InputError(f"must be a JSON object, not {json_type(value)}", code="wrong_type")
    return value
