"""Made-up judgements of style and ratings of people."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from eval.recorded.style.choices import StyleOptions, chosen
from eval.recorded.style.counts import Columns, columns_of
from eval.recorded.style.judged import StyleJudgements, read_judged
from eval.recorded.style.labels import DETECTION
from eval.recorded.style.people import Subject


@pytest.fixture
def corrected() -> StyleOptions:
    return chosen("corrected")


@pytest.fixture
def detected() -> Callable[..., dict[str, Any]]:
    """A line of a judge that looks for a style."""

    def make(item: str = "text 1", verdict: str = "present", **fields: Any) -> dict[str, Any]:
        line = {"kind": "detection", "item": item, "task": "email", "style": "storytelling", "scheme": "yes_no"}
        return line | {"judge": "Ann", "draw": 0, "verdict": verdict, "reply": "Answer: Yes"} | fields

    return make


@pytest.fixture
def ranked() -> Callable[..., dict[str, Any]]:
    """A line of a judge that compares two texts."""

    def make(item: str = "pair 1", verdict: str = "A", order: str | None = "ab", **fields: Any) -> dict[str, Any]:
        line = {"kind": "ranking", "item": item, "task": "email", "style": "storytelling", "scheme": "ab_style"}
        return line | {"judge": "Ann", "draw": 0, "order": order, "verdict": verdict, "reply": "Output (a)"} | fields

    return make


@pytest.fixture
def read(write_lines: Callable[..., Any]) -> Callable[[Iterable[dict[str, Any]]], StyleJudgements]:
    return lambda lines: read_judged([write_lines(lines, "judged.jsonl")])


@pytest.fixture
def columns(read: Callable[..., StyleJudgements], corrected: StyleOptions) -> Callable[..., Columns]:
    """Judgements beside what people say of each item, of the style of the fixtures above."""

    def make(lines: Iterable[dict[str, Any]], people: dict[str, str | None], kind: str = DETECTION) -> Columns:
        units = [unit for unit in read(lines).units if unit.key.kind == kind]
        styles = {unit.key.style for unit in units}
        labels = {Subject(kind, item, style): label for item, label in people.items() for style in styles}
        found = columns_of(kind, units, labels, corrected)
        assert found is not None
        return found

    return make
