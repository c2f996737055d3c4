"""LambdaG as published (Nini et al. 2025): a person's model of masked words against models of the impostors' sentences,
drawn again and again, each time as many as the person's.

The published package asks a tagger what to mask and fits anew for every text; here words are masked as for our own
method (``pearl.likeness.masking``), and a person's draws serve all passages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from pearl.likeness.masking import Masking, Tokens
from pearl.likeness.ngrams import Grams, NgramModel
from pearl.stats import Floats

ORDER, DISCOUNT, DRAWS = 10, 0.75, 30  # N, D and r: the published package's defaults
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n")


class SampledImpostors:
    """The sentences of the impostors, masked, and a source of chance."""

    def __init__(self, masking: Masking, texts: Sequence[str], seed: int) -> None:
        self._masking = masking
        self._sentences = [sentence for text in texts for sentence in self._read(text)]
        self._chance = np.random.default_rng(seed)
        self._rare = 1.0 / (len({int(token) for sentence in self._sentences for token in sentence}) + 50)

    def ratios(self, history: Sequence[str], passages: Sequence[str]) -> Floats:
        """The log ratio of each passage in nats, (P,), the mean over the draws (their equation for lambda G)."""
        mine = [sentence for text in history for sentence in self._read(text)]
        size = min(len(mine), len(self._sentences))
        read = [Grams.of(self._read(passage), ORDER) for passage in passages]
        drawn = np.zeros(len(passages))
        for _ in range(DRAWS):
            places = self._chance.choice(len(self._sentences), size, replace=False)
            drawn += self._log_likelihoods([self._sentences[place] for place in places], read)
        return self._log_likelihoods(mine, read) - drawn / DRAWS

    def _log_likelihoods(self, sentences: Sequence[Tokens], read: Sequence[Grams]) -> Floats:
        model = NgramModel.fit(Grams.of(sentences, ORDER), DISCOUNT)
        return np.array([np.log(model.probabilities(grams, self._rare)).sum() for grams in read])

    def _read(self, text: str) -> list[Tokens]:
        sentences = (self._masking.tokens(sentence) for sentence in SENTENCE_END.split(text))
        return [sentence for sentence in sentences if len(sentence)]
