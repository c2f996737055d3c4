"""The rules for valid texts, ids and times, made once for imports, the HTTP API and the command line."""

from __future__ import annotations

import math
import re
import time
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any

import regex

from pearl.errors import InputError, TooLarge

MAX_TEXT_BYTES = 1_000_000
MAX_ID_LENGTH = 200
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799  # of the years 1 to 9999, Unix seconds
FUTURE_TOLERANCE_S = 300.0  # clocks differ; a document from next week is a mistake
# Python reads more, among it quoted milliseconds as a moment of the 18th century
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII)

# what shows nothing: blanks, control characters but NUL, joiners and marks of direction, fillers, variation selectors
_BLANK = regex.compile(r"[\s\x01-\x1f\x7f-\x9f\p{Cf}\p{Default_Ignorable_Code_Point}]*")
TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # marks that set a direction
# joiners within a Persian word, a Hindi one or an emoji; Python calls them not printable
JOINED = re.compile(r"(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])")


def is_blank(text: str) -> bool:
    """True if nothing of the text is visible to a reader."""
    return _BLANK.fullmatch(text) is not None


def check_text(text: Any, *, param: str = "text") -> str:
    """Return the text if it can be stored and shown. Raises InputError that names ``param``."""
    if not isinstance(text, str):
        raise InputError(f"'{param}' must be a string, not {json_type(text)}.", param=param, code="wrong_type")
    if is_blank(text):
        raise InputError(f"'{param}' is empty; give at least one word.", param=param, code="empty_text")
    return check_characters(text, param=param)


def check_characters(text: str, *, param: str) -> str:
    """Return the text. Raises InputError for NUL (PostgreSQL cannot keep it), lone surrogates, or over 1 MB."""
    if "\0" in text:
        raise InputError(
            f"'{param}' contains a NUL character; is it a binary file? Send plain text.",
            param=param,
            code="nul_character",
        )
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InputError(
            f"'{param}' contains half of a surrogate pair, which is not valid Unicode; re-encode it as UTF-8.",
            param=param,
            code="invalid_unicode",
        ) from None
    if size > MAX_TEXT_BYTES:
        raise TooLarge(
            f"'{param}' has {size:,} bytes; the limit is {MAX_TEXT_BYTES:,}. Split it into several.",
            param=param,
            code="text_too_large",
        )
    return text


def storable(text: str) -> str:
    """Return a model's text without what databases cannot store: NUL characters and lone surrogates."""
    return text.replace("\0", "").encode(errors="replace").decode()


def printable(text: str) -> str:
    """Return the text with line breaks and escape sequences replaced, so that a name cannot control the terminal.

    Joiners within emojis, hard spaces and characters younger than Python's tables, which it calls not printable, stay.
    """
    return "".join("\N{REPLACEMENT CHARACTER}" if _obeyed(character) else character for character in text)


def _obeyed(character: str) -> bool:
    """True for control characters, ends of lines, half surrogates and marks that turn the direction of what follows."""
    return (
        unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} or unicodedata.bidirectional(character) in TURNING
    )


def check_id(value: Any, *, param: str = "id") -> str:
    """Return the id of a document, user or voice, if it has 1 to 200 printable characters. Raises InputError."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)  # many exports number their messages
    if not isinstance(value, str):
        raise InputError(f"'{param}' must be a string, not {json_type(value)}.", param=param, code="wrong_type")
    readable = JOINED.sub("", value).isprintable()
    if not 1 <= len(value) <= MAX_ID_LENGTH or not readable or value != value.strip():
        raise InputError(
            f"'{param}' must have 1 to {MAX_ID_LENGTH} printable characters and no space at its ends.",
            param=param,
            code="invalid_id",
        )
    return value


def parse_timestamp(value: Any, *, param: str = "timestamp", now: float | None = None) -> float:
    """Convert Unix seconds or an RFC 3339 time (UTC if it has no offset) to Unix seconds. Raises InputError."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise InputError(
            f"'{param}' must be Unix seconds or an RFC 3339 time, not {json_type(value)}.",
            param=param,
            code="wrong_type",
        )
    seconds = _from_rfc3339(value, param) if isinstance(value, str) else _as_float(value)
    if not math.isfinite(seconds) or not FIRST_SECOND <= seconds <= LAST_SECOND:
        raise InputError(
            f"'{param}' is outside the years 1 to 9999; it must be in seconds, not milliseconds.",
            param=param,
            code="invalid_timestamp",
        )
    if seconds > (time.time() if now is None else now) + FUTURE_TOLERANCE_S:
        raise InputError(
            f"'{param}' lies in the future ({format_timestamp(seconds)}); check the clock or the time zone.",
            param=param,
            code="future_timestamp",
        )
    return seconds


def format_timestamp(seconds: float) -> str:
    """Return an RFC 3339 time in UTC, without a fraction of a second if that is zero."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat().replace("+00:00", "Z")


def _from_rfc3339(value: str, param: str) -> float:
    text = value.strip().upper()
    try:
        if not RFC_3339.fullmatch(text):
            raise ValueError(text)
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"'{param}' is not Unix seconds or an RFC 3339 time such as 2026-03-01T09:30:00Z.",
            param=param,
            code="invalid_timestamp",
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return math.inf


def json_type(value: Any) -> str:
    """Return the name of a value's type in JSON, for error messages."""
    if value is None:
        return "null"
    names = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return names.get(type(value), type(value).__name__)


def meant(name: str, among: Iterable[str]) -> str:
    """Return " Did you mean 'X'?" for the most similar name ``among`` the allowed ones; empty if none is similar."""
    names = {each.casefold(): each for each in among}
    near = get_close_matches(name.casefold(), names, n=1)
    return f" Did you mean '{names[near[0]]}'?" if near else ""


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: '1 draft', '1,234 drafts'."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
