"""Drafts as an MCP app (SEP-1865): for the SDK's client, and shown by a host of our own in a real browser."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.extension import advertise
from mcp.client.streamable_http import streamable_http_client
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID

from service.mcp.tools import APP
from tests.browser import CHROMIUM, browser

UI = {"extensions": {EXTENSION_ID: {"mimeTypes": [APP_MIME_TYPE]}}}
OTHERS: list[Any] = [
    {},
    {"extensions": {}},
    {"extensions": {EXTENSION_ID: {"mimeTypes": ["text/plain"]}}},
    {"extensions": {EXTENSION_ID: {}}},
    {"extensions": [1]},
]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_client_finds_the_app_and_reads_it(listen: Any, mode: Any) -> None:
    served = listen()
    headers = {"Authorization": f"Bearer {served.house.key('ann')}"}

    async def walk() -> None:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(
                streamable_http_client(f"{served.address}/mcp", http_client=http),
                mode=mode,
                extensions=[advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})],
            ) as client,
        ):
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools["draft"].meta == {"ui": {"resourceUri": APP.uri}}
            assert tools["feedback"].meta is None
            assert [str(each.uri) for each in (await client.list_resources()).resources] == [APP.uri]
            assert (await client.list_resource_templates()).resource_templates == []
            (content,) = (await client.read_resource(APP.uri)).contents
            assert (content.mime_type, content.text) == (APP_MIME_TYPE, APP.html)  # type: ignore[union-attr]
            with pytest.raises(Exception, match="no such resource"):
                await client.read_resource("ui://pearl/other.html")
            result = await client.call_tool("draft", {"request": "swap"})
            assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]

    asyncio.run(walk())


def asked(pearl: Any, method: str, **params: Any) -> Any:
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method} if "_meta" in params else {}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return pearl.as_user("ann").post("/mcp", body, headers=headers).json()["result"]


def of_client(capabilities: Any) -> Any:
    named = {"protocolVersion": "2026-07-28", "clientCapabilities": capabilities}
    return {f"io.modelcontextprotocol/{name}": value for name, value in named.items()}


def test_a_client_that_shows_no_apps_hears_of_none(pearl: Any) -> None:
    for capabilities, more in (*((each, {}) for each in OTHERS), (UI, {"extensions": {EXTENSION_ID: {}}})):
        found = asked(pearl, "server/discover", _meta=of_client(capabilities))
        met = asked(pearl, "initialize", protocolVersion="2025-11-25", capabilities=capabilities)
        assert found["capabilities"] == met["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}, **more}
        listed = asked(pearl, "tools/list", _meta=of_client(capabilities))["tools"]
        assert [tool["name"] for tool in listed if "_meta" in tool] == (["draft"] if more else [])


def test_what_is_declared_is_answered(pearl: Any) -> None:
    for part in asked(pearl, "initialize", protocolVersion="2025-11-25", capabilities={})["capabilities"]:
        assert asked(pearl, f"{part}/list")[part], part
    [prompt] = asked(pearl, "prompts/list")["prompts"]
    assert [(each["name"], each["required"]) for each in prompt["arguments"]] == [("request", True), ("voice", False)]
    got = asked(pearl, "prompts/get", name="draft", arguments={"request": "Ask {Nan}", "voice": "email"})
    [message] = got["messages"]
    assert message["role"] == "user"
    assert "in the voice 'email'" in message["content"]["text"]
    assert message["content"]["text"].endswith("<request>\nAsk {Nan}\n</request>")
    for params in ({"name": "x"}, {"name": "draft"}, {"name": "draft", "arguments": ["a"]}):
        body = {"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": params}
        assert pearl.as_user("ann").post("/mcp", body).json()["error"]["code"] == -32602


def test_the_page_needs_nothing_from_elsewhere() -> None:
    assert "http" not in APP.html.replace("http-equiv", "")
    assert "innerHTML" not in APP.html
    assert len(APP.html) < 10_000


HOSTILE = "<img src=x onerror='parent.stolen = 1'> שלום"
DRAFT = {
    "id": "draft_1",
    "text": "😀 Meet in Skellmouth at 7:45. " + HOSTILE,
    "questions": [],
    "claims": [
        {"kind": "carried_over", "text": "Skellmouth", "start": 10, "end": 20, "from": "mail-1"},
        {"kind": "dropped", "text": HOSTILE, "start": None, "end": None, "from": None},
    ],
    "retrieval": {"documents": [{"id": HOSTILE, "score": 1.5, "excerpt": HOSTILE}]},
    "variants": None,
}
# what SEP-1865 says that a host does, its policy included
HOST = """<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none';
script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'none'">
<iframe id="app" sandbox="allow-scripts allow-same-origin"></iframe>
<script>
window.got = []; window.stolen = 0;
const app = document.getElementById("app");
const send = (message) => app.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
window.addEventListener("message", ({ data }) => {
  got.push(data);
  if (data.method === "ui/initialize") send({ id: data.id, result: { protocolVersion: "2026-01-26", hostInfo: {},
    hostCapabilities: { serverTools: {} }, hostContext: { theme: "dark" } } });
  else if (data.method === "ui/notifications/initialized") {
    send({ method: "ui/notifications/tool-input", params: { arguments: {} } });
    send({ method: "ui/notifications/tool-result", params: { content: [], structuredContent: DRAFT } });
  } else if (data.method === "ui/notifications/size-changed") app.style.height = data.params.height + "px";
  else if (data.id !== undefined) send({ id: data.id, result: { content: [] } });
});
app.srcdoc = PAGE;
</script>"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_host_shows_the_draft_and_takes_the_persons_verdict(tmp_path: Any) -> None:
    def literal(value: Any) -> str:
        return json.dumps(value).replace("<", "\\u003c")

    file = tmp_path / "host.html"
    file.write_text(HOST.replace("DRAFT", literal(DRAFT)).replace("PAGE", literal(APP.html)), encoding="utf-8")
    with browser() as tab:
        tab.open(file.as_uri())
        tab.until("got.some((each) => each.method === 'ui/notifications/initialized')")
        seen = inside(tab, "document.querySelector('#text').textContent")
        assert seen == DRAFT["text"]
        assert inside(tab, "document.querySelector('mark').textContent") == "Skellmouth"
        assert HOSTILE in inside(tab, "document.querySelector('#claims').textContent")
        assert HOSTILE in inside(tab, "document.querySelector('#evidence').textContent")
        assert inside(tab, "document.querySelectorAll('img').length") == 0
        assert tab.run("stolen") == 0
        inside(tab, "document.querySelector('#edit').click()")
        inside(tab, "document.querySelector('#editor').value = 'Mine.'")
        inside(tab, "document.querySelector('#accept').click()")
        called = tab.until("got.find((each) => each.method === 'tools/call')")
        told = {"draft_id": "draft_1", "outcome": "edited", "final_text": "Mine."}
        assert called["params"] == {"name": "feedback", "arguments": told}
        tab.until("got.some((each) => each.method === 'ui/update-model-context')")
        assert inside(tab, "document.querySelector('#status').textContent") == "Accepted, as edited."
        assert tab.until("got.find((each) => each.method === 'ui/notifications/size-changed')")["params"]["height"] > 0
        assert [error for error in tab.errors if "can escape its sandboxing" not in error] == []  # of our host's frame


def inside(tab: Any, script: str) -> Any:
    """Run a script in the app's frame."""
    frame = tab.call("Page.getFrameTree")["frameTree"]["childFrames"][0]["frame"]["id"]
    world = tab.call("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
    answer = tab.call("Runtime.evaluate", expression=script, contextId=world, returnByValue=True)
    return answer["result"].get("value")
