"""The generation-calibrated retriever: a head scores all documents by signals; a cross-encoder may read the best ones.

A score s measures the gain: s = 0 is a gain of y0 nats (the anchor), and each unit of s is tau nats more (equations 2
and 3 of papers/pearl.txt). Dimensions in comments: C candidates, S signals.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pearl.clock import Clock
from pearl.records import Document, Request
from pearl.text.language import detect, wanted_language
from retriever.base import Calibration, Index, Positions, Retriever, Scores, content
from retriever.calibrated.head import Cascade, Level, SignalHead
from retriever.history.signals import SignalIndex
from retriever.history.word_weights import WordWeights
from retriever.models.cross_encoder import CrossEncoderModel, KeptIds
from retriever.models.encoder import Encoder

# Score that a document loses if it is in another language than the one wanted, and one of the history is in that one;
# docs/experiments.md says where the number comes from.
OTHER_LANGUAGE = 1.3


@dataclass(frozen=True, slots=True)
class CalibratedParts:
    """The trained parts of a retriever: word weights, head, cross-encoder and level."""

    words: WordWeights
    head: SignalHead
    cross_encoder: CrossEncoderModel | None = None  # None: the first stage alone
    level: Level | None = None  # of the first stage alone; None: the head's score of the best says how much that helps


class CalibratedRetriever(Retriever):
    def __init__(
        self,
        name: str,
        encoder: Encoder,
        parts: CalibratedParts,
        calibration: Calibration,
        cascade: Cascade = Cascade(),  # noqa: B008  (frozen)
        origin: str = "",
        do_not_use: tuple[str, ...] = (),
        fingerprint: str = "",
    ) -> None:
        self.name = name
        self.origin = origin
        self.do_not_use = do_not_use
        self.calibration = calibration
        self._fingerprint = fingerprint or name
        self._encoder = encoder
        self._parts = parts
        self._cascade = cascade

    @property
    def fingerprint(self) -> str:
        return self._fingerprint

    def index(self, documents: Sequence[Document]) -> Index:
        return CalibratedIndex(documents, self)

    def update(self, previous: Index, documents: Sequence[Document]) -> Index:
        assert isinstance(previous, CalibratedIndex), "it is of this retriever's making"
        return CalibratedIndex(documents, self, previous)

    def load(self) -> None:
        """Load the weights now, so that the first request does not wait for them."""
        if self._parts.cross_encoder is not None:
            self._parts.cross_encoder.load()

    def signal_index(self, documents: Sequence[Document], previous: SignalIndex | None = None) -> SignalIndex:
        return SignalIndex(documents, self._encoder, self._parts.words, previous)

    def scores(
        self, request: Request, documents: Sequence[Document], signals: SignalIndex, kept_ids: KeptIds, clock: Clock
    ) -> Scores:
        """Return each document's score, (C,). ``kept_ids``: a cache of documents' tokens, to which this call adds."""
        parts, cascade = self._parts, self._cascade
        cross_encoder = parts.cross_encoder
        with clock.stage("first_stage_ms"):
            found = signals.signals(request)  # (C, S)
            first = parts.head.logits(found)
        if cross_encoder is None:
            return first if parts.level is None else parts.level.moved(parts.head, found, first)

        def read(parts: Iterable[Positions]) -> Generator[Scores, None, None]:
            return cross_encoder.read(request, ([documents[position] for position in some] for some in parts), kept_ids)

        most = min(cascade.most, len(first))
        with clock.stage("cross_encoder_ms"), cross_encoder.turn(most, clock) as has_turn:
            if has_turn:
                return cascade.scores(first, read, clock)
            clock.cut_short = True
            return first


class CalibratedIndex:
    def __init__(
        self, documents: Sequence[Document], retriever: CalibratedRetriever, previous: CalibratedIndex | None = None
    ) -> None:
        self._documents = documents
        self._retriever = retriever
        self._signals: SignalIndex | None = None
        self._kept: KeptIds = {}
        self._languages: dict[str, str | None] = {}  # by text, filled by the first request in a known language
        if documents:
            self._signals = retriever.signal_index(documents, None if previous is None else previous._signals)
        if previous is not None:
            known = dict(previous._kept)  # a copy, for requests may still be reading
            self._kept = {key: known[key] for key in map(content, documents) if key in known}
            languages = dict(previous._languages)
            self._languages = {
                document.text: languages[document.text] for document in documents if document.text in languages
            }

    def scores(self, request: Request, clock: Clock | None = None) -> Scores:
        if self._signals is None:
            return np.zeros(0, np.float32)
        scores = self._retriever.scores(request, self._documents, self._signals, self._kept, clock or Clock())
        return scores - np.float32(OTHER_LANGUAGE) * self._in_another_language(request)

    def _in_another_language(self, request: Request) -> Scores:
        """Return 1 for each document in another language than the request wants, (C,); all 0 if no document is in that
        language."""
        others = np.zeros(len(self._documents), np.float32)
        wanted = wanted_language(request.text)
        if wanted is None:
            return others
        for document in self._documents:
            if document.text not in self._languages:
                self._languages[document.text] = detect(document.text)
        languages = [self._languages[document.text] for document in self._documents]
        if wanted in languages:
            others[:] = [language not in (None, wanted) for language in languages]
        return others

    def relatedness(self, request: Request) -> Scores:
        return np.zeros(0, np.float32) if self._signals is None else self._signals.relatedness(request)
