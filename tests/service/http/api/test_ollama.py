"""`/api/chat`, `/api/generate` and what goes with it, with Ollama's own client against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pearl.errors import ChatInterrupted

ASK = [{"role": "user", "content": "Tomas asks to swap"}]
WHOLE = {"model": "pearl:latest", "messages": ASK, "stream": False}


@pytest.fixture
def llama(served: Any) -> Iterator[Any]:
    """Ollama's client with ann's key."""
    ollama = pytest.importorskip("ollama")
    headers = {"Authorization": f"Bearer {served.house.key('ann')}"}
    with ollama.Client(host=served.address, headers=headers) as made:
        yield made


def test_ollamas_client(served: Any, llama: Any) -> None:
    served.house.voice("ann", "email", instructions="Sign as Otti.")
    served.house.add("ann", "Kettle's on.")
    assert [each.model for each in llama.list().models] == ["pearl:latest", "email:latest"]
    shown = llama.show("email")
    assert (shown.capabilities, shown.modelinfo["pearl.context_length"]) == (["completion"], 2000)
    served.house.model.replies.append("<document>\nYes, swap away.\n</document>")
    asked = [{"role": "system", "content": "Be brief.\nlength: shorter"}, *ASK]
    answer = llama.chat("email", asked, options={"num_predict": 50, "temperature": 0.5, "seed": 1})
    assert (answer.message.content, answer.done, answer.done_reason) == ("Yes, swap away.", True, "stop")
    assert (answer.model, answer.eval_count > 0, answer.eval_duration > 0) == ("email", True, True)
    ((messages, decoding),) = served.house.model.calls
    assert "Sign as Otti." in str(messages)
    assert "Be brief." in str(messages)
    assert "length: shorter" not in str(messages)
    assert (decoding.max_tokens, decoding.temperature) == (50, 0.5)
    assert served.house.rows("drafts")[0].voice == "email"


def test_ollamas_client_streams(served: Any, llama: Any) -> None:
    served.house.model.replies.append("<document>\nYes,\u2028swap away.\n</document>")
    parts = list(llama.chat("pearl:latest", ASK, stream=True))
    assert "".join(part.message.content for part in parts) == "Yes,\u2028swap away."
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    assert parts[-1].done_reason == "stop"
    assert len(parts) > 2


def test_a_stream_that_breaks_off_is_an_error_of_the_client(served: Any, llama: Any) -> None:
    ollama = pytest.importorskip("ollama")
    served.house.model.replies.append(("Some ", "words", ChatInterrupted("It broke off.")))
    with pytest.raises(ollama.ResponseError, match=r"It broke off\."):
        list(llama.chat("pearl", ASK, stream=True))
    with pytest.raises(ollama.ResponseError, match="There is no model 'emial'"):
        llama.chat("emial", ASK)
    with pytest.raises(ollama.ResponseError, match="Images cannot be read"):
        llama.chat("pearl", [{**ASK[0], "images": [b"\x89PNG"]}])


def test_lines_are_the_default_and_say_what_was_found(pearl: Any, ann: Any) -> None:
    pearl.add("ann", "Swap with Bea.")
    answer = ann.post("/api/chat", {"model": "pearl", "messages": ASK})
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert "".join(line["message"]["content"] for line in lines) == "A fake reply."
    said = lines[-1]["pearl"]
    assert said["id"] == pearl.rows("drafts")[0].id
    assert [each["id"] for each in said["retrieval"]["documents"]] == ["d1"]
    assert ann.get("/api/version").json()["version"].count(".") == 2


def test_the_older_api(served: Any, llama: Any) -> None:
    served.house.add("ann", "Kettle's on.")
    served.house.model.replies += ["<document>\nYes, swap away.\n</document>"] * 2
    answer = llama.generate("pearl", "Tomas asks to swap", system="Be brief.", options={"num_predict": 50}, raw=True)
    assert (answer.response, answer.done, answer.done_reason) == ("Yes, swap away.", True, "stop")
    assert (answer.model, answer.eval_count > 0) == ("pearl", True)
    ((messages, decoding),) = served.house.model.calls
    assert "Be brief." in str(messages)
    assert decoding.max_tokens == 50
    parts = list(llama.generate("pearl:latest", "Tomas asks to swap", stream=True))
    assert "".join(part.response for part in parts) == "Yes, swap away."
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    assert len(served.house.rows("drafts")) == 2
    served.house.model.replies.append(("Some ", "words", ChatInterrupted("It broke off.")))
    ollama = pytest.importorskip("ollama")
    with pytest.raises(ollama.ResponseError, match=r"It broke off\."):
        list(llama.generate("pearl", "Tomas asks to swap", stream=True))
    with pytest.raises(ollama.ResponseError, match="Images cannot be read"):
        llama.generate("pearl", "What is on it?", images=[b"\x89PNG"])


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [("chat", {"messages": []}, {"message": {"role": "assistant", "content": ""}}), ("generate", {}, {"response": ""})],
)
def test_loading_a_model_writes_nothing(pearl: Any, ann: Any, path: str, body: Any, said: Any) -> None:
    answer = ann.post(f"/api/{path}", {"model": "pearl", **body}).json()
    assert (answer["done"], answer["done_reason"]) == (True, "load")
    assert said.items() <= answer.items()
    pearl.voice("ann", "email")
    assert ann.post(f"/api/{path}", body).json()["model"] == "email:latest"
    assert ann.post(f"/api/{path}", {"model": "emial", **body}).status_code == 404
    assert pearl.model.calls == []


@pytest.mark.parametrize(
    ("fields", "param", "says"),
    [
        ({"images": ["aaaa"]}, "images", "Images cannot be read"),
        ({"prompt": "", "images": ["aaaa"]}, "images", "Images cannot be read"),
        ({"suffix": "Best, Ann"}, "suffix", "whole text"),
        ({"format": "json"}, "format", "must be text"),
        ({"prompt": " "}, "prompt", "is empty"),
        ({"prompt": ["Write"]}, "prompt", "valid string"),
        ({"options": {"temperature": 9}}, "options.temperature", "less than or equal to 2"),
    ],
)
def test_what_the_older_api_refuses(pearl: Any, ann: Any, fields: Any, param: str, says: str) -> None:
    answer = ann.post("/api/generate", {"prompt": "Write", "context": [1, 2], **fields})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (422, param)
    assert says in error["message"]
    assert pearl.model.calls == []


def test_the_older_api_names_what_it_passes_over(ann: Any) -> None:
    body = {"prompt": "Write", "context": [1, 2], "template": "{{ .Prompt }}", "raw": True, "stream": False}
    assert ann.post("/api/generate", body).headers["x-pearl-ignored"] == "template, context, raw"


def test_pictures_and_tools_of_what_was_answered_are_passed_over(pearl: Any, ann: Any) -> None:
    messages = [
        {**ASK[0], "images": ["aaaa"]},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "rota", "arguments": {}}}]},
        {"role": "tool", "content": "Bea is free.", "tool_name": "rota"},
        {"role": "assistant", "content": "Bea could."},
        {"role": "user", "content": "Then write."},
    ]
    answer = ann.post("/api/chat", {**WHOLE, "messages": messages, "think": True, "options": {"seed": 3, "stop": "x"}})
    assert answer.status_code == 200
    assert answer.headers["x-pearl-ignored"] == "seed, think, messages.tool_calls, messages.images"
    assert "Bea is free." not in str(pearl.model.calls)


@pytest.mark.parametrize(
    ("fields", "param", "says"),
    [
        ({"messages": [{**ASK[0], "images": ["aaaa"]}]}, "messages.0.images", "Images cannot be read"),
        ({"format": "json"}, "format", "must be text"),
        ({"format": {"type": "object"}}, "format", "must be text"),
        ({"logprobs": True}, "logprobs", "plain text"),
        ({"messages": [{"role": "system", "content": "Be brief."}]}, "messages", "no message of the user"),
        ({"options": {"num_predict": 0}}, "options.num_predict", "at least 1"),
        ({"options": {"temperature": 9}}, "options.temperature", "less than or equal to 2"),
    ],
)
def test_what_is_refused(pearl: Any, ann: Any, fields: Any, param: str, says: str) -> None:
    answer = ann.post("/api/chat", {**WHOLE, **fields})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (422, param)
    assert says in error["message"]
    assert pearl.model.calls == []
