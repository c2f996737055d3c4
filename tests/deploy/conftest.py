"""What the checks of deploy/ read: its files, parsed; and an LLM endpoint on loopback."""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from pearl.cli.commands import click_command
from service.commands import serve

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT


@pytest.fixture(scope="session")
def compose() -> dict[str, Any]:
    """deploy/compose.yaml"""
    content: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
    return content


@dataclass(frozen=True)
class Instruction:
    """One of a container file, continued lines joined."""

    name: str
    value: str

    @property
    def words(self) -> list[str]:
        """Of the exec form, which is JSON, or of the shell form."""
        words: list[str] = json.loads(self.value) if self.value.startswith("[") else shlex.split(self.value)
        return words


@pytest.fixture(scope="session")
def containerfile() -> list[Instruction]:
    """deploy/Containerfile"""
    text = re.sub(r"^#.*\n", "", (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [Instruction(*line.split(maxsplit=1)) for line in lines if line.strip()]


@pytest.fixture(scope="session")
def serve_options() -> set[str]:
    """The options that `pearl serve` knows."""
    command = click_command(serve)
    return {name for parameter in command.params for name in parameter.opts}


@dataclass
class Endpoint:
    """An OpenAI-compatible LLM that always says the same."""

    url: str
    text: str
    prompts: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """A real HTTP server on a port of the system's choosing."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.prompts.append("\n".join(message["content"] for message in body["messages"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for chunk in ({"content": made.text}, None):
                self.wfile.write(f"data: {json.dumps(_chunk(chunk))}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Endpoint(f"http://127.0.0.1:{server.server_port}/v1", "The kettle is on; come at ten.")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


def _chunk(delta: dict[str, str] | None) -> dict[str, Any]:
    """A piece of the answer, or its end."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": None if delta else "stop"}
    return {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "mock", "choices": [choice]}
