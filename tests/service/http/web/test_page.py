"""The page's sessions, its forms and its headers, by HTTP."""

from __future__ import annotations

import re
import socket
import time
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from service.http.api import sessions
from service.http.api.sessions import COOKIE, LASTS_S, SECRET_FILE, Sessions
from service.http.web.page import ASSETS, FOLDER
from service.store import keys

HTML = {"Accept": "text/html"}
OURS = {"Sec-Fetch-Site": "same-origin", "Origin": "http://testserver"}
HOSTILE = "<script>alert(1)</script>\"'&"


def sign_in(house: Any, key: str, headers: Any = OURS) -> Any:
    return house.client.post("/page/sign-in", data={"key": key}, headers=headers, follow_redirects=False)


def front(house: Any, **headers: str) -> Any:
    return house.client.get("/", headers={**HTML, **headers})


def token(house: Any) -> str:
    found = re.search(r'name="pearl-token" content="([^"]+)"', front(house).text)
    assert found is not None
    return found.group(1)


def test_a_key_opens_a_session_that_scripts_cannot_read(pearl: Any) -> None:
    pearl.voice("ann", "email")
    key = pearl.key("ann")
    answer = sign_in(pearl, f"  Bearer {key} ")
    assert (answer.status_code, answer.headers["location"]) == (303, "../")
    cookie = answer.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Path=/", f"Max-Age={LASTS_S}"):
        assert part in cookie
    assert "Secure" not in cookie
    assert key not in cookie
    page = front(pearl).text
    assert "<bdi>ann</bdi>" in page
    assert '<option value="email">email</option>' in page
    assert key not in page


@pytest.mark.parametrize(
    ("base", "headers"),
    [
        ("https://testserver", {}),
        ("http://testserver", {"Origin": "https://testserver"}),  # a proxy of which PEARL knows nothing
        ("http://testserver", {"X-Forwarded-Proto": "https, http"}),
    ],
)
def test_behind_tls_the_cookie_is_for_tls_alone(pearl: Any, base: str, headers: dict[str, str]) -> None:
    client = TestClient(pearl.app, base_url=base)
    data = {"key": pearl.key("ann")}
    answer = client.post("/page/sign-in", data=data, headers={**OURS, **headers}, follow_redirects=False)
    assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize("path", ["sign-in", "begin"])
def test_forms_that_do_not_come_are_few_and_end(listen: Any, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr("service.http.web.page.FORMS_AT_ONCE", 2)
    served = listen()
    where = ("127.0.0.1", int(served.address.rpartition(":")[2]))
    head = b"POST /page/%s HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n" % path.encode()
    with ExitStack() as stack:

        def send() -> Any:
            connection = stack.enter_context(socket.create_connection(where, timeout=60))
            connection.sendall(head + b"Content-Length: 100\r\n\r\nkey=")
            return stack.enter_context(connection.makefile("rb"))

        def statuses(answers: list[Any]) -> list[bytes]:  # reads each to the connection's end
            return [answer.read().partition(b"\r\n")[0].split()[1] for answer in answers]

        monkeypatch.setattr("service.http.web.page.FORM_S", 0.01)
        assert statuses([send()]) == [b"408"]
        monkeypatch.setattr("service.http.web.page.FORM_S", 600.0)
        _waiting = [send() for _ in range(2)]
        while len(served.house.app.state.forms) < 2:
            time.sleep(0.001)
        assert statuses([send() for _ in range(3)]) == [b"503"] * 3
        assert httpx2.get(f"{served.address}/health").status_code == 200


def test_the_session_does_what_the_key_does(pearl: Any) -> None:
    pearl.add("ann", "Kettle's on.")
    sign_in(pearl, pearl.key("ann"))
    ours = {"X-Pearl-Page": token(pearl), **OURS}
    listed = pearl.client.get("/v1/documents", headers=ours)
    assert [document["text"] for document in listed.json()["data"]] == ["Kettle's on."]
    draft = pearl.client.post("/v1/drafts", json={"request": "Write"}, headers=ours)
    assert draft.json()["text"] == "A fake reply."
    assert "x-ratelimit-remaining-requests" in draft.headers
    feedback = {"draft_id": draft.json()["id"], "outcome": "accepted"}
    assert pearl.client.post("/v1/feedback", json=feedback, headers=ours).status_code == 201


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Pearl-Page": "wrong"},
        {"X-Pearl-Page": "ä".encode()},
        {"X-Pearl-Page": "RIGHT", "Sec-Fetch-Site": "cross-site"},
        {"X-Pearl-Page": "RIGHT", "Sec-Fetch-Site": "same-site"},  # another port of this host
        {"X-Pearl-Page": "RIGHT", "Sec-Fetch-Site": "none"},
        {"X-Pearl-Page": "RIGHT", "Origin": "http://testserver:8001"},
        {"X-Pearl-Page": "RIGHT", "Origin": "https://evil.example"},
        {"X-Pearl-Page": "RIGHT", "Origin": "null"},
    ],
    ids=str,
)
def test_a_call_of_another_site_is_refused(pearl: Any, headers: dict[str, Any]) -> None:
    sign_in(pearl, pearl.key("ann"))
    if headers.get("X-Pearl-Page") == "RIGHT":
        headers = {**headers, "X-Pearl-Page": token(pearl)}
    for method, path, body in (
        ("GET", "/v1/export", None),
        ("POST", "/v1/drafts", {"request": "x"}),
        ("DELETE", "/v1/me", None),
    ):
        answer = pearl.client.request(method, path, json=body, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "not_from_the_page"), (method, path)


