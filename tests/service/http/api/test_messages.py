"""`POST /v1/messages`, with Anthropic's own client against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pearl.errors import ChatInterrupted, ChatRateLimited
from retriever.base import Calibration

ASK = [{"role": "user", "content": "Tomas asks to swap"}]
WHOLE = {"model": "pearl", "max_tokens": 400, "messages": ASK}


@pytest.fixture(scope="module")
def anthropic() -> Any:
    """The package: it takes seconds to load, and each process that runs tests looks at every file."""
    return pytest.importorskip("anthropic")


@pytest.fixture
def claude(anthropic: Any, served: Any) -> Iterator[Any]:
    """Anthropic's client with ann's key."""
    with anthropic.Anthropic(
        base_url=served.address, api_key=served.house.key("ann"), max_retries=0, timeout=60
    ) as made:
        yield made


def test_anthropics_client(served: Any, claude: Any) -> None:
    served.house.model.replies.append("<document>\nYes, swap away.\n</document>")
    sampling = {"temperature": 0.5, "top_p": 0.9}  # this client no longer has these arguments
    answer = claude.messages.create(**WHOLE, system="Be brief.\nintent: decline", extra_body=sampling)
    assert [(block.type, block.text) for block in answer.content] == [("text", "Yes, swap away.")]
    assert (answer.type, answer.role, answer.model) == ("message", "assistant", "pearl")
    assert (answer.stop_reason, answer.stop_sequence) == ("end_turn", None)
    assert answer.usage.input_tokens > 0 < answer.usage.output_tokens
    assert answer.id == served.house.rows("drafts")[0].id
    assert {each["id"] for each in answer.model_extra["pearl"]["retrieval"]["documents"]} == {"d1", "d2"}
    ((asked, decoding),) = served.house.model.calls
    assert "Be brief." in asked[-1].content
    assert "intent: decline" not in str(asked)  # read, and given as an instruction
    assert (decoding.max_tokens, decoding.temperature, decoding.top_p) == (400, 0.5, 0.9)


def test_anthropics_client_streams(served: Any, claude: Any) -> None:
    served.house.model.replies.append("<document>\nYes, swap away.\n</document>")
    events = list(claude.messages.create(**WHOLE, stream=True))
    kinds = [event.type for event in events]
    assert list(dict.fromkeys(kinds)) == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert "".join(event.delta.text for event in events if event.type == "content_block_delta") == "Yes, swap away."
    last = events[-2]
    assert (last.delta.stop_reason, last.model_extra["pearl"]["stage"]) == ("end_turn", "draft")
    assert last.usage.output_tokens > 0
    assert events[0].message.id == served.house.rows("drafts")[0].id


def test_anthropics_client_lists_the_models(served: Any, claude: Any) -> None:
    for name in ("email", "work/blog"):
        served.house.as_user("ann").put(f"/v1/voices/{name}", {}).raise_for_status()
    assert [model.id for model in claude.models.list(limit=2)] == ["pearl", "email", "work/blog"]  # two pages
    page = claude.models.list(limit=1, before_id="work/blog")
    assert ([model.id for model in page.data], page.has_more, page.first_id) == (["email"], True, "email")
    assert not claude.models.list(after_id="work/blog").data
    [blog] = claude.models.list(after_id="email").data
    assert (blog.type, blog.display_name) == ("model", "work/blog")
    assert blog == claude.models.retrieve("work/blog")
    with pytest.raises(Exception, match="'after_id' must be the id of a model"):
        claude.models.list(after_id="nothing")


def test_the_streaming_helper_and_the_beta_client(claude: Any) -> None:
    with claude.messages.stream(**WHOLE) as stream:
        assert "".join(stream.text_stream) == "A fake reply."
        final = stream.get_final_message()
    assert (final.content[0].text, final.stop_reason) == ("A fake reply.", "end_turn")
    assert claude.beta.messages.create(**WHOLE).content[0].text == "A fake reply."  # POST /v1/messages?beta=true


def test_tokens_are_counted(anthropic: Any, served: Any, claude: Any) -> None:
    one = claude.messages.count_tokens(model="pearl", messages=ASK).input_tokens
    more = claude.beta.messages.count_tokens(model="pearl", messages=ASK, system="Be brief.").input_tokens
    assert 0 < one < more
    with pytest.raises(anthropic.NotFoundError):
        claude.messages.count_tokens(model="emial", messages=ASK)
    with pytest.raises(anthropic.UnprocessableEntityError, match="contains a NUL"):
        claude.messages.count_tokens(model="pearl", messages=[{"role": "user", "content": "a\0b"}])
    assert served.house.model.calls == []


def test_the_key_as_a_token(anthropic: Any, served: Any) -> None:
    with anthropic.Anthropic(base_url=served.address, auth_token=served.house.key("ann"), timeout=60) as made:
        assert made.messages.create(**WHOLE).content[0].text == "A fake reply."


def test_blocks_tools_and_thoughts(pearl: Any, ann: Any) -> None:
    text = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    messages = [
        *ASK,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "rota", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "Bea is free."}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, {**text, "text": "Bea could."}]},
        {"role": "user", "content": [{"type": "text", "text": "Then write to Tomas."}]},
    ]
    body = {**WHOLE, "messages": messages, "system": [text, {**text, "text": "No bells."}], "top_k": 5}
    answer = ann.post("/v1/messages", body)
    assert answer.status_code == 200
    assert answer.headers["x-pearl-ignored"] == "top_k, messages.tool_use"
    asked = str(pearl.model.calls)
    assert all(said in asked for said in ("Be brief.\\nNo bells.", "Bea could.", "Then write to Tomas."))
    assert "Bea is free." not in asked
    assert "Hm." not in asked


@pytest.mark.parametrize("stream", [False, True])
def test_stop_sequences(pearl: Any, ann: Any, stream: bool) -> None:
    pearl.model.replies.append("<document>\nOne line.\nAnother.\n</document>")
    answer = ann.post("/v1/messages", {**WHOLE, "stop_sequences": ["\n"], "stream": stream})
    assert " line." in answer.text
    assert "Another" not in answer.text


def test_the_limit_and_questions(pearl: Any, ann: Any, cut_off_model: Any, fixed_retriever: Any) -> None:
    pearl.services.drafter.model = cut_off_model(["Yes, swap", "- Which day?"])
    assert ann.post("/v1/messages", WHOLE).json()["stop_reason"] == "max_tokens"
    pearl.add("ann", "Text.")
    pearl.services.drafter.model = pearl.model
    pearl.retrieve_with(fixed_retriever({}, Calibration(threshold=3.0, ask_below=2.0)))
    for stream in (False, True):
        pearl.model.replies.append("- Which day?")
        assert "- Which day?" in ann.post("/v1/messages", {**WHOLE, "stream": stream}).text


def test_the_clients_errors(anthropic: Any, served: Any, claude: Any) -> None:
    with pytest.raises(anthropic.NotFoundError) as unknown:
        claude.messages.create(**{**WHOLE, "model": "emial"})
    error = unknown.value.body["error"]
    assert (error["type"], error["code"], error["param"]) == ("not_found_error", "model_not_found", "model")
    assert set(error) == {"message", "type", "param", "code"}
    with pytest.raises(anthropic.AuthenticationError, match="make one with"):
        anthropic.Anthropic(base_url=served.address, api_key="wrong").messages.create(**WHOLE)
    served.house.model.replies.append(ChatRateLimited("Wait.", retry_after=9))
    with pytest.raises(anthropic.APIStatusError) as busy:
        claude.messages.create(**WHOLE)
    assert (busy.value.status_code, busy.value.response.headers["retry-after"]) == (503, "9")
    served.house.model.replies.append(("Some ", "words", ChatInterrupted("It broke off.")))
    with pytest.raises(anthropic.APIError, match="It broke off"):
        list(claude.messages.create(**WHOLE, stream=True))


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}}


@pytest.mark.parametrize(
    ("fields", "param", "says"),
    [
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, "messages.0.content.0", "Images cannot be read"),
        ({"messages": [{"role": "user", "content": [{"type": "document"}]}]}, "messages.0.content.0", "Files cannot"),
        ({"system": [IMAGE]}, "system.0.type", "should be 'text'"),
        ({"tool_choice": {"type": "any"}}, "tool_choice", "calls no tools"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "tools", "runs no tools"),
        ({"mcp_servers": [{"url": "https://example.org"}]}, "mcp_servers", "not supported"),
        ({"output_config": {"format": {"type": "json_schema"}}}, "output_config.format", "must be text"),
        ({"messages": []}, "messages", "at least 1"),
        ({"max_tokens": 0}, "max_tokens", "at least 1"),
        ({"stop_sequences": ["a"] * 65}, "stop_sequences", "at most 64"),
    ],
)
def test_what_is_refused(pearl: Any, ann: Any, fields: Any, param: str, says: str) -> None:
    answer = ann.post("/v1/messages", {**WHOLE, **fields})
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (422, "invalid_request_error")
    assert error["param"].startswith(param)
    assert says in error["message"]
    assert pearl.model.calls == []


CALLS = {
    "/v1/chat/completions": {"messages": ASK},
    "/v1/responses": {"input": "Tomas asks to swap"},
    "/v1/messages": {"messages": ASK},
    "/api/chat": {"messages": ASK, "stream": False},
}


@pytest.mark.parametrize("route", CALLS)
def test_a_body_without_a_model(pearl: Any, ann: Any, route: str) -> None:
    """The only voice counts; without voices, or with several, the whole history."""
    named = []
    for voice in ("pearl", "email", "blog"):
        for absent in ({}, {"model": None}, {"model": ""}):
            answer = ann.post(route, {**CALLS[route], **absent})
            assert "x-pearl-model" not in answer.headers
            named.append(answer.json()["model"].removesuffix(":latest"))
        pearl.voice("ann", voice)
    assert named == ["pearl"] * 6 + ["email"] * 3
    assert [row.voice for row in pearl.rows("drafts")] == [None] * 6 + ["email"] * 3
    assert ann.post(route, {**CALLS[route], "model": "pearl"}).json()["model"] == "pearl"
