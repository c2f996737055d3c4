"""Trials of ``pearl eval likeness``: true and false claims that a person of a history file wrote a passage. Methods
score how likely a claim is to be true: PEARL's likeness, its two parts, and two baselines, cosines of embeddings and of
character n-grams.

A hash of the id divides people into impostors (whose texts are compared with), people to tune on and people to test. A
person's last texts are held back, so that passages were written after the history.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from pearl.records import Request
from pearl.stats.bootstrap import Floats
from pearl.style.likeness.impostors import Impostors
from pearl.style.likeness.likeness import LEAST_WORDS, Likeness
from pearl.style.likeness.masking import distinct
from pearl.text.history.files import read_histories
from pearl.text.words import SIGN, characters, count_words
from retriever.history.lexical import BM25Index, hashed_words
from retriever.models.encoder import Encoder

IMPOSTORS, DEV, TEST = "impostors", "dev", "test"
HISTORY_SHARE = 0.7
LEAST_TEXTS = 15
WORD = re.compile(r"\S+")
OWN, SAME_DOMAIN, TOPIC_MATCHED = "own", "same_domain", "topic_matched"
OWN_PASSAGES, IMPOSTORS_PASSAGES = 6, 18  # of a person, at each length
QUERY_WORDS = 100  # of a passage, to find one on its topic


@dataclass(frozen=True, slots=True)
class Claimant:
    """A person with their texts, divided into history and later texts, both oldest first."""

    user: str
    history: tuple[str, ...]
    later: tuple[str, ...]  # texts that claims are about


def part_of(user: str) -> str:
    """Return the part that a user is in: two fifths are impostors (only compared with), a fifth to tune on, two fifths
    to test."""
    bucket = int(sha256(user.encode()).hexdigest()[:8], 16) % 100
    return IMPOSTORS if bucket < 40 else DEV if bucket < 60 else TEST


def texts_by_user(path: Path) -> dict[str, list[str]]:
    """Read every user's distinct texts, oldest first. Raises InputError that names file, line and field."""
    histories = read_histories(path, timestamp_required=True)
    return {
        user: distinct(document.text for document in sorted(documents, key=lambda document: document.timestamp or 0.0))
        for user, documents in sorted(histories.items())
    }


def writers_of(texts: Mapping[str, Sequence[str]], part: str) -> list[Claimant]:
    """Return the people of a part who have enough texts, with their texts divided into history and later texts."""
    writers = []
    for user, user_texts in texts.items():
        if part_of(user) == part and len(user_texts) >= LEAST_TEXTS:
            cut = int(len(user_texts) * HISTORY_SHARE)
            writers.append(Claimant(user, tuple(user_texts[:cut]), tuple(user_texts[cut:])))
    return writers


def passages(texts: Sequence[str], words: int) -> Iterator[str]:
    """Yield passages of exactly ``words`` words: texts are joined until they are long enough, and the end is cut."""
    parts: list[str] = []
    for text in texts:
        parts.append(text)
        if sum(map(count_words, parts)) >= words:
            joined = "\n\n".join(parts)
            runs = (run.span() for run in WORD.finditer(joined))
            ends = [
                end for run in runs for _, end in (characters(joined, *run) if SIGN.search(joined, *run) else (run,))
            ]
            yield joined[: ends[bisect_left(ends, words, key=lambda end: count_words(joined[:end]))]]
            parts = []


@dataclass(frozen=True, slots=True)
class Passage:
    """A text of a known length that a person wrote after their history."""

    user: str
    words: int
    text: str


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim, true or false, that a writer wrote a passage."""

    writer: int  # index among the writers
    passage: Passage
    kind: str  # who really wrote it: OWN, SAME_DOMAIN or TOPIC_MATCHED


def claims(writers: Sequence[Claimant], words: int, seed: int = 0) -> list[Claim]:
    """Make each writer's claims: true claims about some of their own later passages, false claims about random passages
    of others, and about the passage of somebody else that is nearest by BM25 to each own passage."""
    generator = random.Random(f"{seed} {words}")
    every = []
    for writer in writers:
        own_passages = [Passage(writer.user, words, text) for text in passages(writer.later, words)]
        every.append(generator.sample(own_passages, min(OWN_PASSAGES, len(own_passages))))
    pool = [passage for own_passages in every for passage in own_passages]
    nearest = _nearest(pool) if pool else {}
    trials = []
    for index, own_passages in enumerate(every):
        others = [passage for passage in pool if passage.user != writers[index].user]
        drawn = generator.sample(others, min(IMPOSTORS_PASSAGES, len(others))) if own_passages else []
        trials += [Claim(index, passage, OWN) for passage in own_passages]
        trials += [Claim(index, passage, SAME_DOMAIN) for passage in drawn]
        trials += [Claim(index, other, TOPIC_MATCHED) for passage in own_passages if (other := nearest.get(passage))]
    return trials


def _nearest(pool: Sequence[Passage]) -> dict[Passage, Passage]:
    """Return for each passage the nearest passage by somebody else, by BM25, if there is one."""
    index = BM25Index(hashed_words([passage.text for passage in pool]))
    users = np.array([passage.user for passage in pool])
    nearest = {}
    for passage in pool:
        others = users != passage.user
        if others.any():
            scores = index.scores(Request(" ".join(passage.text.split()[:QUERY_WORDS])))
            nearest[passage] = pool[int(np.where(others, scores, -np.inf).argmax())]
    return nearest


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
    """Inputs of all methods: the writers, the texts of impostors to compare each writer with, and the encoder."""

    writers: Sequence[Claimant]
    reference: Callable[[Claimant], Impostors]  # the impostors of a writer
    encoder: Encoder


def scores_of(methods: Sequence[str], lineup: Lineup, claims: Sequence[Claim]) -> dict[str, Floats]:
    """Return each method's score of every claim, (N,). Where likeness abstains it is NaN, and the claim is ignored."""
    ours = _likenesses(lineup, claims)
    scores = {LIKENESS: ours[:, 0], WORDS: ours[:, 1], CHARACTERS: ours[:, 2]}
    if EMBEDDINGS in methods:
        scores[EMBEDDINGS] = _cosines(lineup.writers, claims, lineup.encoder.encode_documents, LATEST_TEXTS)
    if TFIDF in methods:
        scores[TFIDF] = _cosines(lineup.writers, claims, _character_vectors(lineup), None)
    return {name: scores[name] for name in methods}


def _likenesses(lineup: Lineup, claims: Sequence[Claim]) -> Floats:
    """Return the probability and the two log ratios of each claim, (N, 3)."""
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
    """Return the cosine of each claim's passage with the mean vector of the claimed writer's ``latest`` texts, (N,)."""
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
