from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
import pytest

from pearl.errors import ChatInterrupted, ChatRateLimited
from retriever.base import Calibration

ASK = [{"role": "user", "content": "Tomas asks to swap"}]
EDITED = "- lacks the day\nEDITED DRAFT\n<document>\nThe better text.\n</document>"


def test_the_openai_client(served: Any, client: openai.OpenAI) -> None:
    served.house.model.replies.append("<document>\nYes, swap away.\n</document>")
    answer = client.chat.completions.create(model="pearl", messages=ASK)
    assert answer.choices[0].message.content == "Yes, swap away."
    assert answer.choices[0].finish_reason == "stop"
    assert (answer.object, answer.model) == ("chat.completion", "pearl")
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
    assert answer.id == served.house.rows("drafts")[0].id
    evidence = answer.model_extra["pearl"]["retrieval"]["documents"]
    assert {document["id"] for document in evidence} == {"d1", "d2"}
    decided_by = answer.model_extra["pearl"]["calibration"]
    assert (decided_by["code"], decided_by["id"]) == ("not_calibrated", None)
    assert "`pearl calibrate --user ann`" in decided_by["message"]


def test_the_openai_client_streams(served: Any, client: openai.OpenAI) -> None:
    served.house.model.replies.append("<document>\nYes, swap away.\n</document>")
    chunks = list(
        client.chat.completions.create(model="pearl", messages=ASK, stream=True, stream_options={"include_usage": True})
    )
    assert chunks[0].choices[0].delta.role == "assistant"
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(pieces) == "Yes, swap away."
    assert len(pieces) > 3
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.total_tokens > 0
    assert {chunk.id for chunk in chunks} == {served.house.rows("drafts")[0].id}
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    (said,) = [chunk.model_extra["pearl"] for chunk in chunks if chunk.model_extra]
    assert (said["stage"], said["calibration"]["code"]) == ("draft", "not_calibrated")
    assert {document["id"] for document in said["retrieval"]["documents"]} == {"d1", "d2"}


def test_without_being_asked_there_is_no_usage_chunk(client: openai.OpenAI) -> None:
    chunks = list(client.chat.completions.create(model="pearl", messages=ASK, stream=True))
    assert all(chunk.choices for chunk in chunks)


def test_the_streaming_helper_of_the_client(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(model="pearl", messages=ASK) as stream:
        for _ in stream:
            pass
        assert stream.get_final_completion().choices[0].message.content == "A fake reply."


def test_the_clients_errors(served: Any, client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as unknown:
        client.chat.completions.create(model="emial", messages=ASK)
    assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.BadRequestError) as long:
        client.chat.completions.create(model="pearl", messages=[{"role": "user", "content": "word " * 9000}])
    assert long.value.code == "context_length_exceeded"
    with pytest.raises(openai.UnprocessableEntityError):
        client.chat.completions.create(model="pearl", messages=[])
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="wrong").models.list()
    served.house.model.replies.append(ChatRateLimited("Wait.", retry_after=9))
    with pytest.raises(openai.InternalServerError) as busy:
        client.chat.completions.create(model="pearl", messages=ASK)
    assert (busy.value.status_code, busy.value.response.headers["retry-after"]) == (503, "9")


def test_a_stream_that_breaks_off_is_an_error_of_the_client(served: Any, client: openai.OpenAI) -> None:
    served.house.model.replies.append(("Some ", "words", ChatInterrupted("It broke off.")))
    with pytest.raises(openai.APIError, match="It broke off") as caught:
        list(client.chat.completions.create(model="pearl", messages=ASK, stream=True))
    assert caught.value.code == "llm_interrupted"
    assert served.house.rows("drafts") == []


def test_models_are_the_voices(served: Any, client: openai.OpenAI) -> None:
    served.house.voice("ann", "email")
    served.house.voice("ann", "work/blog")
    served.house.voice("ben", "secret")
    served.house.voice("ann", "pearl")  # may come with an import; the id stands for the whole history
    assert [model.id for model in client.models.list()] == ["pearl", "email", "work/blog"]
    assert client.models.retrieve("pearl").owned_by == "ann"
    assert client.models.retrieve("work/blog").created > 1_700_000_000
    for name in ("secret", "nobody"):
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve(name)


