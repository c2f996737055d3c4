"""Answer the commands (such as ``pearl draft``) that the owner of PEARL_HOME sends over its socket."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from pydantic import TypeAdapter
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pearl.errors import PearlError
from service.drafting.drafter import Finished
from service.drafting.wire import CONFLICT, PATH, Failed, Found, Order, encode
from service.hook.staged import commit_job
from service.http.api.streaming import LINES, EventStream
from service.process.home_socket import VERSION, is_of_home, traits
from service.process.rate_limits import Admission
from service.services import Services

ORDER = TypeAdapter(Order)


class CommandLine:
    """ASGI middleware that answers commands over the socket in PEARL_HOME, without a key, for the user that a command
    names. All other connections get the API."""

    def __init__(self, app: ASGIApp, services: Services, admission: Admission) -> None:
        self._app, self._services, self._admission = app, services, admission
        self._route = Route(PATH, self._answer, methods=["POST"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_of_home(scope.get("server")):
            await self._app(scope, receive, send)
            return
        scope["route"] = self._route  # for the log
        await self._route.app(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        here = traits(self._services.settings)
        try:
            order = ORDER.validate_json(await request.body())
            other = [name for name, value in here.items() if order.traits.get(name) != value]
        except ValueError:  # an order of another version
            other = [VERSION]
        if other:
            return PlainTextResponse(" and ".join(other), CONFLICT)
        return EventStream(self._lines(order), failed=_failed, keep_alive=b"\n", media_type=LINES)

    async def _lines(self, order: Order) -> AsyncGenerator[bytes, None]:
        job = commit_job(order.job) if order.of_change else order.job
        try:
            if order.text is not None:
                yield encode(Found(await self._services.claims_for(order.user, job, order.text, order.samples)))
                return
            async with aclosing(self._admission.admit(self._services.draft_for(order.user, job))) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        self._services.metrics.count_draft(event.draft)
                    yield encode(event)
        except PearlError as error:
            yield encode(Failed.of(error))


def _failed(body: dict[str, Any]) -> bytes:
    """Encode an error of the stream itself for the command: the server stops, or something unexpected happened."""
    error = body["error"]
    return encode(Failed(PearlError.__name__, error["message"], None, error["code"], None))
