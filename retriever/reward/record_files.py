"""Files of objects that are a JSON array or JSON Lines, gzipped or not."""

from __future__ import annotations

import gzip
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import orjson

from pearl.errors import InputError
from pearl.history import GZIP_MAGIC, parse_numbered_lines
from pearl.texts import json_type

RecordT = TypeVar("RecordT")


def parse_objects(path: Path, parse: Callable[[dict[str, Any], int], RecordT]) -> Iterator[RecordT]:
    """Yield each object, parsed; ``parse`` gets its number in the file, from 1.

    Raises InputError that names the file, the record and the field of the first bad one.
    """
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if content.startswith(GZIP_MAGIC) else content
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error  # without a number, and the path once
        raise InputError(f"{path}: cannot be read: {why}", code="unreadable_file") from error
    content = content.removeprefix(BOM_UTF8)
    if not content.lstrip().startswith(b"["):
        yield from parse_numbered_lines(path, parse)
        return
    try:
        values = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path}: is not JSON: {error}", code="invalid_json") from error
    for number, value in enumerate(values, start=1):
        try:
            if not isinstance(value, dict):
                raise InputError(f"must be a JSON object, not {json_type(value)}", code="wrong_type")
            parsed = parse(value, number)
        except InputError as error:
            field = f"{error.param}: " if error.param else ""
            raise InputError(f"{path}: record {number}: {field}{error.message}", code=error.code) from None
        yield parsed
