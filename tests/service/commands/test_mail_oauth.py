"""`pearl mail sign-in` with an OAuth issuer of our own, whose tokens a real Dovecot checks there (XOAUTH2)."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.dovecot import ADDRESS, DOVECOT, MISSING, Ann, sent

needs_dovecot = pytest.mark.skipif(DOVECOT is None, reason=MISSING)


class Issuer:
    """An issuer of tokens. ``says`` are errors to answer with instead, by path, one after the other."""

    def __init__(self) -> None:
        self.says: dict[str, list[str]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.refresh = "refresh-1"
        self.good: set[str] = set()  # access tokens
        self.revoked = False
        self.expires_in = 3600
        self.challenge = ""
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                issuer.answer(self, parts.path, {name: given[0] for name, given in parse_qs(parts.query).items()})

            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
                issuer.answer(self, self.path, {name: given[0] for name, given in form.items()})

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, handler: BaseHTTPRequestHandler, path: str, values: dict[str, str]) -> None:
        self.asked.append((path, values))
        errors = self.says.get(path)
        body = {"error": errors.pop(0)} if errors else getattr(self, path.strip("/"))(values)
        handler.send_response(400 if "error" in body else 200)
        handler.end_headers()
        handler.wfile.write(json.dumps(body).encode())

    def device(self, values: dict[str, str]) -> dict[str, Any]:
        page = f"{self.url}/enter"
        return {"device_code": "dev", "user_code": "ABCD-\x1b[2JEFGH", "verification_uri": page, "interval": 0.01}

    def token(self, values: dict[str, str]) -> dict[str, Any]:
        proof = base64.urlsafe_b64encode(hashlib.sha256(values.get("code_verifier", "").encode()).digest())
        kind = values["grant_type"].rpartition(":")[2]
        right = {
            "device_code": values.get("device_code") == "dev",
            "authorization_code": values.get("code") == "code" and proof.rstrip(b"=").decode() == self.challenge,
            "refresh_token": values.get("refresh_token") == self.refresh,
        }[kind]
        if not right or values["client_id"] != "pearl-test":
            return {"error": "invalid_grant", "error_description": "It was revoked."}
        token = f"token-{len(self.good) + 1}"
        self.good.add(token)
        return {"access_token": token, "expires_in": self.expires_in, "refresh_token": self.refresh}

    def introspect(self, values: dict[str, str]) -> dict[str, Any]:
        good = values.get("token") in self.good and not self.revoked
        return {"active": True, "email": ADDRESS} if good else {"active": False}

    def browser(self, page: str) -> None:
        """What a person's browser does at the page: grant, and go back; before that somebody else tries."""
        asked = {name: given[0] for name, given in parse_qs(urlsplit(page).query).items()}
        self.challenge = asked["code_challenge"]
        assert asked["code_challenge_method"] == "S256"
        says = self.says.pop("/auth", None)
        answer = f"error={quote(says[0])}" if says else "code=code"

        def back() -> None:
            for state, given in (("forged", "code=forged"), (asked["state"], answer)):
                try:
                    urllib.request.urlopen(f"{asked['redirect_uri']}/?state={state}&{given}", timeout=120)
                except OSError:
                    assert state == "forged"

        threading.Thread(target=back).start()


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture
def client(issuer: Issuer, tmp_path: Path) -> Callable[..., Path]:
    """Write a client's file: the addresses of the issuer's device flow or of its code flow."""

    def write(flow: str, **more: str) -> Path:
        values = {"client_id": "pearl-test", "client_secret": "s", "scope": "mail", "token_uri": f"{issuer.url}/token"}
        path = tmp_path / "client.json"
        path.write_text(json.dumps({"installed": {**values, f"{flow}_uri": f"{issuer.url}/{flow}", **more}}))
        return path

    return write


def checked_at(issuer: Issuer) -> str:
    """Dovecot's settings: it asks the issuer about each token."""
    return (
        f"introspection_mode = get\nintrospection_url = {issuer.url}/introspect?token=\nforce_introspection = yes\n"
        "username_attribute = email\nactive_attribute = active\nactive_value = true\n"
    )


