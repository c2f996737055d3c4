"""The record of a running import: its ids and counts by user, and documents that an update no longer finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from pearl.errors import StoreError
from pearl.text.usable import storable
from service.importers.base import SourceDocument
from service.store import apart, imports, users
from service.store.database import Database
from service.store.documents import Addition, AddOutcome
from service.store.ids import new_id
from service.store.imports import ImportNote
from service.store.tables import documents
from service.store.user_counts import count_documents

NAME_KEPT = 40  # characters: a plug-in's name may be longer than the column
NAMES = {
    AddOutcome.CREATED: "imported",
    AddOutcome.REPLACED: "replaced",
    AddOutcome.EXISTS: "already_there",
    AddOutcome.CONFLICT: "conflicts",
}


@dataclass(frozen=True, slots=True)
class Gone:
    """Documents of a user that are no longer in their source."""

    user_id: int
    user: str
    document_ids: tuple[str, ...]
    brought: int  # all documents that came from the source


class ImportRecord:
    """Counts and records an import. An import that brings a user nothing is not recorded."""

    def __init__(
        self, importer: str, source: str, *, update: bool, mine: bool | None = None, looked_at: bool = False
    ) -> None:
        self._importer = importer[:NAME_KEPT]
        self._source = storable(source)
        self._update = update
        self._mine, self._looked_at = mine, looked_at  # of every document that the import brings
        self._seen: dict[str, set[str]] = {}  # ids of documents by user; only in an update
        self._counts: dict[str, Counter[str]] = {}
        self._intended: dict[str, str] = {}  # ids by user, for imports that may bring nothing
        self.ids: dict[str, str] = {}  # of the recorded imports, by user

    def additions(self, batch: Sequence[SourceDocument], user_ids: Mapping[str, int]) -> list[Addition]:
        return [self._addition(item, user_ids[item.user]) for item in batch]

    def _addition(self, item: SourceDocument, user_id: int) -> Addition:
        if item.user not in self._intended:
            self._intended[item.user] = new_id("import")
        import_id = self._intended[item.user]
        if not self._update:
            return Addition(user_id, item.document, import_id, mine=self._mine, looked_at=self._looked_at)
        seen = self._seen.setdefault(item.user, set())
        replaces = item.document.id not in seen  # of two texts with the same id in one source, the first stays
        seen.add(item.document.id)
        return Addition(user_id, item.document, import_id, replaces, self._mine, self._looked_at)

    def write(
        self,
        connection: Connection,
        batch: Sequence[SourceDocument],
        outcomes: Sequence[AddOutcome],
        user_ids: Mapping[str, int],
    ) -> None:
        """Count a batch, and record the import's counts so far in the transaction that stores the batch."""
        for item, outcome in zip(batch, outcomes, strict=True):
            counts = self._counts.setdefault(item.user, Counter())
            counts[NAMES[outcome]] += 1
            if outcome in (AddOutcome.CREATED, AddOutcome.REPLACED):
                self.ids[item.user] = self._intended[item.user]
        self._note(connection, self.ids.keys() & {item.user for item in batch}, user_ids, {})

    def finish(self, connection: Connection, user_ids: Mapping[str, int], left_out: Mapping[str, int]) -> int:
        """Record the numbers of items left out, which belong to no user; return the number of texts set apart."""
        users.lock(connection, set(user_ids.values()))
        apart.excuse(connection, user_ids.values())
        set_apart = {
            name: count_documents(connection, user_ids[name], apart.IS_APART, documents.c.import_id == id)
            for name, id in self.ids.items()
        }
        for name, count in set_apart.items():
            self._counts[name].update({"set_apart": count} if count else {})
        self._note(connection, self.ids.keys(), user_ids, {"left_out": dict(left_out)})
        return sum(set_apart.values())

    def _note(
        self, connection: Connection, names: Collection[str], user_ids: Mapping[str, int], more: dict[str, Any]
    ) -> None:
        notes = [ImportNote(self.ids[name], user_ids[name], {**self._counts[name], **more}) for name in sorted(names)]
        imports.record(connection, notes, importer=self._importer, source=self._source)

    def gone(self, database: Database, owner: str | None) -> tuple[Gone, ...]:
        """The documents that earlier imports of this source brought its users, or ``owner``, but not this one."""
        gone = []
        with database.read() as connection:
            for name in sorted({*self._seen, *([] if owner is None else [owner])}):
                user = users.find(connection, name)
                if user is None:
                    continue
                brought = imports.ids_of_source(connection, user.id, importer=self._importer, source=self._source)
                missing = brought - self._seen.get(name, set())
                if missing:
                    gone.append(Gone(user.id, name, tuple(sorted(missing)), len(brought)))
        return tuple(gone)


def remove_gone(database: Database, gone: Sequence[Gone]) -> int:
    """Delete the documents, with their traces in the database's files; return their number."""
    with database.write() as connection:
        removed = sum(imports.remove_documents(connection, missing.user_id, missing.document_ids) for missing in gone)
    with suppress(StoreError):  # they are deleted; `pearl serve` overwrites their traces later
        database.forget_deleted()
    return removed
