"""One label from draws or ratings: a judge's of a text from all its draws, people's from their ratings.

Detection has the labels absent and present, ranking a, tie and b.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from eval.recorded.style.choices import ABSENT_VOTE, CAUTIOUS, LABELS_FIRST, LEFT_OUT, StyleChoices

DETECTION, RANKING = "detection", "ranking"
ABSENT, PRESENT = "absent", "present"
A, TIE, B = "a", "tie", "b"
LABELS: Mapping[str, tuple[str, ...]] = {DETECTION: (ABSENT, PRESENT), RANKING: (A, TIE, B)}

CANNOT_TELL = "cant_tell"
# what people choose among, the least first, and the label each level stands for
LEVELS: Mapping[str, Mapping[str, str | None]] = {
    DETECTION: {"not": ABSENT, "somewhat": PRESENT, "very": PRESENT, CANNOT_TELL: None},
    RANKING: {"a_much": A, "a_slightly": A, TIE: TIE, "b_slightly": B, "b_much": B},
}
CAUTIOUS_LABEL = {DETECTION: ABSENT, RANKING: TIE}


def label_of(kind: str, rating: str) -> str | None:
    """The label a rating stands for, None of can't tell. Raises KeyError where it is neither level nor label."""
    return rating if rating in LABELS[kind] else LEVELS[kind][rating]


def draws_label(kind: str, counts: Mapping[str, int], choices: StyleChoices) -> str | None:
    """The label that most draws of a judge gave; None without any, and of an even vote where that gives none."""
    return _winner(kind, counts, choices)


def ratings_label(kind: str, counts: Mapping[str, int], choices: StyleChoices) -> str | None:
    """The label of people, from the number who gave each level; None without a winner."""
    counted = counted_ratings(counts, choices)
    if choices.votes == LABELS_FIRST:
        labels: Counter[str] = Counter()
        for level, count in counted.items():
            labels[label_of(kind, level) or CANNOT_TELL] += count
        return _winner(kind, labels, choices)
    return _winner(kind, counted, choices)


def counted_ratings(counts: Mapping[str, int], choices: StyleChoices) -> dict[str, int]:
    """The votes, after what was chosen for can't tell."""
    counted = {level: count for level, count in counts.items() if level != CANNOT_TELL}
    unsure = counts.get(CANNOT_TELL, 0)
    if choices.cant_tell == LEFT_OUT or not unsure:
        return counted
    takes = CANNOT_TELL
    if choices.cant_tell == ABSENT_VOTE:
        takes = ABSENT if ABSENT in counts or PRESENT in counts else "not"
    counted[takes] = counted.get(takes, 0) + unsure
    return counted


def _winner(kind: str, counts: Mapping[str, int], choices: StyleChoices) -> str | None:
    """The label of the most common; levels that are equally common are no even vote where their label is the same."""
    most = max(counts.values(), default=0)
    if not most:
        return None
    labels = {label_of(kind, name) for name, count in counts.items() if count == most}
    if len(labels) == 1:
        return labels.pop()
    return CAUTIOUS_LABEL[kind] if choices.even == CAUTIOUS else None


def ordered_label(answers: Mapping[str, str]) -> str | None:
    """One draw of an AB comparison, from the text taken in each order ("ab", "ba"): a tie where they disagree.

    None where one of the two orders has no answer.
    """
    first, second = answers.get("ab"), answers.get("ba")
    if first is None or second is None:
        return None
    return first if first == second else TIE


def scored_label(score_a: float, score_b: float) -> str:
    """The higher score wins; means of the same whole numbers are equal, however they were added."""
    if math.isclose(score_a, score_b, rel_tol=1e-9, abs_tol=1e-9):
        return TIE
    return A if score_a > score_b else B


def majority(counts: Mapping[str, int], even: str, labels: Sequence[str]) -> str | None:
    """The label of most draws. Of an even vote none, or with CAUTIOUS the one that claims less (first of ``labels``);
    none without any vote."""
    most = max(counts.values(), default=0)
    first = [label for label in labels if most and counts.get(label) == most]
    return first[0] if len(first) == 1 or (first and even == CAUTIOUS) else None
