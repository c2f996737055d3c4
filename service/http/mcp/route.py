"""``POST /mcp``: the Model Context Protocol over HTTP, without sessions."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from pearl.records import Draft
from service.drafting.drafter import Event
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.drafts import admitted, finished
from service.http.api.sessions import check_origin
from service.http.api.streaming import while_connected
from service.http.mcp.protocol import McpMessage, reply
from service.http.mcp.tools import Toolbox

router = APIRouter(tags=["Model Context Protocol"], route_class=KeyedRoute)


class McpOut(BaseModel):
    """The answer to a request: a result, or an error of the protocol. A tool call that fails has a result, too."""

    jsonrpc: str = Field(description="Always `2.0`.", examples=["2.0"])
    id: int | str | None = Field(description="The request's.", examples=[1])
    result: dict[str, Any] = Field({}, description="The result.", examples=[{"tools": []}])
    error: dict[str, Any] = Field({}, description="The error, in place of a result.", examples=[{}])


@router.post(
    "/mcp",
    summary="Model Context Protocol",
    response_model=McpOut,
    responses={202: {"description": "A notification was taken; there is no body."}},
)
async def answer_message(request: Request, services: ServicesDep, caller: Caller, body: McpMessage) -> Response:
    """Call the tools `find_examples`, `draft`, `check` and `feedback` by the protocol, without sessions, streams or
    batches. `pearl mcp` offers the same over standard input."""

    async def write(events: AsyncGenerator[Event, None]) -> Draft:
        draft = await finished(admitted(request, services, events))
        services.metrics.count_draft(draft)
        return draft

    check_origin(request, services.settings)
    toolbox = Toolbox(services, caller.user, write)
    answer = await while_connected(request, lambda: reply(body, toolbox.tools, request.headers))
    if answer is None:
        return Response(status_code=202)
    return Response(orjson.dumps(answer.body), answer.status, media_type="application/json")
