"""Traces for OpenTelemetry: a span for each request, each stage of a draft and each call of the chat model.

Off unless ``OTEL_EXPORTER_OTLP_ENDPOINT`` says where they go; the SDK reads its own variables (``OTEL_*``). Spans have
times, counts and names of models and routes, never a text, a user or a key. Names follow OpenTelemetry's conventions
for HTTP and generative AI.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from starlette.types import Scope

from pearl import __version__, clock
from pearl.extras import MissingExtra

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
