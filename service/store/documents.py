"""The documents of a user's history."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from sqlalchemy import ColumnElement, Connection, LargeBinary, Row, Select, cast, delete, func, insert, select, update

from pearl.errors import NotFound, TooLarge
from pearl.records import Document
from pearl.text.templates import COMMIT, DEFAULT_TEMPLATE
from service.store import apart, embeddings, erasures, jobs, users, voices
from service.store.drafts import measured
from service.store.ids import digest
from service.store.paging import PageQuery, page_of
from service.store.tables import documents, drafts, feedback

LOOKED_UP_AT_ONCE = 5_000  # ids; databases limit the variables of a statement
USER_BYTES = 100_000_000  # of texts and requests in the history of a user

BESIDE = ("document_id", "timestamp", "voice", "recipient", "thread")  # all but text and request
READ = select(*(documents.c[name] for name in ("seq", "text", "request", *BESIDE)))
DIGESTS = ("content_digest", "text_digest", "request_digest")
COMPARED = select(*(documents.c[name] for name in (*BESIDE, *DIGESTS, "changed_at")))
Digests = tuple[bytes, bytes | None]  # of a document's text and of its request, which embeddings are cached by


class AddOutcome(Enum):
    """The outcome of adding a document."""

    CREATED = "created"
    EXISTS = "exists"  # same id, same content: nothing happened
    CONFLICT = "conflict"  # same id, other content: the first stays
    REPLACED = "replaced"  # same id, other content, which takes the place of the first


@dataclass(frozen=True, slots=True)
class Addition:
    """A document to add to a user's history, and how."""

    user_id: int
    document: Document  # without a timestamp it is dated now
    import_id: str | None = None  # of the import that brings it
    replaces: bool = False  # it replaces an earlier version
    mine: bool | None = None  # its owner's word on whether it is a sample; None: none given
    looked_at: bool = False  # it was told before whether it reads like an assistant's prose


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a history's documents, in order of time."""

    documents: list[Document]
    has_more: bool  # more follow after the last one


def add(connection: Connection, additions: Sequence[Addition], *, template: str = DEFAULT_TEMPLATE) -> list[AddOutcome]:
    """Add documents of any users, in order; an existing document stays as it is unless an addition replaces it.

    New voices are made with this template, and jobs to embed the texts are queued. A text that reads like an AI
    assistant's is quarantined unless it is a commit message. It is released if its owner always wrote in this way: here
    for documents that no import brings, for an import at its end. Raises NotFound if a user is gone, TooLarge if a
    history would exceed its limit.
    """
    owners = {addition.user_id for addition in additions}
    if users.lock(connection, owners) != owners:
        raise NotFound("This user was deleted.", code="user_not_found")
    known = _known_versions(connection, additions)
    outcomes: list[AddOutcome] = []
    new: list[Addition] = []
    changed: list[tuple[Addition, _Version]] = []
    for addition in additions:
        key = (addition.user_id, addition.document.id)
        existing = known.get(key)
        if existing is None:
            outcomes.append(AddOutcome.CREATED)
            new.append(addition)
            known[key] = _Version.of(addition.document)
            continue
        addition = replace(addition, document=existing.completing(addition))
        differs_beside = addition.replaces and existing.differs_beside(addition.document)
        if existing.holds(addition.document) and not differs_beside:
            outcomes.append(AddOutcome.EXISTS)
        elif addition.replaces:
            outcomes.append(AddOutcome.REPLACED)
            changed.append((addition, existing))
            known[key] = replace(_Version.of(addition.document), changed_by_hand=existing.changed_by_hand)
        else:
            outcomes.append(AddOutcome.CONFLICT)
    if new:
        connection.execute(insert(documents), [_row(addition, template) for addition in new])
    for addition, before in changed:
        _replace(connection, addition, before, template)
    stored = [*new, *(addition for addition, _ in changed)]
    if stored:
        owners = {addition.user_id for addition in stored}
        import_ids = {addition.user_id: addition.import_id for addition in stored}
        voices.ensure(connection, _voices_by_user(stored), template, import_ids)
        users.touch_history(connection, owners)
        jobs.enqueue(connection, jobs.EMBED, owners)
        apart.excuse(connection, {addition.user_id for addition in stored if addition.import_id is None})
        for owner in owners:
            _check_size(connection, owner)
    return outcomes


