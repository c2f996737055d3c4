"""Odd requests and drafts, read by the whole service: an answer with sensible claims, never an error."""

from __future__ import annotations

from typing import Any

import pytest

LINK = "https://example.org/rails"
RAILS = "The costume rails are ready on Friday."


@pytest.mark.parametrize(
    ("request_text", "sample", "more", "reply", "claims"),
    [
        (LINK, "A letter.", {}, f"See {LINK}.", []),
        (LINK, "A letter.", {}, "I read it.", [("dropped", LINK)]),
        (RAILS, f"> {RAILS}\nDone.", {}, RAILS, []),  # a sample that contains the request
        ("We need １２ chairs.", "A letter.", {}, "We need ١٢ chairs.", []),
        ("Read chapter XIV.", "A letter.", {}, "Read Chapter 14.", []),
        ("We meet on 03/04.", "A letter.", {}, "We meet on April 3.", []),
        ("We meet on 03/04.", "A letter.", {}, "We meet on 4 March.", []),
        (
            "We meet on 03/04.",
            "A letter.",
            {},
            "We meet on 5 March.",
            [("unsupported", "5 March"), ("dropped", "03/04")],
        ),
        ("\u202eהפגישה ב-10:30\u202c", "A letter.", {}, "הפגישה ב-\u206610:30\u2069", []),
        ("Accept the invitation.", "A letter.", {"intent": "decline"}, "Sorry, no.", []),
    ],
)
def test_a_draft_of_an_odd_request(
    pearl: Any, request_text: str, sample: str, more: dict[str, Any], reply: str, claims: list[tuple[str, str]]
) -> None:
    pearl.add("ann", sample)
    pearl.model.replies.append(f"<document>\n{reply}\n</document>")
    answer = pearl.as_user("ann").post("/v1/drafts", {"request": request_text, **more})
    assert answer.status_code == 200
    draft = answer.json()
    assert draft["text"] == reply
    found = [(claim["kind"], claim["text"]) for claim in draft["claims"] if claim["kind"] != "commitment"]
    assert found == claims
    if "intent" in more:  # what the draft is to do outranks the request
        assert "The answer is no" in pearl.model.calls[0][0][-1].content
