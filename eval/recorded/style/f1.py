"""F1 of a judge against what people say: of "present" where a style is detected, the mean of the three labels' where
texts are ranked (the paper does not name its average; that chance comes to 33 only fits this one).

Dimensions in comments: K labels; confusions are (..., K * (K + 1)), people's label by the judge's, the last of the
judge's for none. What is divided by nothing is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eval.recorded.style.labels import DETECTION, RANKING
from eval.stats.proportions import ratio
from pearl.stats.bootstrap import Floats

BINARY, MACRO = "binary", "macro"
AVERAGES = {DETECTION: BINARY, RANKING: MACRO}


def f1(confusion: Floats, average: str, *, unlabelled_wrong: bool = False) -> Floats:
    """F1, (..., K * (K + 1)) -> (...); NaN without a case. The macro average leaves out labels that nobody gave."""
    of_labels = class_f1(confusion, unlabelled_wrong=unlabelled_wrong)
    if average == BINARY:
        return np.asarray(of_labels[..., 1])
    defined = np.isfinite(of_labels)
    return ratio(np.where(defined, of_labels, 0.0).sum(axis=-1), defined.sum(axis=-1))


def class_f1(confusion: Floats, *, unlabelled_wrong: bool = False) -> Floats:
    """2 TP / (people's + judge's) of each label: (..., K)."""
    table, labelled = _table(confusion), _labelled(confusion)
    people = (table if unlabelled_wrong else labelled).sum(axis=-1)
    return ratio(2 * np.diagonal(labelled, axis1=-2, axis2=-1), people + labelled.sum(axis=-2))


def accuracy(confusion: Floats) -> Floats:
    """Accuracy over the units that the judge has labelled: (...)."""
    labelled = _labelled(confusion)
    return ratio(np.trace(labelled, axis1=-2, axis2=-1), labelled.sum(axis=(-2, -1)))


def people_counts(confusion: Floats) -> Floats:
    """Counts of people's labels over the units that the judge has labelled: (..., K)."""
    return np.asarray(_labelled(confusion).sum(axis=-1))


def judge_counts(confusion: Floats) -> Floats:
    return np.asarray(_labelled(confusion).sum(axis=-2))


def unlabelled(confusion: Floats) -> Floats:
    """Count the units without a label of the judge: (...)."""
    return np.asarray(_table(confusion)[..., -1].sum(axis=-1))


def confusion_of(labels: Sequence[str], confusion: Floats) -> dict[str, dict[str, int]]:
    """The number of times the judge gives each label, or none, by people's label: from (K * (K + 1),)."""
    judged = (*labels, "no_label")
    return {
        label: dict(zip(judged, map(int, row), strict=True))
        for label, row in zip(labels, _table(confusion), strict=True)
    }


def f1_of_guesses(confusion: Floats, chance: Floats, average: str) -> Floats:
    """F1 to be expected of labels that are given by ``chance``, (K,), whatever the text: (...)."""
    guesses = people_counts(confusion)[..., :, None] * chance
    none = np.zeros((*guesses.shape[:-1], 1))
    return f1(np.concatenate((guesses, none), axis=-1).reshape(confusion.shape), average)


def _table(confusion: Floats) -> Floats:
    """Confusions as tables: (..., K, K + 1)."""
    size = int(np.sqrt(confusion.shape[-1]))
    return confusion.reshape(*confusion.shape[:-1], size, size + 1)


def _labelled(confusion: Floats) -> Floats:
    """Confusions as tables, without units that the judge has not labelled: (..., K, K)."""
    return np.asarray(_table(confusion)[..., :-1])
