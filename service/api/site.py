"""``/`` says what this is; ``/docs`` is the API's documentation, whose assets come from here: it works offline."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from pearl import __version__

router = APIRouter(include_in_schema=False)

GIVEN_WITH = "fastapi_offline"  # the package that carries Swagger UI's files
BOTH = ["GET", "HEAD"]

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>PEARL {version}</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem; color: #222; }}
code, pre {{ font: .9rem/1.4 ui-monospace, monospace; background: #f3f3f0; }}
pre {{ padding: .8rem; overflow-x: auto; }}
@media (prefers-color-scheme: dark) {{
  body {{ color: #ddd; background: #1b1b1b; }} code, pre {{ background: #2a2a2a; }} a {{ color: #8ab4f8; }}
}}
</style>
</head>
<body>
<h1>PEARL {version}</h1>
<p>This is a server that drafts text the way its user would have written it, from the user's own past writing. It is
used by programs: a writing tool works by taking <code>{address}v1</code> as its OpenAI base URL.</p>
<ul>
<li><a href="docs">The API, to read and to try</a></li>
<li><a href="openapi.json">The same as OpenAPI, for generators</a></li>
<li><a href="health/ready">Can drafts be written now?</a></li>
</ul>
<p>Every call but these needs a key, which the operator makes with <code>pearl keys create --user NAME</code>:</p>
<pre>curl {address}v1/drafts -H 'Authorization: Bearer KEY' \\
  -H 'Content-Type: application/json' -d '{{"request": "Thank Ada for the tickets"}}'</pre>
</body>
</html>
"""


def _secured(page: str) -> HTMLResponse:
    """The page with headers that forbid scripts and files of other origins, and showing it in a frame."""
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
    """The documented routes, "GET /v1/documents", in order of their paths."""
    routes = {
        (route.path.replace(":path", ""), method)
        for router in routers
        for route in router.routes
        if isinstance(route, APIRoute) and route.include_in_schema
        for method in route.methods or ()
    }
    return tuple(f"{method} {path}" for path, method in sorted(routes))


@router.api_route("/", methods=BOTH)
async def front(request: Request) -> Response:
    if "text/html" in request.headers.get("accept", ""):
        return _secured(PAGE.format(version=__version__, address=escape(str(request.base_url))))
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
