"""``pearl eval quality``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.options import RewardName
from eval.commands.reporting import reporting
from eval.report.report import Report
from pearl.cli.options import known

ABOUT = """A record is a pair of texts, the better one, and where it is known the pair's origin:

\b
  {"paragraph1": "...", "paragraph2": "...", "reference_preference": "2", "origin": "human-AI"}

Files are JSON arrays or JSON Lines; LAMP's chats with a preference are read, too. A file is a set."""
EXAMPLES = """
  pearl eval quality --pairs lamp.json --model embedded --json -
  pearl eval quality --pairs lamp.json --trained-on train.jsonl.gz --model MODEL
  pearl eval quality --pairs lamp.json --pairs mirror.json --scorer compression --perplexity
  pearl eval quality --pairs lamp.json --trained-on train.jsonl.gz --scorer shorter --json - | jq .baselines
"""


@reporting("eval", "quality", page=True)
def quality(
    pairs: list[Path] = typer.Option(..., metavar="F.json", help="Pairs of texts, a set a file; repeatable."),
    model: RewardName = None,
    scorer: str | None = typer.Option(
        None,
        metavar="NAME",
        help="Trivial scorer to measure: shorter, longer, first, compression, type_token or perplexity. All of them "
        "but perplexity are baselines of a --model.",
    ),
    trained_on: list[Path] = typer.Option(
        [],
        metavar="F.json",
        help="Training records: pairs with their paragraphs are named, and a linear model on surface features is "
        "fitted on them; repeatable.",
    ),
    perplexity: bool | None = typer.Option(
        None,
        "--perplexity/--no-perplexity",
        help="Count the perplexity under the embedded model among the baselines: 0.1 to 0.5 s a text. "
        "Default: only where it is the scorer.",
    ),
) -> Report:
    """Measure how often a scorer prefers the better written text, beside every trivial scorer."""
    from eval.recorded.quality.benchmark import quality_report, quality_tables, read_sets
    from eval.recorded.quality.checks import PAIR_CHECKS, cut_check
    from eval.recorded.quality.scorers import BY_NAME, PERPLEXITY, SCORERS, reward_pair_scorer, surface_scorer
    from pearl.errors import ChatError, InputError, PearlError
    from retriever.reward.artifact import COSINE
    from retriever.reward.model import RewardModel

    if model is None and scorer is None:
        raise InputError("Name a reward model with --model, or a scorer with --scorer.", param="model")
    if scorer == PERPLEXITY.name and perplexity is False:
        raise InputError("--scorer perplexity and --no-perplexity exclude each other.", param="perplexity")
    if scorer is not None:
        known("scorer", scorer, BY_NAME)
    if model is None:
        measured, checks = BY_NAME[scorer or ""], PAIR_CHECKS
    else:
        reward = RewardModel.load(model)
        measured, artifact = reward_pair_scorer(model, reward), reward.artifact
        checks = (*PAIR_CHECKS, cut_check(artifact.max_tokens, together=artifact.pairs == COSINE))
    trivial = (*SCORERS, PERPLEXITY) if perplexity or scorer == PERPLEXITY.name else SCORERS
    sets = read_sets(pairs, trained_on, checks)
    surface = surface_scorer(trained_on)
    others = [surface] if surface else []
    try:
        figures = quality_report(sets, measured, trivial, others)
    except ChatError as error:
        raise PearlError(f"{error.message} Or leave the perplexity out.", code=error.code) from error
    return Report(figures, quality_tables, "Writing quality")
