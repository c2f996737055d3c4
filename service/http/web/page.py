"""``/``: the page where a person writes. This module signs people in and serves the HTML, script and style; the script
does everything else through the API."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from pearl import __version__
from pearl.errors import AccessError, Malformed, NotFound, Overloaded, PearlError, TooLarge
from service.http.api.bodies import TimedOut
from service.http.api.dependencies import ServicesDep, identify, proxied_user, sessions_of, sign_on_of
from service.http.api.sessions import COOKIE, LASTS_S, NOT_OURS, from_elsewhere, says_nothing
from service.http.api.site import BOTH, description
from service.http.web.first_run import begin, begin_with_sample, check_form, is_first, is_here
from service.process.threads import in_thread, in_writing_thread
from service.services import Services
from service.sign_on.accepted import SignOn
from service.store import voices
from service.store.keys import Identity, KeyId, UserName

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parent
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
ASSETS = {path.name: path.read_bytes() for path in (FOLDER / "assets").iterdir() if path.suffix in TYPES}
STAMP = sha256(b"".join(content for _, content in sorted(ASSETS.items()))).hexdigest()[:12]  # browsers keep the files
WRITING, SIGN_IN, FIRST_RUN, BEGUN = (
    Template((FOLDER / f"{name}.html").read_text(encoding="utf-8"))
    for name in ("page", "sign_in", "first_run", "begun")
)

MOST_FORM = 4096  # bytes
FORMS_AT_ONCE = 64  # that are read; no key is needed to send one, and each takes a connection
FORM_S = 10.0  # for a form to arrive
REFRESH = '<meta http-equiv="refresh" content="0;url=./">'
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
    "'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # with no-referrer a browser sends its forms with "Origin: null"
    "x-frame-options": "DENY",
}
ELSEWHERE = "That form came from another site, so it was not read. Sign in here."


@router.api_route("/", methods=BOTH)
async def front(request: Request, services: ServicesDep) -> Response:
    if "text/html" not in request.headers.get("accept", ""):
        return description(request)
    try:
        key: KeyId | UserName | None = proxied_user(request)
        if key is None:
            if (cookie := request.cookies.get(COOKIE)) is None:
                return await _door(request, services)
            key = KeyId(sessions_of(request).key_id(cookie))
        identity, names = await in_thread(signed_in, services, sign_on_of(request), key)
    except AccessError as error:
        answer = await _door(request, services, error)
        answer.delete_cookie(COOKIE)
        return answer
    options = "".join(f'<option value="{escape(name)}">{escape(name)}</option>' for name in names)
    return _html(WRITING, user=identity.user.name, token=sessions_of(request).token(identity.key_id), voices=options)


async def _door(request: Request, services: Services, error: PearlError | None = None) -> HTMLResponse:
    return sign_in_page(request, error, first=is_here(request) and await in_thread(is_first, services))


@router.get("/page/assets/{name}")
async def asset(name: str, v: str = "") -> Response:
    """Serve the script or the style; ``v`` changes with their content, so that browsers may keep them."""
    if name not in ASSETS:
        raise NotFound(f"There is no file '{name}'; there are {', '.join(ASSETS)}.", param="name")
    kept = "max-age=31536000, immutable" if v == STAMP else "no-cache"
    return Response(ASSETS[name], media_type=TYPES[Path(name).suffix], headers={"cache-control": kept})


@router.get("/favicon.ico")
async def favicon() -> Response:
    """Answer browsers that ask for ``/favicon.ico``, which no page names."""
    return await asset("icon.svg")


@router.get("/page/begin")
@router.get("/page/sign-in")
async def to_the_form() -> Response:
    """Redirect to the form when a browser loads the form's target, such as after a failed attempt."""
    return RedirectResponse("../")


@router.post("/page/sign-in")
async def sign_in(request: Request, services: ServicesDep) -> Response:
    try:
        form = await _form(request)
        if from_elsewhere(request) or says_nothing(request):
            raise AccessError(ELSEWHERE)
        key = form.get("key", "").strip().removeprefix("Bearer ")
        identity, _ = await in_thread(signed_in, services, sign_on_of(request), key)
        return to_the_page(request, identity)
    except PearlError as error:
        return sign_in_page(request, error)


@router.post("/page/begin")
async def begin_here(request: Request, services: ServicesDep) -> Response:
    """Make the first user of a service on this machine, or the sample, and sign them in."""
    first = False
    try:
        form = await _form(request)
        check_form(request)
        first = await in_thread(is_first, services)
        if "sample" in form:
            key_id = await in_writing_thread(begin_with_sample, services)
            return _begin_session(request, RedirectResponse("../", 303), key_id)
        name = form.get("name", "").strip()
        key, key_id = await in_writing_thread(begin, services, name)
        return _begin_session(request, _html(BEGUN, user=name, key=key), key_id)
    except PearlError as error:
        return sign_in_page(request, error, first=first)


