"""The documents of a user's history."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, func, insert, select, tuple_

from pearl.errors import InputError, NotFound
from pearl.records import Document
from service.store import embeddings, erasures, jobs, users, voices
from service.store.ids import digest
from service.store.tables import documents, drafts, feedback

LOOKED_UP_AT_ONCE = 5_000  # ids; databases limit the variables of a statement

Digests = tuple[bytes, bytes | None]  # of a document's text and of its request, which embeddings are cached by


class Outcome(Enum):
    """What adding a document came to."""

    CREATED = "created"
    EXISTS = "exists"  # same id, same content: nothing happened
    CONFLICT = "conflict"  # same id, other content: the first stays


@dataclass(frozen=True, slots=True)
class Addition:
    """A document on its way into a user's history; without a timestamp it is dated now."""

    user_id: int
    document: Document


@dataclass(frozen=True, slots=True)
class Page:
    """Some of a history in order of time, and the cursor of the next page, None at the end."""

    documents: list[Document]
    next_cursor: str | None
    has_more: bool


def add(connection: Connection, additions: Sequence[Addition]) -> list[Outcome]:
    """Add documents of any users, in order; what is already there stays as it is.

    New voices are made, the users' indexes are marked stale, and their embeddings are queued. Raises NotFound when
    a user is gone.
    """
    owners = {addition.user_id for addition in additions}
    if users.lock(connection, owners) != owners:
        raise NotFound("This user was deleted.", code="user_not_found")
    known = _known_contents(connection, additions)
    outcomes: list[Outcome] = []
    new: list[Addition] = []
    rows = []
    for addition in additions:
        key, content = (addition.user_id, addition.document.id), _content_digest(addition.document)
        if key in known:
            outcomes.append(Outcome.EXISTS if known[key] == content else Outcome.CONFLICT)
            continue
        known[key] = content
        outcomes.append(Outcome.CREATED)
        new.append(addition)
        rows.append(_row(addition, content))
    if new:
        connection.execute(insert(documents), rows)
        changed = {addition.user_id for addition in new}
        voices.ensure(connection, _voices_by_user(new))
        users.touch_history(connection, changed)
        jobs.enqueue(connection, jobs.EMBED, changed)
    return outcomes


def _known_contents(connection: Connection, additions: Sequence[Addition]) -> dict[tuple[int, str], bytes]:
    wanted: dict[int, list[str]] = {}
    for addition in additions:
        wanted.setdefault(addition.user_id, []).append(addition.document.id)
    known = {}
    for user_id, ids in wanted.items():
        for start in range(0, len(ids), LOOKED_UP_AT_ONCE):
            query = select(documents.c.document_id, documents.c.content_digest).where(
                documents.c.user_id == user_id,
                documents.c.document_id.in_(ids[start : start + LOOKED_UP_AT_ONCE]),
            )
            known.update({(user_id, name): bytes(content) for name, content in connection.execute(query)})
    return known


def digests(document: Document) -> Digests:
    return digest(document.text), digest(document.request) if document.request else None


def all_digests(connection: Connection, user_id: int) -> set[Digests]:
    """Those of every document of the history."""
    rows = connection.execute(
        select(documents.c.text_digest, documents.c.request_digest).where(documents.c.user_id == user_id)
    )
    return {(bytes(text), request and bytes(request)) for text, request in rows}


def _content_digest(document: Document) -> bytes:
    # without the time: a document sent twice without one would be dated twice
    return digest(document.text, document.request, document.voice)


def _row(addition: Addition, content: bytes) -> dict[str, object]:
    document = addition.document
    return {
        "user_id": addition.user_id,
        "document_id": document.id,
        "text": document.text,
        "request": document.request,
        "voice": document.voice,
        "timestamp": time.time() if document.timestamp is None else document.timestamp,
        "content_digest": content,
        **dict(zip(("text_digest", "request_digest"), digests(document), strict=True)),
    }


