"""Middleware around every request: it gives the request an id, times, logs and counts it, without its text."""

from __future__ import annotations

import logging
import re
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.process.metrics import Metrics
from service.store.ids import new_id

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
log = logging.getLogger("pearl.access")

USABLE_ID = re.compile(rb"[\w.:-]{1,128}")
PAGES = ("/docs", "/openapi.json")


class Observe:
    """ASGI middleware around requests; also sends the headers that routes leave in ``request.state.extra_headers``."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

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
            await self._app(scope, receive, send_with_headers)
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
    """Return the path of the route that answered. FastAPI's routes are in the scope; Starlette's, which serve the API's
    description and its page, are looked up by their endpoint."""
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
    """Return the caller's request id if it is usable, so that both logs can be compared, or else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and USABLE_ID.fullmatch(value):
            return str(value.decode())
    return new_id("req")