def _check_size(connection: Connection, user_id: int) -> None:
    """Check that the history has at most USER_BYTES. Raises TooLarge if it has more."""
    is_sqlite = connection.dialect.name == "sqlite"  # not all that are in use know octet_length
    sizes = [
        func.coalesce(func.length(cast(column, LargeBinary)) if is_sqlite else func.octet_length(column), 0)
        for column in (documents.c.text, documents.c.request)
    ]
    total = connection.scalar(select(func.sum(sizes[0] + sizes[1])).where(documents.c.user_id == user_id)) or 0
    if total > USER_BYTES:
        raise TooLarge(
            f"The history would have {int(total):,} bytes; the limit for a user is {USER_BYTES:,}. "
            "Delete documents that drafts need not learn from.",
            code="history_full",
        )


@dataclass(frozen=True, slots=True)
class _Version:
    """The parts of a stored document that are compared with a later version of it."""

    content: bytes  # digest of text, request and voice as they came
    digests: Digests
    voice: str | None
    timestamp: float | None
    recipient: str | None
    thread: str | None
    changed_by_hand: bool = False

    @classmethod
    def of(cls, document: Document) -> _Version:
        content, keys = _content_digest(document), digests(document)
        return cls(content, keys, document.voice, document.timestamp, document.recipient, document.thread)

    def holds(self, document: Document) -> bool:
        """True if the stored document has this content, now or when it came: its voice may have been deleted since."""
        as_it_is = digests(document) == self.digests and document.voice == self.voice
        return as_it_is or _content_digest(document) == self.content

    def differs_beside(self, document: Document) -> bool:
        """True if the document names another time, recipient or thread than the stored one."""
        return any(
            getattr(document, name) not in (None, getattr(self, name)) for name in ("timestamp", "recipient", "thread")
        )

    def completing(self, addition: Addition) -> Document:
        """Return the addition's document, with the stored recipient and thread if it names none. It gets the stored
        voice if the owner chose that by hand, or if the addition is an import's and names none."""
        document = addition.document
        unnamed = addition.import_id is not None and document.voice is None
        return replace(
            document,
            voice=self.voice if self.changed_by_hand or unnamed else document.voice,
            recipient=document.recipient or self.recipient,
            thread=document.thread or self.thread,
        )


def _known_versions(connection: Connection, additions: Sequence[Addition]) -> dict[tuple[int, str], _Version]:
    wanted: dict[int, list[str]] = {}
    for addition in additions:
        wanted.setdefault(addition.user_id, []).append(addition.document.id)
    known = {}
    for user_id, ids in wanted.items():
        for start in range(0, len(ids), LOOKED_UP_AT_ONCE):
            listed = documents.c.document_id.in_(ids[start : start + LOOKED_UP_AT_ONCE])
            query = COMPARED.where(documents.c.user_id == user_id, listed)
            for row in connection.execute(query):
                known[user_id, row.document_id] = _Version(
                    bytes(row.content_digest),
                    (bytes(row.text_digest), row.request_digest and bytes(row.request_digest)),
                    row.voice,
                    row.timestamp,
                    row.recipient,
                    row.thread,
                    row.changed_at is not None,
                )
    return known


def _replace(connection: Connection, addition: Addition, before: _Version, template: str) -> None:
    values = _row(addition, template)
    reason, mine = values.pop("set_apart"), values.pop("mine")
    values |= {} if mine is None else {"mine": mine}  # else its owner's word on the earlier version stays
    connection.execute(
        update(documents)
        .where(documents.c.user_id == addition.user_id, documents.c.document_id == addition.document.id)
        .values(**values)
    )
    apart.set_reason(connection, addition.user_id, addition.document.id, reason)
    embeddings.drop_unused(connection, addition.user_id, [key for key in before.digests if key is not None])
    _measure_again(connection, addition)
    erasures.owe(connection, addition.user_id)


