"""The report of a command: its figures, how to show them, and the files to write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from eval.report.head import Head
from eval.report.pictures import Draw, draw, svg
from eval.report.render import show, write_page
from eval.report.tables import Json, Table
from pearl.cli.options import check_outputs, write_json
from pearl.errors import InputError
from pearl.extras import MissingExtra

Tables = Callable[[Json], Iterable[Table]]


@dataclass(frozen=True, slots=True)
class Report:
    """A result, and functions that make tables and a picture from its JSON; so a result file can be shown again."""

    figures: Mapping[str, Any]
    tables: Tables
    title: str = ""  # of the page
    picture: Draw | None = None
    appendix: Tables = lambda result: ()  # more tables of the page
    options: Mapping[str, object] = field(default_factory=dict)  # for the head, by name, in place of those given
    head: Head | None = None  # in place of one made of the command's options


@dataclass(frozen=True, slots=True)
class Outputs:
    """The output files that a command's options name: JSON, picture and page."""

    json: str | None  # None to print the tables on standard output
    picture: Path | None = None
    page: Path | None = None

    def check(self, inputs: Iterable[Path], others: Mapping[str, Path | None]) -> None:
        """Check the output files before the work starts. ``others``: more output files, by option. Raises InputError
        for a file that cannot be written, is an input, or is named twice; MissingExtra without the drawing library."""
        if self.picture and self.picture.suffix != ".svg":
            raise InputError(f"--picture {self.picture}: a picture ends in .svg.")
        if (self.picture or self.page) and find_spec("matplotlib") is None:
            raise MissingExtra("matplotlib", "eval")
        check_outputs({**others, "--picture": self.picture, "--report": self.page, "--json": self.json}, inputs)

    def write(self, head: Head, report: Report) -> None:
        """Write the named files; without a JSON file, print the tables. Raises InputError if a file cannot be
        written."""
        result = {**head.to_json(), **report.figures}
        if self.picture and report.picture:
            draw(report.picture, result, self.picture)
        if self.page:
            tables = (*report.tables(result), *report.appendix(result))
            pictures = [svg(report.picture, result)] if report.picture else []
            write_page(self.page, report.title, head.command, pictures, tables)
        if self.json:
            write_json(self.json, result)
        else:
            show(report.tables(result))
