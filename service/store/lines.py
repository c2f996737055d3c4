"""Values of a table's columns from the fields of a line of JSON, checked so that both databases can keep them."""

from __future__ import annotations

import json
import sys
from typing import Any

from sqlalchemy import JSON, Column, Float, String, Table

from pearl.errors import InputError
from pearl.text.usable import check_characters, json_type

MOST = sys.float_info.max


def column_values(table: Table, line: dict[str, Any]) -> dict[str, Any]:
    """The fields that the table has a column for, without those that are null. Raises InputError that names one."""
    values = {}
    for column in table.columns:
        value = line.get(column.name)
        if value is not None:
            values[column.name] = _checked(column, value)
        elif not column.nullable:
            raise InputError(f"'{column.name}' is missing.", param=column.name, code="missing_field")
    return values


def _checked(column: Column[Any], value: Any) -> Any:
    kind, name = column.type, column.name
    if isinstance(kind, JSON):
        if not isinstance(value, (dict, list)):
            raise InputError(f"'{name}' must be an object or an array, not {json_type(value)}.", param=name)
        try:
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        except ValueError as error:  # PostgreSQL takes no NaN, and no answer can hold half of a surrogate pair
            raise InputError(
                f"'{name}' holds what is not JSON: NaN, Infinity or invalid Unicode.", param=name
            ) from error
        return value
    if isinstance(kind, String):
        if not isinstance(value, str):
            raise InputError(f"'{name}' must be a string, not {json_type(value)}.", param=name)
        if kind.length is not None and len(value) > kind.length:
            raise InputError(f"'{name}' has more than {kind.length} characters.", param=name)
        return check_characters(value, param=name)
    # -MOST <= NaN is false, and an integer of hundreds of digits is compared without becoming a float
    if isinstance(kind, Float) and not (type(value) in (int, float) and -MOST <= value <= MOST):
        raise InputError(f"'{name}' must be a number, not {json_type(value)}.", param=name)
    return value
