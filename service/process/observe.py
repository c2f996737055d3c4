"""Middleware around every request: gives it an id, times, logs and counts it. Never logs its text."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pearl import __version__, clock
from pearl.extras import MissingExtra
from service.process.metrics import Metrics
from service.store.ids import new_id

if TYPE_CHECKING:
    from opentelemetry.trace import Span

VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
Attributes = Mapping[str, Any]


class Traces:
    """Begins the spans of a process and sends them."""

    def __init__(self, exporter: Any = None) -> None:
        """``exporter``: in place of the one for OTLP over HTTP. Raises MissingExtra."""
        try:
            from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor

            if exporter is None:
                from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

                exporter = OTLPSpanExporter()
        except ModuleNotFoundError:
            raise MissingExtra("opentelemetry", "otel") from None
        named = {SERVICE_NAME: "pearl"} if "OTEL_SERVICE_NAME" not in os.environ else {}
        self._provider = TracerProvider(resource=Resource.create({**named, SERVICE_VERSION: __version__}))
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("pearl", __version__)
        clock.begin_span = self._begin

    def close(self) -> None:
        """Send what has not been sent yet."""
        clock.begin_span = None
        self._provider.shutdown()

    @contextmanager
    def request(self, scope: Scope) -> Iterator[Callable[[str, int], None]]:
        """The span of a request, under the caller's if its headers name one; what the request starts is below it. Call
        what is yielded with the route and the status."""
        from opentelemetry.trace import SpanKind, Status, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        caller = TraceContextTextMapPropagator().extract(headers)
        method = scope["method"] if scope["method"] in METHODS else "_OTHER"
        with self._tracer.start_as_current_span(
            method, caller, SpanKind.SERVER, {"http.request.method": method}, record_exception=False
        ) as span:

            def answered(route: str, status: int) -> None:
                span.update_name(f"{method} {route}")
                span.set_attributes({"http.route": route, "http.response.status_code": status})
                if status >= 500:
                    span.set_status(Status(StatusCode.ERROR))

            yield answered

    def _begin(self, name: str, attributes: Attributes) -> _Begun:
        from opentelemetry.trace import SpanKind

        kind = SpanKind.CLIENT if "gen_ai.operation.name" in attributes else SpanKind.INTERNAL
        # not made the current one: a draft's stages begin and end in different tasks
        return _Begun(self._tracer.start_span(name, kind=kind, attributes=dict(attributes)))


class _Begun:
    def __init__(self, span: Span) -> None:
        self._span = span

    def end(self, attributes: Attributes | None = None, error: BaseException | None = None) -> None:
        self._span.set_attributes(dict(attributes or {}))
        if error is not None:  # its message may hold words of a text
            self._span.set_attribute("error.type", getattr(error, "code", None) or type(error).__name__)
        self._span.end()


def traces_wanted() -> bool:
    return any(os.environ.get(variable) for variable in VARIABLES)


log = logging.getLogger("pearl.access")

USABLE_ID = re.compile(rb"[\w.:-]{1,128}")
PAGES = ("/docs", "/openapi.json")


class Observe:
    """ASGI middleware; also sends the headers that routes leave in ``request.state.extra_headers``."""

    def __init__(self, app: ASGIApp, metrics: Metrics, traces: Traces | None = None) -> None:
        self._app = app
        self._metrics = metrics
        self._traces = traces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        started, status = time.perf_counter(), 499  # nginx's status for a client that left before the answer
        request_id = _request_id(scope)
        state = scope.setdefault("state", {})

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                extra = {"x-request-id": request_id, "x-content-type-options": "nosniff"}
                # a person's texts must not be cached; the pages have none
                if not scope["path"].startswith(PAGES) and b"cache-control" not in dict(message["headers"]):
                    extra["cache-control"] = "no-store"
                extra |= state.get("extra_headers", {})
                message["headers"] += [(name.encode(), value.encode()) for name, value in extra.items()]
            await send(message)

        try:
            if self._traces is None:
                await self._app(scope, receive, send_with_headers)
            else:
                with self._traces.request(scope) as answered:
                    try:
                        await self._app(scope, receive, send_with_headers)
                    finally:
                        answered(_route(scope), status)
        finally:
            seconds = time.perf_counter() - started
            route = _route(scope)
            # a client may send any word as the method, and every new label costs memory
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._metrics.requests.labels(method, route, str(status)).inc()
            self._metrics.seconds.labels(route).observe(seconds)
            fields = {
                "method": method,
                "route": route,
                "status": status,
                "ms": round(seconds * 1000, 1),
                "request_id": request_id,
            }
            log.info("%s %s %d %.1f ms %s", *fields.values(), extra={"fields": fields})


def _route(scope: Scope) -> str:
    """The path of the route that answered. FastAPI's routes are in the scope; those of Starlette, which serve the
    API's description and the files of its page, are looked up by their endpoint."""
    if (named := scope.get("route")) is not None:
        return str(named.path)
    endpoint = scope.get("endpoint")
    paths = (
        route.path
        for route in (scope["app"].routes if endpoint else ())
        if endpoint in (getattr(route, "endpoint", None), getattr(route, "app", None))
    )
    return next(paths, "unknown")


def _request_id(scope: Scope) -> str:
    """The caller's request id if it sent a usable one, so that both logs can be compared; else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and USABLE_ID.fullmatch(value):
            return str(value.decode())
    return new_id("req")
