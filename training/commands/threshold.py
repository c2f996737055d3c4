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
    from pearl.theta import theta_words
    from training.choose.operating_point import THETA, set_operating_point

    check_writable("--json", json)
    chosen = set_operating_point(THETA, model, revision, metric)
    said = "never revise" if chosen.number is None else f"theta {theta_words(chosen.number, 3)}"
    typer.echo(
        f"{said}: {metric} {chosen.value:.4f} at best, {chosen.unchanged:.4f} without revision; "
        f"{chosen.extent:.0%} of the drafts revised",
        err=True,
    )
    if json:
        write_json(json, chosen.to_json())
