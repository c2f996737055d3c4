"""The history file: JSON Lines, optionally gzipped; each line is one document of one user.

``{"user_id", "id", "timestamp", "text", "request"?, "voice"?, "recipient"?, "thread"?}``; ``timestamp`` is Unix seconds
or RFC 3339.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, TypeVar

import orjson

from pearl.errors import InputError
from pearl.records import Document
from pearl.text.history.watched import open_watched
from pearl.text.recipients import check_recipient
from pearl.text.usable import check_characters, check_id, check_text, json_type, parse_timestamp

T = TypeVar("T")

GZIP_MAGIC = b"\x1f\x8b"
UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)  # how texts begin that PowerShell's > and "Unicode" in Windows' editors write
NOT_FINITE = "is not JSON: NaN and infinity are no numbers there"
PACKED_AT_MOST = 200  # times the packed size: texts pack to a fifth, what is packed to a thousandth is a trap
TRAP_BYTES = 100_000_000
MAX_LINE_BYTES = 16_000_000  # a document of a megabyte fits, however it is escaped; a binary file is no line


@dataclass(frozen=True, slots=True)
class JsonLine:
    """A line of a JSON Lines file, parsed."""

    number: int  # from 1
    value: dict[str, Any] | InputError  # its object, or the error that says why there is none


def read_json_lines(path: Path, advance: Callable[[int], None] = lambda read: None) -> Iterator[JsonLine]:
    """Yield the objects of a JSON Lines file; blank lines are skipped.

    ``advance`` is called with the number of bytes read since the last call, before decompression. Raises InputError
    when the file cannot be read; an error in one line is in its JsonLine.
    """
    with reading(path) as raw, decompressed(raw) as stream:
        done, seekable = 0, raw.seekable()  # a pipe cannot tell its position
        for line in chain(json_lines(stream), (None,)):  # None is for the bytes that follow the last one
            position = raw.tell() if seekable else 0
            if position != done:
                advance(position - done)
                done = position
                if isinstance(stream, gzip.GzipFile):
                    check_unpacked(path, stream.tell(), position)
            if line is not None:
                yield line


def json_lines(stream: IO[bytes]) -> Iterator[JsonLine]:
    """Yield the objects of JSON Lines in UTF-8; a byte order mark may precede the first."""
    for number, line in enumerate(_bounded(stream), start=1):
        if number == 1:
            line = line.removeprefix(BOM_UTF8)
        if line.strip():
            yield JsonLine(number, _parse(line))


@contextmanager
def reading(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file for reading; a pipe can be read once. Raises InputError when it cannot be opened, read or
    decompressed."""
    try:
        with open_watched(path) as raw:
            yield raw
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error  # without a number, and the path once
        raise InputError(f"{path}: cannot be read: {why}", code="unreadable_file") from error


def parse_lines(
    path: Path, parse: Callable[[dict[str, Any]], T], advance: Callable[[int], None] = lambda read: None
) -> Iterator[T]:
    """Yield each line's object, parsed by ``parse``. Raises InputError that names file, line and field at fault."""
    return parse_numbered_lines(path, lambda value, number: parse(value), advance)


def parse_numbered_lines(
    path: Path, parse: Callable[[dict[str, Any], int], T], advance: Callable[[int], None] = lambda read: None
) -> Iterator[T]:
    """Yield objects as :func:`parse_lines` does; ``parse`` gets the line's number, too."""
    for line in read_json_lines(path, advance):
        with located(f"{path}:{line.number}"):
            parsed = parse(object_of(line), line.number)
        yield parsed


@contextmanager
def located(where: str) -> Iterator[None]:
    """Put the place in a file (``where``) and the field before the message of an InputError."""
    try:
        yield
    except InputError as error:
        field = f"{error.param}: " if error.param else ""
        raise InputError(f"{where}: {field}{error.message}", code=error.code) from None


def object_of(line: JsonLine) -> dict[str, Any]:
    """Return the line's object. Raises the line's InputError if it has none."""
    if isinstance(line.value, InputError):
        raise line.value
    return line.value


class _Utf8(io.RawIOBase):
    """The UTF-8 of a UTF-16 stream. A surrogate without its other half stays one, which readers then refuse."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._decoder = stream, getincrementaldecoder("utf-16")("surrogatepass")
        self._held = b""

    def readable(self) -> bool:
        return True

    def readinto(self, target: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._held and (content := self._stream.read(len(target))):
            self._held = self._decoder.decode(content).encode("utf-8", "surrogatepass")
        if not self._held and self._decoder.getstate()[0]:
            raise EOFError("it ends within a character of UTF-16")
        given, self._held = self._held[: len(target)], self._held[len(target) :]
        target[: len(given)] = given
        return len(given)


def decompressed(raw: io.BufferedReader[Any]) -> IO[bytes]:
    """Return the file's content, gunzipped if it is gzipped, and as UTF-8 if a byte order mark says UTF-16."""
    stream: Any = gzip.GzipFile(fileobj=raw) if raw.peek(2).startswith(GZIP_MAGIC) else raw
    return io.BufferedReader(_Utf8(stream)) if stream.peek(2).startswith(UTF_16) else stream


