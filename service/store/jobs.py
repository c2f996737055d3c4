"""The queue of background jobs, which outlive a request: at most one job of a kind per user."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, case, delete, or_, select, update

from service.store.tables import jobs, upsert

EMBED = "embed"
LEASE_S = 300.0  # a job whose process died is taken over after this
MAX_ATTEMPTS = 5

QUEUED, RUNNING, FAILED = "queued", "running", "failed"


@dataclass(frozen=True, slots=True)
class Job:
    id: int
    user_id: int
    kind: str
    claimed_at: float  # changes with each renewal; tells whether the job is still this one


def enqueue(connection: Connection, kind: str, user_ids: set[int]) -> None:
    """Queue a job of this kind for these users; a job that is running already runs again afterwards."""
    rows = [
        {"user_id": user_id, "kind": kind, "state": QUEUED, "attempts": 0, "created_at": time.time()}
        for user_id in sorted(user_ids)
    ]
    queue = upsert(connection, jobs)
    again = {"state": QUEUED, "attempts": 0, "error": None, "claimed_at": None}
    if rows:
        connection.execute(queue.on_conflict_do_update(index_elements=[jobs.c.user_id, jobs.c.kind], set_=again), rows)


def queued(connection: Connection, kind: str, user_ids: Collection[int]) -> set[int]:
    """Return those of the users whose job waits in the queue."""
    waiting = (jobs.c.kind == kind) & (jobs.c.state == QUEUED) & jobs.c.user_id.in_(user_ids)
    return set(connection.scalars(select(jobs.c.user_id).where(waiting))) if user_ids else set()


def claim(connection: Connection, kind: str, now: float | None = None, first: Collection[int] = ()) -> Job | None:
    """Take the oldest job that waits or whose process stopped renewing its lease; None if there is none.

    Jobs of the users ``first`` go before all others.
    """
    now = time.time() if now is None else now
    waiting = or_(jobs.c.state == QUEUED, (jobs.c.state == RUNNING) & (jobs.c.claimed_at < now - LEASE_S))
    oldest = (
        select(jobs.c.id)
        .where(jobs.c.kind == kind, waiting)
        .order_by(case((jobs.c.user_id.in_(first), 0), else_=1), jobs.c.created_at, jobs.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    row = connection.execute(
        update(jobs)
        .where(jobs.c.id == oldest.scalar_subquery())
        .values(state=RUNNING, claimed_at=now, attempts=jobs.c.attempts + 1)
        .returning(jobs.c.id, jobs.c.user_id)
    ).first()
    return None if row is None else Job(row.id, row.user_id, kind, now)


def renew(connection: Connection, job: Job, now: float | None = None) -> Job | None:
    """Renew the lease of a running job; None if the job was queued again, or taken over by another process."""
    now = time.time() if now is None else now
    renewed = connection.execute(update(jobs).where(_held(job)).values(claimed_at=now))
    return Job(job.id, job.user_id, job.kind, now) if renewed.rowcount else None


def finish(connection: Connection, job: Job) -> None:
    """Delete the job unless it was queued again while it ran."""
    connection.execute(delete(jobs).where(_held(job)))


def release(connection: Connection, job: Job) -> None:
    """Put an unfinished job back in the queue."""
    connection.execute(
        update(jobs).where(_held(job)).values(state=QUEUED, attempts=jobs.c.attempts - 1, claimed_at=None)
    )


def fail(connection: Connection, job: Job, error: str) -> None:
    """Queue the failed job again, or give up after the last attempt."""
    state = case((jobs.c.attempts >= MAX_ATTEMPTS, FAILED), else_=QUEUED)
    connection.execute(update(jobs).where(_held(job)).values(state=state, error=error, claimed_at=None))


def _held(job: Job) -> ColumnElement[bool]:
    return (jobs.c.id == job.id) & (jobs.c.state == RUNNING) & (jobs.c.claimed_at == job.claimed_at)
