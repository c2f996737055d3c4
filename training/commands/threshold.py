"""``pearl train threshold``"""

from __future__ import annotations

from pathlib import Path

import typer

from pearl.options import JSON_OPTION, check_writable, write_json

EXAMPLES = """Examples:

\b
  pearl eval revision --gains MODEL.work/gains-dev.jsonl.gz --model MODEL --json dev.json --picture dev.svg
  pearl train threshold --model MODEL --revision dev.json --metric rouge2
"""


def threshold(
    model: Path = typer.Option(..., metavar="MODEL", help="Artifact to write theta into."),
    revision: Path = typer.Option(
        ..., metavar="REPORT.json", help="Report of pearl eval revision on dev, for this model."
    ),
    metric: str = typer.Option("rouge2", help="Metric to raise: rouge1, rouge2, bertscore or macro_f1."),
    json: str | None = JSON_OPTION,
) -> None:
    """Choose theta, the score below which a draft is revised; "never" if no theta raises the metric on dev.

    The report has the figures of every theta and, with --picture, their curve.
    """
    from dataclasses import asdict

    from training.choose.threshold import set_threshold

    check_writable("--json", json)
    choice = set_threshold(model, revision, metric)
    said = "never revise" if choice.threshold is None else f"theta {choice.threshold:.3f}"
    typer.echo(
        f"{said}: {metric} {choice.value:.4f} at best, {choice.without_revision:.4f} without revision; "
        f"{choice.share_revised:.0%} of the drafts revised",
        err=True,
    )
    if json:
        write_json(json, asdict(choice))
