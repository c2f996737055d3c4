"""The first run: who may begin without a key, and that nobody else can."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from pearl.errors import Conflict
from pearl.settings import load_settings
from service.commands.serve import is_local, take_address
from service.http.app import app_from_environment
from service.http.web.first_run import begin
from service.process.connections import ON_LOOPBACK
from service.services import Services
from service.store import keys

HERE = "http://127.0.0.1:8000"
OURS = {"Sec-Fetch-Site": "same-origin", "Origin": HERE, "Host": "127.0.0.1:8000"}
OFFER = 'action="page/begin"'


def visitor(house: Any, client: tuple[str, int] = ("127.0.0.1", 50000), base_url: str = HERE) -> TestClient:
    """A browser on this machine, unless the address says otherwise. The service listens on this machine alone."""
    house.app.state.on_loopback = True
    return TestClient(house.app, base_url=base_url, client=client, headers={"Accept": "text/html"})


def send(browser: TestClient, data: Any, **headers: str) -> Any:
    return browser.post("/page/begin", data=data, headers={**OURS, **headers}, follow_redirects=False)


def names(house: Any) -> set[str]:
    return {row.name for row in house.rows("users")}


def test_a_person_begins_and_can_come_back_with_the_key(pearl: Any) -> None:
    browser = visitor(pearl)
    assert OFFER in browser.get("/").text
    answer = send(browser, {"name": " Ann "})
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    assert "HttpOnly" in answer.headers["set-cookie"]
    key = answer.text.partition(">pearl_")[2].partition("<")[0]
    assert key
    assert names(pearl) == {"Ann"}
    assert "<bdi>Ann</bdi>" in browser.get("/").text
    browser.cookies.clear()
    page = browser.get("/").text
    assert (OFFER in page, 'name="key"' in page) == (False, True)
    signed_in = browser.post("/page/sign-in", data={"key": f"pearl_{key}"}, headers=OURS, follow_redirects=False)
    assert signed_in.status_code == 303
    with pearl.database.read() as connection:
        assert [each.name for each in keys.list_all(connection)] == ["page"]


def test_the_sample_is_tried_and_one_can_still_begin(pearl: Any) -> None:
    browser = visitor(pearl)
    for _ in range(2):
        answer = send(browser, {"sample": "yes"})
        assert (answer.status_code, answer.headers["location"]) == (303, "../")
        assert names(pearl) == {"sample"}
        assert "<bdi>sample</bdi>" in browser.get("/").text
        browser.cookies.clear()
        assert OFFER in browser.get("/").text
    assert send(browser, {"name": "Ann"}).status_code == 200
    assert OFFER not in browser.get("/").text
    assert send(browser, {"sample": "yes"}).status_code == 409


@pytest.mark.parametrize("host", ["localhost:8000", "LOCALHOST", "127.0.0.1", "127.9.9.9:1", "[::1]:8000", "[::1]"])
def test_the_addresses_of_this_machine(pearl: Any, host: str) -> None:
    browser = visitor(pearl, ("::1", 1))
    assert OFFER in browser.get("/", headers={"Host": host}).text
    assert send(browser, {"name": "Ann"}, Host=host, Origin=f"http://{host}").status_code == 200


@pytest.mark.parametrize(
    ("client", "headers"),
    [
        ("192.168.0.7", {}),  # another machine
        ("10.0.0.1", {"X-Forwarded-For": "127.0.0.1"}),
        ("testclient", {}),
        ("127.0.0.1", {"Host": "pearl.example:8000", "Origin": "http://pearl.example:8000"}),  # a name that leads here
        ("127.0.0.1", {"Host": "127.0.0.1.evil.example", "Origin": "http://127.0.0.1.evil.example"}),
        ("127.0.0.1", {"Host": "localhost.", "Origin": "http://localhost."}),
        ("127.0.0.1", {"Host": "a.localhost", "Origin": "http://a.localhost"}),
        ("127.0.0.1", {"Host": "192.168.0.2:8000", "Origin": "http://192.168.0.2:8000"}),
        ("127.0.0.1", {"Host": "[::1", "Origin": "http://[::1"}),
        ("127.0.0.1", {"Host": ""}),
        ("127.0.0.1", {"X-Forwarded-For": "203.0.113.9"}),
        ("127.0.0.1", {"X-Forwarded-Proto": "https"}),
        ("127.0.0.1", {"X-Forwarded-Host": "pearl.example"}),
        ("127.0.0.1", {"Forwarded": "for=203.0.113.9"}),
        ("127.0.0.1", {"Via": "1.1 proxy"}),
        ("127.0.0.1", {"X-Real-IP": "203.0.113.9"}),
        ("127.0.0.1", {"CF-Connecting-IP": "203.0.113.9"}),
    ],
    ids=str,
)
def test_nobody_begins_from_elsewhere(pearl: Any, client: str, headers: dict[str, str]) -> None:
    browser = visitor(pearl, (client, 50000))
    assert OFFER not in browser.get("/", headers=headers).text
    for data in ({"name": "Eve"}, {"sample": "yes"}):
        answer = send(browser, data, **headers)
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
    assert names(pearl) == set()


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:3000"},  # another program of this machine
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://pearl.example"},  # a proxy that says nothing of itself
        {"Sec-Fetch-Site": "same-origin"},
        {},
    ],
    ids=str,
)
def test_a_page_elsewhere_cannot_begin(pearl: Any, headers: dict[str, str]) -> None:
    browser = visitor(pearl)
    for data in ({"name": "Eve"}, {"sample": "yes"}):
        answer = browser.post("/page/begin", data=data, headers=headers, follow_redirects=False)
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
    assert names(pearl) == set()


def test_only_a_form_begins(pearl: Any) -> None:
    browser = visitor(pearl)
    assert browser.post("/page/begin", json={"name": "Eve"}, headers=OURS).status_code == 400
    assert browser.get("/page/begin", params={"name": "Eve"}).status_code == 422
    assert browser.get("/page/begin", follow_redirects=False).headers["location"] == "../"
    assert names(pearl) == set()


def test_a_proxy_as_it_comes_is_told_by_its_protocol(listen: Any) -> None:
    """nginx, left as it is, names the service's own address as the host, and speaks HTTP/1.0."""
    served = listen()
    served.house.app.state.on_loopback = True
    host, _, port = served.address.removeprefix("http://").partition(":")
    for version, offered in (("1.1", True), ("1.0", False)):
        with socket.create_connection((host, int(port)), timeout=120) as connection:
            head = f"GET / HTTP/{version}\r\nHost: {host}:{port}\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode())
            page = b"".join(iter(lambda: connection.recv(65_536), b"")).decode()
        assert (OFFER in page) == offered


