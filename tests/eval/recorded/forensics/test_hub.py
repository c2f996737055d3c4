"""Pairs from a hub: a real server that answers as the hub does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from eval.recorded.forensics.pair_files import read_pairs
from pearl.errors import InputError

DATA = {
    "metadata": {"version": "2.0"},
    "annotators": {"ann": {"name": "Ann"}},
    "comparisons": [{"id": "00000001", "response_a": {"text": "x"}, "response_b": {"text": "y"}, "annotations": {}}],
}


@pytest.fixture
def hub(monkeypatch, tmp_path) -> Iterator[list[str]]:
    """The paths that were asked for; there is one file, in two revisions."""
    import huggingface_hub.constants

    asked: list[str] = []

    class Hub(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer(with_body=False)

        def do_GET(self) -> None:
            self.answer(with_body=True)

        def answer(self, *, with_body: bool) -> None:
            asked.append(self.path)
            revision = self.path.split("/")[-2]
            known = self.path.endswith("/pairs.json") and revision in ("main", "v2")
            body = json.dumps(DATA | {"revision": revision}).encode() if known else b"{}"
            self.send_response(200 if known else 404)
            self.send_header("ETag", f'"{revision}"')
            self.send_header("X-Repo-Commit", {"main": "a", "v2": "b"}.get(revision, "c") * 40)
            if not known:
                self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    for name, value in (("HF_HUB_OFFLINE", False), ("HF_HUB_CACHE", str(tmp_path)), ("HF_HUB_DISABLE_XET", True)):
        monkeypatch.setattr(huggingface_hub.constants, name, value)
    yield asked
    server.shutdown()
    server.server_close()


def test_a_file_of_the_hub_is_loaded_once(hub):
    data = read_pairs(Path("hf://datasets/ann/arena/pairs.json"))
    assert (data.more["revision"], len(data.pairs)) == ("main", 1)
    loads = len(hub)
    assert "/datasets/ann/arena/resolve/main/pairs.json" in hub[0]
    assert read_pairs(Path("hf://datasets/ann/arena/pairs.json")).pairs == data.pairs
    assert len(hub) - loads < loads, "only asked if it is still the same"


def test_a_revision(hub):
    assert read_pairs(Path("hf://datasets/ann/arena@v2/pairs.json")).more["revision"] == "v2"


def test_what_is_not_there_is_said_in_a_line(hub):
    with pytest.raises(InputError, match=r"none.json: cannot be loaded from the hub: ") as caught:
        read_pairs(Path("hf://datasets/ann/arena/none.json"))
    assert "\n" not in caught.value.message
