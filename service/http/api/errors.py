"""Errors as all routes answer them: ``{"error": {"message", "type", "param", "code"}}``."""

from __future__ import annotations

import asyncio
import logging
import math
from difflib import get_close_matches
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pearl.errors import InputError, NotFound, Overloaded, PearlError, StoreError, TooLarge
from service.http.api.fields import CHECKED
from service.process.logs import code_lines

log = logging.getLogger("pearl.service")

SHAPE = "("  # begins the tag of a choice between shapes, a part of a location that is no field's name
STOPPING = Overloaded("The service stops before this is done; try again.", code="stopping", retry_after=5)
HTTP_CODES = {404: "unknown_route", 405: "method_not_allowed"}


class ErrorDetail(BaseModel):
    """An error: the problem and what to do about it."""

    message: str = Field(description="The problem and what to do about it.", examples=["'text' is empty."])
    type: str = Field(description="The kind of error.", examples=["invalid_request_error"])
    param: str | None = Field(description="The field, header or parameter at fault.", examples=["documents.3.text"])
    code: str = Field(description="A stable code for programs.", examples=["empty_text"])


class ErrorBody(BaseModel):
    """The body of every answer that is not a success."""

    error: ErrorDetail


def error_body(error: PearlError) -> dict[str, Any]:
    """Make the body that answers an error. An error of the database is also logged, in full, for the operator."""
    if isinstance(error, StoreError):
        log.warning("%s: %s", error.code, error.message, extra={"fields": {"code": error.code}})
    return {"error": {"message": error.public, "type": error.type, "param": error.param, "code": error.code}}


def error_headers(error: PearlError) -> dict[str, str]:
    headers = {} if error.retry_after is None else {"retry-after": str(math.ceil(error.retry_after))}
    return headers | ({"www-authenticate": "Bearer"} if error.http_status == 401 else {})


def error_response(error: PearlError, scope: Scope) -> JSONResponse:
    return _answer(error_body(error), error.http_status, error_headers(error), scope)


def _answer(body: dict[str, Any], status: int, headers: dict[str, str], scope: Scope) -> JSONResponse:
    """Make the answer to an error; for Anthropic's clients it also has their field ``type``."""
    of_anthropic = scope["path"].startswith("/v1/messages") or "anthropic-version" in Headers(scope=scope)
    return JSONResponse({"type": "error", **body} if of_anthropic else body, status, headers)


def install_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(PearlError, _pearl_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(CatchUnexpected)


async def _pearl_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, PearlError)
    answer = error_response(error, request.scope)
    if error.http_status == 401:
        answer.headers["www-authenticate"] = request.app.state.sign_on.challenge(request.url.path, error.code)
    return answer


async def _validation_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    if request.method == "GET" and "" in request.path_params.values():  # a list's path with a slash too many
        return await _http_error(request, HTTPException(404))
    return error_response(explain_validation(error.errors()[0]), request.scope)


def explain_validation(problem: dict[str, Any]) -> PearlError:
    """Convert a problem that validation found in a body, query or path to an error."""
    names = [str(part) for part in problem["loc"][1:] if not str(part).startswith(SHAPE)]
    param = ".".join(names) or None
    where = f"'{param}'" if param else "The body"
    kind = problem["type"]
    message = "Input should be a JSON object" if kind == "model_attributes_type" else problem["msg"]
    if "message" in problem.get("ctx", {}):  # one of our own checks
        error = TooLarge if kind == "text_too_large" else InputError
        return error(message.replace(f"'{CHECKED}'", where, 1), param=param, code=kind)
    return InputError(f"{where}: {message}.", param=param, code=kind)


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = HTTP_CODES.get(error.status_code, "http_error")
    kind = NotFound.type if error.status_code == 404 else InputError.type
    message = str(error.detail)
    if error.status_code == 404:
        message = f"There is no such route; {_meant(request)}."
    headers = dict(error.headers or {})
    if error.status_code == 405:
        headers = {"Allow": _allowed(request)}
        message = f"This route does not know {request.method[:20]}; it knows {headers['Allow']}."
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return _answer(body, error.status_code, headers, request.scope)


def _meant(request: Request) -> str:
    """Name the route that is probably meant, or else those most like it."""
    path = request.scope["path"]
    if below := _routes_at(request, f"/v1{path}"):
        return f"it is {min(route.path.replace(':path', '') for route in below)}, and a client's base URL ends in /v1"
    alike = get_close_matches(f"{request.method} {path[:200]}", request.app.state.routes)
    return f"the nearest are {', '.join(alike)}" if alike else "GET / lists all routes"


def _allowed(request: Request) -> str:
    """List the methods of all routes with the request's path; Starlette's error names only those of the first route."""
    here = _routes_at(request, request.scope["path"])
    return ", ".join(sorted({method for route in here for method in route.methods or ()}))


def _routes_at(request: Request, path: str) -> list[Route]:
    """The routes with this path, whatever their method."""
    scope = {**request.scope, "path": path}
    routes = [route for router in request.app.state.routers for route in router.routes if isinstance(route, Route)]
    return [route for route in routes if route.matches(scope)[0] != Match.NONE]


class CatchUnexpected:
    """ASGI middleware that answers unexpected errors, inside all other middleware, which then add their headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        started = False

        async def note_the_start(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, note_the_start)
        except Exception as error:
            known = unexpected(error, scope["method"])
            if started:  # too late for another status: the server hangs up
                raise known from None
            await error_response(known, scope)(scope, receive, send)
        except asyncio.CancelledError:  # by the server, which stops and has waited its time
            if not started:  # else it hangs up
                await error_response(STOPPING, scope)(scope, receive, send)


def unexpected(error: Exception, where: str) -> PearlError:
    """Log an unexpected exception, and return the error to answer with. The log gets the exception's lines of code, not
    its message, which may quote a text."""
    log.error("unexpected %s in %s\n%s", type(error).__name__, where, code_lines(error))
    return PearlError("Something went wrong on our side; the log has the details under this request id.")
