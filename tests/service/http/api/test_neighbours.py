"""What clients send because OpenAI's, Cohere's, Jina's and llama.cpp's servers and the SDKs of MCP take it."""

from __future__ import annotations

from typing import Any

import pytest

CHAT, RESPONSES, MCP = "/v1/chat/completions", "/v1/responses", "/mcp"
OPENAI, RERANK = (CHAT, RESPONSES), ("/v1/rerank", "/v2/rerank")
SWAP = {"role": "user", "content": "Tomas asks to swap"}
ABSENT = Ellipsis  # a field that is not there
CALL = {"id": "c1", "type": "function", "function": {"name": "shifts", "arguments": "{}"}}
THINKING = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Dear Tomas"}]
REFUSAL = [{"type": "refusal", "refusal": "No."}]

# (routes, fields); `turns` are messages or input, as the route calls them
TAKEN: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    # roles in any order
    (OPENAI, {"turns": [SWAP, {"role": "system", "content": "Two sentences."}]}),
    (OPENAI, {"turns": [SWAP, {"role": "developer", "content": "Two sentences."}]}),
    (OPENAI, {"turns": [{"role": "assistant", "content": "Good day."}, SWAP]}),
    (OPENAI, {"turns": [{"role": "system", "content": "a"}, SWAP, {"role": "system", "content": "b"}, SWAP]}),
    (OPENAI, {"turns": [SWAP, {"role": "assistant", "content": "Dear"}]}),
    (OPENAI, {"turns": [SWAP, {"role": "assistant", "content": "Dear"}, {"role": "system", "content": "Short."}]}),
    ((CHAT,), {"turns": [SWAP, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "content": "Bea."}]}),
    ((CHAT,), {"turns": [{"role": "tool", "content": [{"type": "image_url"}]}, SWAP]}),
    ((RESPONSES,), {"turns": [SWAP, {"type": "function_call_output", "call_id": "c1", "output": "Bea."}]}),
    ((RESPONSES,), {"turns": [{"type": "mcp_list_tools", "id": "m", "tools": []}, SWAP]}),
    # null, absent or empty content
    *((OPENAI, {"turns": [SWAP, {"role": "assistant", "content": empty}, SWAP]}) for empty in (None, "", [])),
    *((OPENAI, {"turns": [{"role": role, "content": None}, SWAP]}) for role in ("system", "developer", "user")),
    *((OPENAI, {"turns": [{"role": role}, SWAP]}) for role in ("assistant", "system", "user")),
    ((CHAT,), {"turns": [{"role": "assistant", "tool_calls": []}, SWAP]}),
    ((CHAT,), {"turns": [{"role": "assistant", "content": None, "tool_calls": None, "refusal": None}, SWAP]}),
    (OPENAI, {"turns": [{"role": "system", "content": [{"type": "text", "text": None}]}, SWAP]}),
    # parts of other kinds, and of the other route
    *((OPENAI, {"turns": [{"role": "assistant", "content": parts}, SWAP]}) for parts in (THINKING, REFUSAL)),
    *(
        (OPENAI, {"turns": [{"role": "user", "content": [{"type": kind, "text": "Ask Bo"}]}]})
        for kind in ("text", "input_text", "output_text")
    ),
    (OPENAI, {"turns": [{"role": "user", "content": [{"text": "Ask Bo", "cache_control": {"type": "ephemeral"}}]}]}),
    # limits and decoding
    ((CHAT,), {"max_tokens": -1}),
    ((CHAT,), {"max_completion_tokens": -1, "n": 1}),
    ((RESPONSES,), {"max_output_tokens": -1}),
    (OPENAI, {"top_p": 0}),
    (OPENAI, {"top_p": 0, "temperature": 1}),
    (OPENAI, {"temperature": 2, "top_k": -1, "min_p": 0, "repeat_penalty": 1.1, "seed": -1}),
    # no model
    *((OPENAI, {"model": empty}) for empty in (None, "", ABSENT)),
    # empty optional fields
    (OPENAI, {"tools": [], "tool_choice": "", "metadata": {}, "user": "", "stream": None, "store": None}),
    ((CHAT,), {"stop": [], "response_format": {}, "functions": [], "function_call": "", "logit_bias": {}}),
    ((CHAT,), {"stop": "", "stream_options": {"include_usage": None}, "modalities": [], "audio": None}),
    ((RESPONSES,), {"instructions": "", "text": {}, "reasoning": {}, "include": [], "previous_response_id": ""}),
    ((RESPONSES,), {"text": {"format": {}, "verbosity": ""}, "conversation": None, "prompt": None}),
    # rerank
    *((RERANK, {"documents": ["tide", bad]}) for bad in ("", " \n", None, 5, {"title": "T"}, {"text": ""}, [])),
    *((RERANK, {"documents": ["tide", bad]}) for bad in ({"text": None}, "nul \0", {"image": "data:,"})),
    (RERANK, {"top_n": -1, "max_tokens_per_doc": -1}),
    (RERANK, {"top_n": None, "return_documents": None, "max_tokens_per_doc": None, "model": None}),
    (RERANK, {"model": "", "rank_fields": [], "max_chunks_per_doc": None, "truncation": True}),
    # arguments of tools that say nothing
    *((((MCP,)), {"voice": empty, "instructions": empty, "k": empty, "revise": empty}) for empty in (None, "")),
    ((MCP,), {"k": "3", "user": ""}),
]  # fmt: skip


