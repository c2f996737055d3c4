"""Faults of the items of style detection, found before a judge sees them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from eval.judges.style_detect_items import StyleItem
from eval.recorded.style.styles import names_style
from eval.report.checks import BROKEN, NOTE, Finding

_ANSWER = re.compile(r"^[\s*_#>-]*(?:final\s+)?answer\s*[*_]*\s*:", re.IGNORECASE | re.MULTILINE)

Holds = Callable[[StyleItem], object]


def preflight(items: Sequence[StyleItem]) -> list[Finding]:
    """``records`` are line numbers."""
    same = Counter(_key(item) for item in items)
    texts: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for item in items:
        texts[item.id].add((item.task, _folded(item.text)))
    checks: tuple[tuple[str, str, str, Holds], ...] = (
        (
            "id_of_several_texts",
            BROKEN,
            "One id for different texts: ratings by people cannot be told apart.",
            lambda item: len(texts[item.id]) > 1,
        ),
        ("duplicate_text", NOTE, "A text with the same style more than once.", lambda item: same[_key(item)] > 1),
        (
            "names_the_style",
            NOTE,
            "The text names its style, as where a system repeats what it was asked for.",
            lambda item: names_style(item.text, [item.style]),
        ),
        (
            "answers_for_the_judge",
            NOTE,
            'The text holds a line that begins with "Answer:".',
            lambda item: _ANSWER.search(item.text),
        ),
    )
    found = [_finding(check, level, said, items, holds) for check, level, said, holds in checks]
    return [each for each in found if each.records]


def _finding(check: str, level: str, said: str, items: Sequence[StyleItem], holds: Holds) -> Finding:
    lines = tuple(item.line for item in items if holds(item))
    return Finding(check, level, lines, f"{said} {len(lines):,} of {len(items):,} items.")


def _key(item: StyleItem) -> tuple[str, str, str]:
    return item.task, item.style, _folded(item.text)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
