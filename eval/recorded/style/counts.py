"""Confusions of people's labels with the judge's labels, for groups of units: over all units and in every resample of
the texts.

F1 is of the label "present" for detection, and the mean of the three labels' F1 for ranking (the paper does not say
which; only this mean gives its 33 for chance).

Dimensions in comments: N units, U texts, G groups, F features, K labels, R resamples. Code K means no label. Confusions
are (..., K * (K + 1)), people's label by the judge's label; the last column is for no label.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from eval.recorded.style.choices import StyleOptions
from eval.recorded.style.judged import JudgedUnit
from eval.recorded.style.labels import DETECTION, LABELS, RANKING
from eval.recorded.style.people import Subject
from eval.stats.proportions import ratio
from pearl.stats.bootstrap import Bootstrap, Estimate, Floats, drawn

NameT = TypeVar("NameT", bound=Hashable)
BINARY, MACRO = "binary", "macro"
AVERAGES = {DETECTION: BINARY, RANKING: MACRO}
UNDEFINED = Estimate(np.nan, np.array([np.nan]))


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of features over a group of units: over all units (``value``, (F,)), and in each resample, (R, F)."""

    value: Floats
    resampled: Floats

    def estimate(self, fold: Callable[[Floats], Floats]) -> Estimate:
        """Estimate a statistic with its interval; ``fold`` computes it from sums, (..., F) -> (...)."""
        return Estimate(float(fold(self.value)), fold(self.resampled))


class Texts:
    """Resamples of the units' texts (of their requests, for ranked texts), as labels of a text are dependent."""

    @classmethod
    def of(cls, units: Sequence[JudgedUnit]) -> Texts:
        """Resample by request; by text if all units have one request, or by style if all units have one text."""
        subjects = [unit.subject for unit in units]
        return cls(drawn([unit.cluster for unit in units], [one.item for one in subjects], list(map(str, subjects))))

    def __init__(self, items: Sequence[str]) -> None:
        known = {item: index for index, item in enumerate(dict.fromkeys(items))}
        self._text = np.array([known[item] for item in items], np.intp)  # index of each unit's text, (N,)
        self._size = len(known)
        texts = [str(index) for index in range(self._size)]
        self._bootstrap = Bootstrap(texts)

    def sums(self, keys: Sequence[NameT | None], features: Floats) -> dict[NameT, Sums]:
        """Sum the features, (N, F), over the units of each key. ``keys``: (N,); units with the key None are ignored."""
        names = sorted({key for key in keys if key is not None}, key=str)
        if not names:
            return {}
        indices = {name: i for i, name in enumerate(names)}
        inside = np.array([key is not None for key in keys])
        group = np.array([indices[key] for key in keys if key is not None])
        sums = np.zeros((self._size, len(names), features.shape[1]))  # (U, G, F)
        np.add.at(sums, (self._text[inside], group), features[inside])
        value, resampled = self._bootstrap.totals(sums.reshape(self._size, -1))
        value, resampled = value.reshape(sums.shape[1:]), resampled.reshape(-1, *sums.shape[1:])
        return {name: Sums(value[i], resampled[:, i]) for name, i in indices.items()}


@dataclass(frozen=True, slots=True)
class Columns:
    """Units of one kind that people have labelled, with the judge's labels (``said``) and people's (``gold``)."""

    kind: str
    labels: tuple[str, ...]
    average: str  # BINARY or MACRO
    units: tuple[JudgedUnit, ...]
    said: NDArray[np.intp]  # index of the judge's label, K for none, (N,)
    gold: NDArray[np.intp]  # index of people's label, (N,)
    texts: Texts

    @property
    def schemes(self) -> list[str]:
        return sorted({unit.key.scheme for unit in self.units})

    def confusions(self, keys: Sequence[NameT | None]) -> dict[NameT, Sums]:
        """For each key, counts of people's label i with the judge's label j; the last j is for no label."""
        size = len(self.labels)
        codes = self.gold * (size + 1) + self.said
        return self.texts.sums(keys, np.eye(size * (size + 1))[codes])

    def f1(self, keys: Sequence[NameT | None]) -> dict[NameT, Estimate]:
        fold = partial(f1, average=self.average)
        return {key: sums.estimate(fold) for key, sums in self.confusions(keys).items()}


def columns_of(
    kind: str, units: Sequence[JudgedUnit], people: Mapping[Subject, str | None], options: StyleOptions
) -> Columns | None:
    """The judges' and people's labels of the units that people have labelled; None if there are no such units."""
    rated = [unit for unit in units if people.get(unit.subject) is not None]
    said = [unit.label(options) for unit in rated]
    return columns_with(kind, LABELS[kind], AVERAGES[kind], rated, said, people, options) if rated else None


