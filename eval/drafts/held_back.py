"""The texts of a history that are held back to be written again, each with what its user had written before."""

from __future__ import annotations

from pathlib import Path

from eval.drafts.systems import Case, cases_of
from eval.retrieval.gains import GainsRecord
from pearl.errors import InputError
from pearl.history import read_histories
from pearl.partition import partition
from pearl.records import Request
from pearl.split import users_of


def held_back(path: Path, targets: int, split: str | None = None) -> list[Case]:
    """The most recent texts of each user that answer a request, at most ``targets``; their documents are all before the
    first of them, less any with the text of one. A user without a document before has none.

    Raises InputError that names file, line and field of the first bad one, for a file without such a text, and for a
    split that there is not.
    """
    histories = users_of(read_histories(path, timestamp_required=True), split)
    parts = [partition(user, documents, targets=targets) for user, documents in histories.items()]
    records = [
        GainsRecord(
            request=Request(target.request or "", timestamp=target.timestamp),
            user_id=part.user_id,
            id=f"{part.user_id} {target.id}",
            target=target.text,
            documents=before,
            gains=(0.0,) * len(before),  # nobody asks for them
        )
        for part in parts
        if part
        for target, before in part.requests()
    ]
    if not records:
        raise InputError(
            f"{path}: request: no text {f'of the {split} split ' * bool(split)}answers a request and has documents of "
            "its user before it.",
            param="history",
        )
    return cases_of(records)
