"""OAuth 2.0 for mail: sign-in by the device flow (RFC 8628) or by a browser on this machine (RFC 8252, with PKCE), and
access tokens."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
import webbrowser
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2

from pearl.errors import AccessError, InputError, MailError
from pearl.text.shown_urls import is_loopback
from pearl.text.usable import printable

LONGEST_WAIT_S = 600.0  # for the person at the browser
ANSWER_S = 30.0
EARLY_S = 60.0  # a token is renewed before it expires
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
DONE = b"<!doctype html><title>PEARL</title><p>PEARL may read your mail now. Close this page."

Say = Callable[[str], None]


class Refused(AccessError):
    """The OAuth issuer refused a request. ``code``: the issuer's error code."""


@dataclass(frozen=True, slots=True)
class Client:
    """An OAuth client, which is a program registered at an issuer, and the issuer's addresses."""

    token_uri: str
    scope: str
    client_id: str = ""
    client_secret: str = ""  # of programs on a person's machine it is none, but Google wants it
    auth_uri: str = ""
    device_uri: str = ""


@dataclass(frozen=True, slots=True)
class Grant:
    """A person's lasting permission, from which access tokens are made until the person revokes it."""

    token_uri: str
    client_id: str
    client_secret: str
    scope: str
    refresh_token: str

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Grant | None:
        """Read a grant that ``to_text`` wrote; None for any other text, which is then a password."""
        try:
            values = json.loads(text)
            return cls(**values) if isinstance(values, dict) else None
        except (ValueError, TypeError):
            return None


def read_client(given: str, base: Client | None) -> Client:
    """Read an OAuth client. ``given``: its id, or a JSON file in the form of Google's console; ``base``: supplies the
    provider's addresses. Raises InputError if an id or an address is missing."""
    path = Path(given).expanduser()
    values: dict[str, Any] = {"client_id": given}
    if path.suffix == ".json" or path.is_file():
        try:
            read = json.loads(path.read_bytes())
            values = read.get("installed", read)
            values = {each.name: str(values[each.name]) for each in fields(Client) if values.get(each.name)}
        except (OSError, ValueError, AttributeError, TypeError) as error:
            why = error.strerror if isinstance(error, OSError) else "is no JSON file of an OAuth client"
            raise InputError(f"--client {given}: {why}.") from error
    client = replace(base or Client("", ""), **values)
    missing = [name for name in ("client_id", "token_uri", "scope") if not getattr(client, name)]
    if missing or not (client.auth_uri or client.device_uri):
        raise InputError(
            f"--client {given}: {' and '.join(missing) or 'auth_uri or device_uri'} missing; give --provider gmail or "
            "outlook, or a JSON file with client_id, token_uri, scope, and auth_uri or device_uri."
        )
    for address in filter(None, (client.token_uri, client.auth_uri, client.device_uri)):
        parts = urlsplit(address)
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname)):
            raise InputError(f"--client {given}: {address} is not an https address.")
    return client


def sign_in(client: Client, address: str, say: Say) -> Grant:
    """Ask the person to grant access: by the device flow if the issuer offers it, else in a browser on this machine.
    Raises Refused or MailError. ``say``: shows the person what to do."""
    answer = _by_device(client, say) if client.device_uri else _by_loopback(client, address, say)
    token = answer.get("refresh_token")
    if not token:
        raise Refused("The issuer gave no refresh token; remove PEARL from your account's programs and sign in again.")
    return Grant(client.token_uri, client.client_id, client.client_secret, client.scope, str(token))


