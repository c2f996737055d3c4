"""The file of the sign-on, and the headers of proxies."""

from __future__ import annotations

import logging
import os
from typing import Any

import pytest

from pearl.errors import AccessError, InputError
from pearl.settings import load_settings
from service.sign_on.accepted import SignOn
from service.sign_on.terms import read_terms

ISSUER = '[[issuers]]\nissuer = "https://login.example"\nuser_claim = "sub"\n'
HERE = 'address = "https://pearl.example"\n'
PROXIES = """address = "https://pearl.example"
[[proxies]]
addresses = ["10.0.0.1", "fd00::/8"]
header = "X-Forwarded-User"
[[proxies]]
addresses = ["10.0.0.0/24"]
header = "Remote-User"
"""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("address = ", "it is not TOML"),
        ("", "'address': Field required."),
        ('address = "pearl.example"', "'address': write https://HOST"),
        ('address = "http://pearl.example"', "'address': write https://HOST"),
        ('address = "https://pearl.example?key=1"', "'address': leave out queries"),
        (f"{HERE}new_user = true", "'new_user': there is no such field."),
        (f"{HERE}new_users = -1", "'new_users': write true, or the number"),
        (f"{HERE}{ISSUER}secret = 1", "'issuers.0.secret': there is no"),
        (f'{HERE}[[issuers]]\nissuer = "https://login.example"', "'issuers.0.user_claim': Field required."),
        (HERE + ISSUER.replace("https", "http"), "'issuers.0.issuer': write https://HOST"),
        (HERE + ISSUER + ISSUER, "'issuers': an issuer stands here twice"),
        (f'{HERE}[[proxies]]\naddresses = []\nheader = "X-User"', "'proxies.0.addresses': Tuple should have"),
        (f'{HERE}[[proxies]]\naddresses = ["10.0.0.300"]\nheader = "X-User"', "'proxies.0.addresses.0': value is not"),
        (f'{HERE}[[proxies]]\naddresses = ["10.0.0.1"]\nheader = "Cookie"', "'proxies.0.header': no usable header"),
        (f'{HERE}[[proxies]]\naddresses = ["10.0.0.1"]\nheader = "X_User"', "'proxies.0.header': no usable header"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_that_names_the_field(tmp_path: Any, content: str, message: str) -> None:
    file = tmp_path / "sign-on.toml"
    file.write_text(content)
    with pytest.raises(InputError, match=r"^PEARL_SIGN_ON=") as caught:
        read_terms(file)
    assert f"sign-on.toml': {message}" in caught.value.message
    assert caught.value.code == "invalid_setting"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
@pytest.mark.parametrize(("mode", "secret", "is_read"), [(0o600, 1, 1), (0o640, 1, 1), (0o644, 0, 1), (0o644, 1, 0)])
def test_a_secret_that_others_may_read_is_refused(tmp_path: Any, mode: int, secret: bool, is_read: bool) -> None:
    file = tmp_path / "sign-on.toml"
    file.write_text(HERE + ISSUER + ('client_secret = "s3cret"\n' if secret else ""))
    file.chmod(mode)
    if is_read:
        assert read_terms(file).issuers
        return
    with pytest.raises(InputError, match=r"mode 0644.*: chmod 600 ") as caught:
        read_terms(file)
    assert (caught.value.code, "s3cret" in caught.value.message) == ("readable_secret", False)


def test_a_file_that_is_not_there_is_said(tmp_path: Any) -> None:
    with pytest.raises(InputError, match="it cannot be read: No such file"):
        read_terms(tmp_path / "none.toml")
    assert SignOn(load_settings(home=tmp_path, sign_on="")).terms is None


def sign_on(tmp_path: Any) -> SignOn:
    (tmp_path / "proxies.toml").write_text(PROXIES)
    return SignOn(load_settings(home=tmp_path, sign_on=str(tmp_path / "proxies.toml")))


@pytest.mark.parametrize(
    ("address", "headers", "name"),
    [
        ("10.0.0.1", [("X-Forwarded-User", "ada")], "ada"),
        ("::ffff:10.0.0.1", [("x-forwarded-user", "ada")], "ada"),
        ("fd00::7", [("X-Forwarded-User", "Jörg")], "Jörg"),
        ("10.0.0.9", [("Remote-User", "ada")], "ada"),
        ("10.0.0.1", [("X-Forwarded-User", "")], None),  # nobody signed on there
        ("192.0.2.1", [("Accept", "*/*")], None),
    ],
)
def test_a_proxy_names_the_user(tmp_path: Any, address: str, headers: Any, name: str | None) -> None:
    found = sign_on(tmp_path).proxied([(key.encode(), value.encode()) for key, value in headers], address)
    assert (found and found.name) == name


@pytest.mark.parametrize(
    ("address", "headers", "code"),
    [
        ("10.0.0.2", [("X-Forwarded-User", "ada")], "not_a_trusted_proxy"),
        ("127.0.0.1", [("Remote-User", "ada")], "not_a_trusted_proxy"),
        ("127.0.0.1", [("Remote-User", "")], "not_a_trusted_proxy"),
        ("fd00::7", [("Remote-User", "ada")], "not_a_trusted_proxy"),
        (None, [("Remote-User", "ada")], "not_a_trusted_proxy"),
        ("testclient", [("Remote-User", "ada")], "not_a_trusted_proxy"),
        ("10.0.0.2", [("Remote-User", "ada"), ("X-Forwarded-User", "ben")], "not_a_trusted_proxy"),
        ("10.0.0.1", [("Remote-User", "ada"), ("X-Forwarded-User", "ada")], "ambiguous_user"),
        ("10.0.0.1", [("Remote-User", "ada"), ("remote-user", "ben")], "ambiguous_user"),
        ("10.0.0.1", [("Remote-User", "ada, ben")], "ambiguous_user"),
        ("10.0.0.1", [("Remote-User", "a" * 201)], "no_user_claim"),
        ("10.0.0.1", [("Remote-User", "ada\tben")], "no_user_claim"),
    ],
)
def test_headers_that_are_refused(tmp_path: Any, caplog: Any, address: Any, headers: Any, code: str) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(AccessError) as caught:
        sign_on(tmp_path).proxied([(key.encode(), value.encode()) for key, value in headers], address)
    assert (caught.value.http_status, caught.value.code) == (403, code)
    logged = [record.getMessage() for record in caplog.records]
    assert len(logged) == (code == "not_a_trusted_proxy")
    assert all(f"from {address}: no proxy of the file" in line and "ada" not in line for line in logged)


def test_a_name_of_another_encoding_is_no_name(tmp_path: Any) -> None:
    with pytest.raises(AccessError, match="holds no name"):
        sign_on(tmp_path).proxied([(b"remote-user", "Jörg".encode("latin-1"))], "10.0.0.1")


@pytest.fixture
def behind(listen: Any, tmp_path: Any) -> Any:
    """A service whose proxy is this machine, at a real address."""
    file = tmp_path.parent / f"{tmp_path.name}.toml"

    def make(addresses: str) -> Any:
        file.write_text(
            f'{HERE}new_users = true\n[[proxies]]\naddresses = ["{addresses}"]\nheader = "X-Forwarded-User"\n'
        )
        return listen(sign_on=str(file))

    return make


def test_who_connects_counts_not_what_is_forwarded(behind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Uvicorn takes X-Forwarded-For of this machine for the client's address."""
    import httpx2

    for addresses, forwarded, status in (
        ("127.0.0.1", "192.0.2.1", 200),
        ("192.0.2.1", "192.0.2.1", 403),
        ("192.0.2.1", "", 403),
    ):
        served = behind(addresses)
        headers = {"X-Forwarded-User": "ada"} | ({"X-Forwarded-For": forwarded} if forwarded else {})
        answer = httpx2.get(f"{served.address}/v1/voices", headers=headers)
        assert answer.status_code == status, (addresses, forwarded, answer.text)
        assert httpx2.get(f"{served.address}/v1/voices").status_code == 401
        key = {"Authorization": f"Bearer {served.house.key('ben')}"}
        assert httpx2.get(f"{served.address}/v1/voices", headers={**headers, **key}).status_code == status
        assert httpx2.get(f"{served.address}/v1/voices", headers=key).status_code == 200


def test_the_page_opens_for_the_proxys_user_and_for_no_other_site(behind: Any) -> None:
    import httpx2

    served = behind("127.0.0.0/8")
    with httpx2.Client(base_url=served.address, headers={"X-Forwarded-User": "ada"}) as browser:
        page = browser.get("/", headers={"Accept": "text/html", "Sec-Fetch-Site": "cross-site"})
        assert "<bdi>ada</bdi>" in page.text
        ours = {"Sec-Fetch-Site": "same-origin", "Origin": served.address}
        assert browser.get("/v1/voices", headers=ours).status_code == 200
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
            assert browser.delete("/v1/me", headers=headers).json()["error"]["code"] == "not_from_the_page"
    page = httpx2.get(served.address, headers={"Accept": "text/html"})
    assert 'name="key"' in page.text
