"""Which texts of a user are targets and which are candidates (papers/pearl.txt, section 4.1 and appendix A)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from pearl.records import Document

TARGETS_PER_USER = 8


@dataclass(frozen=True, slots=True)
class Partition:
    """A user's candidates and targets, both oldest first; ``temporal`` is False where there was no time to go by."""

    user_id: str
    candidates: tuple[Document, ...]
    targets: tuple[Document, ...]
    temporal: bool


def partition(
    user_id: str, documents: Sequence[Document], *, targets: int = TARGETS_PER_USER, seed: int = 0
) -> Partition | None:
    """The ``targets`` most recent texts that answer a request, and everything before them.

    At random when any document has no time. A text that is on the target side is never a candidate, also under
    another id. None for a user who has no candidate or no target left.
    """
    temporal = all(document.timestamp is not None for document in documents)
    ordered = sorted(documents, key=lambda document: document.timestamp or 0.0) if temporal else list(documents)
    if not temporal:
        random.Random(f"{seed}:{user_id}").shuffle(ordered)
    chosen = [document for document in ordered if document.request][-targets:]
    if not chosen:
        return None
    first = ordered.index(chosen[0])
    seen = {document.text for document in chosen}
    candidates = tuple(document for document in ordered[:first] if document.text not in seen)
    return Partition(user_id, candidates, tuple(chosen), temporal) if candidates else None
