"""Bodies over the limit are refused while they arrive, with the error that every route gives."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """ASGI middleware. (FastAPI's own limit answers in plain text, outside of our headers.)"""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        received = int(announced) if announced.isdigit() else 0

        async def receive_within_limit() -> Message:
            nonlocal received
            if received > self._max_bytes:
                raise self._too_large()
            message = await receive()
            if not announced:
                received += len(message.get("body", b""))
                if received > self._max_bytes:
                    raise self._too_large()
            return message

        await self._app(scope, receive_within_limit, send)

    def _too_large(self) -> HTTPException:
        # an HTTPException, for FastAPI turns any other error while it reads a body into "cannot be parsed"
        return HTTPException(413, f"The body is over the limit of {self._max_bytes:,} bytes; send less at once.")
