"""Texts that were written for personas: JSON Lines, optionally gzipped, a text a line.

``{"id"?, "task", "request", "text", "generator"?, "persona"?, "styles"?: [name, ...], "scores"?: {style: number}}``;
``persona`` is one of PERSONAS, or brings its ``styles``, and a text without one was written for nobody. The scores may
come from judgements of ``pearl judge style-detect`` instead, whose items have the ids of the texts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from eval.asking.json_lines import Lines, check_fields, optional_id, read_items, read_lines
from eval.recorded.style.styles import PERSONAS, check_style, check_styles, check_task
from pearl.errors import InputError
from pearl.texts import check_id, check_text, json_type

NEEDED = ("task", "request", "text")
FIELDS = frozenset({"id", "generator", "persona", "styles", "scores", *NEEDED})
Scores = Mapping[str, Mapping[str, float]]  # of a text, by its id, and of a style


@dataclass(frozen=True, slots=True)
class Response:
    """``score`` is the mean of its scores over the ``styles`` it was asked for; 0 where it was asked for none."""

    id: str
    task: str
    request: str
    text: str
    generator: str | None
    persona: str | None
    styles: tuple[str, ...]
    score: float


def read_responses(path: Path, judged: Scores | None = None) -> Lines[Response]:
    """``judged`` are scores in the place of the file's own. Raises InputError that names file, line and field."""
    return read_items(path, FIELDS, partial(_parse, judged=judged))


def _parse(value: dict[str, Any], number: int, *, judged: Scores | None) -> Response:
    check_fields(value, *NEEDED)
    name = optional_id(value) or f"line {number}"
    persona = optional_id(value, "persona")
    styles = _styles(value, persona)
    scores = _scores(value.get("scores")) if judged is None else judged.get(name, {})
    return Response(
        name,
        check_task(value["task"]),
        check_text(value["request"], param="request"),
        check_text(value["text"], param="text"),
        optional_id(value, "generator"),
        persona,
        styles,
        _mean(name, styles, scores),
    )


def _styles(value: dict[str, Any], persona: str | None) -> tuple[str, ...]:
    if persona is None:
        return ()
    if value.get("styles") is not None:
        return check_styles(value["styles"], needed=True)
    if persona not in PERSONAS:
        raise InputError(
            f"'{persona}' is none of {', '.join(PERSONAS)}; give its \"styles\".",
            param="persona",
            code="unknown_persona",
        )
    return PERSONAS[persona]


def _mean(name: str, styles: tuple[str, ...], scores: Mapping[str, float]) -> float:
    for style in styles:
        if style not in scores:
            raise InputError(f"there is none of '{name}' for '{style}'.", param="scores", code="missing_score")
    return fmean(scores[style] for style in styles) if styles else 0.0


def _scores(value: Any) -> dict[str, float]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(f"must be an object, not {json_type(value)}.", param="scores", code="wrong_type")
    return {check_style(style, param="scores"): _number(score, f"scores.{style}") for style, score in value.items()}


def _number(value: Any, param: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"must be a number, not {json_type(value)}.", param=param, code="wrong_type")
    return float(value)


def detected_scores(path: Path) -> Scores:
    """The mean score of each text for each style over all draws, of one judge by one scheme; lines without a score are
    passed over. Raises InputError that names file, line and field."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    by: set[str] = set()

    def parse(value: dict[str, Any], number: int) -> None:
        check_fields(value, "item", "style", "scheme", "judge")
        by.add(f"{value['scheme']} by {value['judge']}")
        if len(by) > 1:
            raise InputError(f"has {' and '.join(sorted(by))}; give those of one.", param="scheme", code="several")
        if value.get("score") is not None:
            style = check_style(check_text(value["style"], param="style"))
            found[check_id(value["item"], param="item")][style].append(_number(value["score"], "score"))

    read_lines(path, frozenset(), parse, "judgement")
    return {item: {style: fmean(each) for style, each in styles.items()} for item, styles in found.items()}
