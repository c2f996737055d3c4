"""Close connections over which no request comes, so that no client can hold many open for nothing."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

ON_LOOPBACK = "_PEARL_ON_LOOPBACK"  # the variable by which `pearl serve` tells its workers that it listens there alone
MOST_WITHOUT_HEAD = 400  # connections; usual systems let a process open 1,024 files
CONNECTED = "pearl.connected"  # in a scope the address that connected; uvicorn believes X-Forwarded-For about "client"
HEAD_S = 15.0  # for all lines of a request's head; bodies have READ_TIMEOUT_S of service.http.api.bodies


class TimedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with a time limit for a request's headers, which Uvicorn itself lacks. Trailers, which Uvicorn
    would add to the headers, are dropped: they could bring back a header that a proxy removes."""

    head_s = HEAD_S
    most_without_head = MOST_WITHOUT_HEAD
    without_head: ClassVar[dict[TimedProtocol, None]] = {}  # of this process, the oldest first
    _waiting: asyncio.TimerHandle | None = None
    _in_head = True

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait_for_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self.scope[CONNECTED] = self.client  # type: ignore[literal-required]

    def data_received(self, data: bytes) -> None:
        # the next request on a kept connection, or the rest of a body that is not read any more
        if self._waiting is None and self.cycle is not None and self.cycle.response_complete:
            self._wait_for_head()
        super().data_received(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        self._in_head = False
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self.without_head[self] = None
        if len(self.without_head) > self.most_without_head:
            oldest = next(iter(self.without_head))
            oldest._stop_waiting()
            oldest.transport.close()
        self._waiting = self.loop.call_later(self.head_s, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        self.without_head.pop(self, None)
