"""Dependencies of the routes: the services, and the caller."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import HTTPConnection

from pearl.errors import Unauthenticated
from service.api.sessions import Sessions
from service.process.admission import Admission
from service.process.rate_limits import Allowance, over_the_limit
from service.process.threads import in_thread
from service.services import Services
from service.store import keys
from service.store.keys import Identity, KeyId

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
    description="An API key, made with `pearl keys create --user NAME`. The header `x-api-key` may have it instead.",
)


async def get_services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


def admission_of(request: Request) -> Admission:
    """The limit on the drafts that this worker writes at once."""
    admission: Admission = request.app.state.admission
    return admission


def sessions_of(request: Request) -> Sessions:
    """The page's sessions."""
    sessions: Sessions = request.app.state.sessions
    return sessions


async def get_caller(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    acting_for: Annotated[
        str | None,
        Header(alias=ACTING_FOR, description="The user for whom a service key acts, in UTF-8 or percent-encoded."),
    ] = None,
) -> Identity:
    """Authenticate by the key, or by a session of the page, and count the call against the key's limit. Raises
    Unauthenticated, AccessError, RateLimited."""
    if (known := getattr(request.state, "caller", None)) is not None:  # a route with a body has done this already
        assert isinstance(known, Identity)
        return known
    services = await get_services(request)
    name = None if acting_for is None else _as_utf8(acting_for)
    identity, allowed, allowance = await in_thread(_identify, services, _key_of(request, credentials), name)
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
    """Send these headers with the answer, whatever it will be."""
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


def _key_of(request: Request, credentials: HTTPAuthorizationCredentials | None) -> str | KeyId:
    if credentials is not None:
        return credentials.credentials
    if (key_id := sessions_of(request).caller(request)) is None:
        raise Unauthenticated(WITHOUT_KEY)
    return KeyId(key_id)


def _identify(services: Services, key: str | KeyId, acting_for: str | None) -> tuple[Identity, bool, Allowance | None]:
    with services.database.read() as connection:
        identity = keys.identify(connection, key, acting_for)
    services.key_uses.note(identity.key_id)
    return identity, *services.rate_limits.take(identity.key_id)


def _as_utf8(header: str) -> str:
    """Decode a header again: headers come decoded as Latin-1, but clients send names in UTF-8."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeDecodeError:
        return header


ServicesDep = Annotated[Services, Depends(get_services)]
Caller = Annotated[Identity, Depends(get_caller)]
Operator = Annotated[None, Depends(get_operator)]
