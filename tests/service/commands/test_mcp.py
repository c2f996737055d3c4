from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

PEARL = str(Path(sys.executable).with_name("pearl"))


@pytest.fixture
def ann(command: Any, own_home: Path, tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    rows = [{"id": f"d{n}", "text": text, "voice": "email"} for n, text in enumerate(("Swap with Bea.", "A wheel."))]
    history.write_text("\n".join(json.dumps({"user_id": "ann", "timestamp": 1.0, **row}) for row in rows))
    assert command("import", "jsonl", history).status == 0


def test_the_protocols_own_client(ann: None, endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # on a machine at work the process may take longer to start than the client waits before it speaks an older version
    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", 120.0)

    async def walk() -> tuple[str, list[str], str]:
        started = StdioServerParameters(
            command=PEARL, args=["mcp", "--user", "ann", "--voice", "email"], env=dict(os.environ)
        )
        async with Client(stdio_client(started)) as client:
            examples = await client.call_tool("find_examples", {"request": "swap"})
            draft = await client.call_tool("draft", {"request": "swap"})
            ids = sorted(document["id"] for document in examples.structured_content["documents"])
            return client.protocol_version, ids, draft.structured_content["text"]

    assert asyncio.run(walk()) == ("2026-07-28", ["d0", "d1"], endpoint.text)


@pytest.mark.slow
def test_a_pipe_is_answered_to_its_end(process: Any, ann: None, endpoint: Any) -> None:
    running = process("mcp", stdin=subprocess.PIPE)
    asked = '{"jsonrpc":"2.0","id":1,"method":"ping"}\nnonsense\n{"jsonrpc":"2.0","id":"b","method":"ping"}'
    out, err = running.communicate(asked, timeout=120)
    answers = {str(answer["id"]): answer for answer in map(json.loads, out.splitlines())}
    assert (running.returncode, err) == (0, "")
    assert (answers["1"]["result"], answers["b"]["result"]) == ({}, {})
    assert answers["None"]["error"]["code"] == -32700
    assert len(answers) == 3


@pytest.mark.slow
def test_at_a_terminal_it_says_what_it_waits_for_and_ctrl_c_ends_it(process: Any, ann: None, endpoint: Any) -> None:
    terminal, keyboard = os.openpty()
    running = process("mcp", stdin=keyboard)
    os.write(terminal, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert json.loads(running.stdout.readline())["result"] == {}
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    os.close(terminal)
    os.close(keyboard)
    assert (running.returncode, out) == (130, "")
    assert err == "Waiting for messages of the Model Context Protocol, which a program sends; see --help.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--user", "nobody"), "There is no user 'nobody'"),
        (("--voice", "emial"), "There is no voice 'emial'"),
        (("--llm", "nothing"), "nothing"),
    ],
)
def test_options_that_cannot_be(command: Any, ann: None, arguments: tuple[str, ...], message: str) -> None:
    result = command("mcp", *arguments)
    assert (result.status, result.out) == (2, "")
    assert message in result.err
