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
    """A logistic fit, on the dev split, of the probability that a document with some score helps (has a gain above
    0)."""

    slope: float
    intercept: float

    def probability(self, score: float) -> float:
        odds = self.slope * score + self.intercept
        return 1 / (1 + math.exp(-odds)) if odds > 0 else math.exp(odds) / (1 + math.exp(odds))


@dataclass(frozen=True, slots=True)
class Calibration:
    """The meaning of a retriever's scores: thresholds and fits from training. A field that is None has no effect."""

    threshold: float | None = None  # theta: if s1 is below it, the draft is revised
    floor: float | None = None  # a document that scores less is not shown to the chat model
    ask_below: float | None = None  # if s1 is below it, the user is asked for what the history cannot supply
    margin: float | None = None  # a document that scores more than this below the best is not shown in a long history
    helps: Helps | None = None  # the probability that a document helps, if a training fitted it
    thresholds: Mapping[str, float | None] | None = None  # theta by the name of the chat model it was measured with
    ask_unrelated: float | None = None  # as ask_below for the history's relatedness; counts instead of it if both do

    def with_model(self, name: str) -> Calibration:
        """Return the calibration for drafts by the chat model ``name``. Its theta is the one measured with that model,
        None if there is none; if training measured only one theta for all models, that one."""
        return self if self.thresholds is None else replace(self, threshold=self.thresholds.get(name))

    def words(self) -> str:
        """Describe theta and the margin in words."""
        theta = "never revises" if self.threshold is None else f"theta {theta_words(self.threshold, 2)}"
        return theta + (
            "" if self.margin is None else f", shows what scores within {score_words(self.margin, 2)} of the best"
        )

    def relevance(self, score: float) -> float:
        """Map a score to a relevance between 0 and 1: the fitted probability that the document helps; without a fit, a
        function that rises with the score and is 0.5 at a score of 0."""
        if self.helps is not None:
            return self.helps.probability(score)
        return 0.5 + 0.5 * score / (1 + abs(score))

    def is_below_threshold(self, top_score: float | None) -> bool:
        """True if the best document's score s1 (``top_score``) is below theta; False if either is None."""
        return self.threshold is not None and top_score is not None and top_score < self.threshold

    def asks(self, ranking: Sequence[ScoredDocument]) -> bool:
        """True if the user should be asked for facts because the history lacks them: its relatedness to the request is
        below its floor, or s1 (the best score) is if relatedness has no floor or is unknown; or no document of a short
        history is related."""
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
    """True if the history holds fewer than MARGIN_FROM different texts."""
    return len(list(islice(_without_copies(ranking), MARGIN_FROM))) < MARGIN_FROM


def relatedness_of(ranking: Sequence[ScoredDocument]) -> float | None:
    """Return the mean relatedness of the most related texts, at most RELATED of them and without duplicates; None if
    there are no documents, or if any document's relatedness is unknown."""
    if not ranking or any(scored.relatedness is None for scored in ranking):
        return None
    most_related = sorted(ranking, key=lambda scored: scored.relatedness or 0.0, reverse=True)
    return fmean(scored.relatedness or 0.0 for scored in islice(_without_copies(most_related), RELATED))


class Index(Protocol):
    """An indexed history, on which many requests can be scored."""

    def scores(self, request: Request, clock: Clock | None = None) -> Scores:
        """Return the score of every document for the request, (C,), in the documents' order. ``clock``: records the
        time of each stage; if it is late, slow stages are skipped and its ``cut_short`` is set."""
        ...


@runtime_checkable
class RelatingIndex(Index, Protocol):
    """An index that also measures how related each document is to a request; its scores do not tell that."""

    def relatedness(self, request: Request) -> Scores:
        """Return each document's relatedness to the request, (C,), in the documents' order. It is the higher of two
        cosines: with the document's text and with its own request. NaN if not known yet."""
        ...


class Retriever(ABC):
    """Scores documents for a request. Scores of one request can be compared with each other; scores of different
    requests only as far as ``calibration`` says."""

    name: str
    calibration: Calibration = UNCALIBRATED
    origin: str = ""  # what a trained one takes over from its training, a paragraph
    do_not_use: tuple[str, ...] = ()  # why a trained one is not to be used

    @property
    def fingerprint(self) -> str:
        """A text that identifies everything that the scores depend on. A calibration is valid only for its own
        fingerprint."""
        return self.name

    @abstractmethod
    def index(self, documents: Sequence[Document]) -> Index:
        """Index a history. ``documents``: ordered by age, oldest first."""

    def update(self, previous: Index, documents: Sequence[Document]) -> Index:
        """Index a history that changed since ``previous``, an index of this retriever. The result is the same as from
        ``index``, but unchanged documents need not be computed again."""
        return self.index(documents)

    def rank(self, request: Request, documents: Sequence[Document]) -> list[ScoredDocument]:
        """Return every document with its score, in descending order; of equal scores, the newest document first."""
        return ranked(documents, self.index(documents), request)


def ranked(
    documents: Sequence[Document], index: Index, request: Request, clock: Clock | None = None
) -> list[ScoredDocument]:
    """Return every document with its score, in descending order, and its relatedness if the index measures that."""
    scores = index.scores(request, clock)
    if not isinstance(index, RelatingIndex):
        return order(documents, scores)
    return order(documents, scores, index.relatedness(request))


def order(documents: Sequence[Document], scores: Scores, relatedness: Scores | None = None) -> list[ScoredDocument]:
    """Pair documents with their scores, in descending order; of equal scores, the later document first."""
    related: list[float | None] = [None] * len(scores)
    if relatedness is not None:
        related = [None if math.isnan(value) else value for value in relatedness.tolist()]
    return [
        ScoredDocument(documents[position], float(scores[position]), related[position])
        for position in best_first(scores)
    ]


def best_first(scores: Scores) -> Positions:
    """Return the positions of the scores in descending order, (C,); of equal scores, the later position first."""
    return np.lexsort((-np.arange(len(scores)), -scores))


def content(document: Document) -> tuple[str, str]:
    """Return a document's text and request. Models read nothing else: documents with equal content score alike."""
    return document.text, document.request or ""


def oldest_first(documents: Sequence[Document]) -> Positions:
    """Return the documents' positions sorted by time, (C,); in the given order if any document has no time."""
    times = [document.timestamp for document in documents if document.timestamp is not None]
    if len(times) < len(documents):
        return np.arange(len(documents))
    return np.argsort(np.asarray(times, np.float64), kind="stable")


def choose(
    ranking: Sequence[ScoredDocument], k: int, calibration: Calibration, *, exactly: bool = False
) -> list[ScoredDocument]:
    """Choose at most k documents to show, the best first and without duplicate texts. Not chosen are documents below
    the floor; in a short history, unrelated ones; in a longer history, those more than the margin below the best.
    ``exactly``: the user asked for k documents, so only the floor counts."""
    least = [] if calibration.floor is None else [calibration.floor]
    if not exactly:
        if is_short(ranking):
            ranking = [scored for scored in ranking if not is_unrelated(scored)]
        elif calibration.margin is not None:
            least.append(ranking[0].score - calibration.margin)
    best = islice(_without_copies(ranking), k)
    return [scored for scored in best if all(scored.score >= lowest for lowest in least)]


def _without_copies(ranking: Iterable[ScoredDocument]) -> Iterator[ScoredDocument]:
    """Yield the documents without duplicates: of texts that differ only in case and spaces, the first stays."""
    texts = set()
    for scored in ranking:
        text = " ".join(scored.document.text.casefold().split())
        if text not in texts:
            texts.add(text)
            yield scored
