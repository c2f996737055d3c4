"""Commit messages that are mostly PEARL's own drafts: a style must not learn itself, so an import leaves them out."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import Connection

from pearl.manner.edits import MOSTLY, edit_between
from pearl.records import Document
from service.hook import LONGEST_WAIT
from service.importers.git import whole_message
from service.store import drafts

REASON = "mostly a draft of PEARL's"


@dataclass(frozen=True, slots=True)
class DraftedMessages:
    """A user's drafts, with the times of their writing, by their first lines."""

    by_subject: dict[str, list[tuple[float, str]]]

    @classmethod
    def of_user(cls, connection: Connection, user_id: int) -> DraftedMessages:
        by_subject = defaultdict(list)
        for created_at, text in drafts.texts(connection, user_id):
            by_subject[_subject(text)].append((created_at, text))
        return cls(dict(by_subject))

    def __contains__(self, document: Document) -> bool:
        """True where a draft from before the commit, or from the minutes after its date in which the hook may still
        write, has its subject line and more than half of its words."""
        message = whole_message(document).text
        return any(
            created_at <= (document.timestamp or 0.0) + LONGEST_WAIT
            and edit_between(text, message).machine_share > MOSTLY
            for created_at, text in self.by_subject.get(_subject(message), ())
        )


def _subject(message: str) -> str:
    return message.strip().partition("\n")[0].strip()
