"""Past imports: what each import added to a user's history, so that the import can be shown and undone."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select, update

from pearl.errors import Conflict, NotFound
from pearl.text.usable import format_timestamp
from service.store import documents, users, voices
from service.store.documents import LOOKED_UP_AT_ONCE
from service.store.tables import documents as documents_table
from service.store.tables import imports, upsert
from service.store.user_counts import count_documents


@dataclass(frozen=True, slots=True)
class PastImport:
    """A past import, as far as it concerns one user."""

    id: str
    importer: str
    source: str
    counts: dict[str, Any]  # numbers of documents by outcome, and of those left out by reason
    created_at: float
    undone_at: float | None
    documents: int  # those still in the history

    @property
    def brought(self) -> int:
        return int(self.counts.get("imported", 0) + self.counts.get("replaced", 0))


@dataclass(frozen=True, slots=True)
class Undone:
    """The outcome of undoing an import, in numbers of documents."""

    removed: int
    kept: int  # because their owner changed them by hand
    replaced: int = 0  # for which the import had replaced an earlier version


@dataclass(frozen=True, slots=True)
class ImportNote:
    """The record of an import for one user, with the counts so far."""

    id: str
    user_id: int
    counts: dict[str, Any]


def record(connection: Connection, notes: Sequence[ImportNote], *, importer: str, source: str) -> None:
    """Store the records of an import of one source, one per user; replace the counts of existing records."""
    if not notes:
        return
    upserted = upsert(connection, imports)
    rows = [{**asdict(note), "importer": importer, "source": source, "created_at": time.time()} for note in notes]
    connection.execute(
        upserted.on_conflict_do_update(index_elements=[imports.c.id], set_={"counts": upserted.excluded.counts}), rows
    )


def list_all(connection: Connection, user_id: int) -> list[PastImport]:
    """The user's imports, newest first."""
    remaining = (
        select(documents_table.c.import_id, func.count().label("documents"))
        .where(documents_table.c.user_id == user_id)
        .group_by(documents_table.c.import_id)
        .subquery()
    )
    rows = connection.execute(
        select(imports, func.coalesce(remaining.c.documents, 0).label("documents"))
        .outerjoin(remaining, remaining.c.import_id == imports.c.id)
        .where(imports.c.user_id == user_id)
        .order_by(imports.c.created_at.desc(), imports.c.id.desc())
    )
    return [
        PastImport(row.id, row.importer, row.source, row.counts, row.created_at, row.undone_at, row.documents)
        for row in rows
    ]


def undo(connection: Connection, user_id: int, id: str) -> Undone:
    """Undo an import: delete the documents that it brought, except those that their owner has changed by hand, and its
    unused voices. An import that was still running, and brought more since, can be undone again.

    Raises NotFound, also for another user's import, and Conflict if it was undone already.
    """
    users.lock(connection, {user_id})  # before its row: the import itself, while it runs, has the user first
    this_import = (imports.c.id == id) & (imports.c.user_id == user_id)
    past = connection.execute(select(imports.c.undone_at, imports.c.counts).where(this_import)).first()
    if past is None:
        raise _not_there(id)
    removed = documents.remove_all(connection, user_id, _unchanged(id))
    if past.undone_at is not None and not removed:
        when = format_timestamp(int(past.undone_at))
        raise Conflict(f"The import '{id}' was undone already, {when}.", param="import", code="import_undone")
    voices.remove_unused(connection, user_id, id)
    connection.execute(update(imports).where(this_import).values(undone_at=time.time()))
    kept = count_documents(connection, user_id, documents_table.c.import_id == id)
    return Undone(removed, kept, past.counts.get("replaced", 0))


def count_unchanged(connection: Connection, user_id: int, id: str) -> int:
    """The number of documents that undoing the import would remove."""
    return count_documents(connection, user_id, _unchanged(id))


def _unchanged(id: str) -> ColumnElement[bool]:
    """Make the condition for documents that the import brought and that were not changed by hand since."""
    return (documents_table.c.import_id == id) & documents_table.c.changed_at.is_(None)


def owner(connection: Connection, id: str) -> int:
    """The row id of the user who owns the import. Raises NotFound."""
    user_id = connection.scalar(select(imports.c.user_id).where(imports.c.id == id))
    if user_id is None:
        raise _not_there(id)
    return int(user_id)


def _not_there(id: str) -> NotFound:
    return NotFound(
        f"There is no import '{id}' of yours; see 'pearl imports list'.", param="import", code="import_not_found"
    )


def ids_of_source(connection: Connection, user_id: int, *, importer: str, source: str) -> set[str]:
    """Return the ids of documents that imports of this source brought, except documents changed by hand since."""
    of_source = select(imports.c.id).where(
        imports.c.user_id == user_id, imports.c.importer == importer, imports.c.source == source
    )
    return set(
        connection.scalars(
            select(documents_table.c.document_id).where(
                documents_table.c.user_id == user_id,
                documents_table.c.import_id.in_(of_source),
                documents_table.c.changed_at.is_(None),
            )
        )
    )


def remove_documents(connection: Connection, user_id: int, ids: Collection[str]) -> int:
    """Delete the documents with these ids; return how many there were."""
    listed = list(ids)
    return sum(
        documents.remove_all(
            connection, user_id, documents_table.c.document_id.in_(listed[start : start + LOOKED_UP_AT_ONCE])
        )
        for start in range(0, len(listed), LOOKED_UP_AT_ONCE)
    )
