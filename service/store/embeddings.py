"""Embeddings, cached by the content of the text they stand for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from service.store import users
from service.store.ids import digest
from service.store.tables import documents, embeddings
from service.store.upsert import upsert

Vector = NDArray[np.float32]


def text_key(text: str) -> bytes:
    """What an embedding of this text is kept under."""
    return digest(text)


def of_user(connection: Connection, user_id: int, encoder: str) -> dict[bytes, Vector]:
    """Every embedding of the user's texts under this encoder, by text key."""
    rows = connection.execute(
        select(embeddings.c.text_digest, embeddings.c.vector).where(
            embeddings.c.user_id == user_id, embeddings.c.encoder == encoder
        )
    )
    return {bytes(key): np.frombuffer(vector, dtype="<f4") for key, vector in rows}


def missing(connection: Connection, user_id: int, encoder: str, limit: int) -> list[str]:
    """Texts of the user that have no embedding yet, at most ``limit``, each once."""
    there = (
        select(embeddings.c.text_digest)
        .where(
            embeddings.c.user_id == user_id,
            embeddings.c.encoder == encoder,
            embeddings.c.text_digest == documents.c.text_digest,
        )
        .exists()
    )
    rows = connection.execute(
        select(documents.c.text_digest, documents.c.text)
        .where(documents.c.user_id == user_id, ~there)
        .order_by(documents.c.timestamp.desc())
        .limit(limit)
    )
    return list({bytes(key): text for key, text in rows}.values())


def add(connection: Connection, user_id: int, encoder: str, vectors: Mapping[bytes, Vector]) -> None:
    """Keep those whose text is still in the history: a document deleted meanwhile must not leave a trace."""
    users.lock(connection, {user_id})
    wanted = select(documents.c.text_digest).where(
        documents.c.user_id == user_id, documents.c.text_digest.in_(list(vectors))
    )
    alive = {bytes(key) for (key,) in connection.execute(wanted)}
    rows = [
        {"user_id": user_id, "encoder": encoder, "text_digest": key, "vector": vector.astype("<f4").tobytes()}
        for key, vector in vectors.items()
        if key in alive
    ]
    if rows:
        connection.execute(upsert(connection, embeddings).on_conflict_do_nothing(), rows)
