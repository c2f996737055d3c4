"""Models under torch: the reference, used for those that ``retriever.models.folder`` does not open."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retriever.models.hardware import prefers_bfloat16
from retriever.models.quantized import read_weights

Floats = NDArray[np.float32]

SENTENCES = 32  # of a batch
PAIRS = 16  # of a batch


class SentenceModel:
    """Any model of sentence-transformers; calls from several threads take turns."""

    def __init__(self, source: str) -> None:
        """A folder, or a name for the hub. Raises OSError or ValueError for what cannot be loaded."""
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        # cosines differ by about 0.002
        dtype = torch.bfloat16 if prefers_bfloat16("cpu") else torch.float32
        self._model: Any = SentenceTransformer(
            source, device="cpu", local_files_only=Path(source).exists(), model_kwargs={"dtype": dtype}
        )
        self._lock = threading.Lock()  # its tokenizer is not safe to share between threads

    def documents(self, texts: Sequence[str]) -> Floats:
        """(texts, E)"""
        parts = []
        for start in range(0, len(texts), SENTENCES):
            with self._lock:  # given back after each part, so that a long list does not keep a request waiting
                parts.append(self._encoded(self._model.encode_document, texts[start : start + SENTENCES]))
        return np.concatenate(parts)

    def request(self, text: str) -> Floats:
        """(1, E)"""
        with self._lock, _one_core():
            return self._encoded(self._model.encode_query, [text])

    def reads(self, text: str) -> bool:
        """True without a check: an encoder of another kind was named for the texts that it gets."""
        return True

    def _encoded(self, encode: Any, texts: Sequence[str]) -> Floats:
        vectors = encode(list(texts), batch_size=SENTENCES, convert_to_numpy=True, show_progress_bar=False)
        return np.asarray(vectors, np.float32)


class PairModel:
    """Any classifier of transformers whose weights ``retriever.models.quantized`` wrote; calls take turns."""

    def __init__(self, folder: Path, max_tokens: int) -> None:
        from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        model: Any = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
        model.load_state_dict(read_weights(folder / "model.safetensors"))
        self._model = model.eval()
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._max_tokens = max_tokens
        self._lock = threading.Lock()

    def outputs(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """(pairs, labels)"""
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
                    max_length=self._max_tokens,
                    padding=True,
                    return_tensors="pt",
                )
                logits[some] = self._model(**tokens).logits.float().numpy()
        return logits


@contextmanager
def _one_core() -> Iterator[None]:
    """Run torch on one core. A second one makes a request of 40 words a third quicker on an idle machine, but torch's
    threads wait for each other after every layer: beside two busy processes on two cores it took ten times as long."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
