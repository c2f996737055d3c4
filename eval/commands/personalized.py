"""``pearl eval personalized``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.choose import CHOOSE_OPTION, spelled
from eval.commands.scored import Resamples, Seed
from eval.recorded.personalized.presets import PRESETS
from pearl.options import JSON_OPTION

EXAMPLES = """A line of the records is a judge's reply to one question about one person:

\b
  {"ground_truth": "B", "answer": "A", "certainty": "75", "res": "[[A]] [[75]]", "prompt": "...", "user_info": "..."}

"ground_truth" (C is a tie) and "answer" or "res" are required.

@CHOICES

Examples:

\b
  pearl eval personalized --records gpt.jsonl.gz --records llama.jsonl.gz --threshold 80
  pearl eval personalized --records judge.jsonl --preset corrected --json - | jq '.files[0].preflight'
  pearl eval personalized --records judge.jsonl --picture certainty.svg --report judge.html
""".replace("@CHOICES", PRESETS.help())


def personalized(
    records: list[Path] = typer.Option(..., "--records", metavar="F.jsonl", help="Records of a judge; repeatable."),
    threshold: float = typer.Option(
        80.0, "--threshold", min=1, max=100, help="Certainty from which on a judge counts as certain."
    ),
    preset: str = typer.Option("recorded", "--preset", help="Preset of the choices below."),
    choose: list[str] = CHOOSE_OPTION,
    resamples: Resamples = 2000,
    seed: Seed = 0,
    picture: Path | None = typer.Option(
        None, metavar="FILE.svg", help="Draw certainty, reliability, risk and coverage."
    ),
    report: Path | None = typer.Option(None, metavar="FILE.html", help="Write everything as one page."),
    json: str | None = JSON_OPTION,
) -> None:
    """Measure how often a judge chooses as people do, whether it knows when, and what is wrong with the data."""
    from eval.recorded.personalized.pictures import personalized_figure
    from eval.recorded.personalized.report import PersonalizedOptions, personalized_report
    from eval.recorded.personalized.tables import personalized_tables, sweep_tables
    from eval.report.head import Head
    from eval.report.report import Outputs, Report

    outputs = Outputs(json, picture, report)
    outputs.check()
    chosen = PRESETS.chosen(preset, choose)
    head = Head.of(
        "eval",
        "personalized",
        records=records,
        threshold=threshold,
        preset=preset,
        choose=spelled(chosen),
        resamples=resamples,
        seed=seed,
    )
    options = PersonalizedOptions(threshold, preset, **chosen, resamples=resamples, seed=seed)
    figures = personalized_report(records, options)
    parts = personalized_tables, "A personalized judge", personalized_figure, sweep_tables
    outputs.write(Report(head, figures, *parts))
