from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from service.http.mcp.route import McpOut

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture
def ann(pearl: Any) -> Any:
    return pearl.as_user("ann")


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_protocols_own_client(listen: Any, mode: Any, version: str) -> None:
    served = listen()
    served.house.add("ann", "Kettle's on. Swap with Bea.")
    headers = {"Authorization": f"Bearer {served.house.service_key('ann')}", "X-Pearl-User": "ann"}

    async def walk() -> None:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(f"{served.address}/mcp", http_client=http), mode=mode) as client,
        ):
            assert client.protocol_version == version
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == ["find_examples", "draft", "check", "feedback"]
            examples = await client.call_tool("find_examples", {"request": "swap"})
            assert [document["id"] for document in examples.structured_content["documents"]] == ["d1"]
            draft = await client.call_tool("draft", {"request": "swap"})
            assert draft.structured_content["text"] == "A fake reply."
            told = {"draft_id": draft.structured_content["id"], "outcome": "accepted"}
            assert not (await client.call_tool("feedback", told)).is_error
            refused = await client.call_tool("check", {"text": ""})
            assert refused.is_error
            assert "'text' is empty" in refused.content[0].text
            with pytest.raises(MCPError, match="there are find_examples, draft"):
                await client.call_tool("nothing", {})

    asyncio.run(walk())
    assert len(served.house.rows("feedback")) == 1


@pytest.mark.parametrize(
    ("origin", "host", "on_loopback", "status"),
    [
        (None, "127.0.0.1:8000", True, 200),  # no browser
        ("http://127.0.0.1:8000", "127.0.0.1:8000", True, 200),
        ("http://localhost:6274", "127.0.0.1:8000", True, 200),  # an inspector on this machine
        ("https://pearl.example", "pearl.example", True, 200),  # behind a proxy with TLS
        ("http://pearl.example:8000", "pearl.example:8000", False, 200),
        ("https://listed.example", "127.0.0.1:8000", True, 200),
        ("https://evil.example", "127.0.0.1:8000", True, 403),
        ("http://evil.example:8000", "evil.example:8000", True, 403),  # a name that leads here
        ("http://pearl.example:9000", "pearl.example:8000", False, 403),
        ("http://localhost.evil.example", "127.0.0.1:8000", True, 403),
        ("null", "127.0.0.1:8000", True, 403),
    ],
)
def test_pages_of_other_origins_are_refused(
    house: Any, origin: str | None, host: str, on_loopback: bool, status: int
) -> None:
    pearl = house(cors_origins="https://listed.example")
    pearl.app.state.on_loopback = on_loopback
    headers = {"Host": host} | ({"Origin": origin} if origin else {})
    answer = pearl.as_user("ann").post("/mcp", PING, headers=headers)
    assert answer.status_code == status, answer.text
    if status == 403:
        assert answer.json()["error"]["code"] == "origin_not_allowed"


def test_a_notification_is_taken(ann: Any) -> None:
    answer = ann.post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status_code, answer.content) == (202, b"")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_are_no_streams_and_no_sessions(ann: Any, method: str) -> None:
    answer = ann(method, "/mcp")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["error"]["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ([PING], None, "Send one message at a time: the protocol has no batches."),
        ([], None, "Send one message at a time: the protocol has no batches."),
        ("ping", None, "The body: Input should be a JSON object."),
        ({**PING, "id": None}, None, "'id' must be a whole number or a text; leave it out in a notification."),
        ({**PING, "id": True}, None, "'id' must be a whole number or a text; leave it out in a notification."),
        ({**PING, "jsonrpc": "1.0"}, "jsonrpc", "'jsonrpc': Input should be '2.0'."),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, "method", "'method': Field required."),
        ({**PING, "params": [1]}, "params", "'params': Input should be a valid dictionary."),
    ],
    ids=str,
)
def test_what_is_no_message(ann: Any, body: Any, param: str | None, message: str) -> None:
    answer = ann.post("/mcp", body)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["message"]) == (422, param, message)


def test_the_status_of_an_error_of_the_protocol(ann: Any) -> None:
    answer = ann.post("/mcp", PING, headers={"MCP-Protocol-Version": "2030-01-01"})
    for described in (answer, ann.post("/mcp", PING)):
        McpOut.model_validate(described.json(), extra="forbid")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32022)
    assert ann.post("/mcp", {**PING, "method": "logging/setLevel"}).json()["error"]["code"] == -32601