def _by_device(client: Client, say: Say) -> dict[str, Any]:
    begun = _post(client.device_uri, {"client_id": client.client_id, "scope": client.scope})
    try:
        page = str(begun.get("verification_uri") or begun["verification_url"])
        code, user_code = str(begun["device_code"]), str(begun["user_code"])
        wait, ends = float(begun.get("interval", 5)), time.monotonic() + float(begun.get("expires_in", LONGEST_WAIT_S))
    except (KeyError, ValueError) as error:
        raise MailError(f"{client.device_uri} began no sign-in that can be read ({error!r}).") from error
    say(printable(f"Open {page} in any browser and enter the code {user_code}"))
    while time.monotonic() < ends:
        time.sleep(wait)
        try:
            return _post(client.token_uri, _as_client(client, grant_type=DEVICE, device_code=code))
        except Refused as error:
            if error.code == "slow_down":
                wait += 5
            elif error.code != "authorization_pending":
                raise
    raise Refused("The code was not entered in time; sign in again.", code="expired_token")


def _by_loopback(client: Client, address: str, say: Say) -> dict[str, Any]:
    state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    found: dict[str, str] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            values = {name: given[0] for name, given in parse_qs(urlsplit(self.path).query).items()}
            ours = secrets.compare_digest(values.get("state", "").encode(), state.encode())
            if ours:
                found.update(values)
            self.send_response(200 if ours else 404)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(DONE if ours and "code" in values else b"")

        def log_message(self, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        back = f"http://127.0.0.1:{server.server_port}"
        asked = {
            "response_type": "code",
            "client_id": client.client_id,
            "scope": client.scope,
            "redirect_uri": back,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "login_hint": address,
            "access_type": "offline",
            "prompt": "consent",
        }
        page = f"{client.auth_uri}?{urlencode(asked)}"
        say(f"Open this page in a browser on this machine:\n{page}")
        webbrowser.open(page)
        ends = time.monotonic() + LONGEST_WAIT_S
        while not found and time.monotonic() < ends:
            server.timeout = 1.0
            server.handle_request()
    if "code" not in found:
        raise Refused(printable(f"Access was not granted ({found.get('error', 'no answer in time')}); sign in again."))
    granted = {"grant_type": "authorization_code", "code": found["code"], "redirect_uri": back}
    return _post(client.token_uri, _as_client(client, **granted, code_verifier=verifier))


class Tokens:
    """The access tokens of a grant, each used until it is about to expire. ``keep``: stores a renewed grant."""

    def __init__(self, grant: Grant, keep: Callable[[str], None]) -> None:
        self._grant, self._keep = grant, keep
        self._token, self._ends = "", 0.0
        self.worked = False  # this token opened the account before

    def get(self) -> str:
        """Return an access token. Raises Refused if the grant is invalid, MailError if the issuer does not answer."""
        if time.monotonic() >= self._ends:
            grant = self._grant
            answer = _post(
                grant.token_uri, _as_client(grant, grant_type="refresh_token", refresh_token=grant.refresh_token)
            )
            self._token, self.worked = str(answer.get("access_token", "")), False
            self._ends = time.monotonic() + float(answer.get("expires_in") or 0) - EARLY_S
            renewed = str(answer.get("refresh_token") or grant.refresh_token)
            if renewed != grant.refresh_token:
                self._grant = replace(grant, refresh_token=renewed)
                self._keep(self._grant.to_text())
        return self._token

    def drop(self) -> None:
        """Forget the current token, which the mail server refused."""
        self._ends = 0.0


def _as_client(client: Client | Grant, **values: str) -> dict[str, str]:
    named = {"client_id": client.client_id, "client_secret": client.client_secret}
    return {name: value for name, value in {**named, **values}.items() if value}


def _post(address: str, values: dict[str, str]) -> dict[str, Any]:
    try:
        answer = httpx2.post(address, data=values, timeout=ANSWER_S)
        body = answer.json()
        if not isinstance(body, dict):
            raise ValueError("no object")
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise MailError(f"{urlsplit(address).hostname} gave no answer ({type(error).__name__}).") from error
    if "error" in body or answer.status_code >= 400:
        said = str(body.get("error_description") or body.get("error") or answer.status_code)
        raise Refused(
            printable(
                f"Access was refused: {' '.join(said.split())[:300].rstrip('.')}. Sign in again: pearl mail sign-in"
            ),
            code=str(body.get("error", "refused")),
        )
    return body
