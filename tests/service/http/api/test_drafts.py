from __future__ import annotations

import json
import threading
from typing import Any

import httpx2
import pytest

from pearl.errors import ChatInterrupted, ChatRateLimited
from pearl.models.chat.base import PromptRead
from pearl.records import Document
from pearl.theta import EVERYTHING
from retriever.base import UNCALIBRATED, Calibration
from retriever.models.encoder import SentenceEncoder
from service.http.api.draft_form import excerpt
from service.sample import sample_documents
from tests.fake_chat import FakeChatModel

TEXTS = ("Kettle's on. Swap with Bea.", "The rear wheel is true again.", "x" * 500)
EDITED = "- lacks the day\nEDITED DRAFT\n<document>\nThe better text.\n</document>"


@pytest.fixture
def ann(pearl: Any) -> Any:
    pearl.add("ann", *TEXTS)
    return pearl.as_user("ann")


def events(text: str) -> list[tuple[str, Any]]:
    """(name, data) of each event; comments are left out."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append((fields.get("event", ""), json.loads(fields["data"])))
    return found


def test_a_draft_with_its_evidence(pearl: Any, ann: Any) -> None:
    pearl.model.replies.append("Yes, swap away.")
    answer = ann.post("/v1/drafts", {"request": "swap with Bea", "k": 2})
    assert answer.status_code == 200
    draft = answer.json()
    assert list(draft) == [
        "id",
        "object",
        "text",
        "stage",
        "questions",
        "retrieval",
        "revision",
        "quality",
        "likeness",
        "claims",
        "edges",
        "editing",
        "usage",
        "timings",
        "calibration",
    ]
    assert draft["id"].startswith("draft_")
    assert (draft["object"], draft["text"], draft["stage"]) == ("draft", "Yes, swap away.", "draft")
    assert (draft["questions"], draft["quality"]) == ([], None)
    retrieval = draft["retrieval"]
    assert retrieval["documents"][0]["id"] == "d1"
    assert retrieval["documents"][0]["excerpt"] == TEXTS[0]
    assert retrieval["top_score"] == retrieval["documents"][0]["score"]
    assert (retrieval["threshold"], retrieval["below_threshold"]) == (None, False)
    assert draft["revision"]["reason"] == "no_threshold"
    usage = draft["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    assert draft["timings"]["total_ms"] >= draft["timings"]["generate_ms"]
    assert pearl.rows("drafts")[0].id == draft["id"]


def test_an_excerpt_is_short(ann: Any) -> None:
    shown = ann.post("/v1/drafts", {"request": "xxx", "k": 3}).json()["retrieval"]["documents"]
    assert sorted(len(document["excerpt"]) for document in shown) == [27, 29, 240]


def test_an_excerpt_has_whole_characters() -> None:
    assert excerpt("é" * 241) == "é" * 239 + "…"
    assert excerpt("x" * 237 + "👩🏾‍🚀" * 5) == "x" * 237 + "…"


def test_a_generic_draft_says_so(pearl: Any) -> None:
    draft = pearl.as_user("new").post("/v1/drafts", {"request": "write"}).json()
    assert draft["text"] == "A fake reply."
    assert draft["retrieval"] == {
        "documents": [],
        "top_score": None,
        "threshold": None,
        "below_threshold": False,
        "notes": [{"code": "generic", "message": "There are no documents in the history: the draft is generic."}],
        "form": "request_alone",
    }


def test_what_the_draft_states_that_nobody_said(pearl: Any, ann: Any) -> None:
    pearl.model.replies.append("Swap with Bea at 10:30. The rear wheel is true again. I'll bring it.")
    request = {"request": "swap with Bea on Friday", "k": 3, "instructions": "Say 10:30."}
    draft = ann.post("/v1/drafts", request).json()
    assert draft["claims"] == [
        {"kind": "carried_over", "text": "The rear wheel is true again", "start": 24, "end": 52, "from": "d2"},
        {"kind": "commitment", "text": "I'll bring it", "start": 54, "end": 67, "from": None},
        {"kind": "dropped", "text": "Friday", "start": None, "end": None, "from": None},
    ]
    assert ann.get(f"/v1/drafts/{draft['id']}").json()["claims"] == draft["claims"]


@pytest.mark.parametrize(
    ("body", "carried"),
    [("The rope that you lent me is in the shed.", ["The rope that you lent me is in the shed."]), ("Yes.", [])],
)
def test_what_is_carried_over_ends_before_the_sign_off(pearl: Any, body: str, carried: list[str]) -> None:
    ann, signed = pearl.as_user("ann"), "Mind the tide and the gulls,\nOtti"
    ann.post("/v1/documents", {"text": f"Hi.\n\nThe rope that you lent me is in the shed.\n\n{signed}", "id": "d1"})
    pearl.model.replies.append(f"Hi.\n\n{body}\n\n{signed}")
    claims = ann.post("/v1/drafts", {"request": "the rope"}).json()["claims"]
    assert [claim["text"] for claim in claims if claim["kind"] == "carried_over"] == carried


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"intent": "decline"}, "The answer is no"),
        ({"intent": "ask", "length": 60}, "Write about 60 words."),
        ({"length": "shorter"}, "at most half as much"),
    ],
)
def test_what_is_wanted_reaches_the_model(pearl: Any, ann: Any, wanted: dict[str, Any], words: str) -> None:
    ann.post("/v1/drafts", {"request": "write", "instructions": "Be kind.", **wanted})
    asked = pearl.model.calls[0][0][-1].content
    assert words in asked
    assert "Be kind." in asked


@pytest.mark.parametrize(
    ("wanted", "param"),
    [
        ({"intent": "perhaps"}, "intent"),
        ({"length": "tiny"}, "length"),
        ({"length": 0}, "length"),
        ({"length": 1.5}, "length"),
    ],
)
def test_what_cannot_be_wanted(ann: Any, wanted: dict[str, Any], param: str) -> None:
    answer = ann.post("/v1/drafts", {"request": "write", **wanted})
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, param)


def test_the_longest_draft_is_a_setting(house: Any) -> None:
    pearl = house(max_draft_tokens=33)
    pearl.as_user("ann").post("/v1/drafts", {"request": "write"})
    assert pearl.model.calls[0][1].max_tokens == 33


def test_a_stream_is_the_evidence_the_text_in_pieces_and_the_draft(pearl: Any, ann: Any) -> None:
    pearl.model.replies.append("<document>\nYes, swap\naway.\n</document>")
    answer = ann.post("/v1/drafts", {"request": "swap", "stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    (first, retrieval), *deltas, (last, draft) = events(answer.text)
    assert (first, last) == ("retrieval", "draft")
    assert {name for name, _ in deltas} == {"delta"}
    assert len(deltas) > 1
    assert "".join(data["text"] for _, data in deltas) == draft["text"] == "Yes, swap\naway."
    assert retrieval["id"] == draft["id"]
    assert retrieval["retrieval"] == draft["retrieval"]


def test_a_stream_says_how_far_the_prompt_is_read(pearl: Any, ann: Any) -> None:
    read = (PromptRead(0, 900), PromptRead(900, 900, 0.0))
    pearl.model.replies.extend([(*read, "Yes."), (*read, "Yes.")])
    found = events(ann.post("/v1/drafts", {"request": "swap", "stream": True}).text)
    assert [name for name, _ in found] == ["retrieval", "reading", "reading", "delta", "draft"]
    assert found[1][1] == {"done": 0, "total": 900, "seconds_left": None}
    assert found[2][1] == {"done": 900, "total": 900, "seconds_left": 0.0}
    body = {"model": "pearl", "messages": [{"role": "user", "content": "swap"}], "stream": True}
    assert '"total"' not in ann.post("/v1/chat/completions", body).text


def test_only_the_revision_is_streamed(pearl: Any, ann: Any) -> None:
    pearl.model.replies.extend(["The first text.", EDITED])
    found = events(ann.post("/v1/drafts", {"request": "swap", "stream": True, "revise": "always"}).text)
    assert [name for name, _ in found] == ["retrieval", "delta", "draft"]
    assert found[1][1] == {"text": "The better text."}
    assert found[2][1]["revision"]["applied"]


def test_below_the_threshold(pearl: Any, ann: Any, fixed_retriever: Any) -> None:
    pearl.retrieve_with(fixed_retriever({"d1": 1.5}, Calibration(threshold=2.0, floor=1.0)))
    pearl.model.replies.extend(["First.", EDITED])
    draft = ann.post("/v1/drafts", {"request": "swap"}).json()
    assert (draft["stage"], draft["revision"]["reason"]) == ("revised", "below_threshold")
    assert draft["retrieval"]["below_threshold"]
    assert [document["id"] for document in draft["retrieval"]["documents"]] == ["d1"]


@pytest.mark.parametrize(
    ("theta", "reason", "shown"),
    [
        ("all", "below_threshold", EVERYTHING),
        ("never", "no_threshold", None),
        ("-5", "above_threshold", -5.0),
        ("5", "below_threshold", 5.0),
    ],
)
def test_theta_set_by_hand(house: Any, make_artifact: Any, theta: str, reason: str, shown: float | None) -> None:
    folder = make_artifact({"overlap_text": 2.0}, bias=-0.5, threshold=0.6)
    pearl = house(model=FakeChatModel(["Draft.", EDITED]), retriever=str(folder), revise_below=theta)
    pearl.add("ann", "mind the tide", "the kettle is on")
    ann = pearl.as_user("ann")
    draft = ann.post("/v1/drafts", {"request": "the tide"}).json()
    assert (draft["revision"]["applied"], draft["revision"]["reason"]) == (reason == "below_threshold", reason)
    assert draft["retrieval"]["threshold"] == shown
    assert ann.get(f"/v1/drafts/{draft['id']}").json()["retrieval"]["threshold"] == shown


def test_theta_set_by_hand_calibrates_no_retriever(house: Any) -> None:
    """Else the scores of BM25 would say in a chat which message is a new subject."""
    pearl = house(model=FakeChatModel(["Draft.", EDITED]), retriever="bm25", revise_below="all")
    pearl.add("ann", "mind the tide", "the kettle is on")
    draft = pearl.as_user("ann").post("/v1/drafts", {"request": "the tide"}).json()
    assert draft["revision"]["reason"] == "below_threshold"
    assert pearl.services.histories.retriever.calibration == UNCALIBRATED


def test_an_artifact_drafts_and_revises_by_its_theta(house: Any, make_artifact: Any) -> None:
    """The share of the request's words that a document has, twice; theta lies between the two requests' best."""
    folder = make_artifact({"overlap_text": 2.0}, bias=-0.5, threshold=0.6, floor=-0.4)
    pearl = house(model=FakeChatModel(["Mind the tide.", "Draft.", EDITED]), retriever=str(folder))
    pearl.add("ann", "mind the tide", "the kettle is on")
    ann = pearl.as_user("ann")

    near = ann.post("/v1/drafts", {"request": "the tide", "revise": "auto"}).json()
    far = ann.post("/v1/drafts", {"request": "the wheel", "revise": "auto"}).json()

    scores = [(found["id"], round(found["score"], 4)) for found in near["retrieval"]["documents"]]
    assert scores == [("d1", 2 * 2 / 2 - 0.5), ("d2", 2 * 1 / 2 - 0.5)]
    assert (near["stage"], near["text"]) == ("draft", "Mind the tide.")
    assert near["retrieval"]["below_threshold"] is False
    assert (near["revision"]["applied"], near["revision"]["reason"]) == (False, "above_threshold")
    assert far["retrieval"]["top_score"] == pytest.approx(2 * 1 / 2 - 0.5)
    assert far["retrieval"]["below_threshold"] is True
    assert (far["revision"]["applied"], far["revision"]["reason"]) == (True, "below_threshold")
    assert (far["stage"], far["text"]) == ("revised", "The better text.")
    assert near["retrieval"]["threshold"] == far["retrieval"]["threshold"] == 0.6


def test_of_a_few_texts_those_that_have_nothing_to_do_with_the_request_are_not_shown(
    house: Any, make_artifact: Any
) -> None:
    pearl = house(retriever=str(make_artifact({"log_recency": -1.0})))
    pearl.add("ann", "mind the tide", "the kettle is on")
    ann = pearl.as_user("ann")

    def asked(**body: Any) -> tuple[list[str], list[dict[str, str]]]:
        answer = ann.post("/v1/drafts", body)
        assert (answer.status_code, answer.json()["text"]) == (200, "A fake reply.")
        found = answer.json()["retrieval"]
        return [document["id"] for document in found["documents"]], found["notes"]

    assert asked(request="kettle on") == (
        ["d2"],
        [{"code": "unrelated", "message": "Left out 1 document unrelated to the request."}],
    )
    assert asked(request="zebra") == (
        [],
        [
            {
                "code": "unrelated",
                "message": "No document in the history has to do with the request: the draft is generic.",
            }
        ],
    )
    assert "kettle" not in str(pearl.model.calls[-1])
    assert asked(request="zebra", k=2) == (["d2", "d1"], [])
    pearl.voice("ann", "email", k=1)
    pearl.add("ann", Document("m1", "mind the gap", 10.0, voice="email"))
    assert asked(request="zebra", voice="email") == (["m1"], [])


def test_the_embedded_models_know_what_a_few_texts_have_to_do_with_a_request(house: Any) -> None:
    ann = house(encoder=SentenceEncoder(), retriever="embedded", retrieval_budget_ms=60_000).as_user("ann")
    texts = [document for document in sample_documents() if document.voice == "email"][:3]
    posted = [{"id": each.id, "text": each.text, "request": each.request} for each in texts]
    assert ann.post("/v1/documents", {"documents": posted}).status_code == 201
    near, far = (
        ann.post("/v1/drafts", {"request": request}).json()["retrieval"]
        for request in ("Tomas asks to swap his Saturday shift with Bea", "Explain photosynthesis to a child")
    )
    assert near["documents"][0]["id"] == texts[0].id
    assert (far["documents"], [note["code"] for note in far["notes"]]) == ([], ["unrelated"])
    thai = ann.post("/v1/drafts", {"request": "ขอบคุณมาก พรุ่งนี้เจอกัน 10:30"}).json()["retrieval"]
    (note,) = (note for note in thai["notes"] if note["code"] == "not_read")
    assert note["message"].startswith("The encoder knows no word of the request, so the documents' scores say little")


def test_the_papers_underspecified_request_ends_in_a_question(house: Any) -> None:
    """The example of section 5.3 of papers/pearl.txt over two texts that have nothing to do with it, as PEARL ships."""
    pearl = house(encoder=SentenceEncoder(), retriever="embedded", retrieval_budget_ms=60_000)
    pearl.add("ann", "The council approved the bridge budget on Tuesday.", "Sales grew in two regions last quarter.")
    pearl.model.replies += ["- What do you do after work?", "A draft.", "A draft."]
    ann = pearl.as_user("ann")
    request = "Write a post about how I like to relax after work"
    asked = ann.post("/v1/drafts", {"request": request}).json()
    assert (asked["stage"], asked["questions"]) == ("needs_input", ["What do you do after work?"])
    assert ann.post("/v1/drafts", {"request": request, "revise": "never"}).json()["stage"] == "draft"
    assert ann.post("/v1/drafts", {"request": "What of the bridge budget?"}).json()["stage"] == "draft"


def test_questions(pearl: Any, ann: Any, fixed_retriever: Any) -> None:
    pearl.retrieve_with(fixed_retriever({"d1": 1.5}, Calibration(threshold=3.0, ask_below=2.0)))
    pearl.model.replies.append("- Which Saturday?\n- Who else?")
    draft = ann.post("/v1/drafts", {"request": "swap"}).json()
    assert (draft["stage"], draft["text"]) == ("needs_input", "")
    assert draft["questions"] == ["Which Saturday?", "Who else?"]
    pearl.model.replies.append("- Which Saturday?")
    found = events(ann.post("/v1/drafts", {"request": "swap", "stream": True}).text)
    assert [name for name, _ in found] == ["retrieval", "draft"]
    assert found[1][1]["questions"] == ["Which Saturday?"]


@pytest.mark.parametrize("failure", [ChatInterrupted("It broke off."), ChatRateLimited("Wait.", retry_after=5)])
def test_a_stream_that_breaks_off_ends_in_the_error(pearl: Any, ann: Any, failure: Any) -> None:
    pearl.model.replies.append(("<document>Some ", "words", failure))
    answer = ann.post("/v1/drafts", {"request": "swap", "stream": True})
    assert answer.status_code == 200
    found = events(answer.text)
    assert [name for name, _ in found] == ["retrieval", "delta", "delta", "error"]
    assert found[-1][1] == {
        "error": {"message": failure.message, "type": "upstream_error", "param": None, "code": failure.code}
    }
    assert pearl.rows("drafts") == []


def test_a_stream_whose_draft_cannot_be_recorded_ends_in_the_error(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    monkeypatch.setattr("service.store.database.TIMEOUT_S", 0.05)
    slow = house(FakeChatModel(["<document>Go home."]))
    ben = slow.as_user("ben")
    other = sqlite3.connect(slow.settings.home / "pearl.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        found = events(ben.post("/v1/drafts", {"request": "swap", "stream": True}).text)
    finally:
        other.close()
    assert [name for name, _ in found] == ["retrieval", "delta", "delta", "error"]
    assert found[-1][1]["error"]["code"] == "store_locked"


@pytest.mark.parametrize("stream", [False, True])
def test_a_user_who_is_deleted_while_a_draft_is_written(listen: Any, silent_model: Any, stream: bool) -> None:
    model = silent_model(["So far"])
    served = listen(model)
    headers = {"Authorization": f"Bearer {served.house.key('ann')}"}
    answers: list[httpx2.Response] = []

    def draft() -> None:
        body = {"request": "write", "stream": stream}
        answers.append(httpx2.post(f"{served.address}/v1/drafts", json=body, headers=headers, timeout=60))

    writing = threading.Thread(target=draft)
    writing.start()
    assert model.asked.wait(60)
    assert httpx2.delete(f"{served.address}/v1/me", headers=headers, timeout=60).status_code == 204
    model.go_on.set()
    writing.join()
    (answer,) = answers
    error = events(answer.text)[-1][1]["error"] if stream else answer.json()["error"]
    assert answer.status_code == (200 if stream else 404)
    assert (error["code"], error["type"]) == ("user_not_found", "not_found_error")
    assert "deleted while the draft was written" in error["message"]
    assert served.house.rows("drafts") == []


def test_comments_keep_a_silent_stream_open(listen: Any, silent_model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.http.api.streaming.KEEP_ALIVE_S", 0.02)
    model = silent_model()
    served = listen(model)
    headers = {"Authorization": f"Bearer {served.house.key('ann')}"}
    body = {"request": "write", "stream": True, "revise": "always"}
    seen = []
    with (
        httpx2.Client(base_url=served.address, headers=headers, timeout=60) as client,
        client.stream("POST", "/v1/drafts", json=body) as answer,
    ):
        for line in answer.iter_lines():
            seen.append(line)
            if seen.count(": keep-alive") == 3:
                model.go_on.set()
    assert seen[0] == "event: retrieval"
    assert seen.count(": keep-alive") >= 3
    assert [name for name, _ in events("\n".join(seen))] == ["retrieval", "delta", "draft"]


@pytest.mark.parametrize("stream", [False, True])
def test_when_too_many_wait_it_says_when_to_come_back(pearl: Any, ann: Any, stream: bool) -> None:
    pearl.services.ranking._inside = 10**6
    answer = ann.post("/v1/drafts", {"request": "swap with Bea", "stream": stream})
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.json()["error"]["code"] == "overloaded"
    assert pearl.rows("drafts") == []


RECORDED = ["request", "instructions", "voice", "recipient", "thread", "model", "created_at"]


def test_a_draft_can_be_read_again_in_the_form_it_was_given_in(pearl: Any, ann: Any, fixed_retriever: Any) -> None:
    pearl.retrieve_with(fixed_retriever({"d1": 1.5}, Calibration(threshold=2.0, floor=1.0)))
    pearl.model.replies.extend(["First.", EDITED])
    given = ann.post("/v1/drafts", {"request": "swap", "instructions": "Briefly."}).json()
    again = ann.get(f"/v1/drafts/{given['id']}").json()
    assert list(again) == [*given, *RECORDED]
    for name in set(given) - {"timings"}:
        assert again[name] == given[name], name
    assert again["revision"]["reason"] == "below_threshold"
    assert [again[name] for name in RECORDED[:6]] == ["swap", "Briefly.", None, None, None, pearl.model.name]
    (exported,) = ann.get("/v1/export").json()["drafts"]
    assert exported["revision"] == given["revision"]
    assert exported["retrieval"]["notes"] == given["retrieval"]["notes"]


def test_questions_and_notes_are_recorded(pearl: Any, ann: Any, fixed_retriever: Any) -> None:
    pearl.retrieve_with(fixed_retriever({"d1": 1.5}, Calibration(threshold=3.0, ask_below=2.0, floor=5.0)))
    pearl.model.replies.append("- Which Saturday?")
    given = ann.post("/v1/drafts", {"request": "swap"}).json()
    again = ann.get(f"/v1/drafts/{given['id']}").json()
    assert again["questions"] == ["Which Saturday?"]
    assert [note["code"] for note in again["retrieval"]["notes"]] == ["below_floor"]


def test_the_evidence_of_a_draft_goes_with_its_document(ann: Any) -> None:
    given = ann.post("/v1/drafts", {"request": "swap with Bea", "k": 1}).json()
    (found,) = given["retrieval"]["documents"]
    ann.delete(f"/v1/documents/{found['id']}")
    (again,) = ann.get(f"/v1/drafts/{given['id']}").json()["retrieval"]["documents"]
    assert again == {**found, "excerpt": ""}


def test_drafts_are_listed_and_searched(pearl: Any, ann: Any) -> None:
    made = [ann.post("/v1/drafts", {"request": f"Write to {name}"}).json()["id"] for name in ("Ada", "Bea", "Cem")]
    pearl.as_user("ben").post("/v1/drafts", {"request": "Write to Ada"})
    listed = ann.get("/v1/drafts?order=asc&limit=2").json()
    assert ([draft["id"] for draft in listed["data"]], listed["has_more"]) == (made[:2], True)
    assert (listed["first_id"], listed["last_id"]) == (made[0], made[1])
    rest = ann.get(f"/v1/drafts?order=asc&after={listed['last_id']}").json()
    assert ([draft["id"] for draft in rest["data"]], rest["has_more"]) == (made[2:], False)
    assert [draft["id"] for draft in ann.get("/v1/drafts").json()["data"]] == made[::-1]
    assert [draft["id"] for draft in ann.get("/v1/drafts?query=BEA write").json()["data"]] == [made[1]]
    assert ann.get("/v1/drafts?query=tide").json()["data"] == []


def test_another_users_draft_is_not_there(pearl: Any, ann: Any) -> None:
    theirs = pearl.as_user("ben").post("/v1/drafts", {"request": "Write"}).json()["id"]
    for path in (theirs, "nothing"):
        answer = ann.get(f"/v1/drafts/{path}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "draft_not_found")
        assert answer.json()["error"]["param"] == "id"
    assert ann.get(f"/v1/drafts?after={theirs}").json()["error"]["param"] == "after"


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "order=up", "query=", "voice=a"])
def test_a_page_that_cannot_be(ann: Any, query: str) -> None:
    assert ann.get(f"/v1/drafts?{query}").status_code == 422


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/drafts", {"request": "write"}),
        ("/v1/chat/completions", {"model": "pearl", "messages": [{"role": "user", "content": "write"}]}),
        ("/v1/responses", {"model": "pearl", "input": "write"}),
    ],
)
def test_a_worker_takes_so_many_drafts_and_turns_the_others_away(
    listen: Any, silent_model: Any, until: Any, path: str, body: Any
) -> None:
    """A place is held until the whole answer is sent, a stream's last event included."""
    model = silent_model(["Some ", "words "])
    served = listen(model, drafts_at_once=1)
    admission = served.house.app.state.admission
    headers = {"Authorization": f"Bearer {served.house.key('ann')}"}
    with httpx2.Client(base_url=served.address, headers=headers, timeout=60) as client:
        with client.stream("POST", path, json={**body, "stream": True}) as first:
            lines = first.iter_lines()
            assert next(lines)
            assert admission.inside == 1
            refused = client.post(path, json=body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "overloaded")
            assert int(refused.headers["retry-after"]) >= 1
            assert client.get("/v1/voices").status_code == 200
            model.go_on.set()
            assert list(lines)
        until(lambda: admission.inside == 0)
        assert client.post(path, json=body).status_code == 200
        assert client.post(path, json={**body, "k": 0, "n": 4}).status_code == 422
    until(lambda: admission.inside == 0)
