from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from pearl.records import Document
from retriever.base import Calibration
from service.http.mcp.tools import EXAMPLE, LISTED


def call(user: Any, name: str, /, **arguments: Any) -> Any:
    params = {"name": name, "arguments": arguments}
    answer = user.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


def good(user: Any, name: str, /, **arguments: Any) -> Any:
    result = call(user, name, **arguments)
    assert "isError" not in result, result
    return result["structuredContent"]


def bad(user: Any, name: str, /, **arguments: Any) -> Any:
    result = call(user, name, **arguments)
    assert result["isError"]
    error = result["structuredContent"]["error"]
    assert result["content"] == [{"type": "text", "text": error["message"]}]
    return error


@pytest.fixture
def ann(pearl: Any) -> Any:
    return pearl.as_user("ann")


def test_schemas_are_short_and_take_nothing_unknown() -> None:
    assert list(LISTED) == ["find_examples", "draft", "check", "feedback"]
    for tool in LISTED.values():
        schema = tool["inputSchema"]
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
        assert "title" not in str(schema)
        assert not {"pattern", "maxLength", "allOf", "if"} & set(re.findall(r"'(\w+)':", str(schema)))
        assert all(field["description"] for field in schema["properties"].values())
    assert LISTED["draft"]["inputSchema"]["required"] == ["request"]
    assert LISTED["feedback"]["inputSchema"]["properties"]["outcome"]["enum"] == ["accepted", "edited", "rejected"]
    assert [tool["annotations"]["readOnlyHint"] for tool in LISTED.values()] == [True, False, True, False]


def test_examples_come_with_scores_and_a_threshold(pearl: Any, ann: Any, fixed_retriever: Any) -> None:
    long = Document("a", "word " * EXAMPLE, 1000.0, "What was asked")
    pearl.add("ann", long, Document("b", "Short.", 1001.0), Document("c", "Poor.", 1002.0))
    pearl.retrieve_with(fixed_retriever({"a": 2.0, "b": 1.0, "c": -9.0}, Calibration(threshold=3.0, floor=0.0)))
    found = good(ann, "find_examples", request="Write something")
    assert [(shown["id"], shown["score"], shown["request"]) for shown in found["documents"]] == [
        ("a", 2.0, "What was asked"),
        ("b", 1.0, None),
    ]
    assert len(found["documents"][0]["text"]) <= EXAMPLE
    assert (found["top_score"], found["threshold"], found["below_threshold"]) == (2.0, 3.0, True)
    assert "data" in found["about"]
    assert [shown["id"] for shown in good(ann, "find_examples", request="Write", k=1)["documents"]] == ["a"]
    assert pearl.rows("drafts") == []
    assert pearl.model.calls == []


def test_an_example_says_its_language(pearl: Any, ann: Any) -> None:
    pearl.add("ann", Document("a", "Kannst du am Samstag die lange Leiter mitbringen?", 1000.0))
    (shown,) = good(ann, "find_examples", request="Kannst du am Sonntag die lange Leiter holen?")["documents"]
    assert shown["language"] == "de"


def test_each_example_is_there_once(pearl: Any, ann: Any, fixed_retriever: Any) -> None:
    pearl.add("ann", Document("a", "Short.", 1000.0), Document("b", "short. ", 1001.0), Document("c", "Other.", 1002.0))
    pearl.retrieve_with(fixed_retriever({"a": 2.0, "b": 1.0, "c": 0.0}, Calibration()))
    found = good(ann, "find_examples", request="Write", k=2)
    assert [shown["id"] for shown in found["documents"]] == ["a", "c"]


def test_without_a_history_there_are_no_examples_and_a_note_says_so(ann: Any) -> None:
    found = good(ann, "find_examples", request="Write")
    assert (found["documents"], found["top_score"]) == ([], None)
    assert found["notes"][0]["code"] == "generic"


def test_a_draft_and_what_became_of_it(pearl: Any, ann: Any) -> None:
    pearl.voice("ann", "email", instructions="Sign as Otti.")
    pearl.add("ann", Document("m", "A mail.", 1000.0, voice="email"), Document("p", "A post.", 1001.0))
    pearl.model.replies.append("<document>\nYes, swap away.\n</document>")
    draft = good(ann, "draft", request="Tomas asks to swap", voice="email", instructions="Be brief.", k=1)
    assert (draft["text"], draft["stage"], draft["questions"]) == ("Yes, swap away.", "draft", [])
    assert [document["id"] for document in draft["retrieval"]["documents"]] == ["m"]
    assert draft["calibration"]["code"] == "not_calibrated"
    assert "usage" not in draft  # nothing that a model has no use for
    assert "Sign as Otti.\\nBe brief." in str(pearl.model.calls)
    (row,) = pearl.rows("drafts")
    assert (row.id, row.voice) == (draft["id"], "email")
    metrics = pearl.client.get("/metrics", headers={"Authorization": f"Bearer {pearl.service_key()}"}).text
    assert 'pearl_drafts_total{revision="no_threshold",stage="draft"} 1.0' in metrics
    recorded = good(ann, "feedback", draft_id=draft["id"], outcome="edited", final_text="Yes, swap with Bea.")
    assert (recorded["outcome"], recorded["document_id"]) == ("edited", draft["id"])
    assert bad(ann, "feedback", draft_id=draft["id"], outcome="rejected")["type"] == "conflict_error"