def test_a_program_that_knows_only_url_key_model_and_messages(served: Any) -> None:
    body = {"model": "pearl", "messages": ASK}
    headers = {"Authorization": f"Bearer {served.house.key('ann')}"}
    answer = httpx2.post(f"{served.address}/v1/chat/completions", json=body, headers=headers, timeout=60).json()
    assert answer["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "A fake reply.", "refusal": None},
            "finish_reason": "stop",
            "logprobs": None,
        }
    ]


def test_the_model_id_names_the_voice(pearl: Any, ann: Any) -> None:
    pearl.voice("ann", "email", instructions="Sign as Otti.", template="message")
    ann.post("/v1/documents", [{"id": "m", "text": "A mail.", "voice": "email"}, {"id": "b", "text": "A post."}])
    answer = ann.post("/v1/chat/completions", {"model": "email", "messages": ASK}).json()
    assert [document["id"] for document in answer["pearl"]["retrieval"]["documents"]] == ["m"]
    prompt = str(pearl.model.calls[0][0])
    assert "Sign as Otti." in prompt
    assert "A post." not in prompt
    assert pearl.rows("drafts")[0].voice == "email"


def test_system_messages_are_instructions_and_the_rest_is_conversation(pearl: Any, ann: Any) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Write to Tomas."},
        {"role": "assistant", "content": "Dear Tomas"},
        {"role": "developer", "content": [{"type": "text", "text": "No "}, {"type": "text", "text": "bells."}]},
        {"role": "user", "content": [{"type": "text", "text": "Shorter."}]},
    ]
    assert ann.post("/v1/chat/completions", {"model": "pearl", "messages": messages}).status_code == 200
    ((asked, _),) = pearl.model.calls
    assert "<request>\nWrite to Tomas.\n</request>" in asked[-3].content
    assert [(message.role, message.content) for message in asked[-2:-1]] == [
        ("assistant", "<document>\nDear Tomas\n</document>")
    ]
    assert "Be brief.\nNo bells." in asked[-1].content
    assert "<request>\nShorter.\n</request>" in asked[-1].content
    assert pearl.rows("drafts")[0].request == "Write to Tomas.\n\nShorter."


def test_a_follow_up_keeps_the_evidence_and_trains_on_the_whole_request(served: Any, client: openai.OpenAI) -> None:
    first = client.chat.completions.create(model="pearl", messages=[{"role": "user", "content": "swap with Bea"}])
    turns = [
        {"role": "user", "content": "swap with Bea"},
        {"role": "assistant", "content": first.choices[0].message.content},
        {"role": "user", "content": "Shorter please"},
    ]
    second = client.chat.completions.create(model="pearl", messages=turns)
    shown = [answer.model_extra["pearl"]["retrieval"]["documents"] for answer in (first, second)]
    assert shown[0][0]["id"] == shown[1][0]["id"] == "d1"
    ann = served.house.as_user("ann")
    sent = {"draft_id": second.id, "outcome": "edited", "final_text": "Swap with Bea, yes."}
    body = httpx2.post(f"{served.address}/v1/feedback", json=sent, headers=ann.headers, timeout=60)
    assert body.status_code == 201, body.text
    learned = [row for row in served.house.rows("documents") if row.text == "Swap with Bea, yes."]
    assert [row.request for row in learned] == ["swap with Bea\n\nShorter please"]


TITLE = (
    '### Task:\nFind a short title for the chat history.\n### Output:\nJSON format: { "title": "..." }\n'
    "<chat_history>\nUSER: swap with Bea\n</chat_history>"
)


