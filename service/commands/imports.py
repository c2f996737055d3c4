"""``pearl import``: one subcommand per importer that is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from pearl.errors import InputError
from pearl.options import JSON_OPTION, write_json
from pearl.settings import load_settings
from pearl.texts import check_id
from service.commands.common import open_database
from service.commands.shown import counted, printable
from service.commands.updates import settle_gone
from service.importers.base import Importer, Options, importer_names, load_importer
from service.importers.guess import guess_importer
from service.importing import BATCH_DOCUMENTS, ImportSummary, run_import

PROBLEMS_SHOWN = 20
SOURCE_ARGUMENT = typer.Argument(..., metavar="SOURCE", help="The file or folder to import.")
ME_OPTION = typer.Option(
    [], "--me", metavar="IDENTITY", help="A name, address or id of the user's in the source; may be repeated."
)

UPDATE_OPTION = typer.Option(
    False, "--update", help="Replace documents that were changed in the source, and ask about those gone from it."
)


class ImporterGroup(TyperGroup):
    """Its subcommands are the importers that are found by entry point, other packages' among them."""

    def list_commands(self, context: Any) -> list[str]:
        return importer_names()

    def get_command(self, context: Any, name: str) -> Any:
        return _command(name) if name in importer_names() else None

    def resolve_command(self, context: Any, args: list[str]) -> Any:
        """A first word that is no kind is a path, and the importer is guessed from what stands there."""
        if args[0] in self.list_commands(context):
            return super().resolve_command(context, args)
        if not Path(args[0]).exists():
            known = ", ".join(importer_names())
            raise InputError(
                f"There is no file or folder '{args[0]}', and no importer of that name; there are {known}.",
                param="source",
                code="missing_file",
            )
        guess = guess_importer(Path(args[0]))
        told = printable(f"{args[0]} looks like {guess.looks}: pearl import {guess.kind}")
        Console(stderr=True).print(Text(told), soft_wrap=True)
        return guess.kind, _command(guess.kind), args

    def format_commands(self, context: Any, formatter: Any) -> None:
        with formatter.section("Sources"):
            formatter.write_dl([(name, _summary_of(name)) for name in importer_names()])


app = typer.Typer(
    cls=ImporterGroup,
    subcommand_metavar="[KIND] SOURCE [OPTIONS]",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    help="Bring a user's own writing into their history. What is already there is not imported twice.",
    epilog="Without KIND it is guessed from what the file or folder is; one that is named like a kind is given as "
    "./git. 'pearl import KIND --help' has examples.",
)


@app.callback()
def root() -> None:
    pass


def _summary_of(name: str) -> str:
    try:
        return load_importer(name).summary
    except InputError as error:  # a plug-in that does not load must not hide the others
        return error.message


def _command(name: str) -> TyperCommand:
    """The subcommand of an importer. Raises InputError when it cannot be loaded."""
    importer = load_importer(name)
    examples = "\n".join(["\b", "Examples:", *(f"  {example}" for example in importer.examples)])
    own_options = getattr(importer, "own_options", ())
    single = typer.Typer(rich_markup_mode=None, add_completion=False)

    @single.command(name=name, help=importer.summary, epilog=examples)
    def import_command(
        source: Path = SOURCE_ARGUMENT,
        user: str = typer.Option(None, "--user", metavar="U", help=_user_help(importer)),
        me: list[str] = ME_OPTION,
        voice: str = typer.Option(
            None, "--voice", metavar="V", help="The register of documents for which the source names none."
        ),
        least_words: int = typer.Option(
            0, "--least-words", metavar="N", min=0, help="Leave out documents of fewer words than this."
        ),
        subjects: bool = typer.Option(
            False,
            "--subjects",
            help="Take the subject line where there is no body; the changed paths are its request.",
            hidden="subjects" not in own_options,
        ),
        strict: bool = typer.Option(False, "--strict", help="Import nothing if anything in the source is wrong."),
        update: bool = UPDATE_OPTION,
        yes: bool = typer.Option(False, "--yes", help="With --update, remove what is gone without asking."),
        json: str = JSON_OPTION,
        batch_size: int = typer.Option(BATCH_DOCUMENTS, "--batch-size", min=1, hidden=True),
    ) -> None:
        if subjects and "subjects" not in own_options:
            raise InputError(f"--subjects is not for {name}.", param="subjects", code="unknown_option")
        options = replace(_options(importer, user, tuple(me), voice), least_words=least_words, subjects=subjects)
        with open_database(load_settings()) as database:
            with _progress(importer, source) as advance:
                followed = replace(options, advance=advance)
                summary = run_import(
                    database, importer, source, followed, strict=strict, update=update, batch_documents=batch_size
                )
            removed = settle_gone(database, summary, source, yes=yes)
        _report(summary, removed, source, json)

    command = typer.main.get_command(single)
    command.name = name
    return command  # type: ignore[return-value]


