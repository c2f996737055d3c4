"""The texts of a history that are held back to be written again, each with what its user had written before."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from eval.drafts.systems import Case, cases
from eval.retrieval.gains import GainsRecord
from pearl.errors import InputError
from pearl.history import parse_document, parse_lines
from pearl.records import Document, Request
from pearl.texts import check_id


def held_back(path: Path, targets: int) -> list[Case]:
    """The most recent texts of each user that answer a request, at most ``targets``; their documents are all before the
    first of them, less any with the text of one. A user without a document before has none.

    Raises InputError that names file, line and field of the first bad one, and for a file without such a text.
    """
    histories: dict[str, list[Document]] = defaultdict(list)

    def add(value: dict[str, Any]) -> None:
        histories[check_id(value.get("user_id"), param="user_id")].append(parse_document(value))

    for _ in parse_lines(path, add):
        pass
    found = cases([record for user, documents in histories.items() for record in _records(user, documents, targets)])
    if not found:
        raise InputError(
            f"{path}: request: no text answers a request and has documents of its user before it.", param="history"
        )
    return found


def _records(user: str, documents: list[Document], targets: int) -> list[GainsRecord]:
    ordered = sorted(documents, key=lambda document: document.timestamp or 0.0)
    places = [place for place, document in enumerate(ordered) if document.request][-targets:]
    texts = {ordered[place].text for place in places}
    before = tuple(document for document in ordered[: min(places, default=0)] if document.text not in texts)
    return [
        GainsRecord(
            request=Request(document.request or "", timestamp=document.timestamp),
            user_id=user,
            id=f"{user} {document.id}",
            target=document.text,
            documents=before,
            gains=(0.0,) * len(before),  # nobody asks for them
        )
        for document in (ordered[place] for place in places)
        if before
    ]
