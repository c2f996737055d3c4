"""Rates of traits over texts, with intervals: Wilson's for a share of texts, otherwise by bootstrap over texts; a trait
found in no text has Wilson's upper end. Also the change that edits make to traits ("push"): the rates in sent texts
compared with the rates in their drafts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pearl.stats.bootstrap import Bootstrap, Floats
from pearl.stats.proportions import Interval, even_p, holm, wilson
from pearl.style.manner.trait import SHARE_OF_TEXTS, Trait
from pearl.style.manner.traits import TRAITS
from pearl.style.manner.writing import Writing

RESAMPLES = 1000
LEAST_PAIRS = 5


@dataclass(frozen=True, slots=True)
class Counts:
    """The count of each trait in each of some texts, with the bases of the traits' rates."""

    traits: tuple[Trait, ...]
    found: Floats  # how often each text has each trait, (N, F)
    bases: Floats  # what the trait's rate is taken of, such as the text's words, (N, F)

    @classmethod
    def of(cls, texts: Sequence[str], traits: tuple[Trait, ...] = TRAITS) -> Counts:
        taken_apart = map(Writing, texts)
        pairs = [[trait.counts(writing) for trait in traits] for writing in taken_apart]
        both = np.array(pairs, np.float64).reshape(len(texts), len(traits), 2)
        return cls(traits, both[:, :, 0], both[:, :, 1])

    def rates(self) -> Floats:
        """Return the rate of each trait over all texts, (F,); NaN where its base is 0."""
        return np.asarray(self._rates(self.found.sum(axis=0)[None], self.bases.sum(axis=0)[None])[0])

    def intervals(self) -> list[Interval | None]:
        """Return each trait's rate with its 95% interval; None where its base is 0."""
        if not len(self.found):
            return [None] * len(self.traits)
        resampled = self.resampled()
        return [
            _interval(trait, int(places), int(base), resampled[:, index])
            for index, (trait, places, base) in enumerate(
                zip(self.traits, self.found.sum(axis=0), self.bases.sum(axis=0), strict=True)
            )
        ]

    def resampled(self) -> Floats:
        """Return the rates on resamples of the texts, (R, F)."""
        bootstrap = Bootstrap([str(number) for number in range(len(self.found))], resamples=RESAMPLES)
        _, sums = bootstrap.totals(np.hstack((self.found, self.bases)))
        return self._rates(sums[:, : len(self.traits)], sums[:, len(self.traits) :])

    def _rates(self, places: Floats, bases: Floats) -> Floats:
        scales = np.array([trait.unit.scale for trait in self.traits])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(scales * places / np.where(bases > 0, bases, np.nan))


def _interval(trait: Trait, places: int, base: int, resampled: Floats) -> Interval | None:
    counted = wilson(min(places, base), base)
    if counted is None or trait.unit is SHARE_OF_TEXTS:
        return counted
    scale = trait.unit.scale
    if not places:
        return Interval(0.0, 0.0, scale * counted.high)
    value = scale * places / base
    low, high = np.nanpercentile(resampled, (2.5, 97.5))
    return Interval(value, min(float(low), value), max(float(high), value))


@dataclass(frozen=True, slots=True)
class Push:
    """The change that a user's edits make to a trait: its rate in drafts, and in the texts that were sent."""

    name: str
    label: str
    draft: float  # rate
    sent: float  # rate
    difference: Interval
    unit: str
    raised: int  # pairs
    lowered: int  # pairs
    p_value: float  # of the sign test
    p_corrected: float  # by Holm

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"difference": self.difference.to_json()}


def edit_effects(pairs: Sequence[tuple[str, str]]) -> list[Push]:
    """Return every trait that edits changed, by ascending p-value; none for fewer than LEAST_PAIRS (draft, sent)."""
    if len(pairs) < LEAST_PAIRS:
        return []
    drafts, sent = (Counts.of(texts) for texts in zip(*pairs, strict=True))
    scales = np.array([trait.unit.scale for trait in TRAITS])
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.nan_to_num(sent.found / sent.bases) - np.nan_to_num(drafts.found / drafts.bases)  # (N, F)
    raised, lowered = (steps > 0).sum(axis=0), (steps < 0).sum(axis=0)
    changed = [at for at in range(len(TRAITS)) if raised[at] + lowered[at]]
    p_values = [even_p(int(raised[at]), int(lowered[at])) for at in changed]
    bootstrap = Bootstrap([str(number) for number in range(len(pairs))], resamples=RESAMPLES)
    changed_traits = []
    for at, p_value, corrected in zip(changed, p_values, holm(p_values), strict=True):
        rates = [bootstrap.ratio(scales[at] * counts.found[:, at], counts.bases[:, at]) for counts in (sent, drafts)]
        difference = (rates[0] - rates[1]).interval
        if difference is None:
            continue
        trait, ups, downs = TRAITS[at], int(raised[at]), int(lowered[at])
        unit = f"share of {trait.unit.name}" if trait.unit.share else trait.unit.name
        shown = (rates[1].value, rates[0].value, difference, unit, ups, downs, p_value, corrected)
        changed_traits.append(Push(trait.name, trait.label, *shown))
    return sorted(changed_traits, key=lambda push: (push.p_value, push.name))
