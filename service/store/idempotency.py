"""What was answered under an Idempotency-Key, so that a repeated call is not carried out twice."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select, update

from pearl.errors import Conflict, InputError
from service.store.tables import idempotency
from service.store.upsert import upsert


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished answer: HTTP status and body."""

    status: int
    body: str


def begin(
    connection: Connection, user_id: int, key: str, fingerprint: str, *, lifetime_s: float, abandoned_s: float
) -> Answer | None:
    """None: go ahead, and :func:`finish` or :func:`abandon`. An Answer: it was done before, give this.

    Raises InputError if the key stood for another call, Conflict while the first call is under way.
    """
    now = time.time()
    mine = (idempotency.c.user_id == user_id) & (idempotency.c.key == key)
    expired = idempotency.c.created_at < now - lifetime_s
    died = (idempotency.c.created_at < now - abandoned_s) & idempotency.c.status.is_(None)
    connection.execute(delete(idempotency).where(idempotency.c.user_id == user_id, expired | died))
    made = connection.execute(
        upsert(connection, idempotency)
        .values(user_id=user_id, key=key, fingerprint=fingerprint, created_at=now)
        .on_conflict_do_nothing()
        .returning(idempotency.c.key)
    ).first()
    if made is not None:
        return None
    row = connection.execute(select(idempotency).where(mine)).one()
    if row.fingerprint != fingerprint:
        raise InputError(
            "This Idempotency-Key was used for a different call; use a new one.",
            param="Idempotency-Key",
            code="idempotency_key_reused",
        )
    if row.status is None:
        raise Conflict(
            "The first call with this Idempotency-Key is still under way; ask again in a moment.",
            param="Idempotency-Key",
            code="idempotency_in_progress",
            retry_after=1.0,
        )
    return Answer(row.status, row.body)


def finish(connection: Connection, user_id: int, key: str, answer: Answer) -> None:
    connection.execute(
        update(idempotency)
        .where(idempotency.c.user_id == user_id, idempotency.c.key == key)
        .values(status=answer.status, body=answer.body)
    )


def abandon(connection: Connection, user_id: int, key: str) -> None:
    """The call failed, so the key is free again."""
    connection.execute(delete(idempotency).where(idempotency.c.user_id == user_id, idempotency.c.key == key))
