"""The drafts that were made, for feedback and export. Evidence is kept as ids and scores, never as text."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from pearl.errors import Conflict, NotFound
from pearl.records import Draft
from service.store import users
from service.store.lines import column_values
from service.store.tables import drafts


@dataclass(frozen=True, slots=True)
class StoredDraft:
    """A draft as it is kept."""

    id: str
    voice: str | None
    request: str
    instructions: str
    text: str
    stage: str
    model: str
    retrieval: dict[str, Any]
    created_at: float


def add(
    connection: Connection,
    user_id: int,
    draft: Draft,
    *,
    request: str,
    instructions: str,
    voice: str | None,
    model: str,
) -> None:
    """Raises NotFound when the user is gone."""
    if not users.lock(connection, {user_id}):
        raise NotFound("This user was deleted while the draft was written; nothing is kept.", code="user_not_found")
    evidence = draft.retrieval
    connection.execute(
        insert(drafts).values(
            id=draft.id,
            user_id=user_id,
            voice=voice,
            request=request,
            instructions=instructions,
            text=draft.text,
            stage=draft.stage,
            model=model,
            retrieval={
                "documents": [{"id": found.document.id, "score": found.score} for found in evidence.documents],
                "top_score": evidence.top_score,
                "threshold": evidence.threshold,
                "below_threshold": evidence.below_threshold,
            },
            timings=draft.timings,
            created_at=time.time(),
        )
    )


def get(connection: Connection, user_id: int, draft_id: str) -> StoredDraft:
    """Raises NotFound, also for a draft that is someone else's."""
    row = connection.execute(select(drafts).where(drafts.c.user_id == user_id, drafts.c.id == draft_id)).first()
    if row is None:
        raise NotFound(f"There is no draft '{draft_id}' of yours.", param="draft_id", code="draft_not_found")
    return _stored(row)


def all_of_user(connection: Connection, user_id: int) -> list[StoredDraft]:
    rows = connection.execute(
        select(drafts).where(drafts.c.user_id == user_id).order_by(drafts.c.created_at, drafts.c.id)
    )
    return [_stored(row) for row in rows]


def lines_of_user(connection: Connection, user_id: int) -> Iterator[dict[str, Any]]:
    """Every field that is kept of each draft, oldest first: what :func:`restore` takes."""
    kept = [column for column in drafts.columns if column.name != "user_id"]
    rows = select(*kept).where(drafts.c.user_id == user_id).order_by(drafts.c.created_at, drafts.c.id)
    for row in connection.execute(rows):
        yield {str(name): value for name, value in row._mapping.items()}


def restore(connection: Connection, user_id: int, line: dict[str, Any]) -> bool:
    """Keep a draft that was exported, under its id; False when it is there already.

    Raises InputError where the line is not one of :func:`lines_of_user`, Conflict where the draft is another user's.
    """
    values = column_values(drafts, {"timings": {}, **line, "user_id": user_id})
    owner = connection.scalar(select(drafts.c.user_id).where(drafts.c.id == values["id"]))
    if owner == user_id:
        return False
    if owner is not None:
        raise Conflict(f"The draft '{values['id']}' belongs to another user here.", param="id", code="draft_exists")
    connection.execute(insert(drafts).values(**values))
    return True


def _stored(row: Any) -> StoredDraft:
    return StoredDraft(
        row.id, row.voice, row.request, row.instructions, row.text, row.stage, row.model, row.retrieval, row.created_at
    )
