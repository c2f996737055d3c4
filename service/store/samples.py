"""The samples of a history: texts its owner's manner is learned from, no quarantined ones (``service.store.apart``)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from pearl.records import Document
from service.store.apart import IS_APART
from service.store.documents import document_of, of_voice
from service.store.paging import AT_ONCE
from service.store.tables import documents as table


@dataclass(frozen=True, slots=True)
class Sample:
    """Limits on the part of a history that is read, newest texts first; None means no limit."""

    texts: int | None = None
    longest: int | None = None  # characters of a text or request; the rest is cut
    characters: int | None = None  # of all texts and requests


# enough to show a person's manner; a history may be hundreds of times as long
LONGEST = 20_000
MANNER = Sample(texts=5_000, longest=LONGEST, characters=500_000)
RANKED = Sample(characters=20_000_000)  # each takes ten bytes of memory in an index


def newest_samples(connection: Connection, user_id: int, voice: str | None, sample: Sample) -> list[Document]:
    """Return the newest documents of the history, or of one voice, oldest first: as many as ``sample`` allows, but at
    least one. Quarantined documents are left out.

    Later copies of a quarantined text are left out, too, such as a sent draft that is imported from the mailbox.
    """
    apart = _texts_apart(connection, user_id)
    query = of_voice(user_id, voice).add_columns(table.c.text_digest, table.c.mine)
    if sample.longest is not None:
        cut = {name: func.substr(table.c[name], 1, sample.longest).label(name) for name in ("text", "request")}
        query = query.with_only_columns(*(cut.get(column.key or "", column) for column in query.selected_columns))
    ordered = query.order_by(table.c.timestamp.desc(), table.c.seq.desc())
    newest: list[Document] = []
    characters = 0
    with connection.execute(ordered.execution_options(yield_per=AT_ONCE)) as rows:
        for row in rows:
            if apart and not row.mine and row.timestamp >= apart.get(bytes(row.text_digest), math.inf):
                continue
            characters += len(row.text) + len(row.request or "")
            full = len(newest) == sample.texts or (sample.characters is not None and characters > sample.characters)
            if full and newest:
                break
            newest.append(document_of(row))
    return newest[::-1]


def _texts_apart(connection: Connection, user_id: int) -> dict[bytes, float]:
    """Return the digests of quarantined texts, with the time of the first document of each text."""
    rows = connection.execute(
        select(table.c.text_digest, func.min(table.c.timestamp))
        .where(table.c.user_id == user_id, IS_APART)
        .group_by(table.c.text_digest)
    )
    return {bytes(text): since for text, since in rows}
