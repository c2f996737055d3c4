"""Sessions of the page: a signed cookie that names the key somebody signed in with, and a token against requests that
other sites forge (CSRF). For a user of an OpenID issuer the cookie has ``user_`` and the user's id instead.

Only the secret for the signatures is stored, in a file in PEARL_HOME, so a session holds for every worker and after a
restart. It ends after a fixed time, when its key is revoked or expires, or when sign-on is no longer offered.
"""

from __future__ import annotations

import hmac
import os
import secrets
import tempfile
import time
from base64 import urlsafe_b64encode
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware

from pearl.errors import AccessError, StoreError, Unauthenticated
from pearl.settings import Settings
from pearl.text.shown_urls import is_loopback
from service.http.api.errors import error_body
from service.store.keys import SIGNED_ON

COOKIE = "pearl_session"
TOKEN_HEADER = "X-Pearl-Page"
LASTS_S = 12 * 3600
SECRET_FILE = "sessions.secret"
SECRET_BYTES = 32

ENDED = "Your session has ended; sign in again."
NOT_OURS = AccessError(
    "A session is only for calls of this service's own page; programs send 'Authorization: Bearer KEY'.",
    param=TOKEN_HEADER,
    code="not_from_the_page",
)


class Sessions:
    """Makes and checks the session cookies of the service with this PEARL_HOME."""

    def __init__(self, home: Path, *, signed_on: bool = False) -> None:
        """``signed_on``: sessions without a key are allowed."""
        self._file = home / SECRET_FILE
        self._signed_on = signed_on

    def begin(self, key_id: str) -> str:
        """Make the cookie of a new session. Raises StoreError if the file with the secret cannot be read or written."""
        return self.lasting("session", key_id, LASTS_S)

    def key_id(self, cookie: str) -> str:
        """The id of the key that the session began with. Raises Unauthenticated if it has ended or is forged."""
        key_id = self.read("session", cookie)
        if key_id is None or (key_id.startswith(SIGNED_ON) and not self._signed_on):
            raise Unauthenticated(ENDED, code="session_ended")
        return key_id

    def lasting(self, purpose: str, content: str, seconds: int) -> str:
        """Sign a content for a purpose, valid for ``seconds``. Raises StoreError as :meth:`begin` does."""
        content = f"{content}.{int(time.time()) + seconds}"
        return f"{content}.{self.signed(purpose, content)}"

    def read(self, purpose: str, cookie: str) -> str | None:
        """Return the content that :meth:`lasting` signed for this purpose; None if the cookie is forged or too old."""
        content, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(self.signed(purpose, content).encode(), signature.encode()):
            return None
        content, _, ends = content.rpartition(".")
        return content if int(ends) > time.time() else None

    def token(self, key_id: str) -> str:
        """Make the token that the page sends with its calls. It depends on the key, not on the session, so that an open
        page still works after its user signed in again."""
        return self.signed("token", key_id)

    def is_token(self, token: str, key_id: str) -> bool:
        return hmac.compare_digest(self.token(key_id).encode(), token.encode())

    def caller(self, request: Request) -> str | None:
        """Return the id of the key behind a call from the page; None if the call has no cookie. Raises Unauthenticated
        if the session has ended, AccessError if another site may have made the call."""
        if (cookie := request.cookies.get(COOKIE)) is None:
            return None
        key_id = self.key_id(cookie)
        if from_elsewhere(request) or not self.is_token(request.headers.get(TOKEN_HEADER, ""), key_id):
            raise NOT_OURS
        return key_id

    def signed(self, purpose: str, content: str) -> str:
        """Return the signature of a content for a purpose: 43 characters that only the secret can make."""
        digest = hmac.digest(self._secret, f"{purpose} {content}".encode(), sha256)
        return urlsafe_b64encode(digest).rstrip(b"=").decode()

    @cached_property
    def _secret(self) -> bytes:
        try:
            if not self._file.exists():
                self._write_secret()
            secret = self._file.read_bytes()
        except OSError as error:
            raise _unusable(f"{self._file} cannot be read or written: {error.strerror}.") from error
        if len(secret) != SECRET_BYTES:
            raise _unusable(f"{self._file} is damaged; delete it, and everybody signs in again.")
        return secret

    def _write_secret(self) -> None:
        """Write a secret that only the operator can read; if another worker wrote one first, keep that."""
        descriptor, written = tempfile.mkstemp(dir=self._file.parent)  # of mode 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(SECRET_BYTES))
            if not self._file.exists():
                os.link(written, self._file)  # unlike a rename it replaces nothing
        except FileExistsError:
            pass
        finally:
            Path(written).unlink()


def from_elsewhere(request: Request) -> bool:
    """True if the browser says that a page of another origin sent the request; another port is another origin."""
    if (site := request.headers.get("sec-fetch-site")) is not None:
        return site != "same-origin"
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc != request.headers.get("host")


def says_nothing(request: Request) -> bool:
    """True if the request has no header that says which page sent it; browsers always send one with a form."""
    return not {"sec-fetch-site", "origin"} & set(request.headers.keys())


def _unusable(message: str) -> StoreError:
    return StoreError(message, public="Nobody can sign in now; the service's log says why.", code="no_session_secret")


REFUSED = AccessError(
    "Pages of this origin may not call the API, or not with this method; PEARL_CORS_ORIGINS lists the origins.",
    param="Origin",
    code="origin_not_allowed",
)


def check_origin(request: Request, settings: Settings) -> None:
    """Check which page sent a request. Allowed are pages on this machine, the service's own page, and the origins that
    the settings list. Raises AccessError for others. A service on this machine alone takes a foreign host name for its
    own only over TLS, through a proxy: otherwise any site could point its name here."""
    if (origin := request.headers.get("origin")) is None:
        return
    parts = urlsplit(origin)
    own = parts.netloc == request.headers.get("host") and (parts.scheme == "https" or not request.app.state.on_loopback)
    if not (own or is_loopback(parts.hostname) or {"*", origin} & set(settings.cors_origin_list)):
        raise REFUSED


class Cors(CORSMiddleware):
    """Starlette's CORS middleware, but a refused preflight request gets an error in the API's format."""

    def preflight_response(self, request_headers: Headers) -> Response:
        answer = super().preflight_response(request_headers)
        if answer.status_code == 200:
            return answer
        headers = {name: value for name, value in answer.headers.items() if not name.startswith("content-")}
        return JSONResponse(error_body(REFUSED), answer.status_code, headers)