def test_a_service_that_others_reach_offers_nothing(pearl: Any) -> None:
    browser = visitor(pearl)
    pearl.app.state.on_loopback = False
    assert OFFER not in browser.get("/").text
    assert send(browser, {"name": "Eve"}).status_code == 403


def test_where_a_proxy_says_who_users_are_nobody_begins(house: Any, tmp_path: Path) -> None:
    file = tmp_path.parent / f"{tmp_path.name}.toml"
    file.write_text(
        'address = "http://127.0.0.1:8000"\n[[proxies]]\nheader = "Remote-User"\naddresses = ["127.0.0.1"]\n'
    )
    pearl = house(sign_on=str(file))
    browser = visitor(pearl)
    assert OFFER not in browser.get("/").text
    assert send(browser, {"name": "Eve"}).status_code == 403


@pytest.mark.parametrize("name", ["", " ", "sample", "a\nb", "x" * 201, "\u202eann"])
def test_names_that_cannot_be(pearl: Any, name: str) -> None:
    answer = send(visitor(pearl), {"name": name})
    assert (answer.status_code, 'role="alert"' in answer.text) == (422, True)
    assert 'action="../page/begin"' in answer.text
    assert names(pearl) == set()


def test_a_user_of_ones_own_ends_it(pearl: Any) -> None:
    browser = visitor(pearl)
    pearl.user("ann")
    assert OFFER not in browser.get("/").text
    answer = send(browser, {"name": "Eve"})
    assert (answer.status_code, "set-cookie" in answer.headers) == (409, False)
    assert names(pearl) == {"ann"}


def test_of_several_that_begin_at_once_one_does(database_url: str, tmp_path: Path) -> None:
    services = Services(load_settings(home=tmp_path, database_url=database_url))

    def one(name: str) -> bool:
        try:
            begin(services, name)
        except Conflict:
            return False
        return True

    try:
        with ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(one, "abcdef")) == 1
        with services.database.read() as connection:
            assert len(keys.list_all(connection)) == 1
    finally:
        services.database.close()


@pytest.mark.parametrize(("host", "local"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_what_serve_says_of_its_address(host: str, local: bool) -> None:
    with closing(take_address(host, 0)) as bound:
        assert is_local(bound) == local


@pytest.mark.usefixtures("logs_as_before")
def test_the_app_heeds_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PEARL_HOME", str(tmp_path))
    monkeypatch.setenv("PEARL_LOG_LEVEL", "error")
    for value, expected in (("1", True), ("", False)):
        monkeypatch.setenv(ON_LOOPBACK, value)
        assert app_from_environment().state.on_loopback == expected
