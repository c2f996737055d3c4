"""Pairs from what ``pearl export --json`` wrote: a draft against the text that was sent in its place.

An edited draft is a pair, and the sent text is preferred; which text is a is drawn from the draft's id. Drafts that
were sent unchanged or rejected show no direction and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eval.recorded.forensics.pairs import HUMAN, KEYS, Annotator, Vote, annotation_of, coin, pair_id, short_id
from pearl.errors import InputError
from pearl.history.files import located
from pearl.text.usable import json_type

DOCUMENTS, DRAFTS, FEEDBACK = "documents", "drafts", "feedback"
EXPORTED = (DOCUMENTS, DRAFTS, FEEDBACK)
MARK = ("object", "export")
DRAFTED, SENT = "drafted", "sent"
KEPT = ("voice", "stage", "model")
SENDER = Annotator(
    short_id(SENT), {"name": SENT, "description": "Prefers the text that was sent to the draft", "type": HUMAN}
)


def export_members(path: Path, members: Iterator[tuple[int, str, Any]]) -> Iterator[tuple[int, str, Any]]:
    """Yield the line, the name and the value of each part of the data set in an export, whose members are given.

    Raises InputError where no draft was changed before it was sent.
    """
    texts: dict[str, str] = {}
    drafts: dict[str, dict[str, Any]] = {}
    yield 1, "metadata", {"version": "2.0", KEYS: ["draft_id", *KEPT]}
    yield 1, "annotators", {SENDER.id: dict(SENDER.fields)}
    number = 0
    for line, name, value in members:
        if name not in EXPORTED or not isinstance(value, dict):
            continue
        try:
            with located(f"{path}:{line}: {name}"):
                if name == DOCUMENTS:
                    texts[_string(value, "id")] = _string(value, "text")
                elif name == DRAFTS:
                    drafts[_string(value, "id")] = value
                elif value.get("document_id") is not None:
                    draft, sent = drafts[_string(value, "draft_id")], texts[_string(value, "document_id")]
                    if _string(draft, "text").strip() != sent.strip():
                        number += 1
                        yield line, "comparisons", _pair(draft, sent)
        except KeyError as error:
            raise InputError(f"{path}:{line}: {name}: {error.args[0]} is not there.", code="missing_field") from None
    if number == 0:
        raise InputError(
            f"{path}: no draft was changed before it was sent, so there is no pair in it.", code="empty_file"
        )


def _string(fields: dict[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise InputError(f"must be a string, not {json_type(value)}.", param=name, code="wrong_type")
    return value


def _pair(draft: dict[str, Any], sent: str) -> dict[str, Any]:
    responses = [{"text": draft["text"], "model": DRAFTED}, {"text": sent, "model": SENT}]
    swapped = coin(draft["id"])
    if swapped:
        responses.reverse()
    first, second = responses
    request = _string(draft, "request")
    return {
        "id": pair_id(first, second, request),
        "prompt": request,
        "response_a": first,
        "response_b": second,
        "annotations": {SENDER.id: annotation_of(Vote.A if swapped else Vote.B)},
        "metadata": {"draft_id": draft["id"], **{name: draft[name] for name in KEPT if draft.get(name)}},
    }
