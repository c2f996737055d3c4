"""``pearl forensics metrics``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.reporting import reporting
from eval.recorded.forensics.comparison import Against
from eval.recorded.forensics.measures import Resampling
from eval.report.report import Report

ABOUT = """PAIRS is an AnnotatedPairs file (version 1 or 2), the same as JSON Lines, a CSV with text_a, text_b and
preferred_text (text_a, text_b, tie or empty), or what `pearl export --json` wrote: .json, .jsonl or .csv, each
optionally .gz; or such a file on the hub, hf://datasets/OWNER/NAME/FILE. It may be larger than memory.

The strength of a trait is how much the reference encourages it, or how much a model shows it: from -1 to 1."""
EXAMPLES = """
  pearl forensics metrics --pairs arena.json --reference human
  pearl forensics metrics --pairs arena.jsonl.gz --reference "model: gpt" --against claude --json -
"""


@reporting("forensics", "metrics")
def metrics(
    bootstrap: Resampling,
    pairs: Path = typer.Option(..., metavar="PAIRS", help="Annotated pairs."),
    reference: str = typer.Option(
        ..., metavar="NAME", help="Annotator by name or id, or 'model: NAME' for a model's responses."
    ),
    against: Against = [],  # noqa: B006  (typer makes a new one)
    pairwise: bool = typer.Option(False, "--pairwise", help="Compare every two traits, too."),
) -> Report:
    """Measure how far each annotator agrees with a reference: relevance, agreement, kappa, strength."""
    from eval.recorded.forensics.metrics import ForensicsOptions, metrics_of_file
    from eval.recorded.forensics.tables import metrics_tables

    options = ForensicsOptions(reference, against, pairwise, bootstrap)
    return Report(metrics_of_file(pairs, options), metrics_tables)