def test_questions_where_the_history_cannot_supply_it(pearl: Any, ann: Any, fixed_retriever: Any) -> None:
    pearl.add("ann", "Text.")
    pearl.retrieve_with(fixed_retriever({}, Calibration(threshold=3.0, ask_below=2.0)))
    pearl.model.replies.append("- Which day?")
    draft = good(ann, "draft", request="Write")
    assert (draft["stage"], draft["text"], draft["questions"]) == ("needs_input", "", ["Which day?"])


def test_a_check_says_what_it_cannot_judge(house: Any) -> None:
    for rewards, quality in ((None, None), (lambda texts: np.array([7.5] * len(texts)), 7.5)):
        pearl = house(rewards=rewards)
        checked = good(pearl.as_user("ann"), "check", text="Kettle's on.")
        assert (checked["likeness"]["verdict"], checked["quality"]) == ("too_short", quality)
        reasons = checked["not_judged"]
        assert reasons[0] == "Too short to say: 2 words; 30 are needed."
        assert ("PEARL_REWARD_MODEL" in str(reasons)) == (quality is None)
        assert "true" in reasons[-1]
    assert checked["claims"] is None
    pearl.add("ann", "The rear wheel is true again.")
    wanted = {"text": "Yes. The rear wheel is true again.", "request": "Say yes."}
    (claim,) = good(pearl.as_user("ann"), "check", **wanted)["claims"]
    assert (claim["kind"], claim["text"], claim["from"]) == ("carried_over", "The rear wheel is true again", "d1")
    few = good(pearl.as_user("ben"), "check", text="one word after another " * 10)
    assert few["likeness"]["verdict"] == "history_too_small"
    assert "0 texts with 0 words" in few["not_judged"][0]


@pytest.mark.parametrize(
    ("name", "arguments", "param", "code"),
    [
        ("find_examples", {}, "request", "missing"),
        ("find_examples", {"request": ""}, "request", "empty_text"),
        ("find_examples", {"request": "a", "k": 0}, "k", "greater_than_equal"),
        ("find_examples", {"request": "a", "voice": "emial"}, "voice", "voice_not_found"),
        ("draft", {"request": "a", "user": "ben"}, "user", "extra_forbidden"),
        ("draft", {"request": "a", "stream": True}, "stream", "extra_forbidden"),
        ("draft", {"request": "a", "revise": "perhaps"}, "revise", "literal_error"),
        ("draft", {"request": "a", "voice": "emial"}, "voice", "voice_not_found"),
        ("draft", {"request": "word " * 9000}, "request", "context_length_exceeded"),
        ("check", {"text": "\0"}, "text", "nul_character"),
        ("check", {"text": "a", "voice": "emial"}, "voice", "voice_not_found"),
        ("feedback", {"draft_id": "a", "outcome": "sent"}, "outcome", "literal_error"),
        ("feedback", {"draft_id": "a", "outcome": "accepted"}, "draft_id", "draft_not_found"),
        ("feedback", {"outcome": "accepted"}, "draft_id", "missing"),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_call_is_its_result(ann: Any, name: str, arguments: Any, param: str, code: str) -> None:
    error = bad(ann, name, **arguments)
    assert (error["param"], error["code"]) == (param, code)


def test_an_unknown_voice_is_told_the_names(pearl: Any, ann: Any) -> None:
    assert bad(ann, "draft", request="a", voice="blog")["message"] == "There is no voice 'blog'; there are none."
    pearl.voice("ann", "email")
    pearl.voice("ben", "secret")
    assert bad(ann, "draft", request="a", voice="blog")["message"] == "There is no voice 'blog'; there are email."
    assert good(ann, "draft", request="a", voice="pearl")["stage"] == "draft"


def test_a_worker_that_is_full_says_so(pearl: Any, ann: Any) -> None:
    admission = pearl.app.state.admission
    admission.inside = admission._most
    assert bad(ann, "draft", request="a")["code"] == "overloaded"
    assert good(ann, "find_examples", request="a")["documents"] == []
    admission.inside = 0
