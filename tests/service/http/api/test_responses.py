from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from pearl.errors import ChatInterrupted
from retriever.base import Calibration

ASK = "Tomas asks to swap"
ORDER = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]


def test_the_openai_client(served: Any, client: openai.OpenAI) -> None:
    served.house.model.replies.append("<document>\nYes, swap away.\n</document>")
    answer = client.responses.create(model="pearl", input=ASK, instructions="Be brief.", store=False)
    assert answer.output_text == "Yes, swap away."
    assert (answer.object, answer.model, answer.status) == ("response", "pearl", "completed")
    assert (answer.error, answer.incomplete_details, answer.instructions) == (None, None, "Be brief.")
    assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens > 0
    assert answer.id == served.house.rows("drafts")[0].id
    assert answer.model_extra["pearl"]["stage"] == "draft"
    evidence = answer.model_extra["pearl"]["retrieval"]["documents"]
    assert {document["id"] for document in evidence} == {"d1", "d2"}
    assert answer.model_extra["pearl"]["calibration"]["code"] == "not_calibrated"
    assert "Be brief." in str(served.house.model.calls)
    Response.model_validate(answer.model_dump())  # the client itself takes answers that lack fields


def test_what_an_agent_sends_of_its_tools_is_passed_over(pearl: Any, ann: Any) -> None:
    items = [
        {"role": "user", "content": ASK},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "shifts", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "Bea is free."},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Bea could swap."}]},
        {"role": "user", "content": "Then write to Tomas."},
    ]
    answer = ann.post("/v1/responses", {"model": "pearl", "input": items})
    assert answer.status_code == 200
    passed_over = ("reasoning", "function_call", "function_call_output", "web_search_call")
    assert answer.headers["x-pearl-ignored"] == ", ".join(f"input.{kind}" for kind in passed_over)
    assert "Bea could swap." in str(pearl.model.calls)
    assert "Bea is free." not in str(pearl.model.calls)


def test_the_openai_client_streams(served: Any, client: openai.OpenAI) -> None:
    served.house.model.replies.append("<document>\nYes, swap away.\n</document>")
    events = list(client.responses.create(model="pearl", input=ASK, stream=True))
    assert list(dict.fromkeys(event.type for event in events)) == ORDER
    for event in events:
        TypeAdapter(ResponseStreamEvent).validate_python(event.model_dump())
    assert [event.sequence_number for event in events] == list(range(len(events)))
    pieces = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(pieces) == "Yes, swap away."
    assert len(pieces) == 3
    first, last = events[0].response, events[-1].response
    assert (first.status, first.output, last.status) == ("in_progress", [], "completed")
    assert first.id == last.id == served.house.rows("drafts")[0].id
    assert (last.output_text, first.created_at) == ("Yes, swap away.", last.created_at)
    assert last.usage.total_tokens > 0
    assert last.model_extra["pearl"]["retrieval"]["documents"]
    assert last.model_extra["pearl"]["calibration"]["code"] == "not_calibrated"
    assert {event.item_id for event in events if hasattr(event, "item_id")} == {last.output[0].id}


def test_the_streaming_helper_of_the_client(client: openai.OpenAI) -> None:
    with client.responses.stream(model="pearl", input=ASK) as stream:
        snapshots = [event.snapshot for event in stream if event.type == "response.output_text.delta"]
        assert snapshots[-1] == stream.get_final_response().output_text == "A fake reply."


def test_the_asynchronous_client_goes_on_with_an_answer(served: Any) -> None:
    """Stateless: the output goes back into the input as it came."""

    async def ask() -> tuple[Any, Any]:
        async with openai.AsyncOpenAI(base_url=f"{served.address}/v1", api_key=served.house.key("ann")) as made:
            turns: Any = [{"role": "user", "content": "swap with Bea"}]
            first = await made.responses.create(model="pearl", input=turns)
            turns += [*first.output, {"role": "user", "content": [{"type": "input_text", "text": "Shorter"}]}]
            return first, await made.responses.create(model="pearl", input=turns)

    first, second = asyncio.run(ask())
    assert first.output_text == second.output_text == "A fake reply."
    assert served.house.rows("drafts")[1].request == "swap with Bea\n\nShorter"
    asked = served.house.model.calls[1][0]
    said = [message.content for message in asked if message.role == "assistant"]
    assert said[-1] == "<document>\nA fake reply.\n</document>"


def test_the_clients_errors(served: Any, client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as unknown:
        client.responses.create(model="emial", input=ASK)
    assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.BadRequestError) as long:
        client.responses.create(model="pearl", input="word " * 9000, stream=True)
    assert long.value.code == "context_length_exceeded"
    parts: Any = [{"type": "input_image", "image_url": "data:,"}]
    with pytest.raises(openai.UnprocessableEntityError) as image:
        client.responses.create(model="pearl", input=[{"role": "user", "content": parts}])
    assert (image.value.code, image.value.param) == ("unsupported", "input.0.content.0")
    assert "Images cannot be read" in image.value.message
    assert served.house.model.calls == []


