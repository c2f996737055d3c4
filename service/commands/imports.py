"""``pearl import``: one subcommand per importer that is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text
from typer._click.exceptions import MissingParameter
from typer.core import TyperCommand, TyperGroup

from pearl.cli.commands import epilog
from pearl.cli.options import JSON_OPTION, check_writable, parameter
from pearl.errors import InputError
from pearl.settings import load_settings
from pearl.text.usable import check_id, printable
from service.commands.common import open_database
from service.commands.import_export import EXPORT_SUMMARY, export_command
from service.commands.import_report import report
from service.importers.base import Importer, Options, importer_names, load_importer
from service.importing.guessing.guess import guess_importer
from service.importing.import_record import remove_gone
from service.importing.restore import EXPORT
from service.importing.run import BATCH_DOCUMENTS, ImportSummary, run_import
from service.store.database import Database
from service.store.voices import check_name

STANDARD_INPUT = "-"
SOURCE_ARGUMENT = typer.Argument(..., metavar="SOURCE", help="File or folder to import, '-' for standard input.")
UPDATE_OPTION = typer.Option(
    False, "--update", help="Replace documents that changed in the source, and ask about those gone from it."
)


class ImporterCommand(TyperCommand):
    """An importer's command; explains what to do if its name, given alone, was meant as a path."""

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(context, args)
        except MissingParameter:
            if not Path(str(self.name)).exists():
                raise
            raise InputError(
                f"'{self.name}' is taken as the kind of the source; for the file or folder of that name write "
                f"./{self.name}",
                param="source",
                code="missing_source",
            ) from None


class ImporterGroup(TyperGroup):
    """The importers as subcommands, found by entry point, those of other packages included."""

    def list_commands(self, context: Any) -> list[str]:
        return sorted([*importer_names(), EXPORT])

    def get_command(self, context: Any, name: str) -> Any:
        if name == EXPORT:
            return export_command()
        return _command(name) if name in importer_names() else None

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        """Parse the source, then its importer's options. Raises InputError for options before the source."""
        if args and args[0].startswith("-") and args[0] not in (STANDARD_INPUT, "--help"):
            raise InputError(
                f"'{args[0]}' stands before the source; options come after it: pearl import SOURCE {args[0]} ...",
                param="source",
                code="misplaced_option",
            )
        return super().parse_args(context, args)

    def resolve_command(self, context: Any, args: list[str]) -> Any:
        """Find the importer that the first word names, or else take the word for a path and guess the importer."""
        if args[0] in self.list_commands(context):
            return super().resolve_command(context, args)
        if args[0] == STANDARD_INPUT or Path(args[0]).is_fifo():
            raise InputError(
                f"{args[0]}: is a pipe, from which no importer can be guessed; name it: pearl import KIND {args[0]}",
                param="source",
                code="is_a_pipe",
            )
        if not Path(args[0]).exists():
            known = ", ".join(self.list_commands(context))
            raise InputError(
                f"There is no file or folder '{args[0]}', and no importer of that name; there are {known}.",
                param="source",
                code="missing_file",
            )
        guess = guess_importer(Path(args[0]))
        guessed = printable(f"{args[0]} looks like {guess.looks}: pearl import {guess.kind}")
        Console(stderr=True).print(Text(guessed), soft_wrap=True)
        return guess.kind, self.get_command(context, guess.kind), args

    def format_commands(self, context: Any, formatter: Any) -> None:
        with formatter.section("Sources"):
            formatter.write_dl([(name, _summary_of(name)) for name in self.list_commands(context)])


app = typer.Typer(
    cls=ImporterGroup,
    subcommand_metavar="[KIND] SOURCE [OPTIONS]",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Bring a user's own writing into their history. Nothing is imported twice.",
    epilog="Without KIND it is guessed from what the file or folder is; one that is named like a kind is given as "
    "./git. 'pearl import KIND --help' has examples.",
)


@app.callback()
def root() -> None:
    pass


def _summary_of(name: str) -> str:
    try:
        return EXPORT_SUMMARY if name == EXPORT else load_importer(name).summary
    except InputError as error:  # a plug-in that does not load must not hide the others
        return error.message


