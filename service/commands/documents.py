"""``pearl documents``"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from pearl.cli.commands import epilog, group
from pearl.cli.options import JSON_OPTION, USER_OPTION, write_json
from pearl.errors import InputError
from pearl.records import Document
from pearl.settings import load_settings
from pearl.text.language import detect, names
from pearl.text.usable import counted
from service.commands.common import erase, open_database
from service.commands.shown import (
    AFTER_OPTION,
    LIMIT_OPTION,
    WORDS_ARGUMENT,
    confirm,
    excerpt,
    excerpt_with,
    for_terminal,
    moment,
    not_a_sample,
    searched,
    show_fields,
    show_table,
)
from service.store import apart, documents, feedback, users, voices
from service.store.paging import PageQuery
from service.store.tables import documents as documents_table
from service.store.user_counts import count_documents

app = group("Look at the documents of a history, keep and delete them.")

LIST_EXAMPLES = """
  pearl documents list
  pearl documents list --user ada --voice email --limit 50
  pearl documents list swap Saturday --voice email
  pearl documents list --set-apart
  pearl documents list --json -
"""
KEEP_EXAMPLES = """
  pearl documents keep mail-2041 mail-2042
  pearl documents keep --all
  pearl documents keep mail-2043 --not-mine
"""
DELETE_EXAMPLES = """
  pearl documents delete mail-2041 mail-2042
  pearl documents delete --voice old-blog
