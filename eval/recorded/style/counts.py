"""Counts of labels by people and by a judge, by groups of units, in all and in every resample of the texts.

Dimensions in comments: N units, U texts, G groups, K labels, R resamples. A code K is no label.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from eval.recorded.style.choices import StyleChoices
from eval.recorded.style.judged import Unit
from eval.recorded.style.labels import LABELS
from eval.recorded.style.people import Subject
from pearl.stats import Bootstrap, Floats

Places = NDArray[np.intp]
NameT = TypeVar("NameT", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums in all, (G, F), and in each resample, (R, G, F)."""

    value: Floats
    resampled: Floats

    def of(self, group: int) -> Totals:
        """One group, as (1, F) and (R, 1, F)."""
        return Totals(self.value[group : group + 1], self.resampled[:, group : group + 1])


class Texts:
    """The texts of some units are what is drawn: what is said of one text is not independent."""

    def __init__(self, items: Sequence[str], *, resamples: int, seed: int) -> None:
        known = {item: place for place, item in enumerate(dict.fromkeys(items))}
        self._place = np.array([known[item] for item in items], np.intp)  # (N,)
        self.size = len(known)
        self._bootstrap = Bootstrap([str(place) for place in range(self.size)], resamples=resamples, seed=seed)

    def totals(self, group: Places, groups: int, features: Floats) -> Totals:
        """The sums of features (N, F) by ``group`` (N,), -1 for units that are in none."""
        width = features.shape[1]
        inside = group >= 0
        sums = np.zeros((self.size, groups, width))  # (U, G, F)
        np.add.at(sums, (self._place[inside], group[inside]), features[inside])
        value, resampled = self._bootstrap.totals(sums.reshape(self.size, -1))
        return Totals(value.reshape(groups, width), resampled.reshape(-1, groups, width))


@dataclass(frozen=True, slots=True)
class Columns:
    """Units of one kind beside what people said of the same: ``said`` and ``gold`` are codes of its labels, (N,).

    Units that people have no label for are not among them."""

    kind: str
    units: tuple[Unit, ...]
    said: Places
    gold: Places
    texts: Texts

    @property
    def labels(self) -> tuple[str, ...]:
        return LABELS[self.kind]

    def confusion(self, group: Places, groups: int) -> Totals:
        """Counts of label i by people with j by the judge, the last j for none: F is K * (K + 1)."""
        size = len(self.labels)
        codes = self.gold * (size + 1) + self.said
        return self.texts.totals(group, groups, np.eye(size * (size + 1))[codes])


def columns_of(
    kind: str,
    units: Sequence[Unit],
    people: Mapping[Subject, str | None],
    choices: StyleChoices,
    *,
    resamples: int,
    seed: int,
) -> Columns | None:
    """None where people say nothing of any."""
    labels = LABELS[kind]
    found = [(unit, people.get(subject_of(unit))) for unit in units]
    matched = [(unit, gold) for unit, gold in found if gold is not None]
    if not matched:
        return None
    said = [unit.label(choices) for unit, _ in matched]
    return Columns(
        kind=kind,
        units=tuple(unit for unit, _ in matched),
        said=np.array([len(labels) if label is None else labels.index(label) for label in said], np.intp),
        gold=np.array([labels.index(gold) for _, gold in matched], np.intp),
        texts=Texts([unit.key.item for unit, _ in matched], resamples=resamples, seed=seed),
    )


def subject_of(unit: Unit) -> Subject:
    return Subject(unit.key.kind, unit.key.item, unit.key.style)


def grouped(names: Sequence[NameT | None]) -> tuple[list[NameT], Places]:
    """The different names, sorted as text, and the place of each; -1 for None."""
    known = sorted({name for name in names if name is not None}, key=str)
    place = {name: i for i, name in enumerate(known)}
    return known, np.array([-1 if name is None else place[name] for name in names], np.intp)