@pytest.mark.parametrize("stream", [False, True])
def test_a_clients_own_task_goes_to_the_model_without_the_history(
    served: Any, client: openai.OpenAI, stream: bool
) -> None:
    served.house.model.replies.append('<think>\nHm.\n</think>\n```json\n{ "title": "Rota" }\n```')
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": TITLE}]
    answer = client.chat.completions.create(model="pearl", messages=asked, stream=stream, max_tokens=20)
    if stream:
        text = "".join(chunk.choices[0].delta.content or "" for chunk in answer)
    else:
        text = answer.choices[0].message.content
        assert answer.model_extra["pearl"] == {
            "stage": "passed_on",
            "retrieval": {
                "documents": [], "top_score": None, "threshold": None, "below_threshold": False, "notes": [],
                "form": None,
            },
            "calibration": None,
            "claims": [],
        }  # fmt: skip
    assert text.strip() == '```json\n{ "title": "Rota" }\n```'
    ((messages, decoding),) = served.house.model.calls
    assert [(message.role, message.content) for message in messages] == [("system", "Be brief."), ("user", TITLE)]
    assert (decoding.max_tokens, decoding.stop) == (20, ())
    assert served.house.rows("drafts") == []
    exported = httpx2.get(f"{served.address}/v1/export", headers=served.house.as_user("ann").headers, timeout=60).text
    assert "title" not in exported


@pytest.mark.parametrize("route", ["/v1/chat/completions", "/v1/responses"])
def test_a_mail_that_ends_as_such_a_task_is_fenced_and_recorded(pearl: Any, ann: Any, route: str) -> None:
    mail = f"Hi Ann,\n\ncould we swap on Saturday?\n\n{TITLE}"
    turns = [{"role": "system", "content": "Answer the mail."}, {"role": "user", "content": mail}]
    body = {"model": "pearl", "messages" if "chat" in route else "input": turns}
    assert ann.post(route, body).json()["pearl"]["stage"] == "draft"
    ((asked, _),) = pearl.model.calls
    assert (asked[0].role, f"<request>\n{mail}\n</request>" in asked[-1].content) == ("system", True)
    assert [row.request for row in pearl.rows("drafts")] == [mail]


def test_a_clients_own_task_without_reasoning_that_only_its_end_tells(pearl: Any, ann: Any) -> None:
    pearl.model.replies.append("Both speak of shifts.\n</think>\nRota")
    answer = ann.post("/v1/chat/completions", {"model": "pearl", "messages": [{"role": "user", "content": TITLE}]})
    assert answer.json()["choices"][0]["message"]["content"].strip() == "Rota"


def test_a_clients_own_task_that_the_model_leaves_unanswered(pearl: Any, ann: Any) -> None:
    pearl.model.replies.append("<think>\nHm.")
    answer = ann.post("/v1/chat/completions", {"model": "pearl", "messages": [{"role": "user", "content": TITLE}]})
    assert (answer.status_code, answer.json()["error"]["type"]) == (502, "upstream_error")


