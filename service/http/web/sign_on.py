"""Sign in to the page at an OpenID Connect issuer (authorization code with PKCE, state and nonce), and publish the
metadata by which programs find the issuers (RFC 9728).

Nothing is stored on the server: a signed cookie holds the state, and nonce and verifier are signatures of the state.
"""

from __future__ import annotations

import hmac
import re
import secrets

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from pearl.errors import AccessError, NotFound, PearlError
from service.http.api.dependencies import get_services, sessions_of, sign_on_of
from service.http.web.page import sign_in_page, signed_in, to_the_page
from service.process.threads import in_thread
from service.sign_on.accepted import METADATA

router = APIRouter(include_in_schema=False)

UNDER_WAY = "pearl_sign_on"
LASTS_S = 600
BACK = "/page/signed-on"
ERROR_CODE = re.compile(r"[a-z_]{1,60}")  # of OAuth
NOT_BEGUN = "This sign-on did not begin in this browser, or took longer than ten minutes; sign in again."
NOT_SET_UP = "Nothing but keys signs in here (PEARL_SIGN_ON is not set, or names no issuer)."


@router.get(METADATA)
@router.get(f"{METADATA}/mcp")
async def metadata(request: Request) -> Response:
    terms = sign_on_of(request).terms
    if terms is None or not terms.issuers:
        raise NotFound(NOT_SET_UP, code="no_sign_on")
    return JSONResponse(terms.resource("/mcp" if request.url.path.endswith("/mcp") else ""))


@router.get("/page/sign-on")
async def begin(request: Request, issuer: int = 0) -> Response:
    sign_on, sessions, state = sign_on_of(request), sessions_of(request), secrets.token_urlsafe(16)
    offered = sign_on.offered
    if sign_on.terms is None or not 0 <= issuer < len(offered):
        raise NotFound(NOT_SET_UP, code="no_sign_on")
    try:
        cookie = sessions.lasting(UNDER_WAY, f"{issuer}.{state}", LASTS_S)
        nonce, verifier = sessions.signed("nonce", state), sessions.signed("verifier", state)
        address = await offered[issuer].begin(state, nonce, verifier, sign_on.terms.address + BACK)
    except PearlError as error:
        return _failed(request, error)
    answer = RedirectResponse(address, 303)
    secure = sign_on.terms.address.startswith("https")
    # lax: the issuer's page leads back here, and a strict cookie would stay away
    answer.set_cookie(UNDER_WAY, cookie, max_age=LASTS_S, httponly=True, samesite="lax", secure=secure)
    return answer


async def back(request: Request) -> Response:
    """Complete a sign-on with the issuer's answer, which may have any further query parameters."""
    sign_on, sessions, given = sign_on_of(request), sessions_of(request), request.query_params
    try:
        number, _, state = (sessions.read(UNDER_WAY, request.cookies.get(UNDER_WAY, "")) or "").partition(".")
        if not state or not hmac.compare_digest(state.encode(), given.get("state", "").encode()):
            raise AccessError(NOT_BEGUN, code="unknown_state")
        if sign_on.terms is None or int(number) >= len(sign_on.offered):
            raise NotFound(NOT_SET_UP, code="no_sign_on")
        issuer = sign_on.offered[int(number)]
        if given.get("iss", issuer.terms.issuer) != issuer.terms.issuer:
            raise AccessError("Another issuer answered than the one asked; sign in again.", code="another_issuer")
        if "code" not in given or "error" in given:
            code = given.get("error", "")
            why = code if ERROR_CODE.fullmatch(code) else "no code"
            raise AccessError(f"{issuer.name} did not sign you on ({why}); sign in again.", code="sign_on_refused")
        nonce, verifier = sessions.signed("nonce", state), sessions.signed("verifier", state)
        user = await issuer.redeem(given["code"], nonce, verifier, sign_on.terms.address + BACK)
        identity, _ = await in_thread(signed_in, await get_services(request), sign_on, user)
        answer = to_the_page(request, identity)
    except PearlError as error:
        answer = _failed(request, error)
    answer.delete_cookie(UNDER_WAY)
    return answer


router.add_route(BACK, back)  # a plain route: FastAPI's would refuse unknown parameters


def _failed(request: Request, error: PearlError) -> Response:
    answer = sign_in_page(request, error)
    answer.status_code = error.http_status
    return answer
