"""Reading files of JSON objects: a JSON array or JSON Lines, gzipped or not."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import orjson

from pearl.errors import InputError
from pearl.text.history.files import NOT_FINITE, decompressed, field_not_finite, json_lines, located, object_of, reading
from pearl.text.usable import json_type

RecordT = TypeVar("RecordT")


def parse_objects(path: Path, parse: Callable[[dict[str, Any], int], RecordT]) -> Iterator[RecordT]:
    """Yield each parsed object. ``parse`` gets the object and its number, from 1. Raises InputError for the first
    invalid one; the message names the file, the object and the field."""
    with reading(path) as raw, decompressed(raw) as file:
        content = file.read().removeprefix(BOM_UTF8)
    if not content.lstrip().startswith(b"["):
        for line in json_lines(BytesIO(content)):
            with located(f"{path}:{line.number}"):
                parsed = parse(object_of(line), line.number)
            yield parsed
        return
    try:
        values = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise _not_json(path, content, error) from error
    for number, value in enumerate(values, start=1):
        with located(f"{path}: record {number}"):
            if not isinstance(value, dict):
                raise InputError(f"must be a JSON object, not {json_type(value)}", code="wrong_type")
            parsed = parse(value, number)
        yield parsed


def _not_json(path: Path, content: bytes, error: orjson.JSONDecodeError) -> InputError:
    """Make the error that says where and why an array cannot be parsed."""
    try:
        content.decode()
    except UnicodeDecodeError as not_utf8:
        return InputError(f"{path}: is not UTF-8 (byte {not_utf8.start + 1} of the file).", code="invalid_json")
    index, _, field = (field_not_finite(content) or "").partition(".")
    if index:
        at = f"record {int(index) + 1}: {field}" if field else f"record {int(index) + 1}"
        return InputError(f"{path}: {at}: {NOT_FINITE}.", param=field or None, code="invalid_json")
    return InputError(f"{path}: is not JSON: {error}", code="invalid_json")
