"""``pearl train floor``"""

from __future__ import annotations

from pathlib import Path

import typer

EXAMPLES = """
  pearl eval questions --history commits-dev.jsonl.gz --history mail-dev.jsonl.gz --model MODEL --json questions.json
  pearl train floor --model MODEL --questions questions.json
"""


def floor(
    model: Path = typer.Option(..., metavar="MODEL", help="Artifact to write the floor into."),
    questions: Path = typer.Option(
        ..., metavar="REPORT.json", help="Report of pearl eval questions on dev users' histories, for this model."
    ),
) -> None:
    """Choose how little a history may have to do with a request before the user is asked.

    It is the highest at which at most 5% of the users' own requests end in a question, in each kind of text.
    """
    from training.choose.operating_point import set_question_floor

    chosen = set_question_floor(model, questions)
    typer.echo(f"asks below a relatedness of {chosen:.3f}", err=True)
