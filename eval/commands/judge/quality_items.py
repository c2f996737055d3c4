"""``pearl judge quality-items``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.choose import CHOOSE_OPTION, spelled
from eval.recorded.quality.compose import PRESETS, PUBLISHED
from pearl.options import JSON_OPTION, check_writable, known

EXAMPLES = """A line is a response to an instruction; "ranks" has the rank that each rater gave it, 1 for the best:

\b
  {"instruction": "12", "text": "...", "origin": "human", "ranks": [1, 1, 2]}
  {"instruction": "12", "text": "...", "origin": "AI", "ranks": [2, 2, 1]}

All pairs of an instruction are taken, and most of the raters decide which is preferred; without a majority a pair is
left out. What one text is preferred for by its origin, or a single vote, is a rank of one rater.

\b
Sets whose printed composition --set shows beside yours:
@SETS

@CHOICES

Examples:

\b
  pearl judge quality-items --responses stories.jsonl --set art-or-artifice --preset as_published --out stories.json
  pearl judge quality --items stories.json --llm openai
  pearl eval quality --pairs stories.json --pairs mirror.json --scorer shorter
""".replace("@CHOICES", PRESETS.help()).replace(
    "@SETS", "\n".join(f"  {name}: {each.pairs:,} pairs" for name, each in PUBLISHED.items())
)


def quality_items(
    responses: Path = typer.Option(..., "--responses", metavar="R.jsonl", help="Ranked responses, see below."),
    out: Path = typer.Option(..., "--out", metavar="PAIRS.json", help="Write the pairs."),
    name: str | None = typer.Option(None, "--set", metavar="NAME", help="Set of the benchmark to compare with."),
    preset: str = typer.Option(PRESETS.default, "--preset", help="Preset of the choices below."),
    choose: list[str] = CHOOSE_OPTION,
    seed: int = typer.Option(0, "--seed", min=0, help="Seed of the order of the pairs."),
    json: str | None = JSON_OPTION,
) -> None:
    """Make pairs of ranked responses, as the benchmark of writing quality has them, and say what they are made of."""
    from eval.recorded.quality.compose import compose, compose_tables, read_responses
    from eval.report.head import Head
    from eval.report.report import Outputs, Report
    from pearl.options import write_json

    check_writable("--out", out)
    outputs = Outputs(json)
    outputs.check()
    choices = PRESETS.chosen(preset, choose)
    if name is not None:
        known("set", name, PUBLISHED)
    pairs, figures = compose(read_responses(responses), choices["orders"], seed, name)
    write_json(str(out), pairs)
    asked = {"responses": responses, "--set": name, "preset": preset}
    head = Head.of("judge", "quality-items", **asked, choose=spelled(choices), seed=seed)  # type: ignore[arg-type]
    outputs.write(Report(head, figures, compose_tables))
