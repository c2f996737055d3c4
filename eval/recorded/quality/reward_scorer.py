"""A reward model as a scorer of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pearl.stats import Floats
from retriever.reward.model import RewardModel
from retriever.reward.records import QualityPair


@dataclass(frozen=True, slots=True)
class RewardScorer:
    """``name`` is the folder as it was given."""

    name: str
    model: RewardModel

    @classmethod
    def load(cls, name: str) -> RewardScorer:
        """The scorer of a folder, or of ``embedded``. Raises InputError for what is no reward model."""
        return cls(name, RewardModel.load(name))

    @property
    def description(self) -> str:
        artifact = self.model.artifact
        return f"the text that the reward model {artifact.variant} on {artifact.base} prefers, by {artifact.pairs}"

    def margins(self, pairs: Sequence[QualityPair]) -> Floats:
        """(N,): above 0 where the model prefers the first text."""
        return self.model.prefer([pair.first for pair in pairs], [pair.second for pair in pairs])
