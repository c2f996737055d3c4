"""``pearl eval revision``"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from eval.commands.options import WritingOptions
from eval.commands.reporting import reporting
from eval.report.report import Report
from pearl.errors import InputError
from pearl.theta import read_theta

ABOUT = """A line of the input is a gains record with a target, as for 'pearl eval generation', whose drafts are used
if both are given the same options and --generations. A revision that is cut off or cannot be read keeps the draft, as
in the service; a request whose draft or revision failed otherwise is left out of every policy."""
EXAMPLES = """
  pearl eval revision --gains gains.jsonl.gz --model embedded --template commit
  pearl eval revision --gains gains.jsonl.gz --model MODEL --model bm25 --threshold bm25=12.5 --json table3.json
  pearl eval revision --gains gains.jsonl.gz --model MODEL --picture curve.svg --json table3.json
"""
Thresholds = Annotated[
    list[str],
    typer.Option(
        "--threshold",
        metavar="MODEL=THETA",
        help="Revise below THETA, never or all, in place of the model's own threshold; repeatable.",
    ),
]


@reporting("eval", "revision", picture="Draw the curve over theta.")
def revision(
    options: WritingOptions,
    threshold: Thresholds = [],  # noqa: B006  (typer makes a new one)
    metric: str = typer.Option("rouge2", help="Metric to draw: rouge1, rouge2, bertscore, macro_f1 or likeness."),
) -> Report:
    """Compare no revision, revising every draft, and revising those below the model's threshold.

    Every answer is kept: repeat an interrupted command and it goes on where it stopped.
    """
    from eval.commands.writing import ready
    from eval.drafts.revision import check_metric, curves_figure, revision_report, revision_tables
    from pearl.asking.write import write_revised

    thetas = thetas_of(threshold, options.model)
    check_metric(metric, stances=options.stances)
    with ready(options) as room:
        cases = room.material.cases
        systems = [replace(system, threshold=thetas.get(system.name, system.threshold)) for system in room.systems]
        briefs = [room.plan.briefs(cases, system) for system in systems]
        written = room.write(lambda desk: write_revised(desk, briefs))
    stances = options.told_stances()
    with room.console.status("Measuring..."):
        models = [
            revision_report(cases, system, drafts, revisions, room.scorer, stances=stances, seed=options.seed)
            for system, (drafts, revisions) in zip(systems, written, strict=True)
        ]
    head = room.head("revision", threshold=list(threshold))
    report = room.report(head, {"chat_model": room.writes.model.name, "models": models}, revision_tables)
    return replace(report, picture=partial(curves_figure, metric))


def thetas_of(assignments: Sequence[str], models: Sequence[str]) -> dict[str, float | None]:
    """The thresholds by model, None for never. Raises InputError for anything but MODEL=THETA of one of the models."""
    thetas: dict[str, float | None] = {}
    for words in assignments:
        model, _, theta = words.rpartition("=")
        if model not in models:
            raise InputError(
                f"--threshold {words}: give MODEL=THETA; the models are {', '.join(models)}.", param="threshold"
            )
        if model in thetas:
            raise InputError(f"--threshold {words}: '{model}' has one already; give one.", param="threshold")
        try:
            thetas[model] = read_theta(theta)
        except ValueError as error:
            raise InputError(f"--threshold {words}: {error}.", param="threshold") from error
    return thetas
