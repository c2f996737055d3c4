"""The cross-encoder: request and document read together, one logit (papers/pearl.txt, section 4.3).

Dimensions in comments: C candidates.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pearl.records import Document, Request
from retriever.quantized import read_weights

Floats = NDArray[np.float32]

BATCH = 16  # pairs
REQUEST_WORDS = 48  # a request of a page must leave the document its place in the window
LONGEST = 4000  # characters: what comes later does not fit into the window, but would be cut into tokens first


def pair_of(request: str, document: Document) -> tuple[str, str]:
    """What the model reads: the request, and the document with the request that it answered."""
    words = request[:LONGEST].split()
    asked = request[:LONGEST] if len(words) <= REQUEST_WORDS else " ".join(words[:REQUEST_WORDS])
    own = f"{document.request}\n{document.text}" if document.request else document.text
    return asked, own[:LONGEST]


class CrossEncoderModel:
    """A fitted cross-encoder, loaded on first use; calls from several threads take turns."""

    def __init__(self, folder: Path, max_tokens: int) -> None:
        self._folder = folder
        self._max_tokens = max_tokens
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def load(self) -> None:
        """Load the weights now, so that the first request does not wait for them."""
        with self._lock:
            self._load()

    def logits(self, request: Request, documents: Sequence[Document]) -> Floats:
        """(C,)"""
        import torch

        with self._lock, torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=_fast()):
            model, tokenizer = self._load()
            pairs = [pair_of(request.text, document) for document in documents]
            found = np.zeros(len(pairs), np.float32)
            # texts of like length in a batch: none is padded to the length of a much longer one
            by_length = sorted(range(len(pairs)), key=lambda position: len(pairs[position][1]))
            for start in range(0, len(pairs), BATCH):
                some = by_length[start : start + BATCH]
                tokens = tokenizer(
                    [pairs[position][0] for position in some],
                    [pairs[position][1] for position in some],
                    truncation="longest_first",
                    max_length=self._max_tokens,
                    padding=True,
                    return_tensors="pt",
                )
                found[some] = model(**tokens).logits[:, 0].float().numpy()
        return found

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

            config = AutoConfig.from_pretrained(self._folder, local_files_only=True)
            model: Any = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
            model.load_state_dict(read_weights(self._folder / "model.safetensors"))
            self._loaded = (model.eval(), AutoTokenizer.from_pretrained(self._folder, local_files_only=True))
        return self._loaded


def _fast() -> bool:
    import torch

    return bool(torch.cpu._is_avx512_bf16_supported())
