"""The items that the style ranking judge compares: JSON Lines, optionally gzipped, two texts for one request a line.

``{"id"?, "task", "style"?: name | [name, ...], "request", "text_a", "text_b", "generator"? | "generator_a"? and
"generator_b"?, "persona"? | "persona_a"? and "persona_b"?, "prompt_a"?, "prompt_b"?}``; several styles are wanted
together. ``prompt_a`` names the system prompt that steered text a to the styles, where prompts are compared. Other
fields are passed over and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from eval.asking.json_lines import Lines, check_fields, optional_id, read_items
from eval.recorded.style.styles import check_styles, check_task
from pearl.texts import check_text

NEEDED = ("task", "request", "text_a", "text_b")
ABOUT = (
    *("generator", "generator_a", "generator_b"),
    *("persona", "persona_a", "persona_b", "prompt_a", "prompt_b"),
)
FIELDS = frozenset({"id", "style", *NEEDED, *ABOUT})


@dataclass(frozen=True, slots=True)
class RankItem:
    """``texts`` are a and b; ``about``: the fields of ABOUT that it has."""

    line: int
    id: str
    task: str
    styles: tuple[str, ...]
    request: str
    texts: tuple[str, str]
    about: Mapping[str, str]

    @property
    def cluster(self) -> str:
        """Pairs of texts for one request are not independent of each other."""
        return f"{self.task} {self.request}"


def read_rank_items(path: Path, *, styled: bool) -> Lines[RankItem]:
    """``styled``: each must name what style is wanted. Raises InputError that names file, line and field."""
    return read_items(path, FIELDS, partial(_parse, styled=styled))


def _parse(value: dict[str, Any], number: int, *, styled: bool) -> RankItem:
    check_fields(value, *NEEDED, *(("style",) if styled else ()))
    return RankItem(
        number,
        optional_id(value) or f"line {number}",
        check_task(value["task"]),
        check_styles(value.get("style"), needed=styled),
        check_text(value["request"], param="request"),
        (check_text(value["text_a"], param="text_a"), check_text(value["text_b"], param="text_b")),
        {name: said for name in ABOUT if (said := optional_id(value, name)) is not None},
    )
