"""``pearl forensics metrics``, ``compare`` and ``report``: figures of annotated pairs."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path

import typer

from eval.commands.reporting import reporting
from eval.recorded.forensics.comparison import Against, ColumnOptions, PairFiles, compare_files
from eval.recorded.forensics.forensics_page import reported
from eval.recorded.forensics.measures import Resampling
from eval.recorded.forensics.metrics import ForensicsOptions, metrics_of_file
from eval.recorded.forensics.tables import FIGURES, comparison_tables, latex_of, metrics_tables
from eval.report.head import Head
from eval.report.report import Report
from pearl.cli.commands import PathCommand, epilog
from pearl.cli.options import JSON_OPTION, bundled, check_outputs, known, write_json, write_text
from pearl.errors import InputError
from pearl.text.usable import counted

app = typer.Typer()
METRICS = epilog(
    """
  pearl forensics metrics --pairs arena.json --reference human
  pearl forensics metrics --pairs arena.jsonl.gz --reference "model: gpt" --against claude --json -
""",
    """PAIRS is an AnnotatedPairs file (version 1 or 2), the same as JSON Lines, a CSV with text_a, text_b and
preferred_text (text_a, text_b, tie or empty), or what `pearl export --json` wrote: .json, .jsonl or .csv, each
optionally .gz; or such a file on the hub, hf://datasets/OWNER/NAME/FILE. It may be larger than memory.

The strength of a trait is how much the reference encourages it, or how much a model shows it: from -1 to 1.""",
)
COMPARE = epilog(
    """
  pearl forensics compare --pairs arena.json --pairs prism.json --reference human
  pearl forensics compare --pairs arena.json --reference expert --reference crowd --latex table.tex
  pearl forensics compare --pairs models.json --models --against gpt --json -
  pearl forensics compare --pairs arena.json --reference human --by topic
""",
    """A column for each file, reference, model (--models) and value of a field of the pairs' metadata (--by).""",
)
REPORT = epilog(
    """
  pearl forensics report --pairs arena.json --reference human --html arena.html
  pearl forensics report --pairs models.json --models --against gpt --html models.html
""",
    """The page is one file: it opens from disk, needs no network, works on a phone and can be printed. It has
the tables of pearl forensics compare, a heatmap of the traits, and a viewer with the pairs behind each number.""",
)


@app.command(epilog=METRICS, cls=PathCommand)
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
    options = ForensicsOptions(reference, against, pairwise, bootstrap)
    return Report(metrics_of_file(pairs, options), metrics_tables)


@app.command(epilog=COMPARE, cls=PathCommand)
@reporting("forensics", "compare", writes=("latex",))
def compare(
    pairs: PairFiles,
    columns: ColumnOptions,
    bootstrap: Resampling,
    figure: str = typer.Option(
        "strength",
        help="Figure to show: strength, relevance, agreement (of those that choose), agreement_of_all, kappa or "
        "kappa_randomized.",
    ),
    top: int = typer.Option(5, min=0, help="Number of strongest and weakest annotators of a column to list."),
    latex: Path | None = typer.Option(None, metavar="FILE", help="Write the table as LaTeX (booktabs)."),
) -> Report:
    """Show data sets, people or models side by side, trait by trait, with their differences."""
    known("figure", figure, FIGURES)
    figures = compare_files(pairs, columns, bootstrap)
    if latex:
        write_text("--latex", latex, latex_of(figures, figure))
    return Report(figures, partial(comparison_tables, figure, top), options={"figure": None, "top": None})


@app.command(epilog=REPORT, cls=PathCommand)
@bundled
def report(
    pairs: PairFiles,
    columns: ColumnOptions,
    bootstrap: Resampling,
    html: Path = typer.Option(..., metavar="FILE", help="Write the page to this file."),
    examples: int = typer.Option(200, min=0, max=5000, help="Number of pairs in the page."),
    json: str | None = JSON_OPTION,
) -> None:
    """Write a page with every figure, and the pairs behind it."""
    check_outputs({"--html": html, "--json": json}, pairs)
    pipe = next((path for path in pairs if path.is_fifo()), None)
    if pipe is not None:  # its examples are read when the votes are known
        raise InputError(f"--pairs {pipe}: is a pipe, which can be read only once; write it to a file.")
    asked = {"pairs": pairs, "html": html, **asdict(columns), **asdict(bootstrap)}
    head = Head.of("forensics", "report", **asked, examples=examples)
    figures, page = reported(pairs, columns, bootstrap, head, examples)
    write_text("--html", html, page)
    if json:
        write_json(json, figures)
    else:
        typer.echo(
            f"{html}: {counted(len(figures['annotators']), 'annotator')}, {counted(len(figures['columns']), 'column')}"
        )
