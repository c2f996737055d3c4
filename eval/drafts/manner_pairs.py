"""A person's texts beside a model's drafts for the same requests, as pairs to annotate: what tells the two apart is the
person's manner (papers/feedback-forensics.txt, section 3.2, with a person in the place of a model).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.recorded.forensics.identity import with_models
from eval.recorded.forensics.pairs import HUMAN, AnnotatedPairs, Annotator, Pair, Vote, coin, pair_id, short_id
from pearl.errors import InputError
from pearl.history.files import read_histories
from pearl.records import Document

PERSON = Annotator(
    short_id("person"), {"name": "person", "description": "Always prefer the person's own text", "type": HUMAN}
)


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    user: str
    document: Document

    @property
    def request(self) -> str:
        return self.document.request or ""


def answered(path: Path, users: Sequence[str], most: int) -> list[AnsweredRequest]:
    """The most recent texts that answer a request, at most ``most`` of each user, oldest first; all users by default.
    Of several texts for one request the last counts: their pairs would share a draft.

    Raises InputError for an unknown user, and where nothing answers a request.
    """
    histories = read_histories(path, timestamp_required=False)
    for user in users:
        if user not in histories:
            raise InputError(f"--user {user}: {path} has no text of this user.", param="user", code="unknown_user")
    requests: list[AnsweredRequest] = []
    for user in users or histories:
        with_request = [document for document in histories[user] if document.request and document.request.strip()]
        ordered = sorted(with_request, key=lambda document: document.timestamp or 0.0)
        last = {document.request: document.id for document in ordered}
        latest = [document for document in ordered if last[document.request] == document.id][-most:]
        requests += [AnsweredRequest(user, document) for document in latest]
    if not requests:
        raise InputError(f"{path}: request: no text answers a request.", param="history")
    return requests


def manner_pairs(
    cases: Sequence[AnsweredRequest], drafts: Sequence[str | None], model: str, seed: int
) -> AnnotatedPairs:
    """A pair for each draft: both texts in random order, with an annotator that always prefers the person's own text,
    and one for each user, which votes on the user's pairs alone."""
    pairs = []
    for case, draft in zip(cases, drafts, strict=True):
        if draft is None:
            continue
        written, drafted = {"text": case.document.text, "model": case.user}, {"text": draft, "model": model}
        swapped = coin(seed, case.request, case.document.text, draft)
        a, b = (drafted, written) if swapped else (written, drafted)
        fields = {
            "id": pair_id(a, b, case.request),
            "prompt": case.request,
            "response_a": a,
            "response_b": b,
            "annotations": {},
            "metadata": {"user": case.user, "document": case.document.id},
        }
        pairs.append(Pair(fields).with_votes({PERSON.id: Vote.B if swapped else Vote.A}))
    metadata = {
        "version": "2.0",
        "description": f"Texts of people and drafts of {model} for the same requests",
        "default_annotator": PERSON.id,
        "available_metadata_keys_per_comparison": ["user", "document"],
    }
    data = AnnotatedPairs({PERSON.id: PERSON}, tuple(pairs), metadata)
    users = list(dict.fromkeys(case.user for case, draft in zip(cases, drafts, strict=True) if draft is not None))
    return with_models(data, users, [model]) if pairs else data
