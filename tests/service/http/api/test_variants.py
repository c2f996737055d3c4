"""Several texts for one request, over HTTP and OpenAI's client, and feedback on one of them."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from pearl.errors import ChatInterrupted

ASK = [{"role": "user", "content": "swap with Bea"}]
YES, SURE = "Yes, swap away.", "The rear wheel is true again. Sure."


@pytest.fixture
def ann(pearl: Any) -> Any:
    pearl.add("ann", "Kettle's on. Swap with Bea.", "The rear wheel is true again.")
    pearl.model.replies.extend([YES, SURE])
    return pearl.as_user("ann")


def test_all_texts_stand_beside_the_draft(pearl: Any, ann: Any) -> None:
    draft = ann.post("/v1/drafts", {"request": "swap with Bea", "variants": 2, "k": 2}).json()
    assert (draft["text"], draft["claims"]) == (YES, [{**CLAIM_OF_YES}])
    first, second = draft["variants"]
    assert (first["index"], first["text"], first["claims"]) == (0, draft["text"], draft["claims"])
    assert (second["index"], second["text"], second["finish_reason"]) == (1, SURE, "stop")
    carried = {"kind": "carried_over", "text": "The rear wheel is true again", "start": 0, "end": 28, "from": "d2"}
    assert carried in second["claims"]
    kept = ann.get(f"/v1/drafts/{draft['id']}").json()
    assert kept["variants"] == draft["variants"]
    assert ann.get("/v1/drafts").json()["data"] == [kept]


CLAIM_OF_YES = {"kind": "dropped", "text": "Bea", "start": None, "end": None, "from": None}


def test_of_one_text_the_answer_is_what_it_was(ann: Any) -> None:
    draft = ann.post("/v1/drafts", {"request": "swap with Bea", "variants": 1}).json()
    assert "variants" not in draft
    assert "variants" not in ann.get(f"/v1/drafts/{draft['id']}").json()


def test_a_stream_has_one_text_after_the_other(ann: Any) -> None:
    answer = ann.post("/v1/drafts", {"request": "swap with Bea", "variants": 2, "stream": True})
    blocks = [dict(line.split(": ", 1) for line in block.splitlines()) for block in answer.text.strip().split("\n\n")]
    events = [(block["event"], json.loads(block["data"])) for block in blocks]
    names = [name for name, _ in events]
    assert (names[0], names[-2:]) == ("retrieval", ["variant", "draft"])
    deltas = [data for name, data in events if name == "delta"]
    for index, text in enumerate((YES, SURE)):
        assert "".join(data["text"] for data in deltas if data["variant"] == index) == text
    assert [data["variant"] for data in deltas] == sorted(data["variant"] for data in deltas)
    draft = events[-1][1]
    assert [data for name, data in events if name == "variant"] == draft["variants"]
    assert names.index("variant") < names.index("delta", names.index("variant"))


def test_a_repeated_call_has_all_of_them(pearl: Any, ann: Any) -> None:
    body, key = {"request": "swap with Bea", "variants": 2}, {"Idempotency-Key": "once"}
    first = ann.post("/v1/drafts", body, headers=key)
    again = ann.post("/v1/drafts", body, headers=key)
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json()["variants"] == first.json()["variants"]
    assert len(pearl.model.calls) == 2


@pytest.mark.parametrize("number", [0, 4, -1, 1.5, "two"])
def test_only_up_to_three(pearl: Any, ann: Any, number: Any) -> None:
    for path, body, field in (
        ("/v1/drafts", {"request": "write"}, "variants"),
        ("/v1/chat/completions", {"messages": ASK}, "n"),
    ):
        answer = ann.post(path, {**body, field: number})
        error = answer.json()["error"]
        assert (answer.status_code, error["type"], error["param"]) == (422, "invalid_request_error", field)
    assert pearl.model.calls == []


def test_the_openai_client_reads_choices(served: Any, client: openai.OpenAI) -> None:
    served.house.model.replies.extend([YES, SURE])
    answer = client.chat.completions.create(model="pearl", messages=ASK, n=2)
    said = [(choice.index, choice.message.content, choice.finish_reason) for choice in answer.choices]
    assert said == [(0, YES, "stop"), (1, SURE, "stop")]
    written = sum(len(text.split()) for text in (YES, SURE))
    assert answer.usage.completion_tokens == written
    evidence = answer.model_extra["pearl"]
    assert [variant["index"] for variant in evidence["variants"]] == [0, 1]
    assert evidence["variants"][0]["claims"] == evidence["claims"]
    assert evidence["variants"][1]["claims"][0]["kind"] == "carried_over"


def test_the_openai_client_reads_choices_of_a_stream(served: Any, client: openai.OpenAI) -> None:
    served.house.model.replies.extend([YES, SURE])
    options = {"include_usage": True}
    stream = client.chat.completions.create(model="pearl", messages=ASK, n=2, stream=True, stream_options=options)
    *chunks, last = list(stream)
    assert last.choices == []
    assert last.usage.completion_tokens == sum(len(text.split()) for text in (YES, SURE))
    choices = [chunk.choices[0] for chunk in chunks]
    assert [choice.index for choice in choices] == sorted(choice.index for choice in choices)
    for index, text in enumerate((YES, SURE)):
        own = [choice for choice in choices if choice.index == index]
        assert own[0].delta.role == "assistant"
        assert "".join(choice.delta.content or "" for choice in own) == text
        assert [choice.finish_reason for choice in own if choice.finish_reason] == ["stop"]
        assert own[-1].finish_reason
    ends = [chunk.model_extra["pearl"] for chunk in chunks if chunk.model_extra]
    assert ends[0] == ends[1]["variants"][0]
    assert [variant["index"] for variant in ends[1]["variants"]] == [0, 1]


def test_the_streaming_helper_of_the_client(served: Any, client: openai.OpenAI) -> None:
    served.house.model.replies.extend([YES, SURE])
    with client.chat.completions.stream(model="pearl", messages=ASK, n=2) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert [choice.message.content for choice in final.choices] == [YES, SURE]


BROKEN = ChatInterrupted("It broke off.")


@pytest.mark.parametrize(
    "replies", [[YES, YES, YES], [YES, BROKEN], [YES, ("<document>\n", "Bea ", "takes it.", BROKEN)]]
)
def test_the_same_text_or_a_failure_leaves_fewer_choices(
    served: Any, client: openai.OpenAI, replies: list[Any]
) -> None:
    served.house.model.replies.extend(replies)
    answer = client.chat.completions.create(model="pearl", messages=ASK, n=2)
    assert [choice.message.content for choice in answer.choices] == [YES]
    (note,) = answer.model_extra["pearl"]["retrieval"]["notes"]
    assert note["code"] == ("same_variant" if replies[1] == YES else "variant_failed")
    served.house.model.replies.extend(replies)
    chunks = list(client.chat.completions.create(model="pearl", messages=ASK, n=2, stream=True))
    ends = [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    # a choice whose beginning was sent is shown as cut off
    assert ends == (["stop", "length"] if isinstance(replies[1], tuple) else ["stop"])
    assert chunks[-1].model_extra["pearl"]["retrieval"]["notes"] == [note]


def test_no_n_in_the_newer_shape(served: Any, client: openai.OpenAI) -> None:
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        client.responses.create(model="pearl", input="write", extra_body={"n": 2})
    assert (refused.value.param, refused.value.code) == ("n", "unsupported")


@pytest.mark.parametrize(
    ("given", "taken", "share"),
    [
        ({"outcome": "accepted"}, 0, 1.0),
        ({"outcome": "accepted", "variant": 1}, 1, 1.0),
        ({"outcome": "accepted", "final_text": SURE}, 1, 1.0),
        ({"outcome": "edited", "final_text": f"{SURE} Otti"}, 1, 7 / 8),
        ({"outcome": "edited", "final_text": "Yes, swap away. Otti"}, 0, 3 / 4),
        ({"outcome": "edited", "final_text": "Yes, swap away. Otti", "variant": 1}, 1, 0.0),
    ],
)
def test_feedback_is_on_the_text_that_was_taken(
    pearl: Any, ann: Any, given: dict[str, Any], taken: int, share: float
) -> None:
    draft = ann.post("/v1/drafts", {"request": "swap with Bea", "variants": 2}).json()
    for _ in range(2):  # the same again changes nothing
        assert ann.post("/v1/feedback", {"draft_id": draft["id"], **given}).status_code == 201
    sent = ann.get(f"/v1/documents/{draft['id']}").json()
    assert sent["text"] == given.get("final_text", (YES, SURE)[taken])
    assert sent["sent_draft"]["machine_share"] == pytest.approx(share)
    (row,) = pearl.rows("feedback")
    assert json.loads(row.edit)["variant"] == taken
    (pair,) = ann.get("/v1/profile").json()["edits"]["months"] or [None]
    assert pair is None or pair["drafts"] == 1


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"outcome": "accepted", "variant": 2}, "variant"),
        ({"outcome": "accepted", "variant": -1}, "variant"),
        ({"outcome": "accepted", "variant": 0, "final_text": SURE}, "final_text"),
    ],
)
def test_feedback_that_cannot_be(pearl: Any, ann: Any, given: dict[str, Any], param: str) -> None:
    draft = ann.post("/v1/drafts", {"request": "swap with Bea", "variants": 2}).json()
    answer = ann.post("/v1/feedback", {"draft_id": draft["id"], **given})
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, param)
    assert pearl.rows("feedback") == []


def test_they_go_with_the_draft(pearl: Any, ann: Any) -> None:
    pearl.model.replies.clear()
    pearl.model.replies.extend([YES, "the heron ate my brake cable"])
    draft = ann.post("/v1/drafts", {"request": "swap with Bea", "variants": 2}).json()
    assert ann.post("/v1/feedback", {"draft_id": draft["id"], "outcome": "accepted"}).status_code == 201
    assert pearl.on_disk("the heron ate")
    assert ann.delete(f"/v1/documents/{draft['id']}").status_code in (202, 204)
    assert not pearl.on_disk("the heron ate")


def test_a_tool_of_a_model_gives_them(pearl: Any, ann: Any) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    arguments = {"request": "swap with Bea", "variants": 2}
    answer = ann.post("/mcp", {**body, "params": {"name": "draft", "arguments": arguments}}).json()["result"]
    assert [variant["text"] for variant in answer["structuredContent"]["variants"]] == [YES, SURE]