@needs_dovecot
@pytest.mark.parametrize("flow", ["device", "auth"])
def test_from_signing_in_to_mail(
    flow: str, start: Callable[..., Ann], issuer: Issuer, client: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webbrowser.open", issuer.browser)
    issuer.says["/token"] = ["authorization_pending", "authorization_pending"] if flow == "device" else []
    ann = start(oauth=checked_at(issuer))
    done = ann.run("mail", "sign-in", ADDRESS, client=client(flow), secret_file=ann.secret)
    assert done.status == 0, done.err
    assert ("enter the code ABCD-" in done.err) == (flow == "device")
    assert "\x1b" not in done.err
    assert ann.secret.stat().st_mode & 0o777 == 0o600
    assert "token-1" not in ann.secret.read_text()  # what is kept makes tokens, and is none
    ann.server.put("Sent", sent(1))
    assert "1 sent mail learnt" in ann.look()
    assert ("/introspect", {"token": "token-2"}) in issuer.asked

    issuer.revoked = True  # at the server alone
    said = ann.look(status=2)
    assert "refused the token of ann@example.org" in said
    assert said.rstrip().endswith("Store it anew: pearl mail sign-in ann@example.org")
    issuer.refresh = "another"
    assert "Access was refused: It was revoked. Sign in again: pearl mail sign-in" in ann.look(status=2)


@needs_dovecot
def test_a_renewed_grant_is_kept(start: Callable[..., Ann], issuer: Issuer, client: Callable[..., Path]) -> None:
    ann = start(oauth=checked_at(issuer))
    ann.run("mail", "sign-in", ADDRESS, client=client("device"), secret_file=ann.secret)
    kept, token = "refresh-1", issuer.token

    def renewing(values: dict[str, str]) -> dict[str, Any]:
        answer = token(values)
        issuer.refresh = "refresh-2"
        return answer | {"refresh_token": issuer.refresh}

    issuer.token = renewing  # type: ignore[method-assign]
    assert kept in ann.secret.read_text()
    ann.look()
    assert "refresh-2" in ann.secret.read_text()
    ann.look()


@pytest.mark.parametrize(
    ("flow", "path", "errors", "status", "said"),
    [
        ("device", "/device", ["invalid_client"], 2, "Access was refused: invalid_client."),
        ("device", "/token", ["slow_down", "access_denied"], 2, "Access was refused: access_denied."),
        ("device", "/token", ["expired_token"], 2, "Access was refused: expired_token."),
        ("auth", "/auth", ["access_denied\x1b[2J"], 2, "Access was not granted (access_denied"),
        ("auth", "/token", ["invalid_grant"], 2, "Access was refused: invalid_grant."),
    ],
)
def test_access_that_is_not_granted(
    flow: str, path: str, errors: list[str], status: int, said: str,
    own_home: Path, run_pearl: Any, issuer: Issuer, client: Callable[..., Path], monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.setattr("webbrowser.open", issuer.browser)
    monkeypatch.setattr("service.mail.oauth.time.sleep", lambda seconds: None)
    issuer.says[path] = errors
    secret = tmp_path / "secret"
    done = run_pearl("mail", "sign-in", ADDRESS, client=client(flow), secret_file=secret)
    assert (done.status, secret.exists()) == (status, False)
    assert said in done.err
    assert "\x1b" not in done.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nowhere.json", "--client nowhere.json: No such file or directory."),
        ("[1]", "is no JSON file of an OAuth client."),
        ("{", "is no JSON file of an OAuth client."),
        ('{"client_id": "x"}', "token_uri and scope missing; give --provider gmail or outlook, or a JSON file with"),
        ('{"token_uri": "https://x", "scope": "m", "auth_uri": "https://x"}', "client_id missing"),
        ('{"client_id": "x", "token_uri": "https://x", "scope": "m"}', "auth_uri or device_uri missing"),
        (
            '{"client_id": "x", "token_uri": "http://x", "scope": "m", "auth_uri": "https://x"}',
            "http://x is not an https",
        ),
        ('{"client_id": "x", "token_uri": "https://x", "scope": "m", "auth_uri": "file:///x"}', "file:///x is not an"),
    ],
)
def test_a_client_that_cannot_be_used(given: str, said: str, own_home: Path, run_pearl: Any, tmp_path: Path) -> None:
    if not given.endswith(".json"):
        (tmp_path / "client.json").write_text(given)
        given = str(tmp_path / "client.json")
    done = run_pearl("mail", "sign-in", ADDRESS, client=given)
    assert done.status == 2
    assert said in done.err


def test_the_large_providers() -> None:
    from service.mail.account import account_of, provider_of
    from service.mail.oauth import read_client

    for address, name, flow in (("a@gmail.com", "gmail", "auth"), ("a@Hotmail.com", "outlook", "device")):
        provider = provider_of(address, None)
        assert provider == provider_of("a@own.example", name)
        assert provider is not None
        client = read_client("my-id", provider.client)
        assert client.client_id == "my-id"
        assert bool(client.device_uri) == (flow == "device")
        account = account_of(address, None, starttls=False, ca_file=None, login=None)
        assert (account.host, account.port) == (provider.host, 993)
