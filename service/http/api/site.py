"""``/docs``, the API's documentation, which works offline, and the answer of ``/`` to programs."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.routing import APIRoute
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from pearl import __version__

router = APIRouter(include_in_schema=False)

GIVEN_WITH = "fastapi_offline"  # the package that carries Swagger UI's files
BOTH = ["GET", "HEAD"]


def _secured(page: str) -> HTMLResponse:
    """Make the page's answer, with headers that forbid frames and scripts and files of other origins."""
    digests = (sha256(script.encode()).digest() for script in re.findall(r"<script>(.*?)</script>", page, re.DOTALL))
    scripts = "".join(f" 'sha256-{b64encode(digest).decode()}'" for digest in digests)
    policy = (
        f"default-src 'none'; script-src 'self'{scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {"content-security-policy": policy, "referrer-policy": "no-referrer", "x-frame-options": "DENY"}
    return HTMLResponse(page, headers=headers)


def assets() -> Mount:
    """The files of the documentation's page."""
    package = find_spec(GIVEN_WITH)
    assert package is not None, "it is a dependency"
    assert package.origin is not None, "it is a package with files"
    return Mount("/docs/assets", StaticFiles(directory=Path(package.origin).parent / "static"))


def names_of(routers: Iterable[APIRouter]) -> tuple[str, ...]:
    """List the documented routes, such as "GET /v1/documents", in order of their paths."""
    routes = {
        (route.path.replace(":path", ""), method)
        for router in routers
        for route in router.routes
        if isinstance(route, APIRoute) and route.include_in_schema
        for method in route.methods or ()
    }
    return tuple(f"{method} {path}" for path, method in sorted(routes))


def description(request: Request) -> JSONResponse:
    """Answer programs at ``/`` with the version and the routes."""
    return JSONResponse(
        {
            "name": "PEARL",
            "version": __version__,
            "description": "Drafts text the way its user would have written it.",
            "documentation": "docs",
            "openapi": "openapi.json",
            "routes": list(request.app.state.routes),
        }
    )


@router.api_route("/docs", methods=BOTH)
async def documentation(request: Request) -> HTMLResponse:
    # addresses relative to the page, so that they are right behind a proxy's prefix, too
    page = get_swagger_ui_html(
        openapi_url="openapi.json",
        title="PEARL: the API",
        swagger_js_url="docs/assets/swagger-ui-bundle.js",
        swagger_css_url="docs/assets/swagger-ui.css",
        swagger_favicon_url="docs/assets/favicon.png",
    )
    return _secured(bytes(page.body).decode())
