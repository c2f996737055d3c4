"""Reporting an import, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pearl.cli.options import write_json
from pearl.errors import InputError, StoreError
from pearl.settings import Settings
from pearl.text.language import names
from pearl.text.usable import counted, printable
from service.importing.run import ImportSummary
from service.store import users
from service.store.database import Database
from service.store.embeddings import missing_size

PROBLEMS_SHOWN = 20
WORTH_TELLING = 200  # texts; fewer are embedded in seconds
READ_A_SECOND, OVERHEAD = 40_000, 60  # characters, by the embedded encoder on two quiet cores


def report(summary: ImportSummary, removed: int, source: Path, json: str | None) -> None:
    """Show the outcome. Raises InputError if nothing was usable, or if ``--strict`` stored nothing."""
    show_summary(summary, removed, json)
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
    """Remarks on the import, above all on identities that match no sender."""
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
    """The summary as ``--json`` writes it."""
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
    """Show the problems and the figures; ``more`` are additional fields of the JSON."""
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
    """Say how many texts of these users are embedded before their first draft, and about how long."""
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
