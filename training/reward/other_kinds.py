"""The rule that decides whether a reward model may ship, written down before any model was measured by it.

A model is tested on pairs of other kinds than it learned from. It may ship if on each kind it is right at least as
often as the best rule that knows nothing of writing (the shorter text, the longer one, the first one), over all pairs
of the kind and over those of about equal length. Without pairs of another kind it may not ship.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pearl.stats.bootstrap import Bootstrap, Floats, drawn
from retriever.reward.model import RewardModel
from retriever.reward.originals import underlying
from retriever.reward.records import QualityPair


@dataclass(frozen=True, slots=True)
class PartFigures:
    """Accuracy on some pairs of texts: of the model, and of each trivial rule (shorter, longer, first)."""

    pairs: int
    accuracy: Mapping[str, float]  # with its interval
    baselines: Mapping[str, float]

    @property
    def best(self) -> str:
        return max(self.baselines, key=self.baselines.__getitem__)

    @property
    def passes(self) -> bool:
        return self.accuracy["value"] >= self.baselines[self.best]


@dataclass(frozen=True, slots=True)
class OtherKind:
    """The model's accuracy on a file of pairs that are unlike its training data; ``equal_length``: on pairs of about
    equal length, None if there are none."""

    file: str
    all_pairs: PartFigures
    equal_length: PartFigures | None

    @property
    def failed(self) -> list[str]:
        """Return sentences on the comparisons in which a trivial rule beats the model, so that it may not ship."""
        parts = {"pairs": self.all_pairs, "pairs of about equal length": self.equal_length}
        return [
            f"{self.file}: decides {part.accuracy['value']:.3f} of {part.pairs:,} {name}, where '{part.best}' decides "
            f"{part.baselines[part.best]:.3f}"
            for name, part in parts.items()
            if part and not part.passes
        ]

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"passes": not self.failed}


def of_other_kind(file: Path, pairs: Sequence[QualityPair], model: RewardModel, seed: int) -> OtherKind:
    """Measure the model's accuracy, and that of trivial rules, on the pairs of a file."""
    better, worse = [pair.better for pair in pairs], [pair.worse for pair in pairs]
    # each pair in both orders, for a verdict by cosine can depend on the order
    right = (2 + np.sign(model.prefer(better, worse)) - np.sign(model.prefer(worse, better))) / 4
    originals = underlying([f"{pair.first}\n{pair.second}" for pair in pairs])
    bootstrap = Bootstrap(drawn([str(group) for group in originals]), seed=seed)
    trivial = _trivial(pairs)
    equal = np.array([pair.equally_long for pair in pairs])

    def part(members: Floats) -> PartFigures:
        found = bootstrap.share(right, members).to_json()
        shares = {name: round(float(decided[members > 0].mean()), 9) for name, decided in trivial.items()}
        return PartFigures(int(members.sum()), found or {}, shares)

    return OtherKind(file.name, part(np.ones(len(pairs))), part(equal.astype(float)) if equal.any() else None)


def _trivial(pairs: Sequence[QualityPair]) -> dict[str, Floats]:
    """Return for each trivial rule whether it is right on each pair, (N,): 1, .5 or 0."""
    longer_by = np.array([len(pair.better.strip()) - len(pair.worse.strip()) for pair in pairs])
    return {
        "shorter": (1 - np.sign(longer_by)) / 2,
        "longer": (1 + np.sign(longer_by)) / 2,
        "first": np.array([float(pair.preferred == 1) for pair in pairs]),
    }
