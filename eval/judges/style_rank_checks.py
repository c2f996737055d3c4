"""Faults of pairs of texts, found before a judge of styles sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from eval.asking.lines import folded
from eval.judges.style_rank_items import RankItem
from eval.recorded.style.styles import names_style
from eval.report.checks import BROKEN, NOTE, Finding

Check = tuple[str, str, str, Callable[[RankItem], object]]

SINGLE: tuple[Check, ...] = (
    (
        "identical_texts",
        BROKEN,
        "Both texts are the same, so there is nothing to tell.",
        lambda item: folded(item.texts[0]) == folded(item.texts[1]),
    ),
    (
        "text_is_request",
        NOTE,
        "A text is the request itself.",
        lambda item: folded(item.request) in map(folded, item.texts),
    ),
    (
        "style_named",
        NOTE,
        "A text names a style that it is judged by, which tells the judge without showing it.",
        lambda item: any(names_style(text, item.styles) for text in item.texts),
    ),
)


def preflight(items: Sequence[RankItem]) -> list[Finding]:
    """``records`` are line numbers."""
    pairs = Counter(map(_pair, items))
    again = ("same_pair", NOTE, "The same two texts for the same styles again.", lambda item: pairs[_pair(item)] > 1)
    found = [_finding(*check, items) for check in (*SINGLE, again)]
    return [each for each in found if each.records]


def _pair(item: RankItem) -> tuple[str, ...]:
    return (item.cluster, *sorted(item.styles), "", *sorted(map(folded, item.texts)))


def _finding(
    check: str, level: str, said: str, holds: Callable[[RankItem], object], items: Iterable[RankItem]
) -> Finding:
    every = list(items)
    lines = tuple(item.line for item in every if holds(item))
    return Finding(check, level, lines, f"{said} {len(lines):,} of {len(every):,} items.")
