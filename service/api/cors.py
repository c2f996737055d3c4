"""Browser pages of other origins: only those in PEARL_CORS_ORIGINS may call the API."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware

from pearl.errors import AccessError
from pearl.settings import Settings
from pearl.text.shown_urls import is_loopback
from service.api.errors import error_body

REFUSED = AccessError(
    "Pages of this origin may not call the API, or not with this method; PEARL_CORS_ORIGINS lists the origins.",
    param="Origin",
    code="origin_not_allowed",
)


def check_origin(request: Request, settings: Settings) -> None:
    """Raise AccessError for a page of another origin. Pages on this machine may call, and the service's own: it has the
    host that was asked for. On this machine alone, a foreign host is a site that leads its name here, unless a proxy
    with TLS stands between."""
    if (origin := request.headers.get("origin")) is None:
        return
    parts = urlsplit(origin)
    own = parts.netloc == request.headers.get("host") and (parts.scheme == "https" or not request.app.state.on_loopback)
    if not (own or is_loopback(parts.hostname) or {"*", origin} & set(settings.cors_origin_list)):
        raise REFUSED


class Cors(CORSMiddleware):
    """Starlette's middleware, but a refused preflight request gets an error in the API's shape."""

    def preflight_response(self, request_headers: Headers) -> Response:
        answer = super().preflight_response(request_headers)
        if answer.status_code == 200:
            return answer
        headers = {name: value for name, value in answer.headers.items() if not name.startswith("content-")}
        return JSONResponse(error_body(REFUSED), answer.status_code, headers)
