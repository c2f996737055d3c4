"""``pearl forensics report``"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from eval.recorded.forensics.comparison import ColumnOptions, PairFiles
from eval.recorded.forensics.measures import Resampling
from pearl.cli.options import JSON_OPTION, bundled
from pearl.errors import InputError
from pearl.text.usable import counted

ABOUT = """The page is one file: it opens from disk, needs no network, works on a phone and can be printed. It has
the tables of pearl forensics compare, a heatmap of the traits, and a viewer with the pairs behind each number."""
EXAMPLES = """
  pearl forensics report --pairs arena.json --reference human --html arena.html
  pearl forensics report --pairs models.json --models --against gpt --html models.html
"""


@bundled
def report(
    pairs: PairFiles,
    columns: ColumnOptions,
    bootstrap: Resampling,
    html: Path = typer.Option(..., metavar="FILE", help="Write the page to this file."),
    examples: int = typer.Option(200, min=0, max=5000, help="Number of pairs in the page."),
    title: str = typer.Option("Feedback forensics", help="Title of the page."),
    json: str | None = JSON_OPTION,
) -> None:
    """Write a page with every figure, and the pairs behind it."""
    from eval.recorded.forensics.forensics_page import reported
    from eval.report.head import Head
    from pearl.cli.options import check_outputs, write_json, write_text

    check_outputs({"--html": html, "--json": json}, pairs)
    pipe = next((path for path in pairs if path.is_fifo()), None)
    if pipe is not None:  # its examples are read when the votes are known
        raise InputError(
            f"--pairs {pipe}: is a pipe, which can be read only once; write it to a file.", code="is_a_pipe"
        )
    asked = {"pairs": pairs, "html": html, **asdict(columns), **asdict(bootstrap)}
    head = Head.of("forensics", "report", **asked, examples=examples)
    figures, page = reported(pairs, columns, bootstrap, head, examples, title)
    write_text("--html", html, page)
    if json:
        write_json(json, figures)
    else:
        typer.echo(
            f"{html}: {counted(len(figures['annotators']), 'annotator')}, {counted(len(figures['columns']), 'column')}"
        )
