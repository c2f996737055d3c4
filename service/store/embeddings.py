"""Stored embeddings of the texts and requests of documents, by a digest of the text (text key)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from sqlalchemy import ColumnElement, Connection, Subquery, case, delete, func, select, union_all

from service.store import users
from service.store.ids import digest
from service.store.tables import documents, embeddings, upsert

if TYPE_CHECKING:  # commands that only list documents are quicker without it
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

READ = 1_000  # characters of a text that an encoder with a window of 256 tokens reads
LOOKED_UP = 500  # keys; for more, all of the user's embeddings are read, which is no slower


def text_key(text: str) -> bytes:
    """The key under which an embedding of this text is stored."""
    return digest(text)


def of_user(connection: Connection, user_id: int, encoder: str, keys: Collection[bytes]) -> dict[bytes, Vector]:
    """Return the user's stored embeddings by this encoder, by text key: those of ``keys``, and maybe others."""
    import numpy as np

    wanted = select(embeddings.c.text_digest, embeddings.c.vector).where(
        embeddings.c.user_id == user_id, embeddings.c.encoder == encoder
    )
    if len(keys) <= LOOKED_UP:
        wanted = wanted.where(embeddings.c.text_digest.in_(keys))
    return {bytes(key): np.frombuffer(vector, dtype="<f4") for key, vector in connection.execute(wanted)}


def missing(connection: Connection, user_id: int, encoder: str, limit: int) -> list[str]:
    """Return at most ``limit`` texts and requests of the user without an embedding, without duplicates."""
    used = _texts(user_id)
    lacking = select(used.c.digest, used.c.text).where(_is_missing(used, user_id, encoder))
    rows = connection.execute(lacking.order_by(used.c.timestamp.desc()).limit(limit))
    return list({bytes(key): text for key, text in rows}.values())


def missing_size(connection: Connection, user_id: int, encoder: str) -> tuple[int, int]:
    """Return the number of texts and requests without an embedding, and of their characters, at most READ for each."""
    used = _texts(user_id)
    length = func.length(used.c.text)
    each = select(used.c.digest, func.max(case((length > READ, READ), else_=length)).label("read"))
    lacking = each.where(_is_missing(used, user_id, encoder)).group_by(used.c.digest).subquery()
    count, characters = connection.execute(select(func.count(), func.sum(lacking.c.read)).select_from(lacking)).one()
    return count, int(characters or 0)


def _is_missing(used: Subquery, user_id: int, encoder: str) -> ColumnElement[bool]:
    embedded = select(embeddings.c.text_digest).where(embeddings.c.user_id == user_id, embeddings.c.encoder == encoder)
    return used.c.digest.not_in(embedded)  # NOT EXISTS took PostgreSQL a second before it knew the tables' sizes


def add(connection: Connection, user_id: int, encoder: str, vectors: Mapping[bytes, Vector]) -> None:
    """Store the vectors, by text key. Vectors of texts that were deleted in the meantime are skipped."""
    users.lock(connection, {user_id})
    used = _used(connection, user_id, vectors.keys())
    rows = [
        {"user_id": user_id, "encoder": encoder, "text_digest": key, "vector": vector.astype("<f4").tobytes()}
        for key, vector in vectors.items()
        if key in used
    ]
    if rows:
        connection.execute(upsert(connection, embeddings).on_conflict_do_nothing(), rows)


def drop_unused(connection: Connection, user_id: int, keys: Collection[bytes]) -> None:
    """Delete the embeddings with these text keys, of any encoder, whose text is no longer in the history."""
    unused = set(keys) - _used(connection, user_id, keys)
    connection.execute(delete(embeddings).where(embeddings.c.user_id == user_id, embeddings.c.text_digest.in_(unused)))


def drop_all_unused(connection: Connection, user_id: int) -> None:
    """Delete every embedding of the user whose text is no longer in the history."""
    used = select(_texts(user_id).c.digest)
    connection.execute(delete(embeddings).where(embeddings.c.user_id == user_id, embeddings.c.text_digest.not_in(used)))


def _used(connection: Connection, user_id: int, keys: Collection[bytes]) -> set[bytes]:
    """Return those of the keys that belong to a text or request of the history."""
    used = _texts(user_id)
    return {bytes(key) for key in connection.scalars(select(used.c.digest).where(used.c.digest.in_(keys)))}


def _texts(user_id: int) -> Subquery:
    """Select ``digest``, ``text`` and ``timestamp`` of every text and every request of the history."""
    columns = documents.c
    texts = select(columns.text_digest.label("digest"), columns.text.label("text"), columns.timestamp)
    requests = select(columns.request_digest, columns.request, columns.timestamp)
    owned = columns.user_id == user_id
    return union_all(texts.where(owned), requests.where(owned, columns.request_digest.is_not(None))).subquery()
