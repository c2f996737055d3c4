"""Answers kept under an Idempotency-Key, so that a repeated call is not carried out twice."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, delete, select, update

from pearl.clock import steady_time
from pearl.errors import Conflict, InputError, NotFound
from service.store import users
from service.store.tables import idempotency, upsert


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A finished answer: HTTP status and body."""

    status: int
    body: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call with an Idempotency-Key."""

    user_id: int
    key: str
    fingerprint: str  # tells it from other calls under the key
    lifetime_s: float  # its answer is forgotten after this
    abandoned_s: float  # a call whose claim is not renewed for this long is taken for dead


def begin(connection: Connection, call: Call) -> StoredResponse | None:
    """Claim the call's key. Return None if the caller must now do the work, and store its answer by :func:`finish`
    together with its result. If the call was answered before, return that answer.

    Short work runs in the same transaction, and another call with the key waits until that ends. For long work the
    claim is committed first; then :func:`renew` keeps the claim, and :func:`abandon` ends it.

    Raises InputError if the key was used for another call, Conflict while the first call is under way, NotFound if the
    user is gone.
    """
    now = steady_time()
    if not users.lock(connection, {call.user_id}):
        raise NotFound("This user was deleted.", code="user_not_found")
    expired = idempotency.c.created_at < now - call.lifetime_s
    died = (idempotency.c.created_at < now - call.abandoned_s) & idempotency.c.status.is_(None)
    connection.execute(delete(idempotency).where(idempotency.c.user_id == call.user_id, expired | died))
    claimed = connection.execute(
        upsert(connection, idempotency)
        .values(user_id=call.user_id, key=call.key, fingerprint=call.fingerprint, created_at=now)
        .on_conflict_do_nothing()
        .returning(idempotency.c.key)
    ).first()
    if claimed is not None:
        return None
    row = connection.execute(select(idempotency).where(_of(call))).one()
    if row.fingerprint != call.fingerprint:
        raise InputError(
            "This Idempotency-Key was used for a different call; use a new one.",
            param="Idempotency-Key",
            code="idempotency_key_reused",
        )
    if row.status is None:
        raise _in_progress()
    return StoredResponse(row.status, row.body)


def finish(connection: Connection, call: Call, answer: StoredResponse) -> None:
    """Store the answer to a call. Raises Conflict if its claim had lapsed and another call claimed the key."""
    done = connection.execute(update(idempotency).where(_claimed(call)).values(status=answer.status, body=answer.body))
    if not done.rowcount:
        raise _in_progress()


def renew(connection: Connection, call: Call) -> None:
    """Renew the claim of a call that is still being carried out."""
    connection.execute(update(idempotency).where(_claimed(call)).values(created_at=steady_time()))


def redate(connection: Connection, call: Call) -> None:
    """Set a claim that is dated in the future, since the clock was set back, to now, so that it can lapse. Must be
    called in a separate transaction before :func:`begin`."""
    now = steady_time()
    ahead = (idempotency.c.created_at > now + call.abandoned_s) & idempotency.c.status.is_(None)
    connection.execute(update(idempotency).where(_of(call), ahead).values(created_at=now))


def abandon(connection: Connection, call: Call) -> None:
    """Free the key of a call that failed; a stored answer stays."""
    connection.execute(delete(idempotency).where(_claimed(call)))


def _of(call: Call) -> ColumnElement[bool]:
    return (idempotency.c.user_id == call.user_id) & (idempotency.c.key == call.key)


def _claimed(call: Call) -> ColumnElement[bool]:
    return _of(call) & (idempotency.c.fingerprint == call.fingerprint) & idempotency.c.status.is_(None)


def _in_progress() -> Conflict:
    return Conflict(
        "The first call with this Idempotency-Key is still under way; ask again in a moment.",
        param="Idempotency-Key",
        code="idempotency_in_progress",
        retry_after=1.0,
    )