"""


@app.command("list", epilog=epilog(LIST_EXAMPLES))
def list_documents(
    words: list[str] = WORDS_ARGUMENT,
    user: str | None = USER_OPTION,
    voice: str | None = typer.Option(None, "--voice", metavar="V", help="List only documents of this voice."),
    limit: int = LIMIT_OPTION,
    after: str | None = AFTER_OPTION,
    oldest_first: bool = typer.Option(False, "--oldest-first", help="Begin with the oldest document."),
    set_apart: bool = typer.Option(False, "--set-apart", help="List only documents from which drafts do not learn."),
    json: str | None = JSON_OPTION,
) -> None:
    """List documents, the newest first; with WORDS only documents that contain all of them, in upper or lower case."""
    wanted = PageQuery(limit, after, not oldest_first, searched(words))
    with open_database(load_settings()) as database, database.read() as connection:
        owner = users.chosen(connection, user)
        chosen = voices.chosen_there(connection, owner.id, voice)
        page = documents.page(connection, owner.id, wanted, chosen, only_apart=set_apart)
        marks = apart.marks(connection, owner.id, [document.id for document in page.documents])
    if json:
        listed = [_fields(document, marks.get(document.id)) for document in page.documents]
        write_json(json, {"documents": listed, "has_more": page.has_more})
        return
    if not page.documents:
        typer.echo("No documents." if wanted.words is None else f"No document contains {wanted.words!r}.", err=True)
        return
    columns = ["id", "written", "voice", "language", "text"]
    rows = [_row(document, wanted.words) for document in page.documents]
    reasons = [marks.get(document.id, apart.SAMPLE).reason for document in page.documents]
    if any(reasons):
        columns.insert(4, "set apart")
        rows = [
            [*row[:4], (reason or "-").replace("_", " "), *row[4:]] for row, reason in zip(rows, reasons, strict=True)
        ]
    show_table(columns, rows)
    if page.has_more:
        typer.echo(f"There are more; go on with --after {page.documents[-1].id}", err=True)


def _row(document: Document, words: str | None) -> list[str]:
    text = excerpt(document.text) if words is None else excerpt_with(document.text, words)
    return [document.id, moment(document.timestamp), document.voice or "-", detect(document.text) or "-", text]


def _fields(document: Document, mark: apart.Mark | None) -> dict[str, Any]:
    """Return the document as JSON fields, with the reason if it is set apart."""
    reason = None if mark is None else mark.reason
    return asdict(document) | {"language": detect(document.text)} | ({} if reason is None else {"set_apart": reason})


@app.command(epilog=epilog("  pearl documents show mail-2041"))
def show(
    id: str = typer.Argument(metavar="ID", help="The document's id, from `pearl documents list`."),
    user: str | None = USER_OPTION,
    json: str | None = JSON_OPTION,
) -> None:
    """Show one document whole."""
    with open_database(load_settings()) as database, database.read() as connection:
        owner = users.chosen(connection, user)
        document = documents.get(connection, owner.id, id)
        sent = feedback.sent_drafts(connection, owner.id, [id]).get(id)
        mark = apart.marks(connection, owner.id, [id]).get(id, apart.SAMPLE)
    if json:
        from service.http.api.feedback import sent_draft_out

        found = sent_draft_out(sent)
        write_json(json, _fields(document, mark) | ({} if found is None else {"sent_draft": found.model_dump()}))
        return
    if mark.reason is not None:
        typer.echo(not_a_sample(mark, id), err=True)
    language = detect(document.text)
    show_fields(
        (
            ("id", document.id),
            ("written", moment(document.timestamp)),
            ("voice", document.voice),
            ("language", language and names()[language]),
        )
    )
    if document.request is not None:
        typer.echo(f"request:\n\n{for_terminal(document.request)}\n")
    typer.echo(f"text:\n\n{for_terminal(document.text)}")


@app.command(epilog=epilog(KEEP_EXAMPLES))
def keep(
    ids: list[str] = typer.Argument(None, metavar="ID", help="Ids of documents, from `pearl documents list`."),
    user: str | None = USER_OPTION,
    everything: bool = typer.Option(False, "--all", help="Keep every document that is set apart."),
    not_mine: bool = typer.Option(False, "--not-mine", help="Set the documents apart instead."),
) -> None:
    """Say that documents that were set apart are yours, so that drafts learn from them."""
    if bool(ids) + everything != 1 or (everything and not_mine):
        raise InputError("Give ids of documents, with --not-mine or without, or --all.")
    with open_database(load_settings()) as database, database.write() as connection:
        owner = users.chosen(connection, user)
        if everything:
            ids = [id for id, mark in apart.marks(connection, owner.id).items() if mark.reason is not None]
        for document_id in ids:
            documents.claim(connection, owner.id, document_id, mine=not not_mine)
    typer.echo(f"{'Set apart' if not_mine else 'Kept'}: {counted(len(set(ids)), 'document')}.", err=True)


@app.command(epilog=epilog(DELETE_EXAMPLES))
def delete(
    ids: list[str] = typer.Argument(None, metavar="ID", help="Ids of documents, from `pearl documents list`."),
    user: str | None = USER_OPTION,
    voice: str | None = typer.Option(None, "--voice", metavar="V", help="Every document of this voice."),
    yes: bool = typer.Option(False, "--yes", help="Delete without asking."),
) -> None:
    """Delete documents for good, with the drafts that they were sent from."""
    if bool(ids) == (voice is not None):
        raise InputError("Give either ids of documents or --voice V.")
    with open_database(load_settings()) as database:
        with database.read() as connection:
            owner = users.chosen(connection, user)
            if voice is not None:
                voices.get(connection, owner.id, voice)
            chosen = documents_table.c.voice == voice
            count = 0 if ids else count_documents(connection, owner.id, chosen)
        if count:
            confirm(f"Delete {counted(count, 'document')} of the voice '{voice}' of {owner.name}?", yes=yes)
        with database.write(deletes=True) as connection:
            if voice is not None:
                removed = documents.remove_all(connection, owner.id, chosen)
            else:
                removed = len(set(ids))
                for document_id in dict.fromkeys(ids):
                    documents.remove(connection, owner.id, document_id)
        erase(database)
    typer.echo(f"Deleted {counted(removed, 'document')}.", err=True)