def test_a_tab_goes_on_after_the_same_person_signed_in_again_and_never_as_another(pearl: Any) -> None:
    key = pearl.key("ann")
    sign_in(pearl, key)
    old_tab = {"X-Pearl-Page": token(pearl), **OURS}
    sign_in(pearl, key)
    assert pearl.client.get("/v1/voices", headers=old_tab).status_code == 200
    sign_in(pearl, pearl.key("ben"))
    assert pearl.client.get("/v1/voices", headers=old_tab).json()["error"]["code"] == "not_from_the_page"


def test_a_key_in_the_header_outranks_the_session(pearl: Any) -> None:
    pearl.add("ben", "Ben's.")
    sign_in(pearl, pearl.key("ann"))
    assert pearl.as_user("ben").get("/v1/documents").json()["data"][0]["text"] == "Ben's."
    refused = pearl.client.get(
        "/v1/documents", headers={"Authorization": "Bearer pearl_wrong", "X-Pearl-Page": token(pearl)}
    )
    assert refused.status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://testserver:81"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({}, 403),  # every browser says where a form comes from
        ({"Origin": "http://testserver"}, 303),
        ({"Sec-Fetch-Site": "same-origin"}, 303),
    ],
)
def test_only_the_pages_own_form_signs_in(pearl: Any, headers: Any, status: int) -> None:
    answer = sign_in(pearl, pearl.key("ann"), headers)
    assert answer.status_code == status
    assert ("set-cookie" in answer.headers) == (status == 303)


@pytest.mark.parametrize("key", ["", "pearl_wrong", HOSTILE, "ä", "\0"])
def test_a_wrong_key_is_said_on_the_page_and_shown_nowhere(pearl: Any, key: str) -> None:
    answer = sign_in(pearl, key)
    assert answer.status_code == 401
    assert 'role="alert"' in answer.text
    assert "set-cookie" not in answer.headers
    assert HOSTILE not in answer.text
    assert 'action="../page/sign-in"' in answer.text  # its address is one folder further down


def test_a_service_key_opens_no_page(pearl: Any) -> None:
    answer = sign_in(pearl, pearl.service_key("ann"))
    assert (answer.status_code, "a key of your own" in answer.text) == (403, True)


def test_a_form_is_short_and_a_form(pearl: Any) -> None:
    assert sign_in(pearl, "x" * 5000).status_code == 413
    answer = pearl.client.post("/page/sign-in", json={"key": pearl.key("ann")}, headers=OURS)
    assert answer.status_code == 400


def test_a_key_in_the_address_opens_nothing(pearl: Any) -> None:
    for path in ("/", "/page/sign-in"):
        answer = pearl.client.get(path, params={"key": pearl.key("ann")}, headers=HTML)
        assert answer.status_code in (405, 422)
        assert "set-cookie" not in answer.headers


def test_signing_out_needs_the_token_and_ends_it(pearl: Any) -> None:
    sign_in(pearl, pearl.key("ann"))
    for data, headers in (
        ({"token": ""}, OURS),
        ({"token": "wrong"}, OURS),
        ({"token": token(pearl)}, {"Sec-Fetch-Site": "cross-site"}),
    ):
        answer = pearl.client.post("/page/sign-out", data=data, headers=headers, follow_redirects=False)
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
    answer = pearl.client.post("/page/sign-out", data={"token": token(pearl)}, headers=OURS)
    assert COOKIE not in pearl.client.cookies
    assert 'name="key"' in front(pearl).text
    assert (
        pearl.client.post("/page/sign-out", data={"token": ""}, headers=OURS, follow_redirects=False).status_code == 303
    )


def test_a_session_ends_at_its_time(pearl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_in(pearl, pearl.key("ann"))
    ours, now = {"X-Pearl-Page": token(pearl), **OURS}, time.time()
    monkeypatch.setattr(sessions, "time", SimpleNamespace(time=lambda: now + LASTS_S - 5))
    assert pearl.client.get("/v1/voices", headers=ours).status_code == 200
    monkeypatch.setattr(sessions, "time", SimpleNamespace(time=lambda: now + LASTS_S + 5))
    answer = pearl.client.get("/v1/voices", headers=ours)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "session_ended")
    page = front(pearl)
    assert "Your session has ended" in page.text
    assert "Max-Age=0" in page.headers["set-cookie"]


