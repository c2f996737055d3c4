"""Feedback on drafts. A text that was sent becomes a document of the history and, with its request, a training pair."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select

from pearl.errors import Conflict, InputError
from pearl.records import Document
from pearl.text.usable import check_id, check_text, counted
from service.store import apart, documents, drafts, users, voices
from service.store.apart import SAMPLE, Mark
from service.store.drafts import column_values
from service.store.ids import new_id
from service.store.tables import documents as documents_table
from service.store.tables import feedback

ACCEPTED, EDITED, REJECTED = "accepted", "edited", "rejected"


@dataclass(frozen=True, slots=True)
class Feedback:
    """Feedback on a draft: its outcome and, if something was sent, the sent text as a document."""

    id: str
    draft_id: str
    outcome: str  # ACCEPTED, EDITED or REJECTED
    document_id: str | None  # of the sent text in the history; None for a rejected draft
    created_at: float
    edit: dict[str, Any] | None = None  # how the sent text differs from the draft
    mark: Mark = SAMPLE  # whether drafts learn from the sent text

    @property
    def machine_share(self) -> float:
        """The share of the sent text's words that were the draft's; 0.0 if nothing was sent."""
        return 0.0 if self.edit is None else float(self.edit["machine_share"])


def add(
    connection: Connection,
    user_id: int,
    draft_id: str,
    outcome: str,
    final_text: str | None,
    variant: int | None = None,
) -> Feedback:
    """Record feedback on a draft; the same feedback a second time changes nothing. ``variant``: the index of the text
    that was sent or edited; None: the text nearest to ``final_text``, or the first one.

    Raises NotFound for an unknown draft, Conflict if other feedback was given before or a document with the draft's id
    has another text than was sent.
    """
    users.lock(connection, {user_id})  # of two calls at once, the second finds the first's feedback
    draft = drafts.get(connection, user_id, draft_id)
    sent = _sent_text(_taken(draft, variant), outcome, final_text)
    before = _find(connection, user_id, draft_id)
    if before is not None:
        return _same(connection, user_id, before, outcome, sent)
    seq = None if sent is None else _remember(connection, user_id, draft, sent)
    edit, values = (None, {}) if sent is None else drafts.measured(draft.text, draft.retrieval, sent, variant)
    document_id = None if seq is None else draft_id
    reason = apart.reason_of_edit(edit) if edit else None
    if document_id is not None:
        apart.set_reason(connection, user_id, document_id, reason)
    recorded = Feedback(
        new_id("feedback"), draft_id, outcome, document_id, time.time(), values.get("edit"), Mark(reason)
    )
    connection.execute(
        insert(feedback).values(
            id=recorded.id,
            draft_id=draft_id,
            user_id=user_id,
            outcome=outcome,
            document_seq=seq,
            created_at=recorded.created_at,
            **values,
        )
    )
    return recorded


def sent_drafts(connection: Connection, user_id: int, document_ids: Iterable[str]) -> dict[str, Feedback]:
    """Return the feedback on the drafts that became these documents, by document id; other documents are left out."""
    listed = feedback.c.user_id == user_id, documents_table.c.document_id.in_(list(document_ids))
    sent = map(_feedback, connection.execute(_select().where(*listed)))
    return {str(entry.document_id): entry for entry in sent}


def all_of_user(connection: Connection, user_id: int) -> list[Feedback]:
    rows = connection.execute(
        _select().where(feedback.c.user_id == user_id).order_by(feedback.c.created_at, feedback.c.id)
    )
    return [_feedback(row) for row in rows]


def restore(connection: Connection, user_id: int, line: dict[str, Any]) -> bool:
    """Store feedback that was exported, linked with its draft and document; return False if the draft has feedback.

    Raises InputError if the line is not feedback, NotFound if its draft or document is missing.
    """
    if line.get("outcome") not in (ACCEPTED, EDITED, REJECTED):
        raise InputError("'outcome' must be accepted, edited or rejected.", param="outcome")
    if line.get("mine") not in (None, True, False):
        raise InputError("'mine' must be true, false or null.", param="mine")
    values = column_values(feedback, {**line, "user_id": user_id, "document_seq": None})
    values["draft_id"] = drafts.restored_id(connection, user_id, values["draft_id"])
    draft = drafts.get(connection, user_id, values["draft_id"])
    if _find(connection, user_id, values["draft_id"]) is not None:
        return False
    if line.get("document_id") is not None:
        sent = documents.get(connection, user_id, check_id(line["document_id"], param="document_id"))
        values["document_seq"] = _seq(connection, user_id, sent.id)
        edit, measured = drafts.measured(draft.text, draft.retrieval, sent.text)
        values |= measured
        if line.get("mine") is not None:  # of an export in which the document itself does not say it
            documents.claim(connection, user_id, sent.id, mine=line["mine"])
        apart.set_reason(connection, user_id, sent.id, apart.reason_of_edit(edit))
    if connection.scalar(select(feedback.c.id).where(feedback.c.id == values["id"])) is not None:
        values["id"] = new_id("feedback")  # another user's, of an import of the same export
    connection.execute(insert(feedback).values(**values))
    return True


def _seq(connection: Connection, user_id: int, document_id: str) -> int:
    owned = documents_table.c.user_id == user_id
    seq = connection.scalar(select(documents_table.c.seq).where(owned, documents_table.c.document_id == document_id))
    if seq is None:
        raise documents.not_found(document_id)
    return int(seq)


def _taken(draft: drafts.StoredDraft, variant: int | None) -> list[str]:
    """The texts of which one was taken."""
    if variant is None:
        return draft.texts
    if not 0 <= variant < len(draft.texts):
        raise InputError(f"The draft has {counted(len(draft.texts), 'text')}; 'variant' names none.", param="variant")
    return [draft.texts[variant]]


def _sent_text(texts: list[str], outcome: str, final_text: str | None) -> str | None:
    if outcome == REJECTED:
        if final_text is not None:
            raise InputError(
                "A rejected draft has no 'final_text'; say 'edited' if another text was sent.", param="final_text"
            )
        return None
    if outcome == EDITED and final_text is None:
        raise InputError("'final_text' is missing: an edited draft needs the text that was sent.", param="final_text")
    if outcome == ACCEPTED and final_text is not None and final_text not in texts:
        raise InputError("'final_text' differs from the draft; say 'edited'.", param="final_text")
    return check_text(texts[0] if final_text is None else final_text, param="final_text")


def _remember(connection: Connection, user_id: int, draft: drafts.StoredDraft, sent: str) -> int:
    names = {voice.name for voice in voices.list_all(connection, user_id)}
    voice = draft.voice if draft.voice in names else None  # a deleted one does not come back by itself
    document = Document(
        draft.id, sent, request=draft.request, voice=voice, recipient=draft.recipient, thread=draft.thread
    )
    documents.add(connection, [documents.Addition(user_id, document, looked_at=True)])
    if documents.get(connection, user_id, draft.id).text != sent:
        raise Conflict(
            f"There is a document '{draft.id}' already with another text, which stays; delete it, or give its text as "
            "'final_text'.",
            param="draft_id",
            code="document_exists",
        )
    return _seq(connection, user_id, draft.id)


def _same(connection: Connection, user_id: int, before: Feedback, outcome: str, sent: str | None) -> Feedback:
    known = None if before.document_id is None else documents.get(connection, user_id, before.document_id).text
    if before.outcome == outcome and known == sent:
        return before
    raise Conflict(
        f"Feedback on '{before.draft_id}' was given already: {before.outcome}. The first stays.",
        param="draft_id",
        code="feedback_exists",
    )


def _find(connection: Connection, user_id: int, draft_id: str) -> Feedback | None:
    row = connection.execute(_select().where(feedback.c.user_id == user_id, feedback.c.draft_id == draft_id)).first()
    return None if row is None else _feedback(row)


def _feedback(row: Row[Any]) -> Feedback:
    mark = Mark(row.set_apart, row.mine)
    return Feedback(row.id, row.draft_id, row.outcome, row.document_id, row.created_at, row.edit, mark)


def _select() -> Select[Any]:
    return select(
        feedback.c.id,
        feedback.c.draft_id,
        feedback.c.outcome,
        documents_table.c.document_id,
        feedback.c.created_at,
        feedback.c.edit,
        documents_table.c.set_apart,
        documents_table.c.mine,
    ).outerjoin(documents_table, documents_table.c.seq == feedback.c.document_seq)
