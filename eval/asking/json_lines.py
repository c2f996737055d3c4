"""Reading and writing the judges' files: JSON Lines, optionally gzipped, one item, record or judgement per line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from pearl.cli.options import writing
from pearl.errors import InputError
from pearl.text.files.whole import opened
from pearl.text.history.files import parse_numbered_lines
from pearl.text.usable import check_id, json_type


class _Item(Protocol):
    @property
    def id(self) -> str | None: ...


K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
ItemT = TypeVar("ItemT", bound=_Item)


@dataclass(frozen=True, slots=True)
class Lines(Generic[T]):
    """The parsed lines of a file, at least one. ``passed_over``: how many lines have each unknown field, which is
    ignored."""

    parsed: tuple[T, ...]
    passed_over: Mapping[str, int]


def read_lines(path: Path, fields: Set[str], parse: Callable[[dict[str, Any], int], T], noun: str) -> Lines[T]:
    """Read a JSON Lines file. ``parse``: makes a ``noun`` from a line's object and number; ``fields``: the known field
    names.

    Raises InputError that names file, line and field of the first bad line, and for a file without lines.
    """
    passed_over: Counter[str] = Counter()

    def counted(value: dict[str, Any], number: int) -> T:
        parsed = parse(value, number)
        passed_over.update(value.keys() - fields)
        return parsed

    lines = at_least_one(path, parse_numbered_lines(path, counted), noun)
    return Lines(lines, dict(sorted(passed_over.items())))


def at_least_one(path: Path, parsed: Iterable[T], noun: str) -> tuple[T, ...]:
    """Return a file's parsed values as a tuple. Raises InputError if there are none."""
    if every := tuple(parsed):
        return every
    raise InputError(f"{path}: there is no {noun} in it.")


def read_items(path: Path, fields: Set[str], parse: Callable[[dict[str, Any], int], ItemT]) -> Lines[ItemT]:
    """Read items as :func:`read_lines` does. Raises InputError also if two items have the same id."""
    lines: dict[str, int] = {}

    def distinct(value: dict[str, Any], number: int) -> ItemT:
        item = parse(value, number)
        if item.id is not None:
            check_once(lines, item.id, number, f"'{item.id}' is", param="id")
        return item

    return read_lines(path, fields, distinct, "item")


def check_fields(value: Mapping[str, Any], *names: str) -> None:
    """Check that ``value`` has all fields ``names``. Raises InputError that names the first missing field."""
    for name in names:
        if name not in value:
            fields = ", ".join(sorted(value)) or "no field"
            raise InputError(f"is missing; the line has {fields}.", param=name)


def check_once(lines: dict[K, int], key: K, number: int, what: str, *, param: str) -> None:
    """Record the line of a key in ``lines``. Raises InputError, 'WHAT on line N already.', for a repeated key."""
    before = lines.setdefault(key, number)
    if before != number:
        raise InputError(f"{what} on line {before} already.", param=param)


def optional_id(value: Mapping[str, Any], name: str = "id") -> str | None:
    return None if value.get(name) is None else check_id(value[name], param=name)


def optional_string(value: Mapping[str, Any], name: str) -> str | None:
    text = value.get(name)
    if text is not None and not isinstance(text, str):
        raise InputError(f"must be a string, not {json_type(text)}.", param=name)
    return text


def optional_number(value: Mapping[str, Any], name: str) -> float | None:
    return None if value.get(name) is None else check_number(value[name], name)


def check_object(value: Any, param: str | None = None) -> dict[str, Any]:
    """Return the value if it is a JSON object. Raises InputError if not."""
    if not isinstance(value, dict):
        raise InputError(f"must be an object, not {json_type(value)}.", param=param)
    return value


def check_number(value: Any, param: str) -> float:
    """Return the value as a float if it is a finite number. Raises InputError if not."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        raise InputError(f"must be a number, not {json_type(value)}.", param=param)
    return float(value)


def write_lines(path: Path, values: Iterable[Mapping[str, Any]], called: str) -> None:
    """Write ``values`` as JSON Lines, atomically, gzipped if the name ends in ``.gz``. Raises InputError, which calls
    the file ``called``, if that fails."""
    with writing(called), opened(path) as file:
        file.writelines(f"{json.dumps(value, ensure_ascii=False)}\n".encode() for value in values)
