"""Signing in on the page at a real issuer, by HTTP and in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from service.http.api.sessions import COOKIE
from service.http.web.sign_on import UNDER_WAY
from tests.browser import CHROMIUM, browser
from tests.issuer import Issuer

HTML = {"Accept": "text/html"}
OURS = {"Sec-Fetch-Site": "same-origin", "Origin": "http://testserver"}
FILE = """
address = "{address}"
new_users = true
[[issuers]]
issuer = "{issuer}"
user_claim = "email"
name = "Example <b>"
client_id = "the:page"
"""


@pytest.fixture
def write(theirs: Issuer, tmp_path: Any) -> Callable[..., str]:
    def make(more: str = "", address: str = "http://localhost") -> str:
        file = tmp_path.parent / f"{tmp_path.name}.toml"
        file.write_text(FILE.format(address=address, issuer=theirs.address) + more)
        file.chmod(0o600)  # it may hold a secret
        return str(file)

    return make


def begin(pearl: Any) -> dict[str, str]:
    """Go to the issuer; return the parameters with which it leads back."""
    answer = pearl.client.get("/page/sign-on?issuer=0", follow_redirects=False)
    assert answer.status_code == 303, answer.text
    cookie = answer.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=lax", "Max-Age=600"))
    led = httpx2.get(answer.headers["location"]).headers["location"]
    assert urlsplit(led).path == "/page/signed-on"
    return {name: values[0] for name, values in parse_qs(urlsplit(led).query).items()}


def end(pearl: Any, given: dict[str, str]) -> Any:
    return pearl.client.get("/page/signed-on", params=given, follow_redirects=False)


@pytest.mark.parametrize("secret", [None, "a secret: +%&"])
def test_a_person_signs_in_writes_and_signs_out(house: Any, theirs: Issuer, write: Any, secret: str | None) -> None:
    theirs.secret = secret
    pearl = house(sign_on=write("" if secret is None else f'client_secret = "{secret}"\n'))
    page = pearl.client.get("/", headers=HTML).text
    assert '<a class="main" href="page/sign-on?issuer=0">Sign in with Example &lt;b&gt;</a>' in page
    given = begin(pearl)
    answer = end(pearl, given)
    assert (answer.status_code, answer.headers["location"]) == (303, "../")
    cookies = answer.headers.get_list("set-cookie")
    assert any(part.startswith(COOKIE) and "HttpOnly" in part and "SameSite=strict" in part for part in cookies)
    assert any(part.startswith(f'{UNDER_WAY}=""') for part in cookies)
    page = pearl.client.get("/", headers=HTML).text
    assert "<bdi>ada@example.org</bdi>" in page
    token = page.partition('name="pearl-token" content="')[2].partition('"')[0]
    ours = {"X-Pearl-Page": token, **OURS}
    assert pearl.client.post("/v1/drafts", json={"request": "Write"}, headers=ours).json()["text"] == "A fake reply."
    assert pearl.client.get("/v1/voices", headers={**ours, "Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert pearl.client.get("/v1/voices", headers={"X-Pearl-Page": "wrong", **OURS}).status_code == 403
    assert end(pearl, given).status_code == 403  # once
    assert pearl.client.post("/page/sign-out", data={"token": token}, headers=OURS).status_code == 200
    assert pearl.client.get("/v1/voices", headers=ours).status_code == 401


def test_a_session_ends_with_its_user_and_with_the_sign_on(house: Any, theirs: Issuer, write: Any) -> None:
    pearl = house(sign_on=write())
    end(pearl, begin(pearl))
    cookie = pearl.client.cookies[COOKIE]
    assert cookie.startswith("user_1.")
    page = pearl.client.get("/", headers=HTML).text
    ours = {"X-Pearl-Page": page.partition('name="pearl-token" content="')[2].partition('"')[0], **OURS}
    without = pearl.app.state.sessions.__class__(pearl.settings.home)  # after a start with keys alone
    pearl.app.state.sessions, signing = without, pearl.app.state.sessions
    assert pearl.client.get("/v1/voices", headers=ours).json()["error"]["code"] == "session_ended"
    pearl.app.state.sessions = signing
    assert pearl.client.delete("/v1/me", headers=ours).status_code == 204
    assert pearl.client.get("/v1/voices", headers=ours).json()["error"]["code"] == "session_ended"
    assert 'name="key"' in pearl.client.get("/", headers=HTML).text


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"state": "wrong"}, 403, "did not begin in this browser"),
        ({"state": ""}, 403, "did not begin in this browser"),
        ({"state": "ä"}, 403, "did not begin in this browser"),
        ({"iss": "https://evil.example"}, 403, "Another issuer answered"),
        ({"error": "access_denied"}, 403, "did not sign you on (access_denied)"),
        ({"error": "<script>"}, 403, "did not sign you on (no code)"),
        ({"code": None}, 403, "did not sign you on (no code)"),
        ({"code": "of another"}, 403, "did not confirm the sign-on (status 400)"),
        ({"cookie": None}, 403, "did not begin in this browser"),
        ({"cookie": "0.state.9999999999.forged"}, 403, "did not begin in this browser"),
    ],
    ids=str,
)
def test_answers_that_sign_nobody_in(
    house: Any, theirs: Issuer, write: Any, change: Any, status: int, message: str
) -> None:
    pearl = house(sign_on=write())
    given = begin(pearl)
    if "cookie" in change:
        pearl.client.cookies.clear()
        pearl.client.cookies.set(UNDER_WAY, change["cookie"] or "")
    changed = {**given, **change}
    answer = end(pearl, {name: value for name, value in changed.items() if value is not None and name != "cookie"})
    assert (answer.status_code, message in answer.text) == (status, True), answer.text
    assert 'role="alert"' in answer.text
    assert "<script" not in answer.text
    assert COOKIE not in pearl.client.cookies
    assert pearl.rows("users") == []


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"refuses": "access_denied"}, 403, "did not sign you on (access_denied)"),
        ({"nonce": "of another sign-on"}, 403, "belongs to another sign-on"),
        ({"claims": {"azp": "another"}}, 403, "belongs to another sign-on"),
        ({"claims": {"sub": "1"}}, 403, "no claim &#x27;email&#x27;"),
        ({"claims": {"email": "ada@example.org", "exp": 1}}, 401, "expired"),
        ({"claims": {"email": "ada@example.org", "email_verified": False}}, 403, "email_verified"),
        ({"down": True}, 503, "does not answer"),
    ],
    ids=str,
)
def test_an_issuer_that_signs_nobody_in(
    house: Any, theirs: Issuer, write: Any, change: Any, status: int, message: str
) -> None:
    pearl = house(sign_on=write())
    for name, value in change.items():
        if name != "down":
            setattr(theirs, name, value)
    given = begin(pearl)
    theirs.down = change.get("down", False)
    answer = end(pearl, given)
    assert (answer.status_code, message in answer.text) == (status, True), answer.text
    assert COOKIE not in pearl.client.cookies
    assert pearl.rows("users") == []


def test_the_page_says_that_the_issuer_is_down_and_takes_keys(house: Any, theirs: Issuer, write: Any) -> None:
    theirs.down = True
    pearl = house(sign_on=write())
    answer = pearl.client.get("/page/sign-on", follow_redirects=False)
    assert (answer.status_code, "does not answer" in answer.text) == (503, True)
    signed = pearl.client.post("/page/sign-in", data={"key": pearl.key("ann")}, headers=OURS, follow_redirects=False)
    assert signed.status_code == 303


def test_an_access_token_is_no_answer_of_the_page_nor_the_other_way_round(
    house: Any, theirs: Issuer, write: Any
) -> None:
    """Each token is for its audience: the page's client, or the API."""
    pearl = house(sign_on=write())
    for audience, status in (("the:page", 401), ("http://localhost/mcp", 200)):
        headers = {"Authorization": f"Bearer {theirs.token(audience)}"}
        assert pearl.client.get("/v1/voices", headers=headers).status_code == status


def test_without_an_issuer_there_is_nothing_to_sign_on_with(pearl: Any) -> None:
    assert "page/sign-on" not in pearl.client.get("/", headers=HTML).text
    assert pearl.client.get("/page/sign-on").json()["error"]["code"] == "no_sign_on"
    assert pearl.client.get("/page/signed-on?code=1&state=2").status_code == 403


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_in_a_browser_that_keeps_strict_cookies_from_other_sites(listen: Any, theirs: Issuer, write: Any) -> None:
    """The issuer at localhost is another site than the service at 127.0.0.1."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    served = listen(sign_on=write(address=f"http://127.0.0.1:{port}"), port=port)
    with browser() as tab:
        tab.open(f"{served.address}/")
        tab.click("a[href*='page/sign-on']")
        tab.until("!!document.querySelector('#request')")
        assert tab.run("document.querySelector('bdi').textContent") == "ada@example.org"
        assert tab.run("location.href") == f"{served.address}/"
        assert tab.run("document.cookie") == ""
        assert tab.errors == []