def check_unpacked(path: Path, unpacked: int, packed: int, most: int = PACKED_AT_MOST) -> None:
    """Check for a decompression bomb. Raises InputError if far more bytes come out of a file than were read."""
    if unpacked > max(TRAP_BYTES, most * packed):
        raise InputError(f"{path}: unpacks to more than {most} times its packed size.", code="too_large")


def _bounded(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield lines, each cut at MAX_LINE_BYTES so that memory does not grow with the file."""
    while line := stream.readline(MAX_LINE_BYTES):
        rest = line
        while len(rest) == MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = stream.readline(MAX_LINE_BYTES)
        yield line


def _parse(line: bytes) -> dict[str, Any] | InputError:
    if len(line) == MAX_LINE_BYTES:
        return InputError(f"has {MAX_LINE_BYTES:,} bytes or more; is it JSON Lines?", code="line_too_long")
    try:
        value = orjson.loads(line.rstrip(b"\r\n"))  # else the end of a cut line is column 1 of the next
    except orjson.JSONDecodeError as error:
        field = field_not_finite(line)
        why = NOT_FINITE if field else _why_not_json(line, error)
        return InputError(why, param=field, code="invalid_json")
    if not isinstance(value, dict):
        return InputError(f"must be a JSON object, not {json_type(value)}", code="wrong_type")
    return value


def field_not_finite(line: bytes) -> str | None:
    """Return the field that is NaN or infinite, which JSON forbids, if that is all that is wrong with a line."""
    try:
        return next(_fields_not_finite(json.loads(line)), None)
    except (ValueError, RecursionError):
        return None


def _fields_not_finite(value: Any, field: str = "") -> Iterator[str]:
    if isinstance(value, float) and not math.isfinite(value):
        yield field
    elif isinstance(value, (dict, list)):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _fields_not_finite(item, f"{field}.{name}" if field else str(name))


def _why_not_json(line: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        line.decode()
    except UnicodeDecodeError as not_utf8:
        return f"is not UTF-8 (byte {not_utf8.start + 1} of the line)"
    return f"is not JSON: {error.msg} (column {error.colno})"


def parse_document(value: dict[str, Any], *, timestamp_required: bool = True, now: float | None = None) -> Document:
    """Make a Document of a history line's object. Raises InputError with ``param`` set to the field."""
    for name in ("id", "text", *(("timestamp",) if timestamp_required else ())):
        if value.get(name) is None:
            raise InputError(f"'{name}' is missing.", param=name, code="missing_field")
    return Document(
        id=check_id(value["id"]),
        text=check_text(value["text"]),
        timestamp=None if value.get("timestamp") is None else parse_timestamp(value["timestamp"], now=now),
        request=_optional_text(value, "request"),
        voice=None if value.get("voice") is None else check_id(value["voice"], param="voice"),
        recipient=None if value.get("recipient") in (None, "") else check_recipient(value["recipient"]),
        thread=None if value.get("thread") in (None, "") else check_id(value["thread"], param="thread"),
    )


def read_histories(
    path: Path, *, timestamp_required: bool = False, now: float | None = None
) -> dict[str, list[Document]]:
    """Read documents by user, in the file's order, without duplicates. Times after ``now`` are an error.

    Raises InputError that names file, line and field of the first bad line, also where a user has two different
    documents with one id. ``now``: by default the present.
    """
    histories: dict[str, list[Document]] = {}
    known: dict[tuple[str, str], Document] = {}

    def add(value: dict[str, Any]) -> None:
        if value.get("user_id") is None:
            raise InputError("'user_id' is missing.", param="user_id", code="missing_field")
        user_id = check_id(value["user_id"], param="user_id")
        document = parse_document(value, timestamp_required=timestamp_required, now=now)
        same = known.setdefault((user_id, document.id), document)
        if same is document:
            histories.setdefault(user_id, []).append(document)
        elif same != document:
            raise InputError(f"is '{document.id}', as another document of user '{user_id}' is.", param="id")

    for _ in parse_lines(path, add):
        pass
    if not histories:
        raise InputError(f"{path}: holds no documents.", code="empty_file")
    return histories


def _optional_text(value: dict[str, Any], name: str) -> str | None:
    text = value.get(name)
    if text is None or text == "":
        return None
    if not isinstance(text, str):
        raise InputError(f"'{name}' must be a string, not {json_type(text)}.", param=name, code="wrong_type")
    return check_characters(text, param=name) if text.strip() else None


def document_fields(document: Document) -> dict[str, Any]:
    """Return a document's fields by name; recipient and thread only where they are known."""
    fields = asdict(document)
    return {name: value for name, value in fields.items() if name not in ("recipient", "thread") or value is not None}


def format_line(user_id: str, document: Document) -> str:
    """Format a document as a line of a history file, without the line break."""
    fields: dict[str, Any] = {
        "user_id": user_id,
        "id": document.id,
        "timestamp": document.timestamp,
        "text": document.text,
        "request": document.request,
        "voice": document.voice,
        "recipient": document.recipient,
        "thread": document.thread,
    }
    return json.dumps({name: value for name, value in fields.items() if value is not None}, ensure_ascii=False)