@pytest.mark.parametrize(
    ("turns", "request_text"),
    [
        ([("assistant", "Good day.")], "Shorter please"),
        ([("assistant", "Good day."), ("assistant", "Hello?")], "Shorter please"),
        ([("user", "  "), ("assistant", "Good day.")], "Shorter please"),
        ([("user", "Write to Bea."), ("user", "today")], "Write to Bea.\n\ntoday\n\nShorter please"),
        ([("user", "Write to Bea.")] * 2, "Write to Bea.\n\nWrite to Bea.\n\nShorter please"),
    ],
)
def test_turns_out_of_the_ordinary(pearl: Any, ann: Any, turns: Any, request_text: str) -> None:
    messages = [{"role": role, "content": text} for role, text in [*turns, ("user", "Shorter please")]]
    assert ann.post("/v1/chat/completions", {"model": "pearl", "messages": messages}).status_code == 200
    assert pearl.rows("drafts")[0].request == request_text
    roles = [message.role for message in pearl.model.calls[0][0]]
    assert roles == ["system", *["user", "assistant"] * ((len(roles) - 2) // 2), "user"]


def test_two_thousand_turns(pearl: Any, ann: Any) -> None:
    pearl.add("ann", "Kettle's on. Swap with Bea.")
    turns = [
        {"role": role, "content": f"{text} {number}"}
        for number in range(1000)
        for role, text in (("user", "swap"), ("assistant", "Dear Bea"))
    ]
    answer = ann.post("/v1/chat/completions", {"model": "pearl", "messages": [*turns, *ASK]})
    assert answer.status_code == 200
    assert [document["id"] for document in answer.json()["pearl"]["retrieval"]["documents"]] == ["d1"]
    asked = pearl.rows("drafts")[0].request.split("\n\n")
    assert asked == ["swap 0", *(f"swap {number}" for number in range(995, 1000)), ASK[0]["content"]]


def test_decoding_is_passed_on(pearl: Any, ann: Any) -> None:
    body = {"model": "pearl", "messages": ASK, "temperature": 0.7, "top_p": 0.9, "max_tokens": 50}
    ann.post("/v1/chat/completions", body)
    ann.post("/v1/chat/completions", {"model": "pearl", "messages": ASK, "max_completion_tokens": 16000})
    ann.post("/v1/chat/completions", {"model": "pearl", "messages": ASK})
    first, second, third = (decoding for _, decoding in pearl.model.calls)
    assert (first.temperature, first.top_p, first.max_tokens) == (0.7, 0.9, 50)
    assert second.max_tokens == 1000  # half the context: tools ask for more than there is
    assert (third.temperature, third.top_p, third.max_tokens) == (0.0, 1.0, 512)


def test_too_few_tokens_for_any_text_are_the_requests_fault(pearl: Any, ann: Any, cut_off_model: Any) -> None:
    pearl.services.drafter.model = cut_off_model(["<docum"])
    answer = ann.post("/v1/chat/completions", {"model": "pearl", "messages": ASK, "max_tokens": 2})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (422, "max_tokens", "max_tokens_too_small")
    assert "used up 2 tokens" in error["message"]


@pytest.mark.parametrize("stop", ["\n", ["\n"], ["nowhere", "", "\n"]])
@pytest.mark.parametrize("stream", [False, True])
def test_stop_texts_end_the_draft_and_not_its_marks(pearl: Any, ann: Any, stop: Any, stream: bool) -> None:
    pearl.model.replies.append("<document>\nOne line.\nAnother.\n</document>")
    answer = ann.post("/v1/chat/completions", {"model": "pearl", "messages": ASK, "stop": stop, "stream": stream})
    if stream:
        chunks = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
        assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == "One line."
    else:
        assert answer.json()["choices"][0]["message"]["content"] == "One line."


def test_questions_are_the_content_where_there_is_no_text(pearl: Any, ann: Any, fixed_retriever: Any) -> None:
    pearl.add("ann", "Text.")
    pearl.retrieve_with(fixed_retriever({}, Calibration(threshold=3.0, ask_below=2.0)))
    for stream in (False, True):
        pearl.model.replies.append("- Which day?")
        answer = ann.post("/v1/chat/completions", {"model": "pearl", "messages": ASK, "stream": stream})
        assert "- Which day?" in answer.text


def test_only_the_revision_is_sent(pearl: Any, ann: Any, fixed_retriever: Any) -> None:
    pearl.add("ann", "Text.")
    pearl.retrieve_with(fixed_retriever({}, Calibration(threshold=3.0)))
    for stream in (False, True):
        pearl.model.replies.extend(["The first text.", EDITED])
        answer = ann.post("/v1/chat/completions", {"model": "pearl", "messages": ASK, "stream": stream})
        assert "The better text." in answer.text
        assert "The first" not in answer.text


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "someone", "seed": 1, "presence_penalty": 0.1, "frequency_penalty": 0, "n": 1, "logit_bias": {}},
        {
            "response_format": {"type": "text"},
            "tools": [5, {"type": 5}, {}],
            "logprobs": False,
            "stream_options": None,
            "store": False,
        },
        dict.fromkeys(("stream", "stop", "temperature", "top_p", "max_tokens", "max_completion_tokens", "n")),
    ],
)
def test_fields_that_do_not_matter_are_passed_over(ann: Any, fields: Any) -> None:
    assert ann.post("/v1/chat/completions", {"model": "pearl", "messages": ASK, **fields}).status_code == 200


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"tools": [{"type": "function"}], "tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"),
        ({"functions": [{}], "function_call": {"name": "f"}}, "function_call"),
        ({"tools": [{"type": "function"}, {"type": "file_search"}]}, "tools"),
        ({"web_search_options": {}}, "web_search_options"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"logprobs": True}, "logprobs"),
        ({"audio": {"voice": "a"}}, "audio"),
        ({"n": 4}, "n"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": -1}, "temperature"),
        ({"top_p": -0.1}, "top_p"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"stream": "perhaps"}, "stream"),
        ({"model": 1.5}, "model"),
        ({"model": "a\0"}, "model"),
        ({"messages": []}, "messages"),
        ({"messages": "write"}, "messages"),
        ({"messages": [{"role": "assistant", "content": "a"}]}, "messages"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages"),
        ({"messages": [{"role": "user", "content": []}]}, "messages"),
        ({"messages": [{"role": "system", "content": "\0"}, *ASK]}, "messages"),
        ({"messages": [{"role": "assistant", "content": "\0"}, *ASK]}, "messages"),
        ({"messages": [{"role": "tool", "content": "a"}]}, "messages"),
        ({"messages": [{"role": "cook", "content": "a"}, *ASK]}, "messages.0.role"),
        ({"messages": [*ASK, {"role": "user", "content": None}]}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages.0.content.0"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_cannot_be_asked(pearl: Any, ann: Any, fields: Any, param: str) -> None:
    answer = ann.post("/v1/chat/completions", {"model": "pearl", "messages": ASK, **fields})
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, param)
    assert pearl.model.calls == []


def test_what_is_passed_over_is_said(ann: Any) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    body = {
        "model": "pearl",
        "messages": ASK,
        "tools": tools,
        "tool_choice": "auto",
        "seed": 7,
        "user": "x",
        "a\r\nb": 1,
    }
    for stream in (False, True):
        answer = ann.post("/v1/chat/completions", {**body, "stream": stream}, headers={"idempotency-key": "k"})
        assert answer.status_code == 200
        assert answer.headers["x-pearl-ignored"] == "tools, tool_choice, seed, Idempotency-Key"
    plain = ann.post("/v1/chat/completions", {"model": "pearl", "messages": ASK})
    assert "x-pearl-ignored" not in plain.headers


def test_calls_of_tools_in_the_conversation_are_passed_over(pearl: Any, ann: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "shifts", "arguments": "{}"}}
    messages = [
        *ASK,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Bea is free."},
        {"role": "assistant", "content": "Bea could swap."},
        {"role": "user", "content": "Then write to Tomas."},
    ]
    answer = ann.post("/v1/chat/completions", {"model": "pearl", "messages": messages})
    assert answer.status_code == 200
    assert answer.headers["x-pearl-ignored"] == "messages.tool_calls"
    assert "Bea could swap." in str(pearl.model.calls)
    assert "Bea is free." not in str(pearl.model.calls)


def test_images_are_refused_in_a_sentence(served: Any, client: openai.OpenAI) -> None:
    parts: Any = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        client.chat.completions.create(model="pearl", messages=[{"role": "user", "content": parts}])
    assert refused.value.code == "unsupported"
    assert "Images cannot be read" in refused.value.message
    assert served.house.model.calls == []


def test_the_name_of_a_known_model_stands_for_the_whole_history(served: Any, client: openai.OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(model="gpt-4o", messages=ASK)
    assert raw.headers["x-pearl-model"] == "pearl"
    assert raw.parse().model == "gpt-4o"
    own = client.chat.completions.with_raw_response.create(model="pearl", messages=ASK)
    assert "x-pearl-model" not in own.headers
    assert client.models.retrieve("gpt-4o-mini").id == "gpt-4o-mini"


def test_a_voice_of_that_name_is_the_voice(pearl: Any, ann: Any) -> None:
    pearl.voice("ann", "gpt-4o", instructions="In verse.")
    answer = ann.post("/v1/chat/completions", {"model": "gpt-4o", "messages": ASK})
    assert "x-pearl-model" not in answer.headers
    assert "In verse." in str(pearl.model.calls)
