"""Encoding paragraphs while a head is fitted, by an encoder that stays as it is or by one that is trained.

Dimensions in comments: B paragraphs or pairs, E width of the encoder, V entries of a paragraph vector.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from rich.console import Console
from torch import Tensor, nn

from pearl.errors import InputError
from pearl.text.files.whole import replaced_file
from retriever.models.encoder import encoder_source
from retriever.models.files import source_digest, system_errors
from retriever.models.hardware import prefers_bfloat16
from retriever.reward.vectors import Vectors, layer_means, pair_means, paragraph_vectors, token_places
from training.progress import progress_of
from training.reward.config import LAST

AT_ONCE = 64  # texts between two steps of the progress bar


class ParagraphReader(Protocol):
    """Makes vectors of texts, given by index, with gradients if the encoder is trained."""

    def vectors(self, texts: Sequence[int]) -> Tensor:
        """Return the vector of each text, (B, V)."""
        ...

    def pair_vectors(self, pairs: Sequence[tuple[int, int]]) -> Tensor:
        """Return both texts' vectors for each pair, (B, 2 E)."""
        ...


def layers_of(base: str, layers: str) -> tuple[int, ...]:
    """Read the option ``layers``: numbers of layers, 0 for the embeddings. Raises InputError for unknown layers."""
    from transformers import AutoConfig

    config: Any = AutoConfig.from_pretrained(encoder_source(base))
    last = int(config.num_hidden_layers)
    if layers == LAST:
        return (last,)
    try:
        numbers = tuple(int(number) for number in layers.split(","))
    except ValueError:
        numbers = (-1,)
    if not all(0 <= number <= last for number in numbers) or len(set(numbers)) < len(numbers):
        raise InputError(
            f"--choose layers={layers}: name '{LAST}', or different numbers from 0 to {last} such as 0,1; that is how "
            f"many layers the base '{base}' has above its embeddings."
        )
    return numbers


class KeptVectors(nn.Module):
    """Vectors computed once by an encoder that is not trained."""

    _vectors: Tensor

    def __init__(self, vectors: Vectors) -> None:
        super().__init__()
        self.register_buffer("_vectors", torch.from_numpy(vectors), persistent=False)

    def vectors(self, texts: Sequence[int]) -> Tensor:
        """Return the vector of each text, (B, V)."""
        return self._vectors[list(texts)]

    def pair_vectors(self, pairs: Sequence[tuple[int, int]]) -> Tensor:
        """Return the vectors of each pair's texts, (B, 2 E), each text read on its own."""
        return torch.cat([self.vectors([one for one, _ in pairs]), self.vectors([two for _, two in pairs])], 1)


class LearningReader(nn.Module):
    """A transformers encoder that is trained along with the head."""

    def __init__(self, base: str, texts: Sequence[str], layers: Sequence[int], max_tokens: int) -> None:
        super().__init__()
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        source = encoder_source(base)
        self.model: Any = AutoModel.from_pretrained(source)
        self._tokenizer: Any = AutoTokenizer.from_pretrained(source)
        self.width: int = len(layers) * self.model.config.hidden_size
        self._texts = texts
        self._layers = tuple(layers)
        self._max_tokens = max_tokens

    def vectors(self, texts: Sequence[int]) -> Tensor:
        """Return the vector of each text, (B, V)."""
        with self._precision():
            means: Tensor = layer_means(self.model, self._tokens([self._texts[place] for place in texts]), self._layers)
        return means.float()

    def pair_vectors(self, pairs: Sequence[tuple[int, int]]) -> Tensor:
        """Return the vectors of each pair's texts, (B, 2 E), both texts read together."""
        tokens = self._tokens([self._texts[one] for one, _ in pairs], [self._texts[two] for _, two in pairs])
        with self._precision():
            means: Tensor = pair_means(self.model, tokens, token_places(tokens).to(self.model.device))
        return means.float()

    def save(self, folder: Path) -> None:
        """Write the encoder's weights, configuration and tokenizer to a new folder."""
        folder.mkdir()
        with system_errors(folder):
            self.model.save_pretrained(folder)
            self._tokenizer.save_pretrained(folder)

    def _precision(self) -> torch.autocast:
        kind = self.model.device.type
        return torch.autocast(kind, torch.bfloat16, enabled=prefers_bfloat16(kind))

    def _tokens(self, *texts: list[str]) -> Any:
        cut = {"truncation": "longest_first", "max_length": self._max_tokens, "padding": True, "return_tensors": "pt"}
        return self._tokenizer(*texts, **cut).to(self.model.device)


def kept_vectors(
    base: str, texts: Sequence[str], layers: Sequence[int], max_tokens: int, work: Path, console: Console
) -> Vectors:
    """Return the vectors of all texts, (N, V), from ``work`` if an earlier run kept them there."""
    source = encoder_source(base)
    made_of = json.dumps([source_digest(source) or source, list(layers), max_tokens, list(texts)])
    file = work / f"vectors-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}.npy"
    if file.exists():
        return np.asarray(np.load(file), np.float32)
    reader = paragraph_vectors(Path(source), layers, max_tokens)
    parts = []
    with progress_of("reading", len(texts), console) as advance:
        for start in range(0, len(texts), AT_ONCE):
            parts.append(reader.of(texts[start : start + AT_ONCE]))
            advance(len(parts[-1]), True)
    vectors = np.concatenate(parts)
    with replaced_file(file) as partial, partial.open("wb") as written:
        np.save(written, vectors)
    return vectors
