"""Dependencies of the routes: the services, and the caller."""

from __future__ import annotations

import logging
from typing import Annotated

from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import HTTPConnection

from pearl.errors import Unauthenticated
from service.http.api.sessions import NOT_OURS, Sessions, from_elsewhere
from service.process.connections import CONNECTED
from service.process.rate_limits import Admission, Allowance, over_the_limit
from service.process.threads import in_thread
from service.services import Services
from service.sign_on.accepted import SignOn
from service.store import keys, users
from service.store.keys import Identity, KeyId, UnknownUser, UserName

log = logging.getLogger("pearl.service")

ACTING_FOR = "X-Pearl-User"

WITHOUT_KEY = "Send 'Authorization: Bearer KEY' or 'x-api-key: KEY'; make a key with 'pearl keys create --user NAME'."


class KeyHeader(HTTPBearer):
    """The key in `Authorization`, or else in `x-api-key`, where Anthropic's clients send it."""

    async def __call__(self, request: HTTPConnection) -> HTTPAuthorizationCredentials | None:
        key = request.headers.get("x-api-key")
        other = HTTPAuthorizationCredentials(scheme="Bearer", credentials=key) if key else None
        return await super().__call__(request) or other


bearer = KeyHeader(
    scheme_name="HTTPBearer",
    auto_error=False,
    description="An API key, made with `pearl keys create --user NAME`, or a token of an issuer that the operator "
    "accepts. The header `x-api-key` may have it instead.",
)


async def get_services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


def admission_of(request: Request) -> Admission:
    """The limit on how many drafts this worker writes at once."""
    admission: Admission = request.app.state.admission
    return admission


def sessions_of(request: Request) -> Sessions:
    """The page's sessions."""
    sessions: Sessions = request.app.state.sessions
    return sessions


def sign_on_of(request: Request) -> SignOn:
    """The sign-on, which finds users by an issuer's token or a trusted proxy's header."""
    sign_on: SignOn = request.app.state.sign_on
    return sign_on


def proxied_user(request: Request) -> UserName | None:
    """The user whom a trusted proxy names in a header, or None. Raises AccessError if anybody else sends the header."""
    connected = request.scope.get(CONNECTED, request.scope.get("client"))
    return sign_on_of(request).proxied(request.scope["headers"], connected and connected[0])


async def get_caller(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    acting_for: Annotated[
        str | None,
        Header(alias=ACTING_FOR, description="The user for whom a service key acts, in UTF-8 or percent-encoded."),
    ] = None,
) -> Identity:
    """Authenticate by the key, an issuer's token, a proxy's header or a session of the page, in this order, and count
    the call against the key's or the user's limit. Raises Unauthenticated, AccessError, RateLimited, IssuerDown."""
    if (known := getattr(request.state, "caller", None)) is not None:  # a route with a body has done this already
        assert isinstance(known, Identity)
        return known
    services = await get_services(request)
    name = None if acting_for is None else _as_utf8(acting_for)
    key = await _key_of(request, credentials)
    identity, allowed, allowance = await in_thread(_identify, services, sign_on_of(request), key, name)
    if allowance is not None:
        add_headers(request, allowance.headers())
        if not allowed:
            raise over_the_limit(allowance)
    request.state.caller = identity
    return identity


async def authenticate(request: Request) -> Identity:
    """Identify the caller as :func:`get_caller` does, from the headers alone."""
    return await get_caller(request, await bearer(request), request.headers.get(ACTING_FOR))


def add_headers(request: Request, headers: dict[str, str]) -> None:
    """Send these headers with the answer to the request, even if the answer is an error."""
    request.state.extra_headers = {**getattr(request.state, "extra_headers", {}), **headers}


async def get_operator(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> None:
    """Admit programs that monitor the service, which need a service key. Raises Unauthenticated, AccessError."""
    if getattr(request.state, "operator", False):  # the route has done this already
        return
    if credentials is None:
        raise Unauthenticated(WITHOUT_KEY)
    services = await get_services(request)
    await in_thread(_identify_operator, services, credentials.credentials)
    request.state.operator = True


async def authenticate_operator(request: Request) -> None:
    """Admit an operator as :func:`get_operator` does, from the headers alone."""
    await get_operator(request, await bearer(request))


def _identify_operator(services: Services, key: str) -> None:
    with services.database.read() as connection:
        key_id = keys.identify_service(connection, key)
    services.key_uses.note(key_id)


async def _key_of(request: Request, credentials: HTTPAuthorizationCredentials | None) -> str | KeyId | UserName:
    proxied = proxied_user(request)  # also with a key: another's header is an attempt
    if credentials is not None:
        return await sign_on_of(request).bearer(credentials.credentials)
    if proxied is not None:
        if from_elsewhere(request):  # the proxy lets every site in that this browser shows
            raise NOT_OURS
        return proxied
    if (key_id := sessions_of(request).caller(request)) is None:
        raise Unauthenticated(WITHOUT_KEY)
    return KeyId(key_id)


def _identify(
    services: Services, sign_on: SignOn, key: str | KeyId | UserName, acting_for: str | None
) -> tuple[Identity, bool, Allowance | None]:
    identity = identify(services, sign_on, key, acting_for)
    return identity, *services.rate_limits.take(identity.key_id)


def identify(
    services: Services, sign_on: SignOn, key: str | KeyId | UserName, acting_for: str | None = None
) -> Identity:
    """Identify the caller, and record that the key was used. A user who signs on for the first time is made if the
    operator allows new users. Raises what :func:`keys.identify` raises."""
    try:
        with services.database.read() as connection:
            identity = keys.identify(connection, key, acting_for)
    except UnknownUser:
        if not sign_on.new_users or not isinstance(key, UserName):
            raise
        with services.database.write() as connection:
            users.check_room(connection, sign_on.new_users)
            users.ensure(connection, {users.as_address(key.name)})
            identity = keys.identify(connection, key, acting_for)
        log.info("sign-on: %s is new", identity.key_id)
    services.key_uses.note(identity.key_id)
    return identity


def _as_utf8(header: str) -> str:
    """Decode a header again: headers come decoded as Latin-1, but clients send names in UTF-8."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeDecodeError:
        return header


ServicesDep = Annotated[Services, Depends(get_services)]
Caller = Annotated[Identity, Depends(get_caller)]
Operator = Annotated[None, Depends(get_operator)]