def columns_with(
    kind: str,
    labels: tuple[str, ...],
    average: str,
    units: Sequence[JudgedUnit],
    said: Sequence[str | None],
    people: Mapping[Subject, str | None],
    options: StyleOptions,
) -> Columns:
    """Make columns of units that people have labelled; ``said``: the judge's label of each unit, None for no label."""
    golds = [people[unit.subject] or "" for unit in units]
    return Columns(
        kind=kind,
        labels=labels,
        average=average,
        units=tuple(units),
        said=np.array([len(labels) if label is None else labels.index(label) for label in said], np.intp),
        gold=np.array([labels.index(gold) for gold in golds], np.intp),
        texts=Texts.of(units),
    )


def mean_of(estimates: Iterable[Estimate]) -> Estimate:
    """The mean of the estimates that have a value, with its resamples; UNDEFINED if no estimate has a value."""
    defined = [estimate for estimate in estimates if np.isfinite(estimate.value)]
    if not defined:
        return UNDEFINED
    value = np.mean([estimate.value for estimate in defined])
    return Estimate(float(value), np.mean([estimate.resampled for estimate in defined], axis=0))


def standard_error(estimates: Iterable[Estimate]) -> float | None:
    """The standard error of the mean of the estimates; None for fewer than two values."""
    values = [estimate.value for estimate in estimates if np.isfinite(estimate.value)]
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def f1(confusion: Floats, average: str, *, unlabelled_wrong: bool = False) -> Floats:
    """F1 of confusions, (..., K * (K + 1)) -> (...); NaN if undefined. Macro F1 leaves out labels nobody gave."""
    of_labels = class_f1(confusion, unlabelled_wrong=unlabelled_wrong)
    if average == BINARY:
        return np.asarray(of_labels[..., 1])
    defined = np.isfinite(of_labels)
    return ratio(np.where(defined, of_labels, 0.0).sum(axis=-1), defined.sum(axis=-1))


def class_f1(confusion: Floats, *, unlabelled_wrong: bool = False) -> Floats:
    """F1 of each label, 2 TP / (people's count + judge's count): (..., K)."""
    table, labelled = _table(confusion), _labelled(confusion)
    people = (table if unlabelled_wrong else labelled).sum(axis=-1)
    return ratio(2 * np.diagonal(labelled, axis1=-2, axis2=-1), people + labelled.sum(axis=-2))


def accuracy(confusion: Floats) -> Floats:
    """The judge's accuracy over the units that it has labelled: (..., K * (K + 1)) -> (...)."""
    labelled = _labelled(confusion)
    return ratio(np.trace(labelled, axis1=-2, axis2=-1), labelled.sum(axis=(-2, -1)))


def people_counts(confusion: Floats) -> Floats:
    """Count people's labels over the units that the judge has labelled: (..., K * (K + 1)) -> (..., K)."""
    return np.asarray(_labelled(confusion).sum(axis=-1))


def judge_counts(confusion: Floats) -> Floats:
    return np.asarray(_labelled(confusion).sum(axis=-2))


def unlabelled(confusion: Floats) -> Floats:
    """The number of units without a label by the judge: (..., K * (K + 1)) -> (...)."""
    return np.asarray(_table(confusion)[..., -1].sum(axis=-1))


def confusion_of(labels: Sequence[str], confusion: Floats) -> dict[str, dict[str, int]]:
    """A confusion, (K * (K + 1),), by names: for each label of people, how often the judge gives each label."""
    judged = (*labels, "no_label")
    return {
        label: dict(zip(judged, map(int, row), strict=True))
        for label, row in zip(labels, _table(confusion), strict=True)
    }


def f1_of_guesses(confusion: Floats, chance: Floats, average: str) -> Floats:
    """The expected F1 of random labels, drawn with the probabilities ``chance``, (K,): (...)."""
    guesses = people_counts(confusion)[..., :, None] * chance
    none = np.zeros((*guesses.shape[:-1], 1))
    return f1(np.concatenate((guesses, none), axis=-1).reshape(confusion.shape), average)


def _table(confusion: Floats) -> Floats:
    """Reshape confusions to tables: (..., K, K + 1)."""
    size = int(np.sqrt(confusion.shape[-1]))
    return confusion.reshape(*confusion.shape[:-1], size, size + 1)


def _labelled(confusion: Floats) -> Floats:
    """Reshape confusions to tables without the column for no label: (..., K, K)."""
    return np.asarray(_table(confusion)[..., :-1])
