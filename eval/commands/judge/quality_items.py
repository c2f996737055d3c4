"""``pearl judge quality-items``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.options import Overrides, PresetName, Seed
from eval.commands.reporting import reporting
from eval.recorded.quality.compose import PRESETS, PUBLISHED
from eval.report.report import Report
from pearl.cli.options import known

_SETS = "\n".join(f"  {name}: {published.pairs:,} pairs" for name, published in PUBLISHED.items())
ABOUT = (
    """A line is a response to an instruction; "ranks" has the rank that each rater gave it, 1 for the best:

\b
  {"instruction": "12", "text": "...", "origin": "human", "ranks": [1, 1, 2]}
  {"instruction": "12", "text": "...", "origin": "AI", "ranks": [2, 2, 1]}

A triplet that pearl eval experts reads, with its texts, is three responses of origin AI to one instruction.

All pairs of an instruction are taken, and most of the raters decide which is preferred; without a majority a pair is
left out. A preference that follows from the origin, or a single vote, is given as the ranks of one rater.

\b
Sets whose printed composition --set shows beside yours:
@SETS

""".replace("@SETS", _SETS)
    + PRESETS.help()
)
EXAMPLES = """
  pearl judge quality-items --responses stories.jsonl --set art-or-artifice --preset as_published --out stories.json
  pearl judge quality-items --responses WQRM_annotations.json.gz --preset as_published --out triplets.json
  pearl judge quality --items stories.json --llm openai
  pearl eval quality --pairs stories.json --pairs mirror.json --scorer shorter
"""


@reporting("judge", "quality-items", writes=("out",), presets=PRESETS)
def quality_items(
    responses: Path = typer.Option(..., metavar="R.jsonl", help="Ranked responses, see below."),
    out: Path = typer.Option(..., metavar="PAIRS.json", help="Write the pairs."),
    name: str | None = typer.Option(None, "--set", metavar="NAME", help="Set of the benchmark to compare with."),
    preset: PresetName = PRESETS.default,
    choose: Overrides = None,
    seed: Seed = 0,
) -> Report:
    """Make pairs of ranked responses, as the benchmark of writing quality has them, and say what they are made of."""
    from eval.recorded.quality.compose import compose, compose_tables, read_responses
    from pearl.cli.options import write_json

    choices = PRESETS.chosen(preset, choose)
    if name is not None:
        known("set", name, PUBLISHED)
    pairs, figures = compose(read_responses(responses), choices["orders"], seed, name)
    write_json(str(out), pairs)
    return Report(figures, compose_tables)
