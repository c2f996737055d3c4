"""Combining several answers on a text into one label: a judge's draws (repeated judgements), or people's ratings.

Detection has the labels absent and present; ranking has a, tie and b.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import TypeAlias

from eval.recorded.style import choices
from eval.recorded.style.choices import StyleOptions

DETECTION, RANKING = "detection", "ranking"
ABSENT, PRESENT = "absent", "present"
A, TIE, B = "a", "tie", "b"
LABELS: Mapping[str, tuple[str, ...]] = {DETECTION: (ABSENT, PRESENT), RANKING: (A, TIE, B)}

CANNOT_TELL = "cant_tell"
THREE = ("not", "somewhat", "very")  # labels of a style where more than its presence is told, the least first
# what people choose among, the least first, and the label each level stands for
LEVELS: Mapping[str, Mapping[str, str | None]] = {
    DETECTION: {"not": ABSENT, "somewhat": PRESENT, "very": PRESENT, CANNOT_TELL: None},
    RANKING: {"a_much": A, "a_slightly": A, TIE: TIE, "b_slightly": B, "b_much": B},
}
CAUTIOUS_LABEL = {DETECTION: ABSENT, RANKING: TIE}


# what is said in each part of a draw: in the order "ab" or "ba" of two texts, of text a or b that is scored, or in ""
Draw: TypeAlias = Mapping[str, str | float | None]


def label_of(kind: str, rating: str) -> str | None:
    """The label that a rating stands for; None for "can't tell". Raises KeyError for an unknown rating."""
    return rating if rating in LABELS[kind] else LEVELS[kind][rating]


@dataclass(frozen=True, slots=True)
class DrawLabels:
    """A judge's label of a text or pair of texts, with the labels of the single draws."""

    label: str | None
    draws: tuple[str | None, ...]  # label of each draw
    votes: Mapping[str, int]  # draws by label, NO_LABEL included
    means: tuple[float, float] | None  # mean scores of both texts


def label_draws(kind: str, draws: Sequence[Draw], half: str, even: str) -> DrawLabels:
    """Combine draws into one label, by the higher mean score or, without scores, by the votes of the draws."""
    labels = tuple(draw_label(draw, half) for draw in draws)
    means = mean_scores(part for draw in draws for part in draw.items())
    votes = {name: labels.count(name) for name in LABELS[kind]}
    label = scored_label(*means) if means else winner(kind, votes, even)
    return DrawLabels(label, labels, {**votes, choices.NO_LABEL: labels.count(None)}, means)


def ratings_label(kind: str, counts: Mapping[str, int], options: StyleOptions) -> str | None:
    """People's label of a text, from the number of raters by level; None if the vote is undecided."""
    counted = counted_ratings(counts, options)
    if options.votes == choices.LABELS_FIRST:
        labels: Counter[str] = Counter()
        for level, count in counted.items():
            labels[label_of(kind, level) or CANNOT_TELL] += count
        return winner(kind, labels, options.even)
    return winner(kind, counted, options.even)


def counted_ratings(counts: Mapping[str, int], options: StyleOptions) -> dict[str, int]:
    """The number of raters by level; "can't tell" is left out, or counted as another level, as the options say."""
    counted = {level: count for level, count in counts.items() if level != CANNOT_TELL}
    unsure = counts.get(CANNOT_TELL, 0)
    if options.cant_tell == choices.LEFT_OUT or not unsure:
        return counted
    takes = CANNOT_TELL
    if options.cant_tell == choices.ABSENT_VOTE:
        takes = ABSENT if ABSENT in counts or PRESENT in counts else "not"
    counted[takes] = counted.get(takes, 0) + unsure
    return counted


def winner(kind: str, counts: Mapping[str, int], even: str) -> str | None:
    """The label with most votes; None if undecided. Tied levels that stand for the same label are no tie."""
    most = max(counts.values(), default=0)
    if not most:
        return None
    labels = {label_of(kind, name) for name, count in counts.items() if count == most}
    if len(labels) == 1:
        return labels.pop()
    return CAUTIOUS_LABEL[kind] if even == choices.CAUTIOUS else None


def draw_label(draw: Draw, half: str = choices.DROPPED) -> str | None:
    """Return the label of one draw; None if a part has no answer. It is a tie if the two orders of the texts give
    different labels, and with ``half`` TIES also if only one order was answered."""
    if "" in draw:
        said = draw[""]
        return said if isinstance(said, str) else None
    first, second = draw.get(A), draw.get(B)
    if isinstance(first, float) and isinstance(second, float):
        return scored_label(first, second)
    taken = [said for order in ("ab", "ba") if isinstance(said := draw.get(order), str)]
    if len(taken) == 2:
        return taken[0] if taken[0] == taken[1] else TIE
    return TIE if taken and half == choices.TIES else None


def mean_scores(said: Iterable[tuple[str, str | float | None]]) -> tuple[float, float] | None:
    """The mean score of text a and the mean score of text b over all draws; None if a text has no score."""
    scores: dict[str, list[float]] = {A: [], B: []}
    for part, score in said:
        if part in scores and isinstance(score, float):
            scores[part].append(score)
    return (mean(scores[A]), mean(scores[B])) if scores[A] and scores[B] else None


def scored_label(score_a: float, score_b: float) -> str:
    """The label of the text with the higher score; a tie if the scores are equal up to rounding errors."""
    if math.isclose(score_a, score_b, rel_tol=1e-9, abs_tol=1e-9):
        return TIE
    return A if score_a > score_b else B


def majority(counts: Mapping[str, int], even: str, labels: Sequence[str]) -> str | None:
    """The label with the most votes; None without votes. A tie gives None or, if ``even`` is CAUTIOUS, the tied label
    that comes first in ``labels``."""
    most = max(counts.values(), default=0)
    first = [label for label in labels if most and counts.get(label) == most]
    return first[0] if len(first) == 1 or (first and even == choices.CAUTIOUS) else None
