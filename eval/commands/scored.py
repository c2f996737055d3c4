"""The options that ``pearl eval retrieval`` and ``pearl eval calibration`` share, and the scoring of records by
models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np
import typer
from numpy.typing import ArrayLike

from eval.commands.options import Baselines, Models
from pearl.errors import InputError
from pearl.stats.proportions import DIGITS
from retriever.registry import UNTRAINED, make_retriever

if TYPE_CHECKING:
    from eval.report.pictures import Draw
    from eval.report.report import Report, Tables
    from eval.retrieval.choices import Candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    """The options of a command in which models score the documents of records (requests with documents and gains)."""

    gains: Annotated[
        list[Path], typer.Option(metavar="G.jsonl.gz", help="Requests with their documents and gains; repeatable.")
    ]
    model: Models
    baseline: Baselines = field(default_factory=list)
    near_duplicates: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="A document with at least this share of the target's word trigrams is a near-duplicate; "
            "a second table leaves those out.",
        ),
    ] = 0.5


OptionsT = TypeVar("OptionsT", bound=ScoringOptions)


def report_scores(
    name: str,
    options: OptionsT,
    figures: Callable[[Candidates, Sequence[str], OptionsT], dict[str, Any]],
    tables: Tables,
    picture: Draw | None = None,
    *,
    own: str,
) -> Report:
    """Score every record with every model, and report ``figures`` of the scores, the baselines' names and the options.
    ``own``: the option that only this command has."""
    from eval.report.head import Head
    from eval.report.report import Report
    from pearl.settings import load_settings

    settings = load_settings()
    models = [*options.model, *options.baseline]
    choices = score_all(options.gains, models, settings.encoder)
    baselines = [model for model in models if model in UNTRAINED or model in options.baseline]
    result = figures(choices, baselines, options)
    for row, scored in zip(result["models"], choices.models, strict=True):
        row["s1"] = distribution([scores.max() for scores in scored.scores])
    given: dict[str, Any] = {"gains": options.gains, "model": options.model, "baseline": options.baseline}
    given |= {own: getattr(options, own), "near_duplicates": options.near_duplicates}
    head = Head.of("eval", name, settings=settings, **given)
    return Report(result, tables, picture=picture, head=head)


def check_named_once(models: Sequence[str]) -> None:
    """Raises InputError for a model that is named twice."""
    twice = next((name for name in models if models.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"The model '{twice}' is named twice; name it once.")


def score_all(gains: Sequence[Path], models: Sequence[str], encoder: str) -> Candidates:
    """Read all records and score their documents with every model. Raises InputError, before the scoring if
    possible."""
    from rich.console import Console

    from eval.retrieval.choices import Candidates
    from eval.retrieval.gains import read_gains
    from eval.retrieval.scoring import RememberingEncoder, score_records
    from pearl.models.runtime.progress import ProgressLine, bars
    from retriever.models.encoder import SentenceEncoder

    check_named_once(models)
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


HISTOGRAM_BINS = 20


def distribution(values: ArrayLike) -> dict[str, list[float]]:
    """A histogram: the edges of the bins, and the number of values in each bin."""
    counts, edges = np.histogram(values, bins=HISTOGRAM_BINS)
    return {"edges": edges.round(DIGITS).tolist(), "counts": counts.tolist()}
