"""The items of the style detection judge: JSON Lines, optionally gzipped, a text and one style a line.

``{"id"?, "task", "style", "text", "definition"?, "request"?, "generator"?, "persona"?}``; a style that is none of
STYLES brings its ``definition``. One id may stand on several lines, with another style each. Other fields are passed
over and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.asking.json_lines import Lines, check_fields, optional_id, optional_string, read_lines
from eval.recorded.style.styles import STYLES, TASKS, check_style, style_named
from pearl.errors import InputError
from pearl.texts import check_characters, check_id, check_text

NEEDED = ("task", "style", "text")
ABOUT = ("generator", "persona")
FIELDS = frozenset({"id", "definition", "request", *NEEDED, *ABOUT})


@dataclass(frozen=True, slots=True)
class StyleItem:
    """``about``: the fields of ABOUT that it has."""

    line: int
    id: str
    task: str
    style: str
    definition: str
    text: str
    about: Mapping[str, str]


def read_style_items(path: Path) -> Lines[StyleItem]:
    """Raises InputError that names file, line and field of the first bad one."""
    lines: dict[tuple[str, str], int] = {}

    def parse(value: dict[str, Any], number: int) -> StyleItem:
        item = _parse(value, number)
        before = lines.setdefault((item.id, item.style), number)
        if before != number:
            raise InputError(
                f"'{item.id}' with the style '{item.style}' is on line {before} already.",
                param="id",
                code="duplicate_id",
            )
        return item

    return read_lines(path, FIELDS, parse, "item")


def _parse(value: dict[str, Any], number: int) -> StyleItem:
    check_fields(value, *NEEDED)
    if value["task"] not in TASKS:
        raise InputError(f"must be one of {', '.join(TASKS)}.", param="task", code="invalid_value")
    optional_string(value, "request")  # a judge is not shown it, as the people who rated were not
    return StyleItem(
        number,
        optional_id(value) or f"line {number}",
        value["task"],
        *_style(value),
        check_text(value["text"], param="text"),
        {name: said for name in ABOUT if (said := optional_id(value, name)) is not None},
    )


def _style(value: Mapping[str, Any]) -> tuple[str, str]:
    """The style as STYLES has it, and its definition: that of the line, else ours."""
    name = check_id(value["style"], param="style")
    definition = check_characters(optional_string(value, "definition") or "", param="definition").strip()
    style = (style_named(name) or name) if definition else check_style(name)
    return style, definition or STYLES[style]
