"""Methods that score how likely a claim is: ours, its parts, and three baselines: cosines of embeddings and of
characters, and LambdaG as published."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from eval.likeness.writers import Claim, Claimant, Passage
from pearl.likeness.impostors import Impostors
from pearl.likeness.likeness import LEAST_WORDS, Likeness
from pearl.likeness.masking import Masking, Tokens
from pearl.likeness.ngrams import Grams, NgramModel
from pearl.stats.bootstrap import Floats
from retriever.models.encoder import Encoder

LIKENESS, WORDS, CHARACTERS, EMBEDDINGS, TFIDF = "likeness", "words", "characters", "embeddings", "tfidf"
LAMBDAG = "lambdag"
EXPLAINED: Mapping[str, str] = {
    LIKENESS: "the probability of both models, calibrated",
    WORDS: "the log ratio of masked words alone",
    CHARACTERS: "the log ratio of characters alone",
    EMBEDDINGS: "cosine with the mean embedding of the person's latest texts",
    TFIDF: "cosine of TF-IDF of character n-grams, 2 to 4",
    LAMBDAG: "LambdaG with 30 draws of the impostors' sentences",
}
LATEST_TEXTS = 20
ORDER, DISCOUNT, DRAWS = 10, 0.75, 30  # LambdaG's N, D and r: the published package's defaults
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n")


@dataclass(frozen=True, slots=True)
class Lineup:
    """All that the methods need."""

    writers: Sequence[Claimant]
    reference: Callable[[Claimant], Impostors]  # the impostors of a writer
    encoder: Encoder
    impostors_texts: Sequence[str] = ()  # for LambdaG
    seed: int = 0  # for LambdaG


def scores_of(methods: Sequence[str], lineup: Lineup, claims: Sequence[Claim]) -> dict[str, Floats]:
    """Each method's score of each claim, (N,); ours is NaN where it abstains, which leaves the claim out everywhere."""
    ours = _likenesses(lineup, claims)
    scores = {LIKENESS: ours[:, 0], WORDS: ours[:, 1], CHARACTERS: ours[:, 2]}
    if EMBEDDINGS in methods:
        scores[EMBEDDINGS] = _cosines(lineup.writers, claims, lineup.encoder.encode_documents, LATEST_TEXTS)
    if TFIDF in methods:
        scores[TFIDF] = _cosines(lineup.writers, claims, _character_vectors(lineup), None)
    if LAMBDAG in methods:
        scores[LAMBDAG] = _lambdag(lineup, claims)
    return {name: scores[name] for name in methods}


def _lambdag(lineup: Lineup, claims: Sequence[Claim]) -> Floats:
    """The log ratio of each claim by LambdaG, (N,)."""
    ratios = np.zeros(len(claims))
    impostors = SampledImpostors(lineup.reference(lineup.writers[0]).masking, lineup.impostors_texts, lineup.seed)
    for writer in sorted({claim.writer for claim in claims}):
        indices = [index for index, claim in enumerate(claims) if claim.writer == writer]
        texts = [claims[index].passage.text for index in indices]
        ratios[indices] = impostors.ratios(lineup.writers[writer].history, texts)
    return ratios


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


class SampledImpostors:
    """LambdaG as published (Nini et al. 2025): a person's model of masked words against models of the impostors'
    sentences, each fitted on a random draw of as many sentences as the person has.

    The published package masks by a tagger and fits anew for every text; here words are masked as for our own method
    (``pearl.likeness.masking``), and a person's draws serve all passages.
    """

    def __init__(self, masking: Masking, texts: Sequence[str], seed: int) -> None:
        self._masking = masking
        self._sentences = [sentence for text in texts for sentence in self._read(text)]
        self._chance = np.random.default_rng(seed)
        self._rare = 1.0 / (len({int(token) for sentence in self._sentences for token in sentence}) + 50)

    def ratios(self, history: Sequence[str], passages: Sequence[str]) -> Floats:
        """The log ratio of each passage in nats, (P,), the mean over the draws (their equation for lambda G)."""
        history_sentences = [sentence for text in history for sentence in self._read(text)]
        size = min(len(history_sentences), len(self._sentences))
        read = [Grams.of(self._read(passage), ORDER) for passage in passages]
        drawn = np.zeros(len(passages))
        for _ in range(DRAWS):
            indices = self._chance.choice(len(self._sentences), size, replace=False)
            drawn += self._log_likelihoods([self._sentences[index] for index in indices], read)
        return self._log_likelihoods(history_sentences, read) - drawn / DRAWS

    def _log_likelihoods(self, sentences: Sequence[Tokens], read: Sequence[Grams]) -> Floats:
        model = NgramModel.fit(Grams.of(sentences, ORDER), DISCOUNT)
        return np.array([np.log(model.probabilities(grams, self._rare)).sum() for grams in read])

    def _read(self, text: str) -> list[Tokens]:
        sentences = (self._masking.tokens(sentence) for sentence in SENTENCE_END.split(text))
        return [sentence for sentence in sentences if len(sentence)]
