"""What the page asks while a draft is worked on: repairs, and how many texts are unread."""

from __future__ import annotations

from typing import Any

import pytest

from pearl.records import Document

# the sign-off stands in no line of its own; two texts show that it is one
TEXTS = [Document(f"m{n}", f"Kettle's on. Rope {n} is here. Mind the tide, Otti", float(n)) for n in range(3)]
DRAFT = "Kettle's on. Meet me at 7:45 by the slip, with rope... Mind the tide, Otti"
REQUEST = "Say that the slip is closed on 4 March"


@pytest.fixture
def ann(pearl: Any) -> Any:
    pearl.add("ann", *TEXTS)
    return pearl.as_user("ann")


def repaired(ann: Any, draft: str, **fields: Any) -> str:
    answer = ann.post("/page/repair", {"draft_id": draft, "text": DRAFT, **fields})
    assert answer.status_code == 200, answer.text
    change = answer.json()
    return DRAFT[: change["start"]] + change["by"] + DRAFT[change["end"] :]


def test_a_claim_is_struck_or_put_in_before_the_persons_own_sign_off(pearl: Any, ann: Any) -> None:
    pearl.model.replies.append(DRAFT)
    draft = ann.post("/v1/drafts", {"request": REQUEST}).json()["id"]
    start = DRAFT.index("7:45")
    struck = repaired(ann, draft, words="7:45", start=start, end=start + 4)
    assert struck == "Kettle's on. Mind the tide, Otti"
    put_in = repaired(ann, draft, words="4 March")
    assert put_in == DRAFT.replace("with rope...", "with rope on 4 March...")
    beyond = repaired(ann, draft, words="Otti", start=len(DRAFT) - 4, end=len(DRAFT) + 40)
    assert beyond == "Kettle's on. Meet me at 7:45 by the slip, with rope... Mind the tide,"


@pytest.mark.parametrize(
    ("user", "change", "status"),
    [
        ("ann", {"words": ""}, 422),
        ("ann", {"start": -1}, 422),
        ("ann", {"more": 1}, 422),
        ("ann", {"draft_id": "x"}, 404),
        ("ben", {}, 404),
    ],
)
def test_what_cannot_be_repaired(pearl: Any, ann: Any, user: str, change: dict[str, Any], status: int) -> None:
    draft = ann.post("/v1/drafts", {"request": REQUEST}).json()["id"]
    body = {"draft_id": draft, "text": DRAFT, "words": "7:45", "start": 0, "end": 4} | change
    assert pearl.as_user(user).post("/page/repair", body).status_code == status
    assert pearl.client.post("/page/repair", json=body).status_code == 401


def test_words_that_draft_and_evidence_share_are_placed_in_both(pearl: Any, ann: Any) -> None:
    pearl.model.replies.append(DRAFT)
    draft = ann.post("/v1/drafts", {"request": "Rope 1, and mind the tide"}).json()
    found = ann.post("/page/shared", {"draft_id": draft["id"], "text": "No. ROPE 1 is here, and rope 2 is not."}).json()
    listed = [document["id"] for document in draft["retrieval"]["documents"]]
    assert found["shared"] == [[4, 18, listed.index("m1")], [24, 33, listed.index("m2")]]
    assert found["texts"].keys() == {"m0", "m1", "m2"}
    assert found["texts"]["m1"] == {"text": TEXTS[1].text, "shared": [[13, 27]]}
    whole = ann.post("/page/shared", {"draft_id": draft["id"], "text": DRAFT}).json()
    assert [DRAFT[start:end] for start, end, _ in whole["shared"]] == ["the tide, Otti"]  # the request says the rest
    assert pearl.as_user("ben").post("/page/shared", {"draft_id": draft["id"], "text": DRAFT}).status_code == 404


def test_texts_count_as_unread_until_they_are_embedded(pearl: Any, ann: Any) -> None:
    assert pearl.services.needs_encoder
    assert ann.get("/page/unread").json() == {"unread": 3}
    pearl.services.embed(pearl.user("ann").id)
    assert ann.get("/page/unread").json() == {"unread": 0}
    assert pearl.client.get("/page/unread").status_code == 401
