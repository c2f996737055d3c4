"""``pearl judge style-rank``"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from eval.commands.judge.options import (
    DryRun,
    Limit,
    MaxCost,
    PriceIn,
    PriceOut,
    Replay,
    RepliesFile,
    Seed,
    Temperature,
)
from pearl.options import IN_FLIGHT_OPTION, JSON_OPTION, LLM_OPTION, check_writable, write_json

EXAMPLES = """A line of the items is two texts for one request, and the style, or styles, they should have:

\b
  {"id": "1", "task": "email", "style": ["storytelling", "poetic and lyrical"], "request": "What is a prime number?",
   "text_a": "...", "text_b": "...", "generator_a": "ours", "generator_b": "theirs"}

"task" (email, tweet or summary), "request" and both texts are required, and "style" if styles are judged. Schemes:
ab_style and ab_helpfulness show both texts in both orders, a changed choice is a tie, and most draws decide;
rubric_style and rubric_helpfulness give each text 0 to 5 points, and the higher mean decides. Presets: corrected
defines each style, and gives no label to a draw answered in one order only, nor to an even vote;
as_published names the styles alone, and counts both as ties.
`pearl judge style-pairs` makes such items of texts with scores; `pearl eval style` compares what --judgements writes
with people's own labels.

Examples:

\b
  pearl judge style-rank --items pairs.jsonl --llm openai --dry-run --price-in 0.15 --price-out 0.6
  pearl judge style-rank --items pairs.jsonl --scheme rubric_style --draws 10 --json -
  pearl judge style-rank --items pairs.jsonl --preset as_published --replay --judgements judged.jsonl
"""


def style_rank(
    items: Path = typer.Option(..., "--items", metavar="ITEMS.jsonl", help="Requests, each with two texts."),
    scheme: str = typer.Option("ab_style", "--scheme", help="Scheme of ranking, see below."),
    llm: str | None = LLM_OPTION,
    preset: str = typer.Option("corrected", "--preset", help="Preset: corrected or as_published."),
    draws: int = typer.Option(30, "--draws", min=1, help="Times to ask each question."),
    half: str | None = typer.Option(
        None, "--half", help="Treatment of a draw answered in one order only, if not the preset's: dropped or tie."
    ),
    style_shown: str | None = typer.Option(
        None, "--style-shown", help="Form of the style, if not the preset's: name or definition."
    ),
    even: str | None = typer.Option(
        None, "--even", help="Label of an even vote, if not the preset's: no_label or cautious (a tie)."
    ),
    temperature: Temperature = 0.7,
    max_tokens: int | None = typer.Option(
        None,
        "--max-tokens",
        min=1,
        help="Tokens in a reply at most; a reply cut off there is invalid. 64 by default, 512 for a rubric.",
    ),
    limit: Limit = None,
    seed: Seed = 0,
    max_in_flight: int = IN_FLIGHT_OPTION,
    replies: RepliesFile = None,
    replay: Replay = False,
    dry_run: DryRun = False,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    max_cost: MaxCost = None,
    judgements: Path | None = typer.Option(None, metavar="FILE.jsonl", help="Write each judgement on a line."),
    json: str | None = JSON_OPTION,
) -> None:
    """Ask a judge which of two texts has more of the wanted style, or answers better, and how far to trust it."""
    from rich.console import Console

    from eval.asking.bench import Asking, bench
    from eval.asking.cost import Prices
    from eval.asking.json_lines import write_lines
    from eval.judges.items import sampled
    from eval.judges.style_rank_items import read_rank_items
    from eval.judges.style_rank_presets import chosen
    from eval.judges.style_rank_prompt import scheme_named
    from eval.judges.style_rank_trials import Questions, Trials, judgement_lines
    from eval.report.head import Head
    from eval.report.report import Outputs, Report

    for option, target in (("--judgements", judgements), ("--json", json)):
        check_writable(option, target)
    taken, way = chosen(preset, half, style_shown, even), scheme_named(scheme)
    longest = max_tokens or way.max_tokens
    found = read_rank_items(items, styled=way.styled)
    head = Head.of(
        "judge",
        "style-rank",
        items=items,
        scheme=scheme,
        preset=preset,
        draws=draws,
        half=taken.half,
        style_shown=taken.style_shown,
        even=taken.even,
        temperature=temperature,
        max_tokens=longest,
        seed=seed,
        limit=limit,
    )
    asking = Asking(llm, max_in_flight, replies, replay, temperature, longest, Prices(price_in, price_out), max_cost)
    trials = Trials(sampled(found.parsed, limit, seed), way, taken, draws)
    questions = Questions(trials)
    with bench(asking, Console(stderr=True)) as at:
        head = replace(head, judge=at.model.identity)
        if dry_run:
            write_json(json or "-", head.to_json() | at.estimate(questions))
            return
        asked = at.ask("judgements", questions)
        judged = list(trials.judged(asked.replies()))
        if judgements:
            lines = judgement_lines(trials, at.model.identity, judged, asked.replies())
            write_lines(judgements, lines, called=f"--judgements {judgements}")
    # only now: they load what statistics need
    from eval.judges.style_rank import ranking_report
    from eval.judges.style_rank_tables import ranking_tables

    figures = ranking_report(found, judged, trials, seed) | {"elicitation": asked.to_json()}
    Outputs(json).write(Report(head, figures, ranking_tables))
