"""The likeness of drafts to their person, by models that have not learned from the text that was drafted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pearl.likeness.likeness import Likeness, nearest_register
from pearl.stats.bootstrap import Floats
from service.calibrating.past import PastText

FOLDS = 5


@dataclass(frozen=True, slots=True)
class HeldOutLikeness:
    """The person's models by the text that was drafted; a text that likeness cannot score has none."""

    models: Mapping[str, Likeness]

    @classmethod
    def of(cls, past: Sequence[PastText]) -> HeldOutLikeness:
        """The models of the person's texts, with a fifth of the past texts and their copies held out in turn."""
        targets = list(dict.fromkeys(text.target for text in past))
        own = list(dict.fromkeys(text for entry in past for text in entry.own_texts))
        register = nearest_register(own)
        models: dict[str, Likeness] = {}
        for fold in range(FOLDS):
            held_out = set(targets[fold::FOLDS])
            fitted = Likeness.fit([text for text in own if text not in held_out], register)
            models |= {text: fitted for text in held_out if fitted.score(text).probability is not None}
        return cls(models)

    def measure(self, targets: Sequence[str], drafts: Sequence[str]) -> Floats:
        """The probability that the person wrote each draft, (N,). If it is unknown for one draft of a text, all drafts
        of the text get the mean over the other texts, so the text favours no draft."""
        scores = np.array([self._score(target, draft) for target, draft in zip(targets, drafts, strict=True)])
        unknown = {target for target, score in zip(targets, scores, strict=True) if np.isnan(score)}
        known = np.array([target not in unknown for target in targets])
        return np.where(known, scores, scores[known].mean() if known.any() else 0.0)

    def _score(self, target: str, draft: str) -> float:
        probability = self.models[target].score(draft).probability if target in self.models else None
        return np.nan if probability is None else probability
