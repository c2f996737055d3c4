"""Paragraph vectors: means over the tokens after some layers of an encoder, for one paragraph or two read together.

Dimensions in comments: B paragraphs or pairs, E width of the encoder, V = layers x E.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError

from pearl.errors import InputError
from retriever.models.folder import BertFolder, PairFolder, model_folder

Vectors = NDArray[np.float32]
AT_ONCE = 16  # texts of a batch under torch


class ParagraphVectors(Protocol):
    """An encoder that reads single paragraphs. It is thread-safe."""

    def of(self, texts: Sequence[str]) -> Vectors:
        """Return the vector of each text, (B, V)."""
        ...


class PairVectors(Protocol):
    """An encoder that reads two paragraphs together."""

    def of_pairs(self, pairs: Sequence[tuple[str, str]]) -> Vectors:
        """Return the vectors of both paragraphs of each pair, read together: (B, 2 E)."""
        ...


def paragraph_vectors(folder: Path, layers: Sequence[int], max_tokens: int) -> ParagraphVectors:
    """Open an encoder, in the runtime if supported, else in torch. Raises InputError if it cannot be loaded."""
    known = model_folder(folder, max_tokens)
    with _loading(folder):
        return TorchVectors(folder, layers, max_tokens) if known is None else _RuntimeParagraphs(known, layers)


def pair_vectors(folder: Path, max_tokens: int) -> PairVectors:
    """Like :func:`paragraph_vectors`, for pairs read together; the vectors are taken after the last layer."""
    known = model_folder(folder, max_tokens)
    with _loading(folder):
        return TorchVectors(folder, (-1,), max_tokens) if known is None else _RuntimePairs(known)


@contextmanager
def _loading(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, SafetensorError) as error:
        why = str(error).strip().partition("\n")[0]
        said = f"{folder}: the encoder of the reward model cannot be loaded: {why}"
        raise InputError(said, code="damaged_file") from error


class _RuntimeParagraphs:
    def __init__(self, folder: BertFolder, layers: Sequence[int]) -> None:
        from retriever.models.graph import layers_graph
        from retriever.models.runtime import TextModel

        self._model = TextModel(folder, layers_graph(layers))

    def of(self, texts: Sequence[str]) -> Vectors:
        return self._model.outputs([(text,) for text in texts])


class _RuntimePairs:
    def __init__(self, folder: BertFolder) -> None:
        from retriever.models.graph import pair_graph
        from retriever.models.runtime import TextModel

        whole = PairFolder(**{field.name: getattr(folder, field.name) for field in fields(BertFolder)})
        self._model = TextModel(whole, pair_graph)

    def of_pairs(self, pairs: Sequence[tuple[str, str]]) -> Vectors:
        return self._model.outputs(pairs)


class TorchVectors:
    """An encoder under torch in float32, for models that the runtime does not support. One thread computes at a
    time."""

    def __init__(self, folder: Path, layers: Sequence[int], max_tokens: int) -> None:
        """Load the encoder up to the layer above the last of ``layers``. Raises OSError or ValueError on failure."""
        from transformers import AutoConfig, AutoModel, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        config: Any = AutoConfig.from_pretrained(folder, local_files_only=True)
        if 0 <= max(layers) < config.num_hidden_layers:
            config.num_hidden_layers = max(layers) + 1
        verbosity = logging.get_verbosity()
        logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # it lists the weights of the layers above
        try:
            self._model: Any = AutoModel.from_pretrained(folder, config=config, local_files_only=True).eval()
        finally:
            logging.set_verbosity(verbosity)
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._layers = tuple(layers)
        self._max_tokens = max_tokens
        self._lock = threading.Lock()

    def of(self, texts: Sequence[str]) -> Vectors:
        """Return the vector of each text, (B, V)."""
        import torch

        vectors: list[Any] = [None] * len(texts)
        by_length = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        with self._lock, torch.inference_mode():
            for start in range(0, len(by_length), AT_ONCE):
                some = by_length[start : start + AT_ONCE]
                tokens = self._tokens([texts[index] for index in some])
                for index, vector in zip(some, layer_means(self._model, tokens, self._layers).numpy(), strict=True):
                    vectors[index] = vector
        return np.stack(vectors)

    def of_pairs(self, pairs: Sequence[tuple[str, str]]) -> Vectors:
        """Return the vectors of both paragraphs of each pair, read together: (B, 2 E)."""
        import torch

        vectors = []
        with self._lock, torch.inference_mode():
            for start in range(0, len(pairs), AT_ONCE):
                firsts, seconds = zip(*pairs[start : start + AT_ONCE], strict=True)
                tokens = self._tokens(firsts, seconds)
                vectors.append(pair_means(self._model, tokens, token_places(tokens)).numpy())
        return np.concatenate(vectors)

    def _tokens(self, *texts: Sequence[str]) -> Any:
        cut = {"truncation": "longest_first", "max_length": self._max_tokens, "padding": True, "return_tensors": "pt"}
        return self._tokenizer(*(list(part) for part in texts), **cut)


def layer_means(model: Any, tokens: Any, layers: Sequence[int]) -> Any:
    """Average the states after each of ``layers`` over the tokens, (B, T) -> (B, V). Gradients flow if enabled."""
    import torch

    states = model(**tokens, output_hidden_states=True).hidden_states
    mask = tokens["attention_mask"].unsqueeze(-1)  # (B, T, 1)
    return torch.cat([(states[layer] * mask).sum(1) / mask.sum(1) for layer in layers], 1)


def token_places(tokens: Any) -> Any:
    """Return which text each token is in, (B, T): 0 for the first, 1 for the second, -1 for special tokens."""
    import torch

    rows = (tokens.sequence_ids(row) for row in range(len(tokens["input_ids"])))
    return torch.tensor([[-1 if text is None else text for text in row] for row in rows])


def pair_means(model: Any, tokens: Any, places: Any) -> Any:
    """Average the last states over the tokens of each text: (B, 2 E). ``places``: from ``token_places``, (B, T)."""
    import torch

    hidden = model(**tokens).last_hidden_state
    masks = [(places == text).unsqueeze(-1).to(hidden.dtype) for text in (0, 1)]
    return torch.cat([(hidden * mask).sum(1) / mask.sum(1).clamp(min=1) for mask in masks], 1)
