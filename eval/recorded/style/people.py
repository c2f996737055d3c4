"""Reading people's ratings of styles: JSON Lines, optionally gzipped, with one rating by one rater per line.

``{"item", "style", "rater", "label", "justification"?}``; ``label`` is a level of detection (very, somewhat, not,
cant_tell) or of ranking (a_much, a_slightly, tie, b_slightly, b_much), or the label itself (present, absent; a, tie,
b).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eval.asking.json_lines import check_fields, check_once, optional_string, read_lines
from eval.recorded.style.choices import OWN_VOTE, StyleOptions
from eval.recorded.style.labels import (
    CANNOT_TELL,
    DETECTION,
    LABELS,
    LEVELS,
    THREE,
    TIE,
    counted_ratings,
    majority,
    ratings_label,
)
from eval.recorded.style.lines import style_key
from eval.stats.ratings import is_missing
from pearl.errors import InputError
from pearl.stats.bootstrap import Floats
from pearl.text.usable import check_id

FIELDS = frozenset({"item", "style", "rater", "label", "justification"})
KINDS: Mapping[str, str] = {
    **{name: kind for kind, levels in LEVELS.items() for name in levels},
    **{name: kind for kind, labels in LABELS.items() for name in labels},
}
EITHER = (TIE, CANNOT_TELL)  # are of both scales


@dataclass(frozen=True, slots=True)
class Subject:
    """A rated unit: a text or pair of texts, and a style."""

    kind: str
    item: str
    style: str


@dataclass(frozen=True, slots=True)
class People:
    """The ratings of a file, as the number of raters by level."""

    ratings: Mapping[Subject, Mapping[str, int]]  # number of raters by level
    scales: Mapping[str, tuple[str, ...]]  # by kind, the levels that could be given
    raters: int
    lines: int
    justifications: tuple[tuple[Subject, str, str], ...]
    passed_over: Mapping[str, int]
    missing: int = 0  # lines that say that there is no rating

    def labels(self, options: StyleOptions) -> dict[Subject, str | None]:
        return {subject: ratings_label(subject.kind, counts, options) for subject, counts in self.ratings.items()}

    def levels(self, options: StyleOptions) -> dict[Subject, str | None]:
        """People's level of each text: not, somewhat or very. Empty if the file has no levels."""
        if self.scales.get(DETECTION, ())[:3] != THREE:
            return {}
        return {
            subject: majority(counted_ratings(counts, options), options.even, THREE)
            for subject, counts in self.ratings.items()
            if subject.kind == DETECTION
        }

    def votes(self, subjects: Sequence[Subject], scale: Sequence[str], options: StyleOptions) -> Floats:
        """The number of raters who gave each level of the scale: (subjects, levels)."""
        counts = [counted_ratings(self.ratings[subject], options) for subject in subjects]
        return np.array([[of_subject.get(level, 0) for level in scale] for of_subject in counts], float)

    def scale(self, kind: str, options: StyleOptions) -> tuple[str, ...]:
        """The levels that count as votes, in ascending order."""
        levels = tuple(level for level in self.scales[kind] if level != CANNOT_TELL)
        return (*levels, CANNOT_TELL) if kind == DETECTION and options.cant_tell == OWN_VOTE else levels


NOBODY = People({}, {}, 0, 0, (), {})


def read_people(path: Path) -> People:
    """Read the ratings of a file. Raises InputError that names file, line and field of the first bad rating."""
    ratings: dict[Subject, Counter[str]] = defaultdict(Counter)
    rated: dict[tuple[Subject, str], int] = {}
    scales: dict[str, tuple[str, int]] = {}  # whether a kind has levels or labels, as of which line
    justifications: list[tuple[Subject, str, str]] = []
    missing: list[int] = []  # lines

    def read(value: dict[str, Any], number: int) -> None:
        check_fields(value, "item", "rater", "label")
        label = value["label"]
        if is_missing(label):
            missing.append(number)
            return
        kind = KINDS.get(label) if isinstance(label, str) else None
        if kind is None:
            raise InputError(f"must be one of {', '.join(KINDS)}.", param="label")
        subject = Subject(kind, check_id(value["item"], param="item"), style_key(value))
        rater = check_id(value["rater"], param="rater")
        what = f"'{rater}' rated the item '{subject.item}'"
        check_once(rated, (subject, rater), number, what, param="rater")
        _check_scale(kind, label, scales, number)
        ratings[subject][label] += 1
        if why := optional_string(value, "justification"):
            justifications.append((subject, label, why))

    passed_over = read_lines(path, FIELDS, read, "rating").passed_over
    return People(
        ratings=dict(ratings),
        scales={
            kind: tuple(LEVELS[kind] if scale == "levels" else LABELS[kind]) for kind, (scale, _) in scales.items()
        },
        raters=len({rater for _, rater in rated}),
        lines=len(rated),
        justifications=tuple(justifications),
        passed_over=passed_over,
        missing=len(missing),
    )


def _check_scale(kind: str, label: str, scales: dict[str, tuple[str, int]], number: int) -> None:
    """Raises InputError if a file has both levels and labels, which cannot be compared."""
    scale = "" if label in EITHER else "levels" if label in LEVELS[kind] else "labels"
    known, line = scales.setdefault(kind, (scale, number))
    if known and scale and known != scale:
        raise InputError(
            f"'{label}' is of the {scale}, and line {line} has one of the {known}; use one scale in a file.",
            param="label",
        )
    if not known:
        scales[kind] = scale, number
