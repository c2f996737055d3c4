from __future__ import annotations

from typing import Any

import pytest

from service.http.api.openai_calls import is_chat_model, is_reranker

VOICES = ("email", "blog", "nova-prose", "command", "gpt-notes")


KNOWN = (
    "gpt-4o openai/gpt-4o-mini gpt4 o1 o3-mini claude-sonnet-4-5 llama3.2:3b gemini-2.5-pro command-r-plus glm-4 "
    "text-davinci-003 meta-llama/Llama-3.1-8B-Instruct deepseek-chat mistral-small-latest smollm2:135m"
)
UNCLEAR = "emial email-2 blogg default gpt mistral phil novel o o10x gpt-note nova-pros commands gpt-4o/../.. ./gpt-4o"


@pytest.mark.parametrize("name", KNOWN.split())
def test_models_that_clients_insist_on(name: str) -> None:
    assert is_chat_model(name, VOICES)


@pytest.mark.parametrize("name", UNCLEAR.split())
def test_what_may_be_a_misspelt_voice(name: str) -> None:
    assert not is_chat_model(name, VOICES)


def test_rerankers() -> None:
    for name in ("rerank-v3.5", "rerank-english-v3.0", "jina-reranker-v2-base-multilingual", "BAAI/bge-reranker-v2-m3"):
        assert is_reranker(name)
    for name in ("bm52", "gpt-4o", "./rerank", "/models/rerank", "../rerank"):
        assert not is_reranker(name)


ASK = {"messages": [{"role": "user", "content": "Tomas asks to swap"}], "stream": False}
ROUTES = {
    "/v1/chat/completions": ASK,
    "/v1/messages": ASK,
    "/v1/responses": {"input": "Tomas asks to swap"},
    "/api/chat": ASK,
    "/api/generate": {"prompt": "Tomas asks to swap", "stream": False},
}


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("model", [{}, {"model": None}, {"model": ""}], ids=["absent", "null", "empty"])
@pytest.mark.parametrize(
    ("voices", "used"), [((), None), (("email",), "email"), (("email", "blog"), None)], ids=["none", "one", "two"]
)
def test_a_call_without_a_model(
    pearl: Any, path: str, model: dict[str, Any], voices: tuple[str, ...], used: str | None
) -> None:
    for name in voices:
        pearl.voice("ann", name)
    answer = pearl.as_user("ann").post(path, {**ROUTES[path], **model})
    assert answer.status_code == 200, answer.text
    assert answer.json()["model"].removesuffix(":latest") == (used or "pearl")
    assert pearl.rows("drafts")[0].voice == used
