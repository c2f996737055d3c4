"""``POST /v1/blind-pairs``: a text and a draft for the same request, written without the text in sight."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pearl.records import Document
from retriever.base import Calibration
from tests.fake_chat import FakeChatModel

WORDS = "the kettle is on and the tide turns at four so bring the long ropes"  # 15


def history(number: int = 8, **fields: Any) -> list[Document]:
    return [
        Document(f"d{place}", f"Text {place}: {WORDS}", 1000.0 + place, f"What of rope {place}?", **fields)
        for place in range(number)
    ]


def prompt(model: FakeChatModel) -> str:
    return "\n".join(message.content for message in model.calls[-1][0])


@pytest.fixture
def pearl(database_url: str, house: Any) -> Any:
    return house(FakeChatModel(["A draft."] * 20), database_url=database_url)


def test_the_draft_sees_neither_the_text_nor_a_copy_nor_a_later_one(pearl: Any) -> None:
    documents = history()
    copy = replace(documents[-1], id="copy", text=documents[-1].text.upper() + "\n", timestamp=1.0)
    pearl.add("ann", *documents, copy)
    ann = pearl.as_user("ann")
    seen: list[str] = []
    for _ in range(5):
        pair = ann.post("/v1/blind-pairs", {"seen": seen}).json()
        number = int(pair["document"].removeprefix("d"))
        assert (pair["text"], pair["draft"]) == (documents[number].text, "A draft.")
        assert pair["request"] == documents[number].request
        sent = prompt(pearl.model)
        assert f"What of rope {number}?" in sent
        assert f"text {number}:" not in sent.lower()
        shown = [other for other in range(8) if f"Text {other}:" in sent]
        assert shown
        assert max(shown) < number
        assert pair["left"] == 4 - len(seen)
        seen.append(pair["document"])
    assert sorted(seen) == ["d3", "d4", "d5", "d6", "d7"]  # the newer half
    answer = ann.post("/v1/blind-pairs", {"seen": seen})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "too_few_texts")
    assert ann.get("/v1/drafts").json()["data"] == []
    assert pearl.rows("feedback") == []


def test_what_cannot_be_told_apart_is_not_asked_about(pearl: Any) -> None:
    good, *others = history(5)
    pearl.voice("ann", "email")
    ann = pearl.as_user("ann")
    pearl.add(
        "ann",
        *(Document(f"old{place}", "Old", 1.0 + place) for place in range(5)),
        replace(good, voice="email"),
        replace(others[0], request=None),
        replace(others[1], text="Yes."),
        replace(others[2], text=WORDS * 20),
    )
    draft = ann.post("/v1/drafts", {"request": "Say when"}).json()
    sent = {"draft_id": draft["id"], "outcome": "edited", "final_text": f"Quite other words: {WORDS}"}
    assert ann.post("/v1/feedback", sent).status_code == 201
    pair = ann.post("/v1/blind-pairs", {"voice": "email"}).json()
    assert (pair["document"], pair["voice"], pair["left"]) == ("d0", "email", 0)
    assert ann.post("/v1/blind-pairs", {}).json()["document"] == "d0"


def test_no_question_takes_the_place_of_the_draft(pearl: Any, fixed_retriever: Any) -> None:
    pearl.add("ann", *history())
    pearl.retrieve_with(fixed_retriever({"d0": 1.5}, Calibration(threshold=1.0, ask_below=9.0)))
    assert pearl.as_user("ann").post("/v1/blind-pairs", {}).json()["draft"] == "A draft."


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"voice": "blog"}, 404, "voice_not_found"),
        ({"seen": ["x"] * 101}, 422, "too_long"),
        ({"seen": "x"}, 422, "list_type"),
        ({"pairs": 3}, 422, "extra_forbidden"),
        ({}, 422, "too_few_texts"),
    ],
)
def test_what_cannot_be_done_is_said(pearl: Any, body: Any, status: int, code: str) -> None:
    answer = pearl.as_user("ann").post("/v1/blind-pairs", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_texts_of_others_are_never_drawn(pearl: Any) -> None:
    pearl.add("ben", *history())
    assert pearl.as_user("ann").post("/v1/blind-pairs", {}).json()["error"]["code"] == "too_few_texts"