def test_a_session_ends_with_its_key(pearl: Any) -> None:
    sign_in(pearl, pearl.key("ann"))
    ours = {"X-Pearl-Page": token(pearl), **OURS}
    with pearl.database.write() as connection:
        keys.revoke(connection, keys.list_all(connection)[0].id)
    assert pearl.client.get("/v1/voices", headers=ours).status_code == 401
    assert 'name="key"' in front(pearl).text


@pytest.mark.parametrize("change", ["key", "later", "cut", "none", "other", "umlaut"])
def test_a_forged_cookie_opens_nothing(pearl: Any, change: str, tmp_path: Any) -> None:
    sign_in(pearl, pearl.key("ann"))
    key_id, ends, signature = pearl.client.cookies[COOKIE].split(".")
    forged = {
        "key": f"key_other.{ends}.{signature}",
        "later": f"{key_id}.{int(ends) + 1}.{signature}",
        "cut": f"{key_id}.{ends}.{signature[:-1]}",
        "none": f"{key_id}.{ends}.",
        "other": Sessions(tmp_path).begin(key_id),  # signed with another secret
        "umlaut": "\xe4",
    }[change]
    pearl.client.cookies.clear()
    headers = {"Cookie": f"{COOKIE}={forged}".encode("latin-1"), **OURS}
    answer = pearl.client.get("/v1/voices", headers={**headers, "X-Pearl-Page": "x"})
    assert answer.json()["error"]["code"] == "session_ended"
    assert 'name="key"' in pearl.client.get("/", headers={**headers, **HTML}).text


def test_a_session_holds_for_every_worker_and_after_a_restart(tmp_path: Any) -> None:
    first = Sessions(tmp_path)
    cookie = first.begin("key_1")
    second = Sessions(tmp_path)
    assert second.key_id(cookie) == "key_1"
    assert second.token("key_1") == first.token("key_1") != first.token("key_2")
    assert (tmp_path / SECRET_FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [SECRET_FILE]


def test_workers_that_start_together_share_one_secret(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other worker writes its secret after this one saw that there is none."""
    ours, theirs = Sessions(tmp_path), Sessions(tmp_path)
    link = sessions.os.link

    def later(*paths: Any) -> None:
        monkeypatch.setattr(sessions.os, "link", link)
        theirs.begin("key_1")
        link(*paths)

    monkeypatch.setattr(sessions.os, "link", later)
    assert theirs.key_id(ours.begin("key_1")) == "key_1"


def test_a_damaged_secret_is_said(pearl: Any) -> None:
    (pearl.settings.home / SECRET_FILE).write_bytes(b"short")
    answer = sign_in(pearl, pearl.key("ann"))
    assert (answer.status_code, "set-cookie" in answer.headers) == (503, False)


def test_a_link_from_another_site_asks_again_by_itself(pearl: Any) -> None:
    """The browser leaves the cookie out of such a visit."""
    refresh = '<meta http-equiv="refresh"'
    assert refresh in front(pearl, **{"Sec-Fetch-Site": "cross-site"}).text
    assert refresh not in front(pearl, **{"Sec-Fetch-Site": "same-origin"}).text


def test_names_are_text_and_the_page_runs_its_own_script_alone(pearl: Any) -> None:
    pearl.voice(HOSTILE, HOSTILE)
    sign_in(pearl, pearl.key(HOSTILE))
    page = front(pearl)
    assert HOSTILE not in page.text
    # the user, and a voice in five lists, twice in each
    assert page.text.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 11
    scripts = re.findall(r"<script\b[^>]*>(.*?)</script>", page.text)
    assert scripts == [""] * len([name for name in ASSETS if name.endswith(".js") and name != "begun.js"])
    assert not re.search(r"<style|\son\w+=|\sstyle=|https?://", page.text)
    policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "connect-src", "form-action")} == {"'self'"}
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["cache-control"] == "no-store"


def test_the_files_are_light_and_kept(pearl: Any) -> None:
    sign_in(pearl, pearl.key("ann"))
    page = front(pearl).text
    addresses = re.findall(r'(?:src|href)="(page/assets/[^"]+)"', page)
    answers = {address: pearl.client.get(f"/{address}") for address in addresses}
    assert {address.partition("?")[0].rpartition("/")[2] for address in answers} == ASSETS.keys() - {"begun.js"}
    assert pearl.client.get("/favicon.ico").headers["content-type"] == "image/svg+xml"
    for address, answer in answers.items():
        assert answer.headers["cache-control"] == "max-age=31536000, immutable", address
        assert "//" not in re.sub(r"(?m)^\s*//.*$|\s// .*$|http://www.w3.org/2000/svg", "", answer.text), address
    assert pearl.client.get("/page/assets/page.js").headers["cache-control"] == "no-cache"
    assert pearl.client.get("/page/assets/sign_in.html").status_code == 404
    assert sum(len(answer.content) for answer in answers.values()) + len(page.encode()) < 80_000
    assert len((FOLDER / "page.html").read_text(encoding="utf-8")) < 14_000
