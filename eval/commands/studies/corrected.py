"""``pearl eval corrected``: a judge's rates, corrected for its errors by people's labels."""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.reporting import reporting
from eval.report.report import Report
from pearl.errors import InputError

ABOUT = """The judgements are what `pearl judge ... --judgements FILE` writes, or recordings as for `pearl eval
personalized`. A label is what people say of one of the items, in the judge's words; most raters decide:

\b
  {"id": "text 1", "label": "proposed"}
  {"id": "text 2", "label": "tie", "rater": "Ann"}

The labelled items should be drawn at random from all. Recordings carry their own labels (ground_truth): without
--labels these count, and with --labelled N a random sample of them, beside the rates by all of them."""
EXAMPLES = """
  pearl eval corrected --judgements judged.jsonl --labels labels.jsonl
  pearl eval corrected --judgements judged.jsonl --labels labels.jsonl --risk 0.05 --json - | jq .trusted
  pearl eval corrected --judgements recorded.jsonl.gz --labelled 100 --report corrected.html
"""


@reporting("eval", "corrected", page=True)
def corrected(
    judgements: list[Path] = typer.Option(..., metavar="J.jsonl", help="Judgements; repeatable."),
    labels: Path | None = typer.Option(None, metavar="L.jsonl", help="People's labels of some items."),
    labelled: int | None = typer.Option(
        None, min=10, help="Without --labels: a random sample of this many of the recordings' own."
    ),
    risk: float = typer.Option(0.1, help="Highest error rate that a trusted judge may have."),
    confidence: float = typer.Option(0.95, help="Confidence that its error rate is no higher."),
) -> Report:
    """Correct a judge's rates for its errors, and find the least certainty at which it may be trusted."""
    from eval.recorded.corrected import CorrectedOptions, corrected_report, corrected_tables
    from eval.recorded.labels import own_labels, read_judged, read_people

    if labels and labelled:
        raise InputError("--labelled samples the recordings' own labels; leave out --labels or it.")
    items = read_judged(judgements)
    people = read_people(labels) if labels else own_labels(items, labelled)
    figures = corrected_report(items, people, CorrectedOptions(risk, confidence))
    return Report(figures, corrected_tables, "Corrected rates")
