"""Closing connections over which no request comes, so that no client can hold many open for nothing."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

CONNECTED = "pearl.connected"  # in a scope the address that connected; uvicorn believes X-Forwarded-For about "client"
HEAD_S = 15.0  # for all lines of a request's head; bodies have READ_TIMEOUT_S of service.api.bodies


class TimedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with a time limit for a request's head; by itself it waits without limit."""

    head_s = HEAD_S
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait_for_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[CONNECTED] = self.client  # type: ignore[literal-required]

    def data_received(self, data: bytes) -> None:
        # the next request on a kept connection, or the rest of a body that is not read any more
        if self._waiting is None and self.cycle is not None and self.cycle.response_complete:
            self._wait_for_head()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._waiting = self.loop.call_later(self.head_s, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
