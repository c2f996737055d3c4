"""The drafts that were made, for feedback and export. Evidence is kept as ids and scores, never as text."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from pearl.errors import NotFound
from pearl.records import Draft
from service.store import users
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


def _stored(row: Any) -> StoredDraft:
    return StoredDraft(
        row.id, row.voice, row.request, row.instructions, row.text, row.stage, row.model, row.retrieval, row.created_at
    )
