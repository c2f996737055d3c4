"""Paragraph vectors: means over the tokens after some layers of an encoder, one paragraph or two read together.

Dimensions in comments: B paragraphs or pairs, E width of the encoder, V = layers x E.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError

from pearl.errors import InputError
from retriever.models.folder import BertFolder, PairFolder, model_folder

if TYPE_CHECKING:
    from retriever.reward.reference import TorchVectors

Vectors = NDArray[np.float32]


class ParagraphVectors(Protocol):
    """An encoder that reads paragraphs; any number of threads may use it at once."""

    def of(self, texts: Sequence[str]) -> Vectors:
        """(B, V)"""
        ...


class PairVectors(Protocol):
    """An encoder that reads two paragraphs together."""

    def of_pairs(self, pairs: Sequence[tuple[str, str]]) -> Vectors:
        """(B, 2 E): both paragraphs' vectors"""
        ...


def paragraph_vectors(folder: Path, layers: Sequence[int], max_tokens: int) -> ParagraphVectors:
    """Open the encoder by the runtime if that knows it, else by torch. Raises InputError for what cannot be loaded."""
    known = model_folder(folder, max_tokens)
    try:
        return _RuntimeParagraphs(known, layers) if known is not None else _reference(folder, layers, max_tokens)
    except (OSError, ValueError, SafetensorError) as error:
        raise _unusable(folder, error) from error


def pair_vectors(folder: Path, max_tokens: int) -> PairVectors:
    """Like :func:`paragraph_vectors`, for pairs, after the last layer."""
    known = model_folder(folder, max_tokens)
    try:
        return _RuntimePairs(known) if known is not None else _reference(folder, (-1,), max_tokens)
    except (OSError, ValueError, SafetensorError) as error:
        raise _unusable(folder, error) from error


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


def _reference(folder: Path, layers: Sequence[int], max_tokens: int) -> TorchVectors:
    from retriever.reward.reference import TorchVectors

    return TorchVectors(folder, layers, max_tokens)


def _unusable(folder: Path, error: Exception) -> InputError:
    why = str(error).strip().partition("\n")[0]
    return InputError(f"{folder}: the encoder of the reward model cannot be loaded: {why}", code="damaged_file")