def _user_help(importer: Importer) -> str:
    return (
        "Whose history it is (required)." if importer.needs_user else "Whose history the lines without a user_id are."
    )


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
        voice=None if voice is None else check_id(voice, param="--voice"),
    )


@contextmanager
def _progress(importer: Importer, source: Path) -> Iterator[Callable[[int], None]]:
    """A bar on standard error while it is a terminal."""
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


def _report(summary: ImportSummary, removed: int, source: Path, json: str | None) -> None:
    """Say what came of it. Raises InputError when nothing was usable or ``--strict`` kept nothing."""
    console = Console(stderr=True)
    _show_problems(console, summary)
    for remark in _remarks(summary):
        console.print(Text(printable(str(remark))), soft_wrap=True)
    if json is not None:
        write_json(json, summary_json(summary, removed))
    else:
        console.print(_table(summary, removed))
        if summary.import_ids:
            which = next(iter(summary.import_ids.values())) if len(summary.import_ids) == 1 else "ID"
            console.print(f"To undo it: pearl imports undo {which}", highlight=False, soft_wrap=True)
    if summary.refused:
        raise InputError(
            f"{source}: {counted(summary.errors_total, 'error')}, so --strict imported nothing.", code="strict_refused"
        )
    if summary.nothing_usable:
        raise InputError(f"{source}: nothing to import: {_left_out_in_words(summary)}.", code="nothing_usable")


def _show_problems(console: Console, summary: ImportSummary) -> None:
    for problem in summary.errors[:PROBLEMS_SHOWN]:
        console.print(Text(printable(str(problem))), soft_wrap=True)
    hidden = summary.errors_total - PROBLEMS_SHOWN
    if hidden > 0:
        console.print(Text(f"and {hidden:,} more"), soft_wrap=True)


def _remarks(summary: ImportSummary) -> list[str]:
    """What is worth a sentence, an identity that matches nobody before all."""
    if not summary.unmatched_me:
        return list(summary.remarks)
    unmatched = " and ".join(f"'{identity}'" for identity in summary.unmatched_me)
    senders = ", ".join(map(str, summary.senders))
    return [
        f"{unmatched} {'matches' if len(summary.unmatched_me) == 1 else 'match'} nobody in it; "
        f"{f'the commonest others are {senders}' if senders else 'everybody in it is another --me'}.",
        *summary.remarks,
    ]


def _left_out_in_words(summary: ImportSummary) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in summary.left_out.items()) or "it holds no documents"


def _table(summary: ImportSummary, removed: int) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right")
    table.add_column()
    table.add_row(
        f"{summary.imported:,}", f"imported, for {counted(summary.users, 'user')}, in {summary.seconds:.1f} s"
    )
    if summary.replaced:
        table.add_row(f"{summary.replaced:,}", "changed since, now as they are in the source")
    table.add_row(f"{summary.already_there:,}", "already there")
    if removed:
        table.add_row(f"{removed:,}", "removed, for they are gone from the source")
    if summary.conflicts:
        table.add_row(f"{summary.conflicts:,}", "already there with another content (conflicts)")
    for reason, count in summary.left_out.items():
        table.add_row(f"{count:,}", Text(f"left out: {reason}"))
    return table


def summary_json(summary: ImportSummary, removed: int) -> dict[str, Any]:
    """The summary as ``--json`` writes it."""
    fields = asdict(summary)
    fields["gone"] = sum(len(each.document_ids) for each in summary.gone)
    fields["removed"] = removed
    fields["errors"] = [
        {name: value for name, value in asdict(problem).items() if value is not None} for problem in summary.errors
    ]
    del fields["refused"]  # the exit status says it
    fields["seconds"] = round(summary.seconds, 3)
    return fields
