"""The cross-encoder, which reads a request and a document together and returns a logit (papers/pearl.txt, section 4.3).

Dimensions in comments: C candidates.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError

from pearl.clock import Clock
from pearl.errors import InputError
from pearl.records import Document, Request
from retriever.base import content
from retriever.models.folder import BertFolder, Ids, model_folder
from retriever.models.hardware import prefers_bfloat16
from retriever.models.quantized import read_weights

Floats = NDArray[np.float32]
KeptIds = dict[tuple[str, str], Ids]  # of documents, by their content

REQUEST_WORDS = 48  # so that a long request leaves room for the document in a window of 128 tokens
ALL_WORDS = 0
LATELY = 0.2  # weight of the newest measurement in the moving mean
PAIRS = 16  # of a batch under torch
CHARACTERS = 32  # a token: what comes later does not fit into the window, but would be cut into tokens first


@dataclass(frozen=True, slots=True)
class PairReading:
    """The parts of a request and a document that a cross-encoder reads, in training and in use."""

    max_tokens: int  # of both texts; the longer one gives way
    request_words: int = REQUEST_WORDS  # the first ones of a request, or ALL_WORDS
    own_requests: bool = True  # the request that a document answered stands before its text

    def pair(self, request: str, document: Document) -> tuple[str, str]:
        """Return the part of the request and the part of the document that the model reads."""
        return self.request_part(request), self.document_part(document)

    def request_part(self, request: str) -> str:
        request = request[: self._longest]
        words = request.split()
        cut = self.request_words != ALL_WORDS and len(words) > self.request_words
        return " ".join(words[: self.request_words]) if cut else request

    def document_part(self, document: Document) -> str:
        with_request = document.request and self.own_requests
        return (f"{document.request}\n{document.text}" if with_request else document.text)[: self._longest]

    @property
    def _longest(self) -> int:
        return CHARACTERS * self.max_tokens


class CrossEncoderModel:
    """A trained cross-encoder, loaded on first use. It is thread-safe."""

    def __init__(self, folder: Path, reading: PairReading) -> None:
        self._folder = folder
        self._reading = reading
        self._turn = threading.Lock()
        self._seconds = 0.0  # per document, as a moving mean
        self._lock = threading.Lock()
        self._loaded: _PairReader | None = None

    def load(self) -> None:
        """Load the weights now, so that the first request does not wait. Raises InputError."""
        self._ready()

    @contextmanager
    def turn(self, documents: int, clock: Clock) -> Iterator[bool]:
        """Reserve the processor for one ranking at a time. Yield True if there is time to read so many documents; False
        if the time ran out while waiting, or too little is left."""
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
        """Return the logit of each document for the request, (C,)."""
        [logits] = self.read(request, [documents], {})
        return logits

    def read(
        self, request: Request, parts: Iterable[Sequence[Document]], kept_ids: KeptIds
    ) -> Generator[Floats, None, None]:
        """Yield the logits of each part of the documents, (C,) each, in order. ``kept_ids``: a cache of the documents'
        tokens, to which this call adds."""
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
                self._loaded = _load(self._folder, self._reading)
            return self._loaded


class _PairReader(Protocol):
    def outputs(
        self, request: str, parts: Iterable[Sequence[Document]], kept_ids: KeptIds, /
    ) -> Generator[Floats, None, None]: ...


class _RuntimeReader:
    """A cross-encoder that runs without torch."""

    def __init__(self, folder: BertFolder, reading: PairReading) -> None:
        from retriever.models.graph import logits_graph
        from retriever.models.runtime import TextModel

        self._reading = reading
        self._model = TextModel(folder, logits_graph)

    def outputs(
        self, request: str, parts: Iterable[Sequence[Document]], kept_ids: KeptIds, /
    ) -> Generator[Floats, None, None]:
        request_ids = self._model.ids(self._reading.request_part(request))

        def inputs(documents: Sequence[Document]) -> Iterator[tuple[Ids, Ids]]:
            return ((request_ids, self._ids(document, kept_ids)) for document in documents)

        return self._model.outputs_of_ids((inputs(documents), len(documents)) for documents in parts)

    def _ids(self, document: Document, kept_ids: KeptIds) -> Ids:
        key = content(document)
        ids = kept_ids.get(key)
        if ids is None:
            ids = kept_ids[key] = self._model.ids(self._reading.document_part(document))
        return ids


class _TorchReader:
    """A cross-encoder under torch, for architectures that the runtime does not support. One thread computes at a
    time."""

    def __init__(self, folder: Path, reading: PairReading) -> None:
        from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        model: Any = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
        model.load_state_dict(read_weights(folder / "model.safetensors"))
        self._model = model.eval()
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._reading = reading
        self._lock = threading.Lock()

    def outputs(
        self, request: str, parts: Iterable[Sequence[Document]], kept_ids: KeptIds, /
    ) -> Generator[Floats, None, None]:
        for documents in parts:
            yield self._outputs([self._reading.pair(request, document) for document in documents])

    def _outputs(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Return the logits, (pairs, labels)."""
        import torch

        logits = np.zeros((len(pairs), self._model.config.num_labels), np.float32)
        # texts of like length in a batch: none is padded to the length of a much longer one
        by_length = sorted(range(len(pairs)), key=lambda position: len(pairs[position][1]))
        with self._lock, torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=prefers_bfloat16("cpu")):
            for start in range(0, len(pairs), PAIRS):
                some = by_length[start : start + PAIRS]
                tokens = self._tokenizer(
                    [pairs[position][0] for position in some],
                    [pairs[position][1] for position in some],
                    truncation="longest_first",
                    max_length=self._reading.max_tokens,
                    padding=True,
                    return_tensors="pt",
                )
                logits[some] = self._model(**tokens).logits.float().numpy()
        return logits


def _load(folder: Path, reading: PairReading) -> _PairReader:
    known = model_folder(folder, reading.max_tokens)
    try:
        return _TorchReader(folder, reading) if known is None else _RuntimeReader(known, reading)
    except (OSError, ValueError, SafetensorError) as error:
        why = str(error).strip().partition("\n")[0]
        raise InputError(f"{folder}: the cross-encoder cannot be loaded: {why}", code="damaged_file") from error