def _command(name: str) -> TyperCommand:
    """Make the subcommand of an importer. Raises InputError if it cannot be loaded."""
    importer = load_importer(name)
    examples = "\n".join(f"  {example}" for example in importer.examples)
    me_option = typer.Option([], "--me", metavar="IDENTITY", help=_me_help(importer))
    single = typer.Typer(rich_markup_mode=None, add_completion=False)

    def import_command(
        source: Path = SOURCE_ARGUMENT,
        user: str = typer.Option(None, "--user", metavar="U", help=_user_help(importer)),
        me: list[str] = me_option,
        voice: str = typer.Option(
            None, "--voice", metavar="V", help="Voice of documents for which the source names none."
        ),
        least_words: int = typer.Option(
            0, "--least-words", metavar="N", min=0, help="Leave out documents of fewer words than this."
        ),
        strict: bool = typer.Option(False, "--strict", help="Import nothing if anything in the source is wrong."),
        update: bool = UPDATE_OPTION,
        yes: bool = typer.Option(
            False, "--yes", help="With --update, remove documents gone from the source without asking."
        ),
        with_machine: bool = typer.Option(
            False, "--with-machine", help="Take texts that read like an assistant's prose as yours, not set apart."
        ),
        json: str = JSON_OPTION,
        batch_size: int = typer.Option(BATCH_DOCUMENTS, "--batch-size", min=1, hidden=True),
        **flags: bool,
    ) -> None:
        check_writable("--json", json)
        source = Path("/dev/stdin") if str(source) == STANDARD_INPUT else source
        options = replace(_options(importer, user, tuple(me), voice), least_words=least_words)
        options = replace(options, flags=frozenset(flag for flag, given in flags.items() if given))
        with open_database(load_settings()) as database:
            with _progress(importer, source) as advance:
                followed = replace(options, advance=advance)
                summary = run_import(
                    database,
                    importer,
                    source,
                    followed,
                    strict=strict,
                    update=update,
                    with_machine=with_machine,
                    batch_documents=batch_size,
                )
            removed = settle_gone(database, summary, source, yes=yes)
        report(summary, removed, source, json)

    *options, _ = signature(import_command, eval_str=True).parameters.values()
    own = [
        parameter(flag, Annotated[bool, typer.Option(help=text)], False)
        for flag, text in getattr(importer, "flags", {}).items()
    ]
    import_command.__signature__ = Signature([*options, *own])  # type: ignore[attr-defined]
    single.command(name=name, cls=ImporterCommand, help=importer.summary, epilog=epilog(examples))(import_command)
    command = typer.main.get_command(single)
    command.name = name
    return command  # type: ignore[return-value]


def _user_help(importer: Importer) -> str:
    return "User whose history it is (required)." if importer.needs_user else "User of lines without a user_id."


def _me_help(importer: Importer) -> str:
    required = " (required)" if importer.needs_me else ""
    return f"Name, address or id of the user in the source{required}; repeatable."


def _options(importer: Importer, user: str | None, me: tuple[str, ...], voice: str | None) -> Options:
    if user is None and importer.needs_user:
        raise InputError("Say whose history this is with --user.", param="user", code="missing_user")
    if not me and importer.needs_me:
        raise InputError(
            "Say who in the source is you with --me (a name, address or id; may be repeated).",
            param="me",
            code="missing_me",
        )
    return Options(
        user=None if user is None else check_id(user, param="--user"),
        me=me,
        voice=None if voice is None else check_name(voice, param="--voice"),
    )


@contextmanager
def _progress(importer: Importer, source: Path) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error if that is a terminal; yield the function that moves it on."""
    console = Console(stderr=True)
    if not (console.is_terminal and source.exists()):
        yield lambda amount: None
        return
    amounts = DownloadColumn() if importer.unit == "bytes" else MofNCompleteColumn()
    unit = TextColumn("" if importer.unit == "bytes" else importer.unit)
    columns = (TextColumn("{task.description}"), BarColumn(), amounts, unit, TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("importing", total=importer.size(source))
        yield lambda amount: progress.advance(task, amount)


def settle_gone(database: Database, summary: ImportSummary, source: Path, *, yes: bool) -> int:
    """Delete the documents that are gone from the source, with ``yes`` or if the person agrees; return their number."""
    gone = sum(len(missing.document_ids) for missing in summary.gone)
    if not gone:
        return 0
    brought = sum(missing.brought for missing in summary.gone)
    finding = f"{gone:,} of {brought:,} documents that came from {source} are not there any more."
    if summary.errors_total > summary.conflicts:  # conflicts are no reading errors
        typer.echo(f"{finding} They stay, for not everything in it could be read.", err=True)
        return 0
    if not yes and not sys.stdin.isatty():
        typer.echo(f"{finding} They stay; give --yes to remove them.", err=True)
        return 0
    if not yes and not typer.confirm(f"{finding} Remove them from the history?", err=True):
        return 0
    return remove_gone(database, summary.gone)
