"""What tests of eval share: the real command line, the metric that needs a model, a judge behind a real HTTP server."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson
import pytest
import uvicorn

from eval.drafts.text_metrics import BertScore


@pytest.fixture
def pearl_eval(run_pearl: Callable[..., Any]) -> Callable[..., Any]:
    """`pearl eval` with these words."""
    return partial(run_pearl, "eval")


@pytest.fixture(scope="session")
def bertscore() -> BertScore:
    """With the real embedded encoder, loaded once."""
    return BertScore()


PEOPLE = ("a baker in Porto", "a sailor from Bergen", "a teacher near Graz", "a nurse of Leeds", "a smith at Vaduz")


@pytest.fixture
def judged() -> Callable[..., list[dict[str, Any]]]:
    """Recorded judgements about made-up people: sound ones, half right, the surer the righter."""

    def make(count: int = 40, **fields: Any) -> list[dict[str, Any]]:
        return [_judged(place) | fields for place in range(count)]

    return make


def _judged(place: int) -> dict[str, Any]:
    gold = "AB"[place // 2 % 2]
    right = place % 4 in (0, 3)
    answer = gold if right else "BA"["BA".index(gold) - 1]
    certainty = (90 if right else 50) + place % 7 - 3
    texts = [f"Text number {2 * place} of somebody.", f"Text number {2 * place + 1} of someone else."]
    persona = f"The person is {PEOPLE[place % len(PEOPLE)]}."
    return {
        "prompt": f"Who wrote it? Say [[A]] or [[B]], and your certainty from 1 to 100.\n[User Profile]\n{persona}\n"
        f"[Response A]\n{texts[0]}\n[Response B]\n{texts[1]}\n[Answer]\n[[",
        "answer": answer,
        "certainty": str(certainty),
        "acc": right,
        "ground_truth": gold,
        "user_info": persona,
        "asst_A": texts[0],
        "asst_B": texts[1],
        "res": f"{answer}]] [[{certainty}]]",
    }


def user_text(body: dict[str, Any]) -> str:
    return body["messages"][-1]["content"]


@dataclass
class JudgeEndpoint:
    """``says`` gives the reply to a request's body; ``refuses`` a status and headers for the n-th call."""

    says: Callable[[dict[str, Any]], str] = lambda body: "Much alike.\nPOST ONE"
    refuses: Callable[[int], tuple[int, dict[str, str]] | None] = lambda number: None
    finish_reason: str = "stop"
    usage: dict[str, int] | None = field(default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 10})
    seconds: float = 0.0
    address: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.bodies.append(orjson.loads(body))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        refused = self.refuses(len(self.bodies))
        await asyncio.sleep(self.seconds)
        self.in_flight -= 1
        if refused:
            status, headers, value = *refused, {"error": {"message": "secret", "code": None}}
        else:
            status, headers, value = 200, {}, self._answer(self.bodies[-1] if not body else orjson.loads(body))
        sent = [
            (name.encode(), text.encode()) for name, text in {"content-type": "application/json", **headers}.items()
        ]
        await send({"type": "http.response.start", "status": status, "headers": sent})
        await send({"type": "http.response.body", "body": orjson.dumps(value)})

    def _answer(self, body: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": self.says(body)}
        choices = [{"index": 0, "message": message, "finish_reason": self.finish_reason}]
        return {"choices": choices, **({"usage": self.usage} if self.usage else {})}


@pytest.fixture
def judge_endpoint(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[JudgeEndpoint]:
    """The endpoint, and the settings that lead to it."""
    endpoint = JudgeEndpoint()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # with a log_config it would close every handler there is, and absl's closes with it what pytest captures into
    config = uvicorn.Config(endpoint, log_config=None, log_level="error", ws="none", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    endpoint.address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PEARL_LLM_BASE_URL", endpoint.address)
    monkeypatch.setenv("PEARL_LLM_MODEL", "mock")
    yield endpoint
    server.should_exit = True
    thread.join(10)
    listener.close()
