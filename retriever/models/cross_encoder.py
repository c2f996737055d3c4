"""The cross-encoder: request and document read together, one logit (papers/pearl.txt, section 4.3).

Dimensions in comments: C candidates.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError

from pearl.clock import Clock
from pearl.errors import InputError
from pearl.records import Document, Request
from retriever.base import content
from retriever.models.adapter import is_adapter, merged_folder
from retriever.models.folder import BertFolder, Ids, model_folder

Floats = NDArray[np.float32]
KeptIds = dict[tuple[str, str], Ids]  # of documents, by their content

REQUEST_WORDS = 48  # a request of a page must leave the document its place in the window
LATELY = 0.2  # what the newest measurement counts against those before it
LONGEST = 4000  # characters: what comes later does not fit into the window, but would be cut into tokens first


def pair_of(request: str, document: Document, own_requests: bool = True) -> tuple[str, str]:
    """The two texts the model reads: the request, and the document, with the request that it answered if these are read
    as well."""
    return asked_of(request), own_of(document, own_requests)


def asked_of(request: str) -> str:
    words = request[:LONGEST].split()
    return request[:LONGEST] if len(words) <= REQUEST_WORDS else " ".join(words[:REQUEST_WORDS])


def own_of(document: Document, own_requests: bool = True) -> str:
    own = f"{document.request}\n{document.text}" if document.request and own_requests else document.text
    return own[:LONGEST]


class CrossEncoderModel:
    """A fitted cross-encoder, loaded on first use; any number of threads may use it at once.

    ``own_requests``: it reads documents with the requests that they answered.
    """

    def __init__(self, folder: Path, max_tokens: int, own_requests: bool = True) -> None:
        self._folder = folder
        self._max_tokens = max_tokens
        self._own_requests = own_requests
        self._turn = threading.Lock()
        self._seconds = 0.0  # that a document took of late
        self._lock = threading.Lock()
        self._loaded: _PairReader | None = None

    def load(self) -> None:
        """Load the weights now, so that the first request does not wait for them. Raises InputError."""
        self._ready()

    @contextmanager
    def turn(self, documents: int, clock: Clock) -> Iterator[bool]:
        """All of the processor for one history after the other: read side by side, many would all be late.

        False where the time is up before it comes, or where what is left is too short for so many documents.
        """
        waits = not self._turn.acquire(blocking=False)
        if waits and not self._turn.acquire(timeout=clock.left_s):
            yield False
            return
        try:
            # one that did not wait always tries: a pace that was slow once is measured again
            yield not waits or clock.limit_ms is None or clock.left_s >= documents * self._seconds
        finally:
            self._turn.release()

    def logits(self, request: Request, documents: Sequence[Document]) -> Floats:
        """(C,)"""
        [logits] = self.read(request, [documents], {})
        return logits

    def read(
        self, request: Request, parts: Iterable[Sequence[Document]], kept_ids: KeptIds
    ) -> Generator[Floats, None, None]:
        """The logits of each part of the documents, (C,) each, one part after the other; the next is begun before one
        ends. What the documents' tokens are is taken from ``kept_ids``, or put there."""
        model, started, read = self._ready(), time.perf_counter(), 0
        with closing(model.outputs(request.text, parts, kept_ids)) as outputs:
            for some in outputs:
                read += len(some)
                if read:
                    pace = (time.perf_counter() - started) / read
                    self._seconds += LATELY * (pace - self._seconds) if self._seconds else pace
                yield some[:, 0]

    def _ready(self) -> _PairReader:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._folder, self._max_tokens, self._own_requests)
            return self._loaded


class _PairReader(Protocol):
    def outputs(
        self, request: str, parts: Iterable[Sequence[Document]], kept_ids: KeptIds, /
    ) -> Generator[Floats, None, None]: ...


class _RuntimeReader:
    """A model that runs without torch."""

    def __init__(self, folder: BertFolder, own_requests: bool) -> None:
        from retriever.models.graph import logits_graph
        from retriever.models.runtime import TextModel

        self._own_requests = own_requests
        self._model = TextModel(folder, logits_graph)

    def outputs(
        self, request: str, parts: Iterable[Sequence[Document]], kept_ids: KeptIds, /
    ) -> Generator[Floats, None, None]:
        asked = self._model.ids(asked_of(request))

        def inputs(documents: Sequence[Document]) -> Iterator[tuple[Ids, Ids]]:
            return ((asked, self._ids(document, kept_ids)) for document in documents)

        return self._model.outputs_of_ids((inputs(documents), len(documents)) for documents in parts)

    def _ids(self, document: Document, kept_ids: KeptIds) -> Ids:
        key = content(document)
        ids = kept_ids.get(key)
        if ids is None:
            ids = kept_ids[key] = self._model.ids(own_of(document, self._own_requests))
        return ids


class _TorchReader:
    """Under torch, whose tokenizer cuts and joins texts itself."""

    def __init__(self, folder: Path, max_tokens: int, own_requests: bool) -> None:
        from retriever.models.reference import PairModel

        self._own_requests = own_requests
        self._model = PairModel(folder, max_tokens)

    def outputs(
        self, request: str, parts: Iterable[Sequence[Document]], kept_ids: KeptIds, /
    ) -> Generator[Floats, None, None]:
        for documents in parts:
            yield self._model.outputs([pair_of(request, document, self._own_requests) for document in documents])


def _load(folder: Path, max_tokens: int, own_requests: bool) -> _PairReader:
    weights = merged_folder(folder) if is_adapter(folder) else folder
    known = model_folder(weights, max_tokens)
    try:
        return _TorchReader(weights, max_tokens, own_requests) if known is None else _RuntimeReader(known, own_requests)
    except (OSError, ValueError, SafetensorError) as error:
        why = str(error).strip().partition("\n")[0]
        raise InputError(f"{folder}: the cross-encoder cannot be loaded: {why}", code="damaged_file") from error
