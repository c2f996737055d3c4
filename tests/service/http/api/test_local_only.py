"""Texts of a voice that is local only are in no message to a model elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from pearl.models.chat.choose import writes_here
from pearl.records import Document
from pearl.settings import load_settings
from service.store import profiles
from service.store.profiles import LineChoice, StoredProfile
from tests.fake_chat import FakeChatModel

SECRET = "The doctor says the kettle is to blame for my heart."
OPEN = "The kettle in the shop is on."
ELSEWHERE = {"llm": "openai", "llm_base_url": "https://api.example.org/v1", "llm_model": "m"}
ASK = "Write about the kettle"
CHAT = {"messages": [{"role": "user", "content": ASK}]}
TASK = {
    "messages": [
        {"role": "user", "content": ASK},
        {"role": "assistant", "content": SECRET},
        {"role": "user", "content": "Generate a concise title for this chat. Answer with only the title, no quotes."},
    ]
}


def tool(name: str, **arguments: Any) -> tuple[str, Any]:
    arguments = {"request": ASK, **arguments}
    return "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def filled(at: Any, **options: Any) -> Any:
    at.voice("ann", "diary", local_only=True)
    at.voice("ann", "shop")
    at.add("ann", Document("d1", SECRET, 1000.0, voice="diary"), Document("d2", OPEN, 1001.0, voice="shop"))
    return at.as_user("ann")


def sent(model: FakeChatModel) -> str:
    return "\n".join(message.content for messages, _ in model.calls for message in messages)


REFUSED = {
    "draft": ("/v1/drafts", {"request": ASK, "voice": "diary"}),
    "stream": ("/v1/drafts", {"request": ASK, "voice": "diary", "stream": True}),
    "variants": ("/v1/drafts", {"request": ASK, "voice": "diary", "variants": 2, "revise": "always"}),
    "completions": ("/v1/chat/completions", {**CHAT, "model": "diary"}),
    "own task": ("/v1/chat/completions", {**TASK, "model": "diary"}),
    "responses": ("/v1/responses", {"input": ASK, "model": "diary"}),
    "messages": ("/v1/messages", {**CHAT, "model": "diary", "max_tokens": 100}),
    "ollama": ("/api/chat", {**CHAT, "model": "diary"}),
}


@pytest.mark.parametrize("route", REFUSED)
def test_a_draft_in_the_voice_is_refused_before_anything_is_sent(house, route):
    at = house(**ELSEWHERE)
    ann = filled(at)
    answer = ann.post(*REFUSED[route])
    assert answer.status_code == 403
    assert "voice_is_local_only" in answer.text
    assert "The voice 'diary' is local only, and 'fake' runs elsewhere." in answer.text
    assert at.model.calls == []


@pytest.mark.parametrize(
    "body", [{}, {"voice": "pearl"}, {"k": 5}, {"variants": 2}, {"revise": "always"}, {"voice": "shop"}], ids=str
)
def test_the_whole_history_is_shown_without_it(house, body):
    at = house(FakeChatModel(["One.", "Two."]), **ELSEWHERE)
    ann = filled(at)
    draft = ann.post("/v1/drafts", {"request": ASK, **body}).json()
    assert "heart" not in sent(at.model)
    assert OPEN in sent(at.model)
    assert [document["id"] for document in draft["retrieval"]["documents"]] == ["d2"]
    notes = [note["message"] for note in draft["retrieval"]["notes"] if note["code"] == "local_only"]
    assert notes == ([] if body == {"voice": "shop"} else ["Left out 1 document of voices that are local only."])


def test_standing_lines_of_the_whole_history_stay_here(house):
    at = house(**ELSEWHERE)
    ann = filled(at)
    user, choice = at.user("ann").id, LineChoice("corrected", "Blame the heart.")
    with at.database.write() as connection:
        profiles.put(connection, user, StoredProfile(None, True, {"greeting": choice}, None, choice.text or ""))
    ann.post("/v1/drafts", {"request": ASK})
    assert "heart" not in sent(at.model)
    ann.put("/v1/voices/diary", {"local_only": False})
    ann.post("/v1/drafts", {"request": ASK})
    assert "Blame the heart." in sent(at.model)


@pytest.mark.parametrize("options", [{}, {**ELSEWHERE, "llm_base_url": "http://127.0.0.1:9/v1"}], ids=["none", "here"])
def test_a_model_on_this_machine_is_shown_everything(house, options):
    at = house(**options)
    ann = filled(at)
    assert ann.post("/v1/drafts", {"request": ASK, "voice": "diary"}).status_code == 200
    assert SECRET in sent(at.model)
    assert {each["id"] for each in ann.post("/v1/drafts", {"request": ASK}).json()["retrieval"]["documents"]} == {
        "d1",
        "d2",
    }
    assert ann.post("/v1/chat/completions", {**TASK, "model": "diary"}).status_code == 200


@pytest.mark.parametrize("name", ["find_examples", "draft"])
def test_tools_show_a_calling_model_nothing_of_it(house, name):
    at = house()  # the model here may read it, the one that calls may not
    ann = filled(at)
    refused = ann.post(*tool(name, voice="diary")).json()["result"]
    assert refused["isError"]
    assert refused["structuredContent"]["error"]["code"] == "voice_is_local_only"
    whole = ann.post(*tool(name))
    assert not whole.json()["result"].get("isError")
    assert "heart" not in whole.text + sent(at.model)
    checked = ann.post(*tool("check", text="The kettle is on. " * 20, voice="diary")).json()["result"]
    assert not checked.get("isError")


def test_its_documents_keep_it_until_they_are_gone(house):
    at = house(**ELSEWHERE)
    ann = filled(at)
    assert [voice["local_only"] for voice in ann.get("/v1/voices").json()["data"]] == [True, False]
    refused = ann.delete("/v1/voices/diary")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "voice_is_local_only")
    assert ann.get("/v1/voices/diary").json()["local_only"]
    assert ann.put("/v1/voices/diary", {"k": 2}).json()["local_only"]
    assert ann.delete("/v1/documents?voice=diary").status_code in (200, 202, 204)
    assert ann.delete("/v1/voices/diary").status_code in (202, 204)


@pytest.mark.parametrize("value", [None, "here", 2, [], {}])
def test_a_value_that_it_cannot_have(house, value):
    at = house()
    refused = at.as_user("ann").put("/v1/voices/diary", {"local_only": value})
    assert refused.status_code == 422
    assert refused.json()["error"]["param"] == "local_only"


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("http://localhost:8080/v1", True),
        ("http://LOCALHOST/v1", True),
        ("http://127.0.0.1:8080/v1", True),
        ("http://127.9.9.9/v1", True),
        ("http://[::1]:8080/v1", True),
        ("http://[::ffff:127.0.0.1]/v1", True),
        ("https://user:word@localhost/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://localhost.example.org/v1", False),
        ("http://127.0.0.1.example.org/v1", False),
        ("http://localhost@example.org/v1", False),
        ("http://192.168.1.5:11434/v1", False),
        ("http://10.0.0.1/v1", False),
        ("http://0.0.0.0:80/v1", False),
        ("http://[::ffff:8.8.8.8]/v1", False),
        ("http://host.docker.internal/v1", False),
        (None, False),
    ],
)
def test_endpoints_on_this_machine(monkeypatch, address, here):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    settings = load_settings(llm="openai", llm_model="m", llm_base_url=address)
    assert writes_here(settings) is here
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("all_proxy", "http://proxy.example.org:3128")
    assert not writes_here(settings)
    monkeypatch.setenv("no_proxy", "localhost,127.0.0.1,127.9.9.9,::1,::ffff:127.0.0.1")
    assert writes_here(settings) is here


def test_models_on_this_machine():
    assert writes_here(load_settings(llm="embedded", llm_base_url="https://api.example.org/v1"))