def to_the_page(request: Request, identity: Identity) -> Response:
    """Begin a session for the identity's key; return a redirect to the page. Raises StoreError."""
    return _begin_session(request, RedirectResponse("../", 303), identity.key_id)


def _begin_session(request: Request, answer: Response, key_id: str) -> Response:
    """Add the session's cookie to the answer. Raises StoreError."""
    cookie = sessions_of(request).begin(key_id)
    answer.set_cookie(COOKIE, cookie, max_age=LASTS_S, httponly=True, samesite="strict", secure=_over_tls(request))
    return answer


def _over_tls(request: Request) -> bool:
    """True if the browser speaks TLS, to this server or to a proxy. Headers that say so are believed from anybody: a
    false one only makes the sender's own cookie `Secure`."""
    said = [request.url.scheme, *(request.headers.get(name, "") for name in ("origin", "x-forwarded-proto"))]
    if (terms := sign_on_of(request).terms) is not None:
        said.append(terms.address)
    return any(each.startswith("https") for each in said)


@router.post("/page/sign-out")
async def sign_out(request: Request) -> Response:
    """End the session. Raises AccessError if another site sent the form."""
    sessions, answer = sessions_of(request), RedirectResponse("../", 303)
    try:
        key_id = sessions.key_id(request.cookies.get(COOKIE, ""))
    except AccessError:  # it has ended already
        return answer
    token = (await _form(request)).get("token", "")
    if from_elsewhere(request) or not sessions.is_token(token, key_id):
        raise NOT_OURS
    answer.delete_cookie(COOKIE)
    return answer


def signed_in(services: Services, sign_on: SignOn, key: str | KeyId | UserName) -> tuple[Identity, list[str]]:
    """Return the identity that a key stands for, and the names of the voices of its user."""
    identity = identify(services, sign_on, key)
    with services.database.read() as connection:
        names = [voice.name for voice in voices.list_all(connection, identity.user.id)]
    return identity, names


async def _form(request: Request) -> dict[str, str]:
    """Read a short form. Raises Malformed, TooLarge, TimedOut, Overloaded."""
    if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        raise Malformed("This is for the page's form; programs send their key with each call.", code="not_a_form")
    reading: set[int] = request.app.state.forms
    if len(reading) >= FORMS_AT_ONCE:
        raise Overloaded("Too many forms are being sent at once; try again a little later.", retry_after=1.0)
    body = b""
    reading.add(id(request))
    try:
        async with asyncio.timeout(FORM_S):
            async for piece in request.stream():
                body += piece
                if len(body) > MOST_FORM:
                    raise TooLarge(f"A form has at most {MOST_FORM} bytes.")
    except TimeoutError:
        raise TimedOut(f"The form did not arrive within {FORM_S:g} s; try again.") from None
    finally:
        reading.discard(id(request))
    return dict(parse_qsl(body.decode(errors="replace")))


def sign_in_page(request: Request, error: PearlError | None = None, *, first: bool = False) -> HTMLResponse:
    """Make the page with the form to sign in; ``first``: also with the form that makes the first user.

    A browser sends no cookie when it follows a link from another site; the page then loads itself again."""
    elsewhere = error is None and request.headers.get("sec-fetch-site") == "cross-site"
    problem = f'<p id="problem" class="problem" role="alert">{escape(_said(error))}</p>' if error else ""
    below = "../" if request.url.path.startswith("/page/") else ""  # addresses stay right behind a proxy's prefix
    begin_form = FIRST_RUN.substitute(below=below) if first else ""
    issuers = "".join(
        f'<p><a class="main" href="{below}page/sign-on?issuer={number}">Sign in with {escape(issuer.name)}</a></p>'
        for number, issuer in enumerate(sign_on_of(request).offered)
    )
    own = {"problem": problem, "refresh": REFRESH if elsewhere else "", "first": begin_form, "issuers": issuers}
    answer = _html(SIGN_IN, **own, below=below, focus="" if first else "autofocus")
    if error is not None and request.method == "POST":
        answer.status_code = error.http_status
        answer.headers["connection"] = "close"  # the form may not have been read
    return answer


def _said(error: PearlError) -> str:
    if error.param == "X-Pearl-User":
        return "This key belongs to a program that acts for several people; sign in with a key of your own."
    return error.public


def _html(template: Template, **values: str) -> HTMLResponse:
    """Fill the template; values that are not HTML of our own are escaped."""
    own = {"voices", "problem", "refresh", "first", "issuers"}
    filled = {name: value if name in own else escape(value) for name, value in values.items()}
    return HTMLResponse(template.substitute(filled, stamp=STAMP, version=__version__), headers=HEADERS)
