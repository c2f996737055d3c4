"""``pearl eval quality``"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from eval.commands.scored import Resamples, Seed
from pearl.options import JSON_OPTION, known

EXAMPLES = """A record is a pair of texts, the better one, and where it is known the pair's origin:

\b
  {"paragraph1": "...", "paragraph2": "...", "reference_preference": "2", "origin": "human-AI"}

Files are JSON arrays or JSON Lines; LAMP's chats with a preference are read, too. A file is a set.

Examples:

\b
  pearl eval quality --pairs lamp.json --model embedded --json -
  pearl eval quality --pairs lamp.json --trained-on train.jsonl.gz --model MODEL --scorer perplexity
  pearl eval quality --pairs lamp.json --pairs mirror.json --scorer compression
  pearl eval quality --pairs lamp.json --trained-on train.jsonl.gz --scorer shorter --json - | jq .baselines
"""


def quality(
    pairs: list[Path] = typer.Option(
        ..., "--pairs", metavar="F.json", help="Pairs of texts, a set a file; repeatable."
    ),
    model: str | None = typer.Option(None, "--model", metavar="MODEL", help="Reward model: a folder, or embedded."),
    scorer: str | None = typer.Option(
        None,
        "--scorer",
        metavar="NAME",
        help="shorter, longer, first, compression, type_token or perplexity; beside --model a further baseline.",
    ),
    trained_on: list[Path] = typer.Option(
        [],
        "--trained-on",
        metavar="F.json",
        help="Training records: pairs with their paragraphs are named, and a linear model on surface features is "
        "fitted on them; repeatable.",
    ),
    resamples: Resamples = 2000,
    seed: Seed = 0,
    picture: Path | None = typer.Option(None, metavar="FILE.svg", help="Draw every scorer's accuracy."),
    report: Path | None = typer.Option(None, metavar="FILE.html", help="Write everything as one page."),
    json: str | None = JSON_OPTION,
) -> None:
    """Measure how often a scorer prefers the better written text, beside every trivial scorer."""
    from eval.recorded.quality.benchmark import QualityOptions, quality_report, read_sets
    from eval.recorded.quality.quality_tables import quality_figure, quality_tables
    from eval.recorded.quality.reward_scorer import RewardScorer
    from eval.recorded.quality.scorers import BY_NAME, PairScorer
    from eval.recorded.quality.surface import SurfaceScorer
    from eval.report.head import Head
    from eval.report.report import Outputs, Report
    from pearl.errors import InputError

    outputs = Outputs(json, picture, report)
    outputs.check()
    if model is None and scorer is None:
        raise InputError("Name a reward model with --model, or a scorer with --scorer.", param="model")
    named: list[PairScorer] = [RewardScorer.load(model)] if model is not None else []
    if scorer is not None:
        named.append(BY_NAME[known("scorer", scorer, BY_NAME)])
    sets = read_sets(pairs, trained_on)
    surface = SurfaceScorer.fitted(trained_on)
    if surface is not None:
        named.append(surface)
    asked: dict[str, Any] = {"pairs": pairs, "model": model, "scorer": scorer, "trained_on": trained_on}
    head = Head.of("eval", "quality", **asked, resamples=resamples, seed=seed)
    figures = quality_report(sets, named[0], QualityOptions(resamples=resamples, seed=seed), named[1:])
    outputs.write(head, Report(figures, quality_tables, "Writing quality", quality_figure))