def test_a_stream_that_breaks_off_is_an_error_of_the_client(served: Any, client: openai.OpenAI) -> None:
    served.house.model.replies.append(("Some ", "words", ChatInterrupted("It broke off.")))
    with pytest.raises(openai.APIError, match="It broke off") as caught:
        list(client.responses.create(model="pearl", input=ASK, stream=True))
    assert caught.value.code == "llm_interrupted"
    assert served.house.rows("drafts") == []


def test_the_error_of_a_stream_is_flat_too_and_has_its_number(pearl: Any, ann: Any) -> None:
    pearl.model.replies.append(ChatInterrupted("It broke off."))
    answer = ann.post("/v1/responses", {"model": "pearl", "input": ASK, "stream": True})
    *before, last = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert (last["type"], last["sequence_number"]) == ("error", len(before))
    assert (last["message"], last["code"], last["param"]) == ("It broke off.", "llm_interrupted", None)
    assert last["error"]["type"] == "upstream_error"


def test_the_model_id_names_the_voice_and_instructions_go_with_messages(pearl: Any, ann: Any) -> None:
    pearl.voice("ann", "email", instructions="Sign as Otti.", template="message")
    turns = [
        {"role": "developer", "content": "No bells."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text} for text in ("a ", "b")]},
    ]
    body = {"model": "email", "instructions": "Be brief.", "input": turns}
    assert ann.post("/v1/responses", body).status_code == 200
    assert "Sign as Otti.\\nBe brief.\\nNo bells." in str(pearl.model.calls)
    (draft,) = pearl.rows("drafts")
    assert (draft.voice, draft.request) == ("email", "a b")


