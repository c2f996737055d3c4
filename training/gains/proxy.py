"""Estimating gains without a language model ("by proxy"), from what a past text shares with earlier texts.

Under a small auxiliary model most of a gain is copying: the bigrams and trigrams that a target shares with a candidate
correlate 0.94 with its gain on one project's commit messages. In a chat they correlate 0.41; with the rare words that
both have, and the cosine of both texts, it is 0.64. Dimensions in comments: C candidates, N documents of all examples.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pearl.records import Request
from pearl.text.history.partition import TRAIN, users_of
from retriever.history.lexical import words
from retriever.history.word_weights import WordWeights
from retriever.models.encoder import Encoder
from training.choose.measure import pearson
from training.data.histories import Corpus
from training.data.records import Example, Floats
from training.data.split import BY_USERS, part_of
from training.gains.units import sample_candidates
from training.run import CANDIDATES, TrainingOptions

TARGET_WORDS = 100  # about what the auxiliary model sees of a target
DOCUMENT_WORDS = 125  # and of a document
LIKENESSES = 7
LEAST_SCORED = 15  # requests with true gains, below which a domain has no scale of its own
LONGEST_HISTORY = 400  # the latest texts: a pass over thousands of one user would crowd the others out


def unlabelled_examples(corpus: Corpus, split: str, way: str, targets: int, options: TrainingOptions) -> list[Example]:
    """Make examples with gains of 0 from ``targets`` random past texts of each user in a split; earlier texts are
    candidates.

    User ids get the corpus's name as a prefix. Users without times, or with too few earlier texts, are skipped.
    """
    histories, part = users_of(corpus.histories, split if way == BY_USERS else None), part_of(split, way)
    candidates, least, seed = options.candidates or CANDIDATES, options.plan(TRAIN).least, options.seed
    examples = []
    for user in sorted(histories):
        if any(document.timestamp is None for document in histories[user]):
            continue
        ordered = sorted(histories[user], key=lambda document: document.timestamp or 0.0)
        first, end = part.places(len(ordered))
        first -= max(end - LONGEST_HISTORY, 0)
        ordered = ordered[:end][-LONGEST_HISTORY:]
        places = [place for place in range(max(least, first), len(ordered)) if ordered[place].request]
        for place in sorted(random.Random(f"{seed}:{user}:proxy").sample(places, min(targets, len(places)))):
            target = ordered[place]
            before = [document for document in ordered[:place] if document.text != target.text]
            if len(before) < least:
                continue
            asked = target.request or ""
            chosen = sample_candidates(asked, before, candidates, seed=f"{seed}:{user}:{target.id}")
            gains = np.zeros(len(chosen), np.float32)
            request = Request(asked, target.timestamp)
            name = f"{corpus.name}:{user}"
            examples.append(Example(name, target.id, request, tuple(chosen), gains, target.text, domain=corpus.name))
    return examples


def likenesses(example: Example, encoder: Encoder, weights: WordWeights) -> NDArray[np.float64]:
    """Measure how each candidate resembles what the user really wrote, (C, 7): the numbers of shared bigrams and
    trigrams, the weight of shared words, the weight and number of shared words that the request lacks, the cosine of
    both texts, and the candidate's number of different words."""
    asked = frozenset(words(example.request.text))
    wanted = words(example.target)[:TARGET_WORDS]
    pairs, triples = _ngrams(wanted)
    vectors = encoder.encode_documents([example.target, *(document.text for document in example.documents)])
    likenesses = np.zeros((len(example.documents), LIKENESSES))
    for row, document in enumerate(example.documents):
        own_words = words(document.text)[:DOCUMENT_WORDS]
        own_pairs, own_triples = _ngrams(own_words)
        shared = frozenset(wanted).intersection(own_words)
        new = shared - asked
        likenesses[row] = (
            len(pairs & own_pairs),
            len(triples & own_triples),
            weights.sum(shared),
            weights.sum(new),
            len(new),
            vectors[0] @ vectors[row + 1],
            len(set(own_words)),
        )
    return likenesses


def _ngrams(text: Sequence[str]) -> tuple[set[tuple[str, ...]], set[tuple[str, ...]]]:
    return set(pairwise(text)), set(zip(text, text[1:], text[2:], strict=False))


@dataclass(frozen=True, slots=True)
class ProxyScale:
    """A linear model that estimates gains (nats) from likenesses: weights, a constant, and Pearson's r."""

    weights: tuple[float, ...]
    pearson_r: float

    @classmethod
    def fit(cls, inputs: NDArray[np.float64], gains: Floats) -> ProxyScale:
        """Fit the model by least squares on the likenesses, (N, 7), and true gains, (N,), of documents."""
        weights, *_ = np.linalg.lstsq(_with_constant(inputs), gains, rcond=None)
        return cls(tuple(map(float, weights)), pearson(_with_constant(inputs) @ weights, gains))

    def gains(self, inputs: NDArray[np.float64]) -> Floats:
        """Estimate gains in nats, (C,), from likenesses, (C, 7)."""
        return np.asarray(_with_constant(inputs) @ np.array(self.weights), np.float32)


@dataclass(frozen=True, slots=True)
class ProxyScales:
    """Models that estimate gains: one per domain (kind of text), ``others`` where true gains are too few."""

    own: Mapping[str, ProxyScale]
    others: ProxyScale
    encoder: Encoder
    words: WordWeights

    @classmethod
    def fit(cls, examples: Sequence[Example], encoder: Encoder, weights: WordWeights) -> ProxyScales:
        """Fit the models on examples with true gains."""
        inputs = [likenesses(example, encoder, weights) for example in examples]

        def scale(places: Sequence[int]) -> ProxyScale:
            return ProxyScale.fit(
                np.concatenate([inputs[place] for place in places]),
                np.concatenate([examples[place].gains for place in places]),
            )

        domains: dict[str, list[int]] = {}
        for place, example in enumerate(examples):
            domains.setdefault(example.domain, []).append(place)
        own = {domain: scale(places) for domain, places in domains.items() if len(places) >= LEAST_SCORED}
        return cls(own, scale(range(len(examples))), encoder, weights)

    def of(self, domain: str) -> ProxyScale:
        return self.own.get(domain, self.others)

    def label(self, example: Example) -> Example:
        """Return the example with estimated gains."""
        return replace(example, gains=self.of(example.domain).gains(likenesses(example, self.encoder, self.words)))


def _with_constant(inputs: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack((inputs, np.ones(len(inputs))))
