"""Traces as a collector receives them: a real HTTP server beside a real service."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pearl import clock
from pearl.errors import ChatError
from pearl.extras import MissingExtra
from service.process.observe import Traces

pytest.importorskip("opentelemetry.proto", reason="the extra 'otel' is not installed")

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@dataclass
class Collector:
    address: str = ""
    bodies: list[bytes] = field(default_factory=list)

    def spans(self) -> dict[str, Any]:
        """The spans by name."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        sent = [
            scope.spans for request in requests for resource in request.resource_spans for scope in resource.scope_spans
        ]
        return {span.name: span for spans in sent for span in spans}


def attributes(span: Any) -> dict[str, Any]:
    return {item.key: getattr(item.value, str(item.value.WhichOneof("value"))) for item in span.attributes}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    found = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            found.bodies.append(gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *given: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.address)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")  # milliseconds
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_draft_is_traced_without_a_word_of_it(
    collector: Collector, house: Callable[..., Any], until: Callable[[Callable[[], bool]], None]
) -> None:
    pearl = house()
    pearl.add("ann", "a letter about the boat in the harbour")
    sent = {"authorization": f"Bearer {pearl.key('ann')}", "traceparent": CALLER}
    answer = pearl.client.post("/v1/drafts", json={"request": "the boat, please"}, headers=sent)
    assert answer.status_code == 200
    until(lambda: "POST /v1/drafts" in collector.spans())
    spans = collector.spans()
    request = spans["POST /v1/drafts"]
    assert request.trace_id.hex() == CALLER[3:35]
    assert request.parent_span_id.hex() == CALLER[36:52]
    assert attributes(request) == {
        "http.request.method": "POST",
        "http.route": "/v1/drafts",
        "http.response.status_code": 200,
    }
    for stage in ("retrieve", "prompt", "generate", "claims", "record"):
        assert spans[stage].parent_span_id == request.span_id
        assert request.start_time_unix_nano <= spans[stage].start_time_unix_nano
        assert spans[stage].end_time_unix_nano <= request.end_time_unix_nano
    chat = attributes(spans["chat fake"])
    assert (chat["gen_ai.operation.name"], chat["gen_ai.request.model"]) == ("chat", "fake")
    assert chat["gen_ai.usage.output_tokens"] == answer.json()["usage"]["completion_tokens"]
    sent_whole = b"".join(collector.bodies)
    assert not any(secret in sent_whole for secret in (b"boat", b"ann", b"pearl_", b"harbour"))


def test_a_failure_is_named_and_not_quoted(
    collector: Collector, house: Callable[..., Any], until: Callable[[Callable[[], bool]], None]
) -> None:
    class Failing:
        name, context_tokens, continues = "failing", 2000, False

        def count_tokens(self, text: str) -> int:
            return len(text)

        async def stream(self, *given: Any) -> Any:
            raise ChatError("It says: the secret words.", code="llm_error")
            yield

        async def close(self) -> None:
            pass

    pearl = house(model=Failing())
    sent = {"authorization": f"Bearer {pearl.key('ann')}"}
    assert pearl.client.post("/v1/drafts", json={"request": "a boat"}, headers=sent).status_code == 502
    until(lambda: "POST /v1/drafts" in collector.spans())
    assert attributes(collector.spans()["chat failing"])["error.type"] == "llm_error"
    assert collector.spans()["POST /v1/drafts"].status.code == 2
    assert b"secret words" not in b"".join(collector.bodies)


def test_a_collector_that_is_away_stops_nothing(monkeypatch: pytest.MonkeyPatch, house: Callable[..., Any]) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    assert house().client.get("/health").status_code == 200


def test_without_an_address_nothing_is_traced(house: Callable[..., Any]) -> None:
    assert house().client.get("/health").status_code == 200
    assert clock.begin_span is None


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(MissingExtra, match=r"pearl-writing\[otel\]"):
        Traces()
