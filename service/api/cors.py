"""Browser pages of other origins: only those in PEARL_CORS_ORIGINS may call the API."""

from __future__ import annotations

from fastapi.responses import JSONResponse, Response
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware

from pearl.errors import AccessError
from service.api.errors import error_body

REFUSED = AccessError(
    "Pages of this origin may not call the API, or not with this method; PEARL_CORS_ORIGINS lists the origins.",
    param="Origin",
    code="origin_not_allowed",
)


class Cors(CORSMiddleware):
    """Starlette's middleware, but a refused preflight request gets an error in the API's shape."""

    def preflight_response(self, request_headers: Headers) -> Response:
        answer = super().preflight_response(request_headers)
        if answer.status_code == 200:
            return answer
        headers = {name: value for name, value in answer.headers.items() if not name.startswith("content-")}
        return JSONResponse(error_body(REFUSED), answer.status_code, headers)
