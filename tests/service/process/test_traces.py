"""Traces as a collector receives them: a real HTTP server beside a real service."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from benchmarks.processes import PEARL, mocked, of_mock, serving, wait_until_ready

pytest.importorskip("opentelemetry.proto", reason="the extra 'otel' is not installed")

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """A collector's address, and the bodies that it gets."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            bodies.append(gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *given: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", bodies
    server.shutdown()
    thread.join()
    server.server_close()


def spans(bodies: list[bytes]) -> dict[str, Any]:
    """The spans by name."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    requests = [ExportTraceServiceRequest.FromString(body) for body in bodies]
    scopes = [scope for request in requests for resource in request.resource_spans for scope in resource.scope_spans]
    return {span.name: span for scope in scopes for span in scope.spans}


@pytest.mark.slow
def test_a_request_is_traced_below_its_caller_and_no_query_is(
    collector: tuple[str, list[bytes]], tmp_path: Path, until: Callable[[Callable[[], bool]], None]
) -> None:
    address, bodies = collector
    environment = {"PEARL_HOME": str(tmp_path / "home"), "PEARL_RETRIEVER": "bm25"}
    environment |= {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_BSP_SCHEDULE_DELAY": "20"}  # milliseconds
    with mocked(tmp_path) as mock, serving(environment | of_mock(mock), tmp_path, PEARL) as server:
        wait_until_ready(server)
        assert httpx2.get(f"{server.address}/v1/drafts?query=harbour").status_code == 401
        assert httpx2.get(f"{server.address}/v1/voices", headers={"traceparent": CALLER}).status_code == 401
        until(lambda: "GET /v1/voices" in spans(bodies))
    span = spans(bodies)["GET /v1/voices"]
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (CALLER[3:35], CALLER[36:52])
    assert {item.key: item.value.int_value for item in span.attributes}["http.response.status_code"] == 401
    assert b"harbour" not in b"".join(bodies)
