"""Columns of the tables of ``pearl eval style``: a field of a row, shown by what it is, or what is made of the row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeAlias

from eval.report.tables import NOTHING, Json, Table, shown

Cell: TypeAlias = str | Callable[[Json], str]  # a field of the row, or what is made of the row
Columns: TypeAlias = dict[str, Cell]
ALL_TASKS = "all tasks"
DIGITS = {"kappa": 2, "randolph_kappa": 2, "cohen_kappa": 2, "pearson_r": 2, "rho": 2}  # of others 3
SIGNED = ("difference", "relative_change")


def table(caption: str, rows: Iterable[Json], columns: Columns, command: str = "") -> Table:
    made = {title: partial(field, cell) if isinstance(cell, str) else cell for title, cell in columns.items()}
    return Table.of(caption, rows, made, command)


def field(name: str, row: Json) -> str:
    """A field of a row: an interval, a number or a name; NOTHING where it is empty."""
    value = row[name]
    if isinstance(value, dict):
        return shown(value, DIGITS.get(name, 3), sign=name in SIGNED)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if isinstance(value, float) else value or NOTHING


def task(row: Json) -> str:
    return str(row["task"] or ALL_TASKS)


def scheme(row: Json) -> str:
    return f"{row['kind']}: {row['scheme'] or 'all schemes'}"


def band(row: Json) -> str:
    """The band, or the reason why there is none."""
    return str(row.get("band") or row.get("undefined", ""))


def who(row: Json) -> str:
    return ", ".join(filter(None, (row["of"], row.get("scheme") or row.get("kind"))))


def less_best(row: Json) -> str:
    """The difference from the best rule that needs no judge."""
    best = row["less_baseline"]
    return NOTHING if best is None else f"{shown(best, 3, sign=True)} {best['against']}"


def across(titles: Iterable[str], cells: Mapping[Any, str], key: Callable[[Json], tuple[str, ...]]) -> Columns:
    """A column for each of the titles: the cell of the row's key and the title."""

    def column(title: str) -> Cell:
        return lambda row: cells.get((*key(row), title), NOTHING)

    return {title: column(title) for title in titles}


JUDGED: Columns = {"judge": "judge", "scheme": scheme, "task": task}
