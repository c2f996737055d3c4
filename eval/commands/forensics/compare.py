"""``pearl forensics compare``"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from eval.commands.forensics.options import AGAINST_OPTION, ResamplingOptions
from pearl.options import JSON_OPTION

EXAMPLES = """A column for each file, reference, model (--models) and value of a field of the pairs' metadata (--by).

Examples:

\b
  pearl forensics compare --pairs arena.json --pairs prism.json --reference human
  pearl forensics compare --pairs arena.json --reference expert --reference crowd --latex table.tex
  pearl forensics compare --pairs models.json --models --against gpt --json -
  pearl forensics compare --pairs arena.json --reference human --by topic --csv topics.csv
"""


def compare(
    bootstrap: ResamplingOptions,
    pairs: list[Path] = typer.Option(..., "--pairs", metavar="PAIRS", help="Annotated pairs; repeatable."),
    reference: list[str] = typer.Option(
        [], "--reference", metavar="NAME", help="Annotator by name or id, or 'model: NAME'; repeatable."
    ),
    models: bool = typer.Option(False, "--models", help="Add a column for each model."),
    against: list[str] = AGAINST_OPTION,
    by: str | None = typer.Option(None, "--by", metavar="FIELD", help="Split by this field of the metadata."),
    figure: str = typer.Option(
        "strength",
        help="Figure to show: strength, relevance, agreement (of those that choose), agreement_of_all, kappa or "
        "kappa_randomized.",
    ),
    top: int = typer.Option(5, "--top", min=0, help="Number of strongest and weakest annotators of a column to list."),
    csv: Path | None = typer.Option(None, "--csv", metavar="FILE", help="Write the table as CSV."),
    latex: Path | None = typer.Option(None, "--latex", metavar="FILE", help="Write the table as LaTeX (booktabs)."),
    json: str | None = JSON_OPTION,
) -> None:
    """Show data sets, people or models side by side, trait by trait, with their differences."""
    from eval.recorded.forensics.comparison import ColumnOptions, compare_files
    from eval.recorded.forensics.comparison_tables import FIGURES, comparison_tables, csv_of, latex_of
    from eval.report.head import Head
    from eval.report.report import Outputs, Report
    from pearl.options import check_writable, known, writing

    outputs = Outputs(json)
    outputs.check()
    written = (("--csv", csv, csv_of), ("--latex", latex, latex_of))
    for option, target, _ in written:
        check_writable(option, target)
    known("figure", figure, FIGURES)
    options = ColumnOptions(reference, models, against, by, bootstrap.resampling())
    head = Head.of(
        *("forensics", "compare"),
        pairs=pairs,
        reference=reference,
        models=models,
        against=against,
        by=by,
        **asdict(bootstrap),
    )
    report = Report(head, compare_files(pairs, options), comparison_tables(figure, top))
    for option, target, made in written:
        if target:
            with writing(f"{option} {target}"):
                target.write_text(made(report.to_json(), figure), encoding="utf-8")
    outputs.write(report)