def _voices_by_user(additions: Sequence[Addition]) -> dict[int, set[str]]:
    named: dict[int, set[str]] = {}
    for addition in additions:
        if addition.document.voice is not None:
            named.setdefault(addition.user_id, set()).add(addition.document.voice)
    return named


def get(connection: Connection, user_id: int, document_id: str) -> Document:
    """Raises NotFound, also for a document that is someone else's."""
    row = connection.execute(_select(user_id).where(documents.c.document_id == document_id)).first()
    if row is None:
        raise _not_found(document_id)
    return _document(row)


def page(connection: Connection, user_id: int, *, limit: int, after: str | None, newest_first: bool) -> Page:
    """One page in order of time. ``after`` is the id of the last document of the page before.

    Raises InputError when that document is not in the history.
    """
    position = tuple_(documents.c.timestamp, documents.c.seq)
    query = _select(user_id)
    if after is not None:
        last = connection.execute(_select(user_id).where(documents.c.document_id == after)).first()
        if last is None:
            raise InputError(
                f"'after' must be the id of a document of yours; '{after}' is not there (any more).",
                param="after",
                code="invalid_cursor",
            )
        cursor = tuple_(last.timestamp, last.seq)
        query = query.where(position < cursor if newest_first else position > cursor)
    ordering = (documents.c.timestamp, documents.c.seq)
    query = query.order_by(*(column.desc() for column in ordering) if newest_first else ordering)
    rows = connection.execute(query.limit(limit + 1)).all()
    found = [_document(row) for row in rows[:limit]]
    has_more = len(rows) > limit
    return Page(found, found[-1].id if has_more else None, has_more)


def all_of_user(connection: Connection, user_id: int, voice: str | None = None) -> list[Document]:
    """The history, or one voice of it, oldest first."""
    query = _select(user_id).order_by(documents.c.timestamp, documents.c.seq)
    if voice is not None:
        query = query.where(documents.c.voice == voice)
    return [_document(row) for row in connection.execute(query)]


def stream(connection: Connection, user_id: int, batch: int = 500) -> Iterator[Document]:
    """The history, oldest first, a batch in memory at a time."""
    last: str | None = None
    while True:
        found = page(connection, user_id, limit=batch, after=last, newest_first=False)
        yield from found.documents
        if found.next_cursor is None:
            return
        last = found.next_cursor


def count(connection: Connection, user_id: int) -> int:
    return connection.scalar(select(func.count()).select_from(documents).where(documents.c.user_id == user_id)) or 0


def remove(connection: Connection, user_id: int, document_id: str) -> None:
    """The document, the draft it was sent from, and its embeddings where no other document has the same text.

    Raises NotFound.
    """
    users.lock(connection, {user_id})  # so that nobody adds an embedding of its text meanwhile
    mine = documents.c.user_id == user_id
    found = select(documents.c.seq, documents.c.text_digest, documents.c.request_digest)
    row = connection.execute(found.where(mine, documents.c.document_id == document_id)).first()
    if row is None:
        raise _not_found(document_id)
    sent_from = select(feedback.c.draft_id).where(feedback.c.document_seq == row.seq)
    connection.execute(delete(drafts).where(drafts.c.user_id == user_id, drafts.c.id.in_(sent_from)))
    connection.execute(delete(documents).where(mine, documents.c.document_id == document_id))
    keys = [bytes(key) for key in (row.text_digest, row.request_digest) if key is not None]
    embeddings.drop_unused(connection, user_id, keys)
    users.touch_history(connection, {user_id})
    erasures.owe(connection)


def _select(user_id: int) -> Select[Any]:
    return select(
        documents.c.seq,
        documents.c.document_id,
        documents.c.text,
        documents.c.timestamp,
        documents.c.request,
        documents.c.voice,
    ).where(documents.c.user_id == user_id)


def _document(row: Row[Any]) -> Document:
    return Document(row.document_id, row.text, row.timestamp, row.request, row.voice)


def _not_found(document_id: str) -> NotFound:
    return NotFound(f"There is no document '{document_id}' in your history.", param="id", code="document_not_found")
