"""The table of retrievers by name, from which settings, help, routes and documentation take their lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pearl.errors import NotFound
from pearl.settings import EMBEDDED
from retriever.base import Retriever
from retriever.baselines.bm25 import BM25Retriever
from retriever.baselines.dense import DenseRequestsRetriever, DenseRetriever, DenseSumRetriever, FusionRetriever
from retriever.baselines.likelihood import LikelihoodRetriever
from retriever.baselines.trivial import RandomRetriever, RecentRetriever
from retriever.calibrated.artifact import SHIPPED, artifact_retriever
from retriever.models.encoder import Encoder


@dataclass(frozen=True, slots=True)
class RetrieverEntry:
    """A retriever's entry in the table of retrievers."""

    name: str
    summary: str  # a noun phrase for tables and help
    make: Callable[[Encoder], Retriever]
    trained: bool = False  # False for a baseline
    needs_encoder: bool = False  # False: it is served without loading the encoder
    served: bool = True  # False: too slow to serve, left to ``pearl rank`` and ``pearl eval``


ENTRIES = (
    RetrieverEntry(
        EMBEDDED,
        "the trained artifact that comes with the package",
        partial(artifact_retriever, SHIPPED),
        trained=True,
        needs_encoder=True,
    ),
    RetrieverEntry("bm25", "BM25", lambda _: BM25Retriever()),
    RetrieverEntry("dense", "cosine with the document", DenseRetriever, needs_encoder=True),
    RetrieverEntry("dense-requests", "cosine between the requests", DenseRequestsRetriever, needs_encoder=True),
    RetrieverEntry("dense-sum", "sum of both cosines", DenseSumRetriever, needs_encoder=True),
    RetrieverEntry(
        "fusion",
        "BM25 and dense, fused by reciprocal rank",
        lambda encoder: FusionRetriever((BM25Retriever(), DenseRetriever(encoder))),
        needs_encoder=True,
    ),
    RetrieverEntry("likelihood", "likelihood of the request (UPR)", lambda _: LikelihoodRetriever(), served=False),
    RetrieverEntry("random", "random order", lambda _: RandomRetriever()),
    RetrieverEntry("recent", "the most recent", lambda _: RecentRetriever()),
)
UNTRAINED = tuple(entry.name for entry in ENTRIES if not entry.trained)
SERVED = tuple(entry.name for entry in ENTRIES if entry.served)


def is_named(name: str) -> bool:
    """True if ``name`` is a retriever's name; False if it is an artifact's folder."""
    kind, colon, _ = name.partition(":")
    return any(entry.name == name for entry in ENTRIES) or (kind == LikelihoodRetriever.name and bool(colon))


def find_entry(name: str) -> RetrieverEntry:
    """Find a retriever's entry, or make one for an artifact's folder. Raises NotFound; the message lists the names."""
    for entry in ENTRIES:
        if entry.name == name:
            return entry
    kind, colon, model = name.partition(":")
    if kind == LikelihoodRetriever.name and colon and model:
        return RetrieverEntry(
            name, f"likelihood of the request under {model}", lambda _: LikelihoodRetriever(model), served=False
        )
    if "/" in name or (name and Path(name).is_dir()):
        make = partial(artifact_retriever, Path(name))
        return RetrieverEntry(name, "an artifact's folder", make, trained=True, needs_encoder=True)
    raise NotFound(
        f"There is no model '{name}'; there are {', '.join(entry.name for entry in ENTRIES)} and folders of artifacts.",
        param="model",
        code="model_not_found",
    )


def make_retriever(name: str, encoder: Encoder) -> Retriever:
    """Make a retriever by its name or from an artifact's folder. Raises NotFound for an unknown name, InputError for an
    unusable artifact."""
    return find_entry(name).make(encoder)