def test_decoding_is_passed_on_and_given_back(pearl: Any, ann: Any) -> None:
    body = {"model": "pearl", "input": ASK, "temperature": 0.7, "top_p": 0.9, "max_output_tokens": 50}
    answers = [ann.post("/v1/responses", sent).json() for sent in (body, {"model": "pearl", "input": ASK})]
    given = [(sent.temperature, sent.top_p, sent.max_tokens) for _, sent in pearl.model.calls]
    assert given == [(0.7, 0.9, 50), (0.0, 1.0, 512)]
    told = [(answer["temperature"], answer["top_p"], answer["max_output_tokens"]) for answer in answers]
    assert told == [(0.7, 0.9, 50), (0.0, 1.0, None)]


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_cut_off_is_incomplete(pearl: Any, ann: Any, cut_off_model: Any, stream: bool) -> None:
    pearl.services.drafter.model = cut_off_model(["<document>\nYes, sw"])
    answer = ann.post("/v1/responses", {"model": "pearl", "input": ASK, "max_output_tokens": 9, "stream": stream})
    if stream:
        *_, name, last = [line for line in answer.text.splitlines() if line]
        assert name == "event: response.incomplete"
        whole = json.loads(last[6:])["response"]
    else:
        whole = answer.json()
    assert (whole["status"], whole["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert (whole["output"][0]["status"], whole["output"][0]["content"][0]["text"]) == ("incomplete", "Yes, sw")
    (note,) = [note for note in whole["pearl"]["retrieval"]["notes"] if note["code"] == "cut_off"]
    assert "or max_output_tokens where" in note["message"]


def test_too_few_tokens_for_any_text_are_the_requests_fault(pearl: Any, ann: Any, cut_off_model: Any) -> None:
    pearl.services.drafter.model = cut_off_model(["<docum"])
    error = ann.post("/v1/responses", {"model": "pearl", "input": ASK, "max_output_tokens": 2}).json()["error"]
    assert (error["param"], error["code"]) == ("max_output_tokens", "max_tokens_too_small")
    assert "raise max_output_tokens" in error["message"]


def test_questions_are_the_text_where_there_is_none(pearl: Any, ann: Any, fixed_retriever: Any) -> None:
    pearl.add("ann", "Text.")
    pearl.retrieve_with(fixed_retriever({}, Calibration(threshold=3.0, ask_below=2.0)))
    for stream in (False, True):
        pearl.model.replies.append("- Which day?")
        answer = ann.post("/v1/responses", {"model": "pearl", "input": ASK, "stream": stream})
        assert "- Which day?" in answer.text
        assert ('"delta":"- Which day?"' in answer.text) == stream


def test_a_clients_own_task_goes_to_the_model_without_the_history(pearl: Any, ann: Any) -> None:
    pearl.model.replies.append("Rota")
    task = "Write a title for this conversation, only 3 words, as JSON.\n<chat_history>\nUSER: hi\n</chat_history>"
    answer = ann.post("/v1/responses", {"model": "pearl", "input": task}).json()
    assert (answer["pearl"]["stage"], answer["output"][0]["content"][0]["text"]) == ("passed_on", "Rota")
    assert pearl.rows("drafts") == []


@pytest.mark.parametrize(
    "fields",
    [
        {"store": False, "tools": [], "include": ["reasoning.encrypted_content"], "user": "someone", "metadata": {}},
        {"text": {"format": {"type": "text"}}, "tool_choice": "auto", "top_logprobs": 0, "background": False},
        dict.fromkeys(("stream", "instructions", "temperature", "top_p", "max_output_tokens", "text", "store")),
        dict.fromkeys(("previous_response_id", "conversation", "background", "tools", "prompt", "include")),
    ],
)
def test_fields_that_do_not_matter_are_passed_over(ann: Any, fields: Any) -> None:
    answer = ann.post("/v1/responses", {"model": "pearl", "input": ASK, **fields})
    assert answer.status_code == 200
    assert answer.headers.get("x-pearl-ignored") in (None, "tool_choice")


def test_what_is_passed_over_is_said(ann: Any) -> None:
    body = {"model": "gpt-4o", "input": ASK, "reasoning": {"effort": "low"}, "text": {"verbosity": "low"}}
    for stream in (False, True):
        answer = ann.post("/v1/responses", {**body, "stream": stream})
        assert (answer.headers["x-pearl-ignored"], answer.headers["x-pearl-model"]) == ("reasoning, verbosity", "pearl")


def test_tools_are_treated_alike_on_both_routes(served: Any, client: openai.OpenAI) -> None:
    raw = client.responses.with_raw_response
    function: Any = {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}
    answer = raw.create(model="pearl", input=ASK, tools=[function, {"type": "local_shell"}], parallel_tool_calls=True)
    assert answer.headers["x-pearl-ignored"] == "tools, parallel_tool_calls"
    assert (answer.parse().output_text, answer.parse().tools) == ("A fake reply.", [])
    chat: Any = client.chat.completions.with_raw_response
    turns: Any = [{"role": "user", "content": ASK}]
    answer = chat.create(model="pearl", messages=turns, tools=[{"type": "function", "function": {"name": "f"}}])
    assert answer.headers["x-pearl-ignored"] == "tools"
    assert answer.parse().choices[0].message.tool_calls is None
    calls = len(served.house.model.calls)
    for ask in (partial(raw.create, input=ASK), partial(chat.create, messages=turns)):
        with pytest.raises(openai.UnprocessableEntityError, match="may not have web_search: PEARL runs no") as refused:
            ask(model="pearl", tools=[{"type": "web_search"}])
        assert (refused.value.code, refused.value.param) == ("unsupported", "tools")
    assert len(served.house.model.calls) == calls


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"previous_response_id": "draft_1"}, "previous_response_id"),
        ({"conversation": {"id": "conv_1"}}, "conversation"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"background": True}, "background"),
        ({"tools": [{"type": "function", "name": "f"}, {"type": "web_search_preview"}]}, "tools"),
        ({"tools": [{"type": "mcp", "server_label": "a"}], "tool_choice": "auto"}, "tools"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"include": ["message.output_text.logprobs"]}, "include"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"text": {"format": {"type": "json_schema", "name": "a", "schema": {}}}}, "text.format"),
        ({"text": "short"}, "text"),
        ({"temperature": 3}, "temperature"),
        ({"top_p": -0.1}, "top_p"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"stream": "perhaps"}, "stream"),
        ({"model": 1.5}, "model"),
        ({"instructions": "\0"}, "instructions"),
        ({"input": ""}, "input"),
        ({"input": None}, "input"),
        ({"input": []}, "input"),
        ({"input": 5}, "input"),
        ({"input": ["write"]}, "input.0"),
        ({"input": [{"role": "assistant", "content": "a"}]}, "input"),
        ({"input": [{"role": "user", "content": "\0"}, {"role": "user", "content": "a"}]}, "input"),
        ({"input": [{"role": "tool", "content": "a"}]}, "input.0.role"),
        ({"input": [{"role": "user"}]}, "input"),
        ({"input": [{"type": "function_call_output", "call_id": "a", "output": "b"}]}, "input"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input.0"),
        ({"input": [{"type": "a\r\nb_call"}]}, "input.0"),
        ({"input": [{"type": 5, "role": "user", "content": "a"}]}, "input.0"),
        ({"input": [{"role": "user", "content": [{"type": "input_file"}]}]}, "input.0.content.0"),
        ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "input.0.content.0.text"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_cannot_be_asked(pearl: Any, ann: Any, fields: Any, param: str) -> None:
    answer = ann.post("/v1/responses", {"model": "pearl", "input": ASK, **fields})
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, param)
    assert pearl.model.calls == []


def test_an_answer_cannot_be_fetched(ann: Any) -> None:
    for path in ("/v1/responses/draft_1", "/v1/conversations"):
        assert ann.get(path).status_code == 404
