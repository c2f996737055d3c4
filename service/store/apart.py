"""Quarantined ("set apart") documents: they stay in the history, but drafts do not learn from them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, case, func, literal, select, update

from pearl.errors import InputError
from pearl.records import Document
from pearl.style.manner.edits import MOSTLY, Edit
from pearl.style.manner.tells import LONGEST, NONE, SINCE, Tells
from pearl.text.templates import COMMIT
from pearl.text.usable import check_id
from service.store import users
from service.store.tables import documents, voices

MACHINE_PROSE, UNCHANGED, MOSTLY_DRAFT, NOT_MINE = "machine_prose", "accepted_unchanged", "mostly_draft", "not_mine"
# why a document is set apart, in words that stand behind "Drafts do not learn from it, for"
REASONS = {
    MACHINE_PROSE: "it reads like an assistant's prose, more than your texts from before December 2022 do",
    UNCHANGED: "it is a draft that was sent unchanged, or nearly",
    MOSTLY_DRAFT: "most of its words are the draft's",
    NOT_MINE: "you said so",
}
FEW = 2  # words added or removed: a draft that was sent nearly unchanged
OLDER_TEXTS = 1_000  # of a person that say what tells they have themselves
IS_APART = documents.c.set_apart.is_not(None) & documents.c.mine.is_not(True)


@dataclass(frozen=True, slots=True)
class Mark:
    """The quarantine of a document: the reason why drafts should not learn from it, and its owner's decision."""

    set_apart: str | None = None  # one of REASONS; None: nothing speaks against it
    mine: bool | None = None  # its owner's word on whether it is a sample; None: none given

    @property
    def reason(self) -> str | None:
        """The reason why drafts do not learn from the document; None if they do."""
        return None if self.mine else self.set_apart


SAMPLE = Mark()


def reason_of_edit(edit: Edit) -> str | None:
    """Return why drafts do not learn from a text sent from a draft; None if the person changed enough of it."""
    if edit.words_kept and edit.words_added + edit.words_removed <= FEW:
        return UNCHANGED
    return MOSTLY_DRAFT if edit.machine_share > MOSTLY else None


def reason_of_text(document: Document) -> str | None:
    """Return MACHINE_PROSE for a text that reads like an AI assistant's, or None; :func:`excuse` may release it."""
    if document.timestamp is not None and document.timestamp < SINCE:
        return None
    return MACHINE_PROSE if Tells.of(document.text).exceed(NONE) else None


def excuse(connection: Connection, user_ids: Iterable[int]) -> None:
    """Release the users' texts that :func:`reason_of_text` quarantined if they are commit messages, or if they read no
    more like an assistant's than the user's texts from before there were AI assistants."""
    for user_id in user_ids:
        owned = documents.c.user_id == user_id
        unsaid = owned & (documents.c.set_apart == MACHINE_PROSE) & documents.c.mine.is_(None)
        suspects = connection.execute(
            select(documents.c.seq, documents.c.text, voices.c.template)
            .outerjoin(voices, (voices.c.user_id == documents.c.user_id) & (voices.c.name == documents.c.voice))
            .where(unsaid)
        ).all()
        if not suspects:
            continue
        older = select(func.substr(documents.c.text, 1, LONGEST)).where(owned, documents.c.timestamp < SINCE)
        newest_first = older.order_by(documents.c.timestamp.desc(), documents.c.seq.desc()).limit(OLDER_TEXTS)
        own = sum(map(Tells.of, connection.scalars(newest_first)), NONE)
        excused = [row.seq for row in suspects if row.template == COMMIT or not Tells.of(row.text).exceed(own)]
        for seq in excused:
            connection.execute(update(documents).where(documents.c.seq == seq).values(set_apart=None))
        if excused:
            users.touch_history(connection, {user_id})


def set_reason(connection: Connection, user_id: int, document_id: str, reason: str | None) -> None:
    """Quarantine the document for this reason; with None, release it unless its owner said that it is not theirs."""
    said = case((documents.c.mine.is_(False), NOT_MINE))
    connection.execute(
        update(documents)
        .where(documents.c.user_id == user_id, documents.c.document_id == document_id)
        .values(set_apart=said if reason is None else literal(reason))
    )


def marks(connection: Connection, user_id: int, document_ids: Iterable[str] | None = None) -> dict[str, Mark]:
    """Return by id the marks of these documents, or of the whole history; documents without a mark are left out."""
    query = select(documents.c.document_id, documents.c.set_apart, documents.c.mine).where(
        documents.c.user_id == user_id, documents.c.set_apart.is_not(None)
    )
    if document_ids is not None:
        query = query.where(documents.c.document_id.in_(list(document_ids)))
    return {document_id: Mark(reason, mine) for document_id, reason, mine in connection.execute(query)}


def restore(connection: Connection, user_id: int, line: dict[str, object]) -> bool:
    """Quarantine a document as it was when exported; return False if it is quarantined already or does not exist.

    Raises InputError if the line's mark is not valid.
    """
    document_id, reason, mine = check_id(line.get("id")), line.get("set_apart"), line.get("mine")
    if not isinstance(reason, str) or reason not in REASONS:
        raise InputError(f"'set_apart' must be one of {', '.join(REASONS)}.", param="set_apart")
    if mine not in (None, True, False):
        raise InputError("'mine' must be true, false or null.", param="mine")
    these = (documents.c.user_id == user_id) & (documents.c.document_id == document_id)
    unmarked = these & documents.c.set_apart.is_(None)
    restored = connection.execute(update(documents).where(unmarked).values(set_apart=reason, mine=mine)).rowcount
    if restored:
        users.touch_history(connection, {user_id})
    return bool(restored)
