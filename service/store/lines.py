"""Values of a table's columns from the fields of a line of JSON, checked so that both databases can keep them."""

from __future__ import annotations

import math
from typing import Any

from sqlalchemy import JSON, Column, Float, String, Table

from pearl.errors import InputError
from pearl.texts import check_characters, json_type


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
        if isinstance(value, (dict, list)):
            return value
        raise InputError(f"'{name}' must be an object or an array, not {json_type(value)}.", param=name)
    if isinstance(kind, String):
        if not isinstance(value, str):
            raise InputError(f"'{name}' must be a string, not {json_type(value)}.", param=name)
        if kind.length is not None and len(value) > kind.length:
            raise InputError(f"'{name}' has more than {kind.length} characters.", param=name)
        return check_characters(value, param=name)
    if isinstance(kind, Float) and not (type(value) in (int, float) and math.isfinite(value)):
        raise InputError(f"'{name}' must be a number, not {json_type(value)}.", param=name)
    return value
