"""The one protocol of every retriever: ``rank(request, documents) -> list[ScoredDocument]``.

Dimensions in comments: C candidates (documents of a history), E embedding size.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pearl.clock import Clock
from pearl.records import Document, Request, ScoredDocument
from pearl.theta import score_words, theta_words

MARGIN_FROM = 8  # texts: in shorter histories no margin was tried; what each has to do with the request counts
RELATED_FROM = 0.12  # cosine: below it a document counts as unrelated; chosen in docs/experiments.md
RELATED = 3  # texts, the most related ones, whose mean says what a longer history has to do with a request

Scores = NDArray[np.float32]  # (C,)
Positions = NDArray[np.intp]  # (C,)


@dataclass(frozen=True, slots=True)
class Helps:
    """Logistic fit, on the dev split, of the probability that a document helps (gain above 0) given its score."""

    slope: float
    intercept: float

    def probability(self, score: float) -> float:
        odds = self.slope * score + self.intercept
        return 1 / (1 + math.exp(-odds)) if odds > 0 else math.exp(odds) / (1 + math.exp(odds))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Meaning of a retriever's scores: thresholds and fits set by training; a field that is None never takes effect."""

    threshold: float | None = None  # theta: if s1 is below it, the draft is revised
    floor: float | None = None  # a document that scores less is not shown to the chat model
    ask_below: float | None = None  # if s1 is below it, the user is asked for what the history cannot supply
    margin: float | None = None  # a document that scores more than this below the best is not shown in a long history
    helps: Helps | None = None  # the probability that a document helps, if a training fitted it
    thresholds: Mapping[str, float | None] | None = None  # theta by the name of the chat model it was measured with
    ask_unrelated: float | None = None  # as ask_below for the history's relatedness; counts instead of it if both do

    def with_model(self, name: str) -> Calibration:
        """Return the calibration for drafts by the chat model ``name``: its theta is the one measured with that model,
        None if there is none. If training did not record thetas by model, its one theta holds for all."""
        return self if self.thresholds is None else replace(self, threshold=self.thresholds.get(name))

    def words(self) -> str:
        """Describe theta and the margin in a clause."""
        theta = "never revises" if self.threshold is None else f"theta {theta_words(self.threshold, 2)}"
        return theta + (
            "" if self.margin is None else f", shows what scores within {score_words(self.margin, 2)} of the best"
        )

    def relevance(self, score: float) -> float:
        """Map a score to a relevance between 0 and 1 that rises with it: the probability that the document helps, if
        one was fitted, else the score on another scale, with 0.5 for a score of 0."""
        if self.helps is not None:
            return self.helps.probability(score)
        return 0.5 + 0.5 * score / (1 + abs(score))

    def is_below_threshold(self, top_score: float | None) -> bool:
        """True if the best document's score s1 (``top_score``) is below theta; False if either is None."""
        return self.threshold is not None and top_score is not None and top_score < self.threshold

    def asks(self, ranking: Sequence[ScoredDocument]) -> bool:
        """True if the user is to be asked, because the history lacks what is needed: its relatedness, or s1 if that has
        no floor or is unknown, is below the floor, or no document of a short history is related."""
        if not ranking or (self.ask_below is None and self.ask_unrelated is None):
            return False
        short = is_short(ranking)
        if short and all(is_unrelated(scored) for scored in ranking):
            return True
        related = relatedness_of(ranking)
        if self.ask_unrelated is not None and related is not None:
            return not short and related < self.ask_unrelated
        return self.ask_below is not None and ranking[0].score < self.ask_below


UNCALIBRATED = Calibration()


def is_unrelated(scored: ScoredDocument) -> bool:
    """True if the document's relatedness to the request is known and below RELATED_FROM."""
    return scored.relatedness is not None and scored.relatedness < RELATED_FROM


def is_short(ranking: Sequence[ScoredDocument]) -> bool:
    """True for a history of fewer than MARGIN_FROM different texts."""
    return len(list(islice(_without_copies(ranking), MARGIN_FROM))) < MARGIN_FROM


def relatedness_of(ranking: Sequence[ScoredDocument]) -> float | None:
    """Return the mean relatedness of the RELATED different texts most related to the request; None if there are no
    documents, or if any document's relatedness is unknown."""
    if not ranking or any(scored.relatedness is None for scored in ranking):
        return None
    most_related = sorted(ranking, key=lambda scored: scored.relatedness or 0.0, reverse=True)
    return fmean(scored.relatedness or 0.0 for scored in islice(_without_copies(most_related), RELATED))


