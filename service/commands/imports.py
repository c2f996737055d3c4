"""``pearl import``: one command for every importer that is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import cache
from inspect import Signature
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text
from typer._click.exceptions import MissingParameter, NoArgsIsHelpError, NoSuchOption
from typer.core import TyperCommand

from pearl.cli.commands import epilog
from pearl.cli.options import JSON_OPTION, check_writable, parameter, write_json
from pearl.errors import InputError, StoreError
from pearl.settings import Settings, load_settings
from pearl.text.language import names
from pearl.text.usable import check_id, counted, meant, printable
from service.commands.common import open_database
from service.importing.guessing import guess_importer
from service.importing.restore import EXPORT, ExportReader
from service.importing.restore import import_export as import_export_of
from service.importing.run import ImportSummary, remove_gone, run_import
from service.importing.sources.base import Importer, Options, importer_names, load_importer
from service.store import users
from service.store.database import Database
from service.store.embeddings import missing_size
from service.store.voices import check_name

STANDARD_INPUT = "-"
OF_EXPORT = ("source", "user", "json")


class ImportCommand(TyperCommand):
    """``pearl import``. The first word is the kind of the source, or the source itself, whose kind is then guessed."""

    importer: Importer | None = None  # of the kind, once it is known
    given: frozenset[str]  # the importer's own flags

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        if not args:
            raise NoArgsIsHelpError(context)
        if args[0] == "--help":
            return super().parse_args(context, args)
        named = args[0] in kinds()
        kind = args[0] if named else _guessed(args[0])
        self.importer, context.info_name = _importer(kind), f"{context.info_name} {kind}"
        try:
            rest = super().parse_args(context, args[named:])
        except NoSuchOption as error:
            others = _flags(kinds()).get(error.option_name.lstrip("-").replace("-", "_"))
            if others is None:
                raise
            whose = f"it is an option of {' and '.join(others[1])}"
            raise InputError(f"No such option: {error.option_name} for {kind}; {whose}.") from None
        except MissingParameter:
            if not Path(kind).exists():
                raise
            raise InputError(
                f"'{kind}' is taken as the kind of the source; for the file or folder of that name write ./{kind}"
            ) from None
        self.given = frozenset(flag for flag in _flags([kind]) if context.params.pop(flag))
        return rest

    def get_params(self, context: Any) -> list[Any]:
        """Return the command's options and the importer's flags; all importers' flags if the kind is not known yet."""
        known = _flags(kinds() if self.importer is None else [self.importer.name])
        return [*super().get_params(context), *(_flag(name, *told) for name, told in known.items())]

    def collect_usage_pieces(self, context: Any) -> list[str]:
        return [*([] if self.importer else ["[KIND]"]), "SOURCE [OPTIONS]"]

    def format_help_text(self, context: Any, formatter: Any) -> None:
        if self.importer is None:
            super().format_help_text(context, formatter)
            with formatter.section("Sources"):
                formatter.write_dl([(name, _summary_of(name)) for name in kinds()])
            return
        needed = " and ".join(f"--{name}" for name in ("user", "me") if getattr(self.importer, f"needs_{name}"))
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"{self.importer.summary} {needed and f'Needs {needed}.'}")

    def format_epilog(self, context: Any, formatter: Any) -> None:
        if self.importer is not None:
            self.epilog = epilog("\n".join(f"  {example}" for example in self.importer.examples))
        super().format_epilog(context, formatter)


def kinds() -> list[str]:
    """Return the kinds of sources: the names of the installed importers, and ``export`` for PEARL's own exports."""
    return sorted([*importer_names(), EXPORT])


def _importer(kind: str) -> Importer:
    return ExportReader() if kind == EXPORT else load_importer(kind)


def _guessed(source: str) -> str:
    """Guess the kind of a source, and tell the person. Raises InputError if it cannot be guessed."""
    if source.startswith("-") and source != STANDARD_INPUT:
        raise InputError(
            f"'{source}' stands before the source; options come after it: pearl import SOURCE {source} ..."
        )
    if source == STANDARD_INPUT or Path(source).is_fifo():
        raise InputError(
            f"{source}: is a pipe, from which no importer can be guessed; name it: pearl import KIND {source}"
        )
    if not Path(source).exists():
        raise InputError(
            f"There is no file or folder '{source}', and no importer of that name; there are {', '.join(kinds())}."
            f"{meant(source, kinds())}"
        )
    guess = guess_importer(Path(source))
    guessed = printable(f"{source} looks like {guess.looks}: pearl import {guess.kind}")
    Console(stderr=True).print(Text(guessed), soft_wrap=True)
    return guess.kind


def _summary_of(kind: str) -> str:
    try:
        return _importer(kind).summary
    except InputError as error:  # a plug-in that does not load must not hide the others
        return error.message


