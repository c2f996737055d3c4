"""Faults of the items, found before a judge sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from eval.asking.lines import folded
from eval.judges.authorship_items import Item, Items
from eval.report.finding import BROKEN, NOTE, Finding


def _same(item: Item) -> bool:
    return folded(item.texts[0]) == folded(item.texts[1])


def _contains_reference(item: Item) -> bool:
    reference = folded(item.reference)
    return any(reference in text and reference != text for text in map(folded, item.texts))


SINGLE: tuple[tuple[str, str, str, Callable[[Item], object]], ...] = (
    (
        "identical_candidates",
        BROKEN,
        "Both drafts are the same, so there is nothing to tell.",
        _same,
    ),
    ("empty_candidate", BROKEN, "A draft of nothing.", lambda item: not all(map(folded, item.texts))),
    (
        "candidate_is_reference",
        BROKEN,
        "A draft is the reference itself: was the target in the history?",
        lambda item: folded(item.reference) in map(folded, item.texts),
    ),
    (
        "candidate_contains_reference",
        NOTE,
        "The reference stands within a draft.",
        _contains_reference,
    ),
)


def preflight(items: Items) -> list[Finding]:
    """``records`` are line numbers."""
    shared = Counter(folded(item.reference) for item in items.items)
    checks = (
        *SINGLE,
        (
            "same_reference",
            NOTE,
            "One reference for several items.",
            lambda item: shared[folded(item.reference)] > 1,
        ),
    )
    found = [_finding(check, level, said, items.items, holds) for check, level, said, holds in checks]
    return [each for each in found if each.records]


def _finding(check: str, level: str, said: str, items: tuple[Item, ...], holds: Callable[[Item], object]) -> Finding:
    lines = tuple(item.line for item in items if holds(item))
    return Finding(check, level, lines, f"{said} {len(lines):,} of {len(items):,} items.")
