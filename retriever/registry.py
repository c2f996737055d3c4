"""Retrievers by name."""

from __future__ import annotations

from pearl.errors import NotFound
from retriever.base import Retriever
from retriever.dense import DenseRetriever
from retriever.encoder import Encoder
from retriever.fusion import FusionRetriever
from retriever.lexical import BM25Retriever
from retriever.random_order import RandomRetriever

NAMES = ("bm25", "dense", "fusion", "random")


def make_retriever(name: str, encoder: Encoder) -> Retriever:
    """Raises NotFound that lists the names there are."""
    if name == "bm25":
        return BM25Retriever()
    if name == "dense":
        return DenseRetriever(encoder)
    if name == "fusion":
        return FusionRetriever((BM25Retriever(), DenseRetriever(encoder)))
    if name == "random":
        return RandomRetriever()
    raise NotFound(f"There is no model '{name}'; there are {', '.join(NAMES)}.", param="model", code="model_not_found")
