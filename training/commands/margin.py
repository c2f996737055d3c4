"""The command ``pearl train margin``: choose how far below the best score a document may be shown."""

from __future__ import annotations

from pathlib import Path

import typer

from pearl.cli.options import JSON_OPTION, check_writable, write_json

EXAMPLES = """
  pearl eval generation --gains MODEL.work/gains-dev-mine.jsonl.gz --model MODEL --by-count --json shown.json
  pearl train margin --model MODEL --shown shown.json --metric rouge2
"""


def margin(
    model: Path = typer.Option(..., metavar="MODEL", help="Artifact to write the margin into."),
    shown: Path = typer.Option(..., metavar="REPORT.json", help="Report of pearl eval generation --by-count on dev."),
    metric: str = typer.Option("rouge2", help="Metric to raise: rouge1, rouge2, bertscore or macro_f1."),
    json: str | None = JSON_OPTION,
) -> None:
    """Choose how far below the best score a document may lie and still be shown; none if no margin raises the metric
    by more than chance.

    If a request names k, the margin does not count. Another margin changes drafts, so a theta that was chosen before
    becomes never: choose it after the margin.
    """
    from pearl.theta import score_words
    from training.choose.operating_point import dropped_words, set_margin

    check_writable("--json", json, [shown])
    chosen, dropped = set_margin(model, shown, metric)
    choice = "no margin" if chosen.number is None else f"margin {score_words(chosen.number, 3)}"
    best = "" if chosen.best is None else f"margin {score_words(chosen.best, 3)}"
    sentence = chosen.words(choice, best)
    typer.echo(f"{sentence}; {chosen.coverage:.1f} shown", err=True)
    if dropped:
        typer.echo(dropped_words(dropped), err=True)
    if json:
        write_json(json, chosen.to_json())
