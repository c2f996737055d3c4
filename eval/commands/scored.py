"""The options that ``pearl eval retrieval`` and ``pearl eval calibration`` share, and scoring the records once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pearl.errors import InputError
from retriever.registry import ENTRIES, UNTRAINED

if TYPE_CHECKING:
    from eval.retrieval.choices import Candidates

GainsFiles = Annotated[
    list[Path], typer.Option("--gains", metavar="G.jsonl.gz", help="Requests with their documents and gains.")
]
Models = Annotated[
    list[str],
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Retriever to measure, repeatable: an artifact's folder, or one of "
        f"{', '.join(entry.name for entry in ENTRIES)}.",
    ),
]
Baselines = Annotated[
    list[str],
    typer.Option(
        "--baseline", metavar="MODEL", help="Artifact to count among the baselines, beside the untrained retrievers."
    ),
]
NearDuplicates = Annotated[
    float,
    typer.Option(
        "--near-duplicates",
        metavar="SHARE",
        min=0.0,
        max=1.0,
        help="A document with at least this share of the target's word trigrams is a near-duplicate; "
        "a second table leaves those out.",
    ),
]
Resamples = Annotated[int, typer.Option("--resamples", min=100, help="Number of bootstrap resamples.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the bootstrap.")]


def score_all(gains: Sequence[Path], models: Sequence[str], encoder: str) -> Candidates:
    """Read every record, then score them with every model. Raises InputError before the scoring where it can."""
    from rich.console import Console

    from eval.asking.progress import ProgressLine, bars
    from eval.retrieval.choices import Candidates
    from eval.retrieval.gains import read_gains
    from eval.retrieval.scoring import RememberingEncoder, score_records
    from retriever.models.encoder import SentenceEncoder
    from retriever.registry import make_retriever

    twice = next((name for name in models if models.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"The model '{twice}' is named twice; name it once.", param="model")
    shared_encoder = RememberingEncoder(SentenceEncoder(encoder))
    retrievers = {name: make_retriever(name, shared_encoder) for name in models}
    records = [record for path in gains for record in read_gains(path)]
    console = Console(stderr=True)
    scored = []
    with bars(console) as progress:
        for name, retriever in retrievers.items():
            tally = ProgressLine(console, progress, name, len(records), closing=False)
            scored.append(score_records(name, retriever, records, tally.advance))
    return Candidates.of_all(records, scored)


def baselines_among(models: Sequence[str], artifacts: Sequence[str]) -> list[str]:
    """Models that are not trained, and the artifacts that were named as baselines."""
    return [name for name in models if name in UNTRAINED or name in artifacts]


def with_distributions(result: dict[str, Any], choices: Candidates) -> dict[str, Any]:
    """The result with the distribution of s1 beside the figures of each model."""
    from eval.retrieval.pictures import distribution

    for row, scored in zip(result["models"], choices.models, strict=True):
        row["s1"] = distribution([scores.max() for scores in scored.scores])
    return result
