"""Fields of an object of JSON, which may be missing or of another type than one expects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pearl.errors import InputError


def missing_field(name: str) -> InputError:
    return InputError(f"'{name}' is missing.", param=name, code="missing_field")


def check_strings(fields: Mapping[str, Any], *names: str) -> None:
    """Raise InputError for the first of these fields that is no string."""
    for name in names:
        if not isinstance(fields.get(name), str):
            raise missing_field(name)


def check_given(fields: Mapping[str, Any], *names: str) -> None:
    """Raise InputError for the first of these fields that is not there, or empty."""
    for name in names:
        if not fields.get(name):
            raise missing_field(name)


def list_or_empty(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def object_or_empty(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def string_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None