def _measure_again(connection: Connection, addition: Addition) -> None:
    """Measure the edit again if the replaced text had been sent from a draft."""
    sent = (
        select(feedback.c.id, drafts.c.text, drafts.c.retrieval)
        .join(documents, documents.c.seq == feedback.c.document_seq)
        .join(drafts, drafts.c.id == feedback.c.draft_id)
        .where(documents.c.user_id == addition.user_id, documents.c.document_id == addition.document.id)
    )
    for row in connection.execute(sent).all():
        edit, values = measured(row.text, row.retrieval, addition.document.text)
        connection.execute(update(feedback).where(feedback.c.id == row.id).values(**values))
        apart.set_reason(connection, addition.user_id, addition.document.id, apart.reason_of_edit(edit))


def digests(document: Document) -> Digests:
    return digest(document.text), digest(document.request) if document.request else None


def all_digests(connection: Connection, user_id: int) -> set[Digests]:
    """Return for each document of the history the digests of its text and request."""
    rows = connection.execute(
        select(documents.c.text_digest, documents.c.request_digest).where(documents.c.user_id == user_id)
    )
    return {(bytes(text), request and bytes(request)) for text, request in rows}


def _content_digest(document: Document) -> bytes:
    # without the time: a document sent twice without one would be dated twice; without recipient and thread, which a
    # document that was imported before they were read lacks
    return digest(document.text, document.request, document.voice)


def _row(addition: Addition, template: str) -> dict[str, Any]:
    document = addition.document
    looked_at = addition.looked_at or template == COMMIT
    reason = None if looked_at else apart.reason_of_text(document)
    return {
        "user_id": addition.user_id,
        "document_id": document.id,
        "text": document.text,
        "request": document.request,
        "voice": document.voice,
        "recipient": document.recipient,
        "thread": document.thread,
        "timestamp": time.time() if document.timestamp is None else document.timestamp,
        "content_digest": _content_digest(document),
        "import_id": addition.import_id,
        "set_apart": reason or (apart.NOT_MINE if addition.mine is False else None),
        "mine": addition.mine if reason or addition.mine is False else None,
        **dict(zip(("text_digest", "request_digest"), digests(document), strict=True)),
    }


def _voices_by_user(additions: Sequence[Addition]) -> dict[int, set[str]]:
    named: dict[int, set[str]] = {}
    for addition in additions:
        if addition.document.voice is not None:
            named.setdefault(addition.user_id, set()).add(addition.document.voice)
    return named


def get(connection: Connection, user_id: int, document_id: str) -> Document:
    """Return a document of the user. Raises NotFound if the user has no document with this id."""
    row = connection.execute(_select(user_id).where(documents.c.document_id == document_id)).first()
    if row is None:
        raise not_found(document_id)
    return document_of(row)


def page(
    connection: Connection, user_id: int, wanted: PageQuery, voice: str | None = None, *, only_apart: bool = False
) -> Page:
    """Return a page of the history, or of one voice, in order of time; ``only_apart``: only quarantined documents.

    Raises InputError if ``after`` is no document of the user.
    """
    query = of_voice(user_id, voice)
    rows, has_more = page_of(
        connection,
        query.where(apart.IS_APART) if only_apart else query,
        wanted,
        noun="document",
        id=documents.c.document_id,
        order=(documents.c.timestamp, documents.c.seq),
        searched=("text",),
    )
    return Page([document_of(row) for row in rows], has_more)


def all_of_user(connection: Connection, user_id: int, voice: str | None = None) -> list[Document]:
    """The history, or one voice of it, oldest first."""
    ordered = of_voice(user_id, voice).order_by(documents.c.timestamp, documents.c.seq)
    return [document_of(row) for row in connection.execute(ordered)]


