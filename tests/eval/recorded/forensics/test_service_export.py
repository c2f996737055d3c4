"""Pairs from the export of a user: a draft against the text that was sent."""

from __future__ import annotations

import json

import pytest

from eval.recorded.forensics.pair_files import SENDER, read_pairs
from pearl.errors import InputError

DRAFTS = [
    {
        "id": f"draft-{n}",
        "request": f"Ask {n}?",
        "text": f"Draft {n}.",
        "voice": "email",
        "stage": "draft",
        "model": "m",
    }
    for n in range(20)
]
DOCUMENTS = [{"id": f"doc-{n}", "text": f"Sent {n}!" if n else "Draft 0."} for n in range(20)]


def export(tmp_path, feedback, **more):
    path = tmp_path / "ada.json"
    value = {
        "object": "export",
        "user_id": "ada",
        "documents": DOCUMENTS,
        "drafts": DRAFTS,
        "feedback": feedback,
        **more,
    }
    path.write_text(json.dumps(value))
    return path


def sent(*places):
    return [{"draft_id": f"draft-{n}", "document_id": f"doc-{n}", "outcome": "edited"} for n in places]


def test_a_draft_that_was_changed_is_a_pair(tmp_path):
    rejected = {"draft_id": "draft-1", "document_id": None, "outcome": "rejected"}
    data = read_pairs(export(tmp_path, [rejected, *sent(*range(20))]))
    assert len(data.pairs) == 19  # the first was sent as it stood
    assert [annotator.name for annotator in data.annotators.values()] == ["sent"]
    for pair in data.pairs:
        preferred = pair.texts["ab".index(pair.vote(SENDER.id))]
        assert preferred.startswith("Sent")
    assert {pair.vote(SENDER.id) for pair in data.pairs} == {"a", "b"}  # the texts change places
    assert data.pairs[0].metadata == {"draft_id": "draft-1", "voice": "email", "stage": "draft", "model": "m"}


def test_an_export_without_edits_says_so(tmp_path):
    with pytest.raises(InputError, match=r"ada.json: no draft was changed before it was sent"):
        read_pairs(export(tmp_path, sent(0)))
    with pytest.raises(InputError, match=r"ada.json:1: feedback: draft-99 is not there"):
        read_pairs(export(tmp_path, sent(99)))
