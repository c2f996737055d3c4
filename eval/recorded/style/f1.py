"""F1 of a judge against what people say: of "present" where a style is detected, the mean of the three labels' where
texts are ranked (the paper does not name its average; that chance comes to 33 only fits this one).

Dimensions in comments: K labels, R resamples; confusions are (..., K * (K + 1)), people's label by the judge's, the
last of the judge's for none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eval.recorded.style.counts import Totals
from eval.recorded.style.labels import DETECTION, LABELS, PRESENT, RANKING, TIE
from pearl.stats import Estimate, Floats

BINARY, MACRO = "binary", "macro"
AVERAGES = {DETECTION: BINARY, RANKING: MACRO}
NO_CASE = "neither people nor the judge say so of any"

Fold = Callable[[Floats], Floats]


def f1(confusion: Floats, average: str, *, unlabelled_wrong: bool = False) -> Floats:
    """(..., K * (K + 1)) -> (...); NaN without a case. Labels that nobody gave are no part of the macro average."""
    each = class_f1(confusion, unlabelled_wrong=unlabelled_wrong)
    if average == BINARY:
        return np.asarray(each[..., 1])
    there = np.isfinite(each)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(there, each, 0.0).sum(axis=-1) / there.sum(axis=-1))


def class_f1(confusion: Floats, *, unlabelled_wrong: bool = False) -> Floats:
    """2 TP / (people's + judge's) of each label: (..., K)."""
    table = _table(confusion)
    size = table.shape[-2]
    right = np.diagonal(table[..., :size], axis1=-2, axis2=-1)
    people = (table if unlabelled_wrong else table[..., :size]).sum(axis=-1)
    judge = table[..., :size].sum(axis=-2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(2 * right / (people + judge))


def accuracy(confusion: Floats) -> Floats:
    """Accuracy over the units that the judge has labelled: (...)."""
    table = _table(confusion)[..., :-1]
    right = np.diagonal(table, axis1=-2, axis2=-1).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(right / table.sum(axis=(-2, -1)))


def people_counts(confusion: Floats) -> Floats:
    """Counts of people's labels over the units that the judge has labelled: (..., K)."""
    return np.asarray(_table(confusion)[..., :-1].sum(axis=-1))


def judge_counts(confusion: Floats) -> Floats:
    return np.asarray(_table(confusion)[..., :-1].sum(axis=-2))


def unlabelled(confusion: Floats) -> Floats:
    """Count the units without a label of the judge: (...)."""
    return np.asarray(_table(confusion)[..., -1].sum(axis=-1))


def _table(confusion: Floats) -> Floats:
    """(..., K, K + 1)"""
    size = int(np.sqrt(confusion.shape[-1]))
    return confusion.reshape(*confusion.shape[:-1], size, size + 1)


def estimate(totals: Totals, fold: Fold) -> Estimate:
    """The estimate of a fold over one group."""
    return Estimate(float(fold(totals.value)[0]), fold(totals.resampled)[:, 0])


RULES = {
    "majority": "always the label that people give most",
    "always_present": "always present",
    "always_tie": "always a tie",
    "random": "every label as likely as the others",
    "random_as_people": "labels as likely as people give them",
}


def rule_folds(kind: str, people: Floats) -> dict[str, Fold]:
    """F1 of what needs no judge, from a judge's confusion; of chance what is expected of it. ``people`` (K,) says what
    is most common."""
    labels = LABELS[kind]
    size = len(labels)
    chances = {"majority": np.eye(size)[int(people.argmax())]}
    if kind == DETECTION:
        chances["always_present"] = np.eye(size)[labels.index(PRESENT)]
    else:
        chances["always_tie"] = np.eye(size)[labels.index(TIE)]
    chances["random"] = np.full(size, 1 / size)
    chances["random_as_people"] = people / people.sum()

    def fold_of(chance: Floats) -> Fold:
        def fold(confusion: Floats) -> Floats:
            there = people_counts(confusion)[..., :, None] * chance
            none = np.zeros((*there.shape[:-1], 1))
            guessed = np.concatenate((there, none), axis=-1)
            return f1(guessed.reshape(*confusion.shape), AVERAGES[kind])

        return fold

    return {name: fold_of(chance) for name, chance in chances.items()}


def measured(kind: str, totals: Totals) -> dict[str, Any]:
    """The figures of one group, (1, F) and (R, 1, F); null where F1 is undefined, with the reason."""
    average = AVERAGES[kind]
    found = estimate(totals, lambda each: f1(each, average))
    people = people_counts(totals.value)[0]
    labels = LABELS[kind]
    row = {
        "n": int(people.sum()),
        "no_label": int(unlabelled(totals.value)[0]),
        "average": average,
        "f1": found.to_json(),
        "f1_no_label_wrong": estimate(totals, lambda each: f1(each, average, unlabelled_wrong=True)).to_json(),
        "f1_by_label": dict(zip(labels, map(_or_none, class_f1(totals.value)[0]), strict=True)),
        "accuracy": estimate(totals, accuracy).to_json(),
        "labels": frequencies(labels, totals),
    }
    if row["f1"] is None:
        return row | {"undefined": NO_CASE, "baselines": {}, "less_baseline": None}
    rules = {name: estimate(totals, fold) for name, fold in rule_folds(kind, people).items()}
    best = max(rules, key=lambda name: rules[name].value if np.isfinite(rules[name].value) else -1.0)
    difference = (found - rules[best]).to_json()
    return row | {
        "baselines": {name: _or_none(each.value) for name, each in rules.items()},
        "less_baseline": None if difference is None else difference | {"against": best},
    }


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def frequencies(labels: tuple[str, ...], totals: Totals) -> dict[str, Any]:
    """The frequency of each label by judge and by people, over the units both have labelled."""
    return {
        label: {
            "judge": _or_none(_share(judge_counts(totals.value), place)[0]),
            "people": _or_none(_share(people_counts(totals.value), place)[0]),
            "difference": estimate(
                totals,
                lambda each, place=place: _share(judge_counts(each), place) - _share(people_counts(each), place),  # type: ignore[misc]
            ).to_json(),
        }
        for place, label in enumerate(labels)
    }


def _share(counts: Floats, place: int) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(counts[..., place] / counts.sum(axis=-1))
