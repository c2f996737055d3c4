"""``pearl import export``"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from pearl.cli.commands import epilog
from pearl.cli.options import JSON_OPTION, check_writable
from pearl.settings import load_settings
from pearl.text.usable import check_id, printable
from service.commands.common import open_database
from service.commands.import_report import show_summary
from service.importers.base import Options
from service.importing.restore import EXPORT, ExportReader
from service.importing.restore import import_export as import_export_of

EXPORT_SUMMARY = ExportReader().summary
PROBLEMS_SHOWN = 20


def export_command() -> Any:
    """Make the subcommand. It imports more than documents, so it is no importer like the others."""
    reader = ExportReader()
    examples = "\n".join(f"  {example}" for example in reader.examples)
    single = typer.Typer(rich_markup_mode=None, add_completion=False)

    @single.command(name=EXPORT, help=reader.summary, epilog=epilog(examples))
    def import_export(
        source: Path = typer.Argument(..., metavar="FILE", help="Export to import."),
        user: str = typer.Option(
            None, "--user", metavar="U", help="User to import it for; the one it names if left out."
        ),
        json: str = JSON_OPTION,
    ) -> None:
        from service.api.draft_form import check_listed  # loads the models of the API, which other imports do not need

        check_writable("--json", json)
        options = Options(user=None if user is None else check_id(user, param="--user"))
        with open_database(load_settings()) as database:
            summary, restored = import_export_of(database, reader, source, options, check_listed)
        show_summary(summary, 0, json, {kind: asdict(outcome) for kind, outcome in restored.items()})
        for kind, outcome in restored.items():
            for problem in outcome.problems[:PROBLEMS_SHOWN]:
                typer.echo(printable(f"{source}: {problem}"), err=True)
            if (hidden := len(outcome.problems) - PROBLEMS_SHOWN) > 0:
                typer.echo(f"and {hidden:,} more", err=True)
            if json is None and (outcome.restored or outcome.already_there or outcome.problems):
                typer.echo(f"{kind}: {outcome.restored:,} restored, {outcome.already_there:,} already there", err=True)

    command = typer.main.get_command(single)
    command.name = EXPORT
    return command
