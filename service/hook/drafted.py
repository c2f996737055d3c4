"""Commit messages that are mostly PEARL's drafts: drafts must not learn from drafts, so an import leaves them out."""

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
    """A user's drafts, to recognize messages by."""

    by_line: dict[str, set[tuple[float, str]]]  # line -> (time, text) of each draft with that line

    @classmethod
    def of_user(cls, connection: Connection, user_id: int) -> DraftedMessages:
        by_line = defaultdict(set)
        for created_at, text in drafts.texts(connection, user_id):
            for line in _lines(text):
                by_line[line].add((created_at, text))
        return cls(dict(by_line))

    def __contains__(self, document: Document) -> bool:
        """True if a draft has a line of the message and more than half of its words. It must be from before the commit
        or from the minutes after its date in which the hook may still have been writing."""
        if not self.by_line:
            return False
        message = whole_message(document).text
        return any(
            created_at <= (document.timestamp or 0.0) + LONGEST_WAIT
            and edit_between(text, message).machine_share > MOSTLY
            for created_at, text in set().union(*(self.by_line.get(line, ()) for line in _lines(message)))
        )


def _lines(message: str) -> set[str]:
    return {line.strip() for line in message.splitlines()} - {""}
