"""What the OpenAPI document allows is taken: its limits are walked against the validators."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import reduce
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from jsonschema import Draft202012Validator

LONG = 1_000_001
TEXTS = ["", " ", "a", " a", "a ", "a\nb", "a\0", "\u200b", "a\u200bb", "\u00a0", "a\u00a0b", "\ufeff", "\x1f", "文"]
TEXTS += ["pearl", "auto", "none", "required", "text", "any", "2026-03-01", "a" * 200, "a" * 201]
NUMBERS = [-(2**53), -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 20, 21, 100, 101, 1000, 1001, 10**12, 2**53]
OTHERS = [None, True, False, [], ["a"], [1], [None], [{}], {}, {"a": 1}, {"type": "text"}, {"type": "json_object"}]
OTHERS += [[{"type": "function"}], [{"type": "web_search"}], ["text"], ["text", "audio"], {"id": "a"}]
EDGES = [*TEXTS, *NUMBERS, *OTHERS]
REFUSED = (400, 413, 422)
# what a schema cannot say: a moment that is still to come, and a day that no month has
BEYOND = {"future_timestamp", "invalid_timestamp", "invalid_cursor", "context_length_exceeded"}
# the user's last message, of all of them, has a text
BEYOND_OF_OPENAI = BEYOND | {"empty_text"}
CHATS = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/api/chat")
CHATS += ("/api/generate",)

PART = {"type": "text", "text": "Tomas asks to swap"}
OPENAI = {"model": "pearl", "stream": False, "temperature": 0, "top_p": 1, "tools": [], "tool_choice": "auto"}
OPENAI |= {
    "top_logprobs": 0,
    "n": 1,
    "function_call": "auto",
    "web_search_options": None,
    "logprobs": False,
    "audio": None,
}
OPENAI |= {"modalities": ["text"], "response_format": {"type": "text"}}
CHAT = {"max_tokens": 9, "max_completion_tokens": 9, "stop": "a", "stream_options": {"include_usage": True}}
RESPONSES = {"instructions": "a", "max_output_tokens": 9, "text": {"format": {"type": "text"}, "verbosity": "low"}}
RESPONSES |= {"store": False, "previous_response_id": None, "conversation": None, "prompt": None, "background": False}
RESPONSES |= {"include": []}
MESSAGES = {"system": [PART], "max_tokens": 9, "stop_sequences": ["a"], "tool_choice": {"type": "auto"}, "tools": []}
MESSAGES |= {"model": "pearl", "temperature": 0, "mcp_servers": [], "output_format": {"type": "text"}, "stream": False}
OLLAMA = {"options": {"num_predict": 9, "temperature": 0, "stop": "a"}, "format": "", "tools": [], "logprobs": False}
OLLAMA |= {"model": "pearl:latest", "stream": False}
DOCUMENT = {"id": "d9", "text": "Kettle's on.", "timestamp": 1000, "request": "When?", "voice": "email", "user_id": 1}
DRAFT = {"request": "Ask Bo", "voice": "pearl", "instructions": "a", "k": 1, "revise": "never", "stream": False}
BODIES: dict[str, list[Any]] = {
    "POST /v1/chat/completions": [OPENAI | CHAT | {"messages": [{"role": "user", "content": [PART]}]}],
    "POST /v1/responses": [OPENAI | RESPONSES | {"input": [{"type": "message", "role": "user", "content": [PART]}]}],
    "POST /v1/messages": [MESSAGES | {"messages": [{"role": "user", "content": [PART]}]}],
    "POST /v1/messages/count_tokens": [MESSAGES | {"messages": [{"role": "user", "content": "a"}]}],
    "POST /api/generate": [OLLAMA | {"prompt": "a", "system": "b", "images": [], "suffix": ""}],
    "POST /api/chat": [OLLAMA | {"messages": [{"role": "user", "content": "a", "images": []}]}],
    "POST /v1/rerank": [
        {"model": "bm25", "query": "a", "documents": ["a", {"text": "b"}], "top_n": 1, "max_tokens_per_doc": 9}
    ],
    "POST /v1/documents": [DOCUMENT, {"documents": [DOCUMENT]}, [DOCUMENT]],
    "PATCH /v1/documents/{id}": [{"voice": "email"}],
    "POST /v1/drafts": [DRAFT | {"candidates": 0}],
    "POST /v1/feedback": [
        {"draft_id": "DRAFT", "outcome": outcome, "final_text": text}
        for outcome, text in (("edited", "a"), ("rejected", None))
    ],
    "PUT /v1/voices/{name}": [{"instructions": "a", "template": "free", "k": 1}],
    "POST /v1/likeness": [{"text": "a", "voice": "pearl"}],
    "PATCH /v1/profile": [{"standing": False}],
    "PUT /v1/profile/lines/{name}": [{"state": "listed", "text": None}, {"state": "corrected", "text": "a"}],
    "POST /mcp": [{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}],
}


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values of a body, its own first."""
    yield here
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, child in children:
        yield from places(child, (*here, name))