def _flags(names: Iterable[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Map the name of each flag of these kinds to its help and the kinds that have it."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for kind in names:
        with suppress(InputError):
            for flag, text in getattr(_importer(kind), "flags", {}).items():
                found[flag] = text, (*found.get(flag, ("", ()))[1], kind)
    return found


@cache  # click compares options by identity
def _flag(name: str, text: str, having: tuple[str, ...]) -> Any:
    option = typer.Option(f"--{name.replace('_', '-')}", help=f"{text} ({', '.join(having)})")

    def of(**flags: bool) -> None: ...

    of.__signature__ = Signature([parameter(name, Annotated[bool, option], False)])  # type: ignore[attr-defined]
    single = typer.Typer(rich_markup_mode=None, add_completion=False)
    single.command()(of)
    return typer.main.get_command(single).params[0]


def import_source(
    context: typer.Context,
    source: Path = typer.Argument(
        metavar="SOURCE", help="File or folder to import, '-' for standard input; the kind may stand before it."
    ),
    user: str | None = typer.Option(
        None, "--user", metavar="U", help="User whose history it is, or whose are the lines without a user_id."
    ),
    me: list[str] = typer.Option(
        [], "--me", metavar="IDENTITY", help="Name, address or id of the user in the source; repeatable."
    ),
    voice: str | None = typer.Option(
        None, "--voice", metavar="V", help="Voice of documents for which the source names none."
    ),
    least_words: int = typer.Option(
        0, "--least-words", metavar="N", min=0, help="Leave out documents of fewer words than this."
    ),
    strict: bool = typer.Option(False, "--strict", help="Import nothing if anything in the source is wrong."),
    update: bool = typer.Option(
        False, "--update", help="Replace documents that changed in the source, and ask about those gone from it."
    ),
    yes: bool = typer.Option(
        False, "--yes", help="With --update, remove documents gone from the source without asking."
    ),
    with_machine: bool = typer.Option(
        False, "--with-machine", help="Take texts that read like an assistant's prose as yours, not set apart."
    ),
    json: str | None = JSON_OPTION,
) -> None:
    """Bring a user's own writing into their history. Nothing is imported twice."""
    command = context.command
    assert isinstance(command, ImportCommand)
    assert command.importer is not None
    importer = command.importer
    check_writable("--json", json)
    settings = load_settings()
    if importer.name == EXPORT:
        if others := [name for name, value in context.params.items() if value and name not in OF_EXPORT]:
            named = f"--{others[0].replace('_', '-')}"
            raise InputError(f"No such option: {named} for export; all other kinds have it.")
        _import_export(settings, source, user, json)
        return
    source = Path("/dev/stdin") if str(source) == STANDARD_INPUT else source
    options = replace(_options(importer, user, tuple(me), voice), least_words=least_words, flags=command.given)
    with open_database(settings) as database:
        with _progress(importer, source) as advance:
            followed = replace(options, advance=advance)
            summary = run_import(
                database, importer, source, followed, strict=strict, update=update, with_machine=with_machine
            )
        removed = settle_gone(database, summary, source, yes=yes)
        report(summary, removed, source, json)
        if summary.imported + summary.replaced >= WORTH_TELLING:
            tell_embedding(database, settings, summary.import_ids)


app = typer.Typer(rich_markup_mode=None, add_completion=False)
app.command(
    cls=ImportCommand,
    epilog="Without KIND it is guessed from what the file or folder is; one that is named like a kind is given as "
    "./git. 'pearl import KIND --help' has examples.",
)(import_source)


def _options(importer: Importer, user: str | None, me: tuple[str, ...], voice: str | None) -> Options:
    if user is None and importer.needs_user:
        raise InputError("Say whose history this is with --user.")
    if not me and importer.needs_me:
        raise InputError("Say who in the source is you with --me (a name, address or id; may be repeated).")
    return Options(
        user=None if user is None else check_id(user, param="--user"),
        me=me,
        voice=None if voice is None else check_name(voice, param="--voice"),
    )


@contextmanager
def _progress(importer: Importer, source: Path) -> Iterator[Callable[[int], None]]:
    """Show a progress bar if standard error is a terminal; yield a function that takes the progress just made."""
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
    """Delete documents that their source no longer holds, after asking unless ``yes``; return how many."""
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


def _import_export(settings: Settings, source: Path, user: str | None, json: str | None) -> None:
    """Import an export for this user, or for the user that it names, and show the outcome."""
    from service.http.api.draft_form import check_listed  # loads the models of the API, which other imports do not need

    options = Options(user=None if user is None else check_id(user, param="--user"))
    with open_database(settings) as database:
        summary, restored = import_export_of(database, ExportReader(), source, options, check_listed)
    show_summary(summary, 0, json, {kind: asdict(outcome) for kind, outcome in restored.items()})
    for kind, outcome in restored.items():
        for problem in outcome.problems[:PROBLEMS_SHOWN]:
            typer.echo(printable(f"{source}: {problem}"), err=True)
        if (hidden := len(outcome.problems) - PROBLEMS_SHOWN) > 0:
            typer.echo(f"and {hidden:,} more", err=True)
        if json is None and (outcome.restored or outcome.already_there or outcome.problems):
            typer.echo(f"{kind}: {outcome.restored:,} restored, {outcome.already_there:,} already there", err=True)


PROBLEMS_SHOWN = 20
WORTH_TELLING = 200  # texts; fewer are embedded in seconds
READ_A_SECOND, OVERHEAD = 40_000, 60  # characters, by the embedded encoder on two quiet cores


def report(summary: ImportSummary, removed: int, source: Path, json: str | None) -> None:
    """Show the outcome of an import. Raises InputError if nothing was usable, or if ``--strict`` stored nothing."""
    show_summary(summary, removed, json)
    if summary.refused:
        raise InputError(f"{source}: {counted(summary.errors_total, 'error')}, so --strict imported nothing.")
    if summary.nothing_usable:
        raise InputError(f"{source}: nothing to import: {_left_out_in_words(summary)}.")


def _show_problems(console: Console, summary: ImportSummary) -> None:
    for problem in summary.errors[:PROBLEMS_SHOWN]:
        console.print(Text(printable(str(problem))), soft_wrap=True)
    hidden = summary.errors_total - PROBLEMS_SHOWN
    if hidden > 0:
        console.print(Text(f"and {hidden:,} more"), soft_wrap=True)


def _remarks(summary: ImportSummary) -> list[str]:
    """Return remarks for the person, above all about --me identities that no sender has."""
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
    for language, count in summary.languages.items():
        table.add_row(f"{count:,}", f"of them in {names().get(language, 'a language that cannot be told')}")
    table.add_row(f"{summary.already_there:,}", "already there")
    if removed:
        table.add_row(f"{removed:,}", "removed, for they are gone from the source")
    if summary.conflicts:
        table.add_row(f"{summary.conflicts:,}", "already there with another content (conflicts)")
    if summary.set_apart:
        table.add_row(f"{summary.set_apart:,}", "of these set apart, for they read like an assistant's prose")
    for reason, count in summary.left_out.items():
        table.add_row(f"{count:,}", Text(f"left out: {reason}"))
    return table


def summary_json(summary: ImportSummary, removed: int) -> dict[str, Any]:
    """Convert the summary of an import to the JSON that ``--json`` writes."""
    fields = asdict(summary)
    fields["gone"] = sum(len(missing.document_ids) for missing in summary.gone)
    fields["removed"] = removed
    fields["errors"] = [
        {name: value for name, value in asdict(problem).items() if value is not None} for problem in summary.errors
    ]
    del fields["refused"]  # the exit status says it
    fields["seconds"] = round(summary.seconds, 3)
    return fields


def show_summary(
    summary: ImportSummary, removed: int, json: str | None, more: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Show an import's problems and counts. ``more``: further fields for the JSON."""
    console = Console(stderr=True)
    _show_problems(console, summary)
    for remark in _remarks(summary):
        console.print(Text(printable(str(remark))), soft_wrap=True)
    if json is not None:
        write_json(json, {**summary_json(summary, removed), **more})
        return
    console.print(_table(summary, removed))
    if summary.set_apart:
        seen, kept = "pearl documents list --set-apart", "pearl documents keep ID"
        console.print(f"Drafts do not learn from what is set apart: {seen}; {kept}", highlight=False, soft_wrap=True)
    if summary.import_ids:
        ids = list(summary.import_ids.values())
        which = ids[0] if len(ids) == 1 else "ID, for each user; their ids: pearl imports list --user U"
        console.print(f"To undo it: pearl imports undo {which}", highlight=False, soft_wrap=True)


def tell_embedding(database: Database, settings: Settings, names: Iterable[str]) -> None:
    """Say how many texts of these users must be embedded before their first draft, and about how long that takes."""
    from retriever.models.encoder import encoder_name  # only here: small imports start without them
    from retriever.registry import find_entry

    count = characters = 0
    with suppress(StoreError, InputError), database.read() as connection:
        for name in names if find_entry(settings.retriever).needs_encoder else ():
            found = missing_size(connection, users.get(connection, name).id, encoder_name(settings.encoder))
            count, characters = count + found[0], characters + found[1]
    seconds = (characters + count * OVERHEAD) / READ_A_SECOND
    if count:
        takes = f"{max(seconds, 1):.0f} s" if seconds < 90 else f"{seconds / 60:.0f} minutes"
        said = f"The first draft, or `pearl serve` meanwhile, embeds {count:,} texts: about {takes} on two quiet cores."
        typer.echo(said, err=True)
