"""Retrievers by name."""

from __future__ import annotations

from pathlib import Path

from pearl.errors import NotFound
from pearl.settings import EMBEDDED
from retriever.base import Retriever
from retriever.baselines.bm25 import BM25Retriever
from retriever.baselines.dense import DenseRequestsRetriever, DenseRetriever
from retriever.baselines.fusion import FusionRetriever
from retriever.baselines.likelihood import LikelihoodRetriever
from retriever.baselines.random_order import RandomRetriever
from retriever.baselines.recent import RecentRetriever
from retriever.calibrated.artifact import SHIPPED, artifact_retriever
from retriever.models.encoder import Encoder

NAMES = ("bm25", "dense", "dense-requests", "fusion", "likelihood", "random", "recent")


def make_retriever(name: str, encoder: Encoder) -> Retriever:
    """A retriever by name, ``embedded`` for the artifact shipped with the package, or an artifact's folder.

    Raises NotFound that lists the names there are, and InputError for an artifact that cannot be used.
    """
    if name == "bm25":
        return BM25Retriever()
    if name == "dense":
        return DenseRetriever(encoder)
    if name == "dense-requests":
        return DenseRequestsRetriever(encoder)
    if name == "fusion":
        return FusionRetriever((BM25Retriever(), DenseRetriever(encoder)))
    if name == "likelihood":
        return LikelihoodRetriever()
    if name == "random":
        return RandomRetriever()
    if name == "recent":
        return RecentRetriever()
    if name == EMBEDDED:
        return artifact_retriever(SHIPPED, encoder)
    if "/" in name or (name and Path(name).is_dir()):
        return artifact_retriever(Path(name), encoder)
    raise NotFound(
        f"There is no model '{name}'; there are {EMBEDDED}, {', '.join(NAMES)} and folders of artifacts.",
        param="model",
        code="model_not_found",
    )
