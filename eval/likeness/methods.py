"""Methods that score how likely a claim is: ours, its parts, and two baselines, cosines of embeddings and of
characters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from eval.likeness.writers import Claim, Claimant, Passage
from pearl.likeness.impostors import Impostors
from pearl.likeness.likeness import LEAST_WORDS, Likeness
from pearl.stats.bootstrap import Floats
from retriever.models.encoder import Encoder

LIKENESS, WORDS, CHARACTERS, EMBEDDINGS, TFIDF = "likeness", "words", "characters", "embeddings", "tfidf"
EXPLAINED: Mapping[str, str] = {
    LIKENESS: "the probability of both models, calibrated",
    WORDS: "the log ratio of masked words alone",
    CHARACTERS: "the log ratio of characters alone",
    EMBEDDINGS: "cosine with the mean embedding of the person's latest texts",
    TFIDF: "cosine of TF-IDF of character n-grams, 2 to 4",
}
LATEST_TEXTS = 20


@dataclass(frozen=True, slots=True)
class Lineup:
    """All that the methods need."""

    writers: Sequence[Claimant]
    reference: Callable[[Claimant], Impostors]  # the impostors of a writer
    encoder: Encoder


def scores_of(methods: Sequence[str], lineup: Lineup, claims: Sequence[Claim]) -> dict[str, Floats]:
    """Each method's score of each claim, (N,); ours is NaN where it abstains, which leaves the claim out everywhere."""
    ours = _likenesses(lineup, claims)
    scores = {LIKENESS: ours[:, 0], WORDS: ours[:, 1], CHARACTERS: ours[:, 2]}
    if EMBEDDINGS in methods:
        scores[EMBEDDINGS] = _cosines(lineup.writers, claims, lineup.encoder.encode_documents, LATEST_TEXTS)
    if TFIDF in methods:
        scores[TFIDF] = _cosines(lineup.writers, claims, _character_vectors(lineup), None)
    return {name: scores[name] for name in methods}


def _likenesses(lineup: Lineup, claims: Sequence[Claim]) -> Floats:
    """The probability and the two log ratios of each claim, (N, 3). A person is fitted once, a passage read once."""
    reads: dict[tuple[int, Passage], Any] = {}
    fitted: dict[int, Likeness] = {}
    rows = []
    for claim in claims:
        if claim.writer not in fitted:
            writer = lineup.writers[claim.writer]
            fitted[claim.writer] = Likeness.fit(writer.history, lineup.reference(writer))
        ours = fitted[claim.writer]
        row = (np.nan, np.nan, np.nan)
        if claim.passage.words >= LEAST_WORDS and ours.reference.reads_language(claim.passage.text):
            key = (id(ours.reference), claim.passage)
            if key not in reads:
                reads[key] = ours.reference.read(claim.passage.text)
            if evidence := ours.evidence(reads[key]):
                row = (ours.calibrated.probability(evidence), evidence.words_ratio, evidence.characters_ratio)
        rows.append(row)
    return np.array(rows, np.float64)


def _cosines(
    writers: Sequence[Claimant], claims: Sequence[Claim], encode: Callable[[list[str]], Any], latest: int | None
) -> Floats:
    """The cosine of each passage with the mean vector of its claimed writer's latest texts, (N,)."""
    texts = list(dict.fromkeys(claim.passage.text for claim in claims))
    vectors = dict(zip(texts, np.asarray(encode(texts)), strict=True))

    @cache
    def mean(writer: int) -> Any:
        vector = np.asarray(encode(list(writers[writer].history[-(latest or 0) :]))).mean(axis=0)
        return vector / max(float(np.linalg.norm(vector)), 1e-9)

    return np.array([float(vectors[claim.passage.text] @ mean(claim.writer)) for claim in claims])


def _character_vectors(lineup: Lineup) -> Callable[[list[str]], Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(2, 4), max_features=5000, sublinear_tf=True)
    vectorizer.fit([text for writer in lineup.writers for text in writer.history[-LATEST_TEXTS:]])

    def encode(texts: list[str]) -> Any:
        return vectorizer.transform(texts).toarray().astype(np.float32)

    return encode
