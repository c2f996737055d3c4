"""The push of edits: how the texts that were sent differ from the drafts, trait by trait, over pairs of the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pearl.manner.rates import RESAMPLES, Counts
from pearl.manner.traits import TRAITS
from pearl.stats.bootstrap import Bootstrap
from pearl.stats.proportions import Interval, even_p, holm

LEAST_PAIRS = 5


@dataclass(frozen=True, slots=True)
class Push:
    """A trait in sent texts against drafts."""

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


def pushes(pairs: Sequence[tuple[str, str]]) -> list[Push]:
    """Every trait that an edit changed, the surest first; none from fewer than five pairs of draft and sent text."""
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