def stream(connection: Connection, user_id: int, batch: int = 500) -> Iterator[Document]:
    """Yield the history, oldest first; ``batch``: the number of documents in memory at a time."""
    last: str | None = None
    while True:
        one_page = page(connection, user_id, PageQuery(batch, last))
        yield from one_page.documents
        if not one_page.has_more:
            return
        last = one_page.documents[-1].id


def remove(connection: Connection, user_id: int, document_id: str) -> None:
    """Delete a document, the draft it was sent from, and its embeddings unless another document has the same text.

    Raises NotFound for an unknown document.
    """
    users.lock(connection, {user_id})  # so that no embedding of its text is added meanwhile
    owned = documents.c.user_id == user_id
    digests_of = select(documents.c.seq, documents.c.text_digest, documents.c.request_digest)
    row = connection.execute(digests_of.where(owned, documents.c.document_id == document_id)).first()
    if row is None:
        raise not_found(document_id)
    sent_from = select(feedback.c.draft_id).where(feedback.c.document_seq == row.seq)
    connection.execute(delete(drafts).where(drafts.c.user_id == user_id, drafts.c.id.in_(sent_from)))
    connection.execute(delete(documents).where(owned, documents.c.document_id == document_id))
    keys = [bytes(key) for key in (row.text_digest, row.request_digest) if key is not None]
    embeddings.drop_unused(connection, user_id, keys)
    users.touch_history(connection, {user_id})
    erasures.owe(connection, user_id)


def remove_all(connection: Connection, user_id: int, chosen: ColumnElement[bool]) -> int:
    """Delete the user's documents that match ``chosen``, with all that :func:`remove` deletes; return their number."""
    users.lock(connection, {user_id})
    these = (documents.c.user_id == user_id) & chosen
    sent_from = select(feedback.c.draft_id).join(documents, documents.c.seq == feedback.c.document_seq).where(these)
    connection.execute(delete(drafts).where(drafts.c.user_id == user_id, drafts.c.id.in_(sent_from)))
    gone = connection.execute(delete(documents).where(these)).rowcount
    if gone:
        embeddings.drop_all_unused(connection, user_id)
        users.touch_history(connection, {user_id})
        erasures.owe(connection, user_id)
    return gone


def change_voice(connection: Connection, user_id: int, document_id: str, voice: str | None) -> Document:
    """Move the document to a voice, made if it is new, or to none; return the document. Raises NotFound."""
    users.lock(connection, {user_id})
    before = get(connection, user_id, document_id)
    if before.voice == voice:
        return before
    changed = replace(before, voice=voice)
    connection.execute(
        update(documents)
        .where(documents.c.user_id == user_id, documents.c.document_id == document_id)
        .values(voice=voice, content_digest=_content_digest(changed), changed_at=time.time())
    )
    if voice is not None:
        voices.ensure(connection, {user_id: {voice}})
    users.touch_history(connection, {user_id})
    return changed


def claim(connection: Connection, user_id: int, document_id: str, *, mine: bool) -> None:
    """Store the owner's decision whether drafts may learn from the document (``mine``). Raises NotFound."""
    users.lock(connection, {user_id})
    this = (documents.c.user_id == user_id) & (documents.c.document_id == document_id)
    reason = documents.c.set_apart if mine else func.coalesce(documents.c.set_apart, apart.NOT_MINE)
    changed = connection.execute(update(documents).where(this).values(mine=mine, set_apart=reason))
    if not changed.rowcount:
        raise not_found(document_id)
    users.touch_history(connection, {user_id})


def _select(user_id: int) -> Select[Any]:
    return READ.where(documents.c.user_id == user_id)


def of_voice(user_id: int, voice: str | None) -> Select[Any]:
    """Make the query for the history, or for one voice of it."""
    query = _select(user_id)
    return query if voice is None else query.where(documents.c.voice == voice)


def document_of(row: Row[Any]) -> Document:
    return Document(row.document_id, row.text, row.timestamp, row.request, row.voice, row.recipient, row.thread)


def not_found(document_id: str) -> NotFound:
    """The error for a document that is not in the history."""
    return NotFound(f"There is no document '{document_id}' in your history.", param="id", code="document_not_found")