def body_of(route: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The least that the route wants, with these fields."""
    turns = fields.get("turns", [SWAP])
    rest = {name: value for name, value in fields.items() if name != "turns"}
    if route == MCP:
        params = {"name": "draft", "arguments": {"request": "Ask Bo", **rest}}
        return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    if route in RERANK:
        return {"query": "mind the tide", "documents": ["tide", "kettle"], **rest}
    body = {"model": "pearl", "messages" if route == CHAT else "input": turns, **rest}
    return {name: value for name, value in body.items() if value is not ABSENT}


ROWS = [(route, fields) for routes, fields in TAKEN for route in routes]


@pytest.mark.parametrize(("route", "fields"), ROWS, ids=lambda value: str(value)[:60].replace("Ellipsis", "absent"))
def test_what_the_neighbours_take_is_taken(ann: Any, route: str, fields: dict[str, Any]) -> None:
    answer = ann.post(route, body_of(route, fields))
    assert answer.status_code == 200, answer.text
    assert "isError" not in answer.text


@pytest.mark.parametrize("route", OPENAI)
def test_instructions_behind_the_request_reach_the_model(pearl: Any, ann: Any, route: str) -> None:
    told = {"role": "system", "content": "Never thank anybody."}
    for turns in ([told, SWAP], [SWAP, told], [SWAP, {"role": "assistant", "content": None}, told]):
        assert ann.post(route, body_of(route, {"turns": turns})).status_code == 200
    (first, _), (second, _), (third, _) = pearl.model.calls
    assert "Never thank anybody." in first[-1].content
    assert first == second == third
    assert {row.request for row in pearl.rows("drafts")} == {SWAP["content"]}


@pytest.mark.parametrize("route", OPENAI)
def test_the_request_is_the_users_last_message(pearl: Any, ann: Any, route: str) -> None:
    turns = [SWAP, {"role": "assistant", "content": "Dear Tomas"}]
    answer = ann.post(route, body_of(route, {"turns": turns}))
    assert answer.headers["x-pearl-ignored"] == ("messages" if route == CHAT else "input") + ".assistant"
    assert "Dear Tomas" not in str(pearl.model.calls)
    for last in (None, "", []):
        answer = ann.post(route, body_of(route, {"turns": [SWAP, {"role": "user", "content": last}]}))
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "empty_text")


@pytest.mark.parametrize("route", OPENAI)
def test_a_picture_that_was_answered_does_not_end_the_conversation(pearl: Any, ann: Any, route: str) -> None:
    field = "messages" if route == CHAT else "input"
    picture = {"type": "image_url" if route == CHAT else "input_image", "image_url": "data:,"}
    shown = {"role": "user", "content": [{"type": "text", "text": "Write on this."}, picture]}
    answered = {"role": "assistant", "content": "A wheel."}
    answer = ann.post(route, body_of(route, {"turns": [shown, answered, SWAP]}))
    assert (answer.status_code, answer.headers["x-pearl-ignored"]) == (200, f"{field}.{picture['type']}")
    for turns in ([shown], [answered, shown], [shown, SWAP], [shown, {"role": "assistant", "content": None}, SWAP]):
        answer = ann.post(route, body_of(route, {"turns": turns}))
        place = f"{field}.{turns.index(shown)}.content.1"
        assert (answer.status_code, answer.json()["error"]["param"]) == (422, place)


@pytest.mark.parametrize("route", OPENAI)
def test_no_limit_and_no_probability_mass(pearl: Any, ann: Any, route: str) -> None:
    limit = "max_tokens" if route == CHAT else "max_output_tokens"
    ann.post(route, body_of(route, {limit: -1, "top_p": 0, "temperature": 1.5}))
    ((_, decoding),) = pearl.model.calls
    assert (decoding.max_tokens, decoding.temperature, decoding.top_p) == (512, 0.0, 1.0)
    answer = ann.post(route, body_of(route, {limit: 0}))
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, limit)
    assert answer.json()["error"]["message"] == f"'{limit}' must be at least 1, or -1 for no limit."


@pytest.mark.parametrize("route", RERANK)
def test_a_document_that_cannot_be_read_is_left_out_and_counted(ann: Any, route: str) -> None:
    documents = ["", "Mind the tide.", {"title": "T"}, 7, {"text": "A kettle.", "title": "K"}, "a\0", " "]
    body = {"query": "tide", "documents": documents, "return_documents": True, "model": "bm25"}
    answer = ann.post(route, body).json()
    assert {result["index"]: result["document"] for result in answer["results"]} == {
        1: {"text": "Mind the tide."},
        4: {"text": "A kettle.", "title": "K"},
    }
    assert answer["meta"]["left_out"] == {"empty_text": 2, "wrong_type": 2, "nul_character": 1}
    assert answer["usage"] == {"total_tokens": 1 + 3 + 2}
