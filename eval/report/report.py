"""The figures of a result, with the tables and the picture that show them, and the files they are written to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.report.head import Head
from eval.report.pictures import Draw, check_format, check_installed, draw, svg
from eval.report.render import show, write_page
from eval.report.tables import Json, Table
from pearl.cli.options import check_outputs, write_json

Tables = Callable[[Json], Iterable[Table]]


@dataclass(frozen=True, slots=True)
class Report:
    """``tables`` and ``picture`` are made from the JSON alone, so that a result file can be shown again. A page has a
    ``title``, and more tables: ``appendix``. ``options`` are those of the command that hold in place of what was given,
    by name; ``head`` is for a command whose options do not say in their order what made the result."""

    figures: Mapping[str, Any]
    tables: Tables
    title: str = ""
    picture: Draw | None = None
    appendix: Tables = lambda result: ()
    options: Mapping[str, object] = field(default_factory=dict)
    head: Head | None = None


@dataclass(frozen=True, slots=True)
class Outputs:
    """Files that a command's options name; without ``json`` the tables go to standard output."""

    json: str | None
    picture: Path | None = None
    page: Path | None = None

    def check(self, inputs: Iterable[Path], others: Mapping[str, Path | None]) -> None:
        """Raises InputError for a file of these or of ``others``, by option, that cannot be written, is read or is
        another one of them, and without what draws: better before the work than after it."""
        check_format(self.picture)
        if self.picture or self.page:
            check_installed()
        check_outputs({**others, "--picture": self.picture, "--report": self.page, "--json": self.json}, inputs)

    def write(self, head: Head, report: Report) -> None:
        """Raises InputError when a file cannot be written."""
        result = {**head.to_json(), **report.figures}
        if self.picture and report.picture:
            draw(report.picture, result, self.picture)
        if self.page and report.picture:
            tables = (*report.tables(result), *report.appendix(result))
            write_page(self.page, report.title, head.command, [svg(report.picture, result)], tables)
        if self.json:
            write_json(self.json, result)
        else:
            show(report.tables(result))