def value_at(body: Any, place: tuple[Any, ...]) -> Any:
    return reduce(lambda inside, name: inside[name], place, body)


def put(body: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    changed = copy.deepcopy(body)
    value_at(changed, place[:-1])[place[-1]] = value
    return changed


def shown(value: Any) -> str:
    return repr(value)[:40]


@pytest.mark.slow
@pytest.mark.parametrize("operation", BODIES)
def test_a_body_that_the_document_allows_is_taken(house: Any, operation: str) -> None:
    pearl = house(rewards=lambda texts: np.zeros(len(texts)))
    ann = pearl.as_user("ann")
    document = pearl.client.get("/openapi.json").json()
    method, path = operation.split(" ")
    schema = document["paths"][path][method.lower()]["requestBody"]["content"]["application/json"]["schema"]
    allows = Draft202012Validator({**schema, "components": document["components"]}).is_valid
    pearl.voice("ann", "email")
    address = path.replace("{id}", "d1").replace("{name}", "email" if "voices" in path else "semicolons")
    pearl.add("ann", "Kettle's on.")
    draft = ann.post("/v1/drafts", {"request": "Ask Bo"}).json()["id"]
    beyond = BEYOND_OF_OPENAI if path in CHATS else BEYOND
    wrong = []
    for base in BODIES[operation]:
        if "draft_id" in base:
            base["draft_id"] = draft
        assert allows(base), base
        for place in places(base):
            # a long text where a text stands: in each place it would take seconds
            for edge in (*EDGES, *(["a" * LONG] if isinstance(value_at(base, place), str) else [])):
                body = put(base, place, edge)
                if not allows(body):
                    continue
                answer = ann(method, address, body)
                if answer.status_code in REFUSED and (error := answer.json()["error"])["code"] not in beyond:
                    wrong.append((".".join(map(str, place)), shown(edge), error["message"]))
    assert wrong == [], "\n".join(map(str, wrong))


def test_a_parameter_that_the_document_allows_is_taken(pearl: Any, ann: Any) -> None:
    document = pearl.client.get("/openapi.json").json()
    pearl.add("ann", "Kettle's on.")
    wrong = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", ()):
                if method != "get" or parameter["in"] == "header":
                    continue
                allows = Draft202012Validator({**parameter["schema"], "components": document["components"]}).is_valid
                for edge in (*TEXTS, *NUMBERS):
                    if not allows(edge) or edge == "":
                        continue
                    value, name = quote(str(edge), safe=""), parameter["name"]
                    where = (
                        f"{path}?{name}={value}" if parameter["in"] == "query" else path.replace(f"{{{name}}}", value)
                    )
                    answer = ann.get(where)
                    if answer.status_code in REFUSED and answer.json()["error"]["code"] not in BEYOND:
                        wrong.append((path, name, shown(edge), answer.json()["error"]["message"]))
    assert wrong == [], "\n".join(map(str, wrong))