class Index(Protocol):
    """One history, indexed so that many requests can be scored on it."""

    def scores(self, request: Request, clock: Clock | None = None) -> Scores:
        """Return the score of every document for the request, (C,), in the documents' order.

        An index with several stages records the time of each in the clock; if the clock is late, the index leaves out
        the slow stage and sets the clock's ``cut_short``.
        """
        ...


@runtime_checkable
class RelatingIndex(Index, Protocol):
    """An index that also measures each document's relatedness to a request, which a score does not tell."""

    def relatedness(self, request: Request) -> Scores:
        """Return each document's relatedness, (C,), in the documents' order: the higher of the request's cosines with
        the document's text and with the document's own request; NaN if not known yet."""
        ...


class Retriever(ABC):
    """Scores documents for a request. Scores can be compared among the documents of one request; across requests only
    as far as ``calibration`` says."""

    name: str
    calibration: Calibration = UNCALIBRATED
    origin: str = ""  # what a trained one takes over from its training, a paragraph
    do_not_use: tuple[str, ...] = ()  # why a trained one is not to be used

    @property
    def fingerprint(self) -> str:
        """Identify all that the scores depend on: a calibration holds only for the fingerprint it was made with."""
        return self.name

    @abstractmethod
    def index(self, documents: Sequence[Document]) -> Index:
        """Index a history, whose documents are ordered by age, oldest first."""

    def update(self, previous: Index, documents: Sequence[Document]) -> Index:
        """Index a history that changed since ``previous``, which this retriever made, as ``index`` would; where
        possible what did not change is not computed again."""
        return self.index(documents)

    def rank(self, request: Request, documents: Sequence[Document]) -> list[ScoredDocument]:
        """Return every document with its score, best first; of equal scores, the newest document first."""
        return ranked(documents, self.index(documents), request)


def ranked(
    documents: Sequence[Document], index: Index, request: Request, clock: Clock | None = None
) -> list[ScoredDocument]:
    """Return every document with its score, best first, and with its relatedness if the index measures it."""
    scores = index.scores(request, clock)
    if not isinstance(index, RelatingIndex):
        return order(documents, scores)
    return order(documents, scores, index.relatedness(request))


def order(documents: Sequence[Document], scores: Scores, relatedness: Scores | None = None) -> list[ScoredDocument]:
    """Pair documents with their scores, best first; of equal scores the later document first."""
    related: list[float | None] = [None] * len(scores)
    if relatedness is not None:
        related = [None if math.isnan(value) else value for value in relatedness.tolist()]
    return [
        ScoredDocument(documents[position], float(scores[position]), related[position])
        for position in best_first(scores)
    ]


def best_first(scores: Scores) -> Positions:
    """Return the positions sorted by score, best first; of equal scores the later position first."""
    return np.lexsort((-np.arange(len(scores)), -scores))


def content(document: Document) -> tuple[str, str]:
    """Return a document's text and request, all that a model reads: documents equal in both are the same to it."""
    return document.text, document.request or ""


def oldest_first(documents: Sequence[Document]) -> Positions:
    """Return the documents' positions sorted by time; in the given order if any document has no time."""
    times = [document.timestamp for document in documents if document.timestamp is not None]
    if len(times) < len(documents):
        return np.arange(len(documents))
    return np.argsort(np.asarray(times, np.float64), kind="stable")


def choose(
    ranking: Sequence[ScoredDocument], k: int, calibration: Calibration, *, exactly: bool = False
) -> list[ScoredDocument]:
    """Choose at most k documents to show, the best first and each text once. Left out are documents below the floor,
    and in a short history those unrelated to the request, in a longer one those more than the margin below the best.
    ``exactly``: the request names k, so only the floor counts."""
    least = [] if calibration.floor is None else [calibration.floor]
    if not exactly:
        if is_short(ranking):
            ranking = [scored for scored in ranking if not is_unrelated(scored)]
        elif calibration.margin is not None:
            least.append(ranking[0].score - calibration.margin)
    best = islice(_without_copies(ranking), k)
    return [scored for scored in best if all(scored.score >= lowest for lowest in least)]


def _without_copies(ranking: Iterable[ScoredDocument]) -> Iterator[ScoredDocument]:
    """The documents without those that repeat the text of a better one, but for case and spaces: a second copy shows a
    model nothing new."""
    texts = set()
    for scored in ranking:
        text = " ".join(scored.document.text.casefold().split())
        if text not in texts:
            texts.add(text)
            yield scored
