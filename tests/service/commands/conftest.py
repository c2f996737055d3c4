from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import keyring
import pytest
import uvicorn
from keyring.backend import KeyringBackend

from pearl.models.weights import shelf, table
from pearl.models.weights.table import TABLE
from pearl.settings import load_settings
from service.http.app import create_app
from service.process import home_socket
from service.process.connections import TimedProtocol
from tests.dovecot import Ann, mail_server
from tests.tiny_weights import TINY, put_wheel


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PEARL_HOME of this test's, and no other setting of the one who runs it."""
    for name in [name for name in os.environ if name.startswith("PEARL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def command(own_home: Path, run_pearl: Callable[..., Any]) -> Callable[..., Any]:
    """The command line in this process, with a home of its own."""
    return run_pearl


@pytest.fixture
def process(own_home: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start the installed command in a process of its own, which hears Ctrl-C: a shell's background does not."""

    def start(*arguments: str, stdin: int | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(Path(sys.executable).with_name("pearl")), *arguments],
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip's own settings name, and a table with the model that they carry."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for number in (1, 2, 3):
        put_wheel(folder, number)
    for name, value in {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}.items():
        monkeypatch.setenv(name, value)
    for module in (table, shelf):
        monkeypatch.setattr(module, "TABLE", (TABLE[0], TINY))
    return folder


class InstantEndpoint:
    """A chat model behind HTTP that answers the same words to everything; ``go_on`` holds it after the comma."""

    def __init__(self) -> None:
        self.text = "Kettle's on, come by at nine."
        self.first: list[str] = []  # texts of the first answers
        self.status = 200
        self.requests: list[dict[str, Any]] = []
        self.go_on = threading.Event()
        self.go_on.set()
        self.cut = False

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append(json.loads(handler.rfile.read(int(handler.headers["content-length"]))))
        handler.send_response(self.status)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        for piece in ("<document>\n", *(self.first.pop(0) if self.first else self.text).partition(", ")):
            self._say(handler, {"delta": {"content": piece}})
            if piece == ", ":
                self.go_on.wait(60)
        if not self.cut:
            self._say(handler, {"delta": {}, "finish_reason": "stop"})

    def _say(self, handler: BaseHTTPRequestHandler, choice: Any) -> None:
        handler.wfile.write(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
        handler.wfile.flush()


@pytest.fixture
def endpoint(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InstantEndpoint]:
    """An endpoint that the settings name, with a retriever that loads nothing."""
    made = InstantEndpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            made.answer(self)

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("PEARL_LLM_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("PEARL_LLM_MODEL", "instant")
    monkeypatch.setattr("pearl.settings.MAX_RETRIES", 0)
    monkeypatch.setenv("PEARL_RETRIEVER", "bm25")
    yield made
    made.go_on.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def serve_home(monkeypatch: pytest.MonkeyPatch, until: Callable[..., None]) -> Iterator[Callable[[], uvicorn.Server]]:
    """Start a server of the present home on its socket; from then on a command that loads a model itself fails."""
    with ExitStack() as stack:

        def serve() -> uvicorn.Server:
            settings = load_settings()
            bound = stack.enter_context(home_socket.listening(settings.home))
            assert bound is not None
            monkeypatch.setenv(home_socket.BOUND_TO, bound.getsockname())
            server = uvicorn.Server(uvicorn.Config(create_app(settings), http=TimedProtocol, log_config=None))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
            thread.start()
            stack.callback(thread.join)
            stack.callback(setattr, server, "should_exit", True)
            until(lambda: server.started)
            monkeypatch.delattr("service.commands.writing.Services")
            return server

        yield serve


@pytest.fixture
def start(own_home: Path, endpoint: Any, run_pearl: Any, tmp_path: Path) -> Iterator[Callable[..., Ann]]:
    """Start a mail server and give Ann's account on it; the options are those of tests.dovecot."""
    with ExitStack() as stack:
        yield lambda *words, **options: Ann(
            stack.enter_context(mail_server(*words, **options)), own_home, run_pearl, tmp_path
        )


@pytest.fixture
def ann(start: Callable[..., Ann]) -> Ann:
    return start()


@pytest.fixture
def system_keyring() -> Iterator[Callable[[KeyringBackend], KeyringBackend]]:
    before = keyring.get_keyring()
    yield lambda backend: keyring.set_keyring(backend) or backend  # type: ignore[func-returns-value]
    keyring.set_keyring(before)
