"""Tokens of an issuer as bearer tokens of the API, checked against a real issuer."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from service.sign_on import issuers
from tests.issuer import Issuer, certificate, issuer

HERE = "https://pearl.example"
FILE = """
address = "https://pearl.example/"
new_users = {new_users}
[[issuers]]
issuer = "{issuer}"
user_claim = "email"
name = "Example"
"""


@pytest.fixture
def served(house: Any, theirs: Issuer, tmp_path: Any) -> Callable[..., Any]:
    def make(more: str = "", new_users: bool | int = True, **settings: Any) -> Any:
        file = tmp_path.parent / f"{tmp_path.name}.toml"
        file.write_text(FILE.format(issuer=theirs.address, new_users=str(new_users).lower()) + more)
        return house(sign_on=str(file), **settings)

    return make


def listed(pearl: Any, token: str, **headers: str) -> Any:
    return pearl.client.get("/v1/documents", headers={"Authorization": f"Bearer {token}", **headers})


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
@pytest.mark.parametrize("audience", [HERE, f"{HERE}/mcp", ["other", f"{HERE}/"]])
def test_a_token_opens_its_users_history(served: Any, theirs: Issuer, algorithm: str, audience: Any) -> None:
    theirs.rotate("key", algorithm)
    pearl = served(new_users=False)
    pearl.add("ada@example.org", "Kettle's on.")
    answer = listed(pearl, theirs.token(audience))
    assert [document["text"] for document in answer.json()["data"]] == ["Kettle's on."]
    assert answer.headers["x-ratelimit-remaining-requests"] == "599"
    assert listed(pearl, theirs.token(audience), **{"X-Pearl-User": "ada@example.org"}).status_code == 200
    assert listed(pearl, theirs.token(audience), **{"X-Pearl-User": "ben"}).status_code == 403
    assert listed(pearl, pearl.key("ada@example.org")).status_code == 200  # keys go on
    assert theirs.asked.count("/keys") == 1


def b64(content: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


def unsigned(theirs: Issuer) -> str:
    _, claims, _ = theirs.token(HERE).split(".")
    return f"{b64({'alg': 'none', 'kid': 'first'})}.{claims}."


def by_public_key(theirs: Issuer) -> str:
    """The attack on libraries that take the public key for the secret of an HMAC."""
    import hmac

    _, claims, _ = theirs.token(HERE).split(".")
    head = b64({"alg": "HS256", "kid": "first"})
    pem = theirs.keys["first"][0].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    digest = hmac.digest(pem, f"{head}.{claims}".encode(), "sha256")
    return f"{head}.{claims}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


def forged(theirs: Issuer) -> str:
    mine = Issuer(theirs.address)  # with a key of its own of the same id
    return mine.token(HERE)


def changed(theirs: Issuer) -> str:
    head, _, signature = theirs.token(HERE).split(".")
    _, claims, _ = theirs.token(HERE, email="ben@example.org").split(".")
    return f"{head}.{claims}.{signature}"


def signed(theirs: Issuer, algorithm: str, **head: Any) -> str:
    claims = jwt.decode(theirs.token(HERE), options={"verify_signature": False})
    return jwt.encode(claims, theirs.keys["first"][0], algorithm, headers=head)


def soon(seconds: int) -> int:
    """A moment from now on; the tests may have been collected long ago."""
    return int(time.time()) + seconds


REFUSED: list[tuple[str, Callable[[Issuer], str], int, str]] = [
    ("another issuer", lambda i: i.token(HERE, iss="https://evil.example"), 401, "issuer is not one"),
    ("no issuer", lambda i: i.token(HERE, iss=None), 401, "issuer is not one"),
    ("almost the issuer", lambda i: i.token(HERE, iss=f"{i.address}/"), 401, "issuer is not one"),
    ("another audience", lambda i: i.token("https://other.example"), 401, "Audience doesn't match"),
    ("part of the audience", lambda i: i.token(f"{HERE}.evil.example"), 401, "Audience doesn't match"),
    ("no audience", lambda i: i.token(None), 401, '"aud" claim'),
    ("algorithm none", unsigned, 401, "algorithm is 'none'"),
    ("HS256 with the public key", by_public_key, 401, "algorithm is 'HS256'"),
    ("expired", lambda i: i.token(HERE, exp=soon(-120)), 401, "expired"),
    ("no end", lambda i: i.token(HERE, exp=None), 401, '"exp" claim'),
    ("not yet valid", lambda i: i.token(HERE, nbf=soon(900)), 401, "not yet valid"),
    ("from the future", lambda i: i.token(HERE, iat=soon(900)), 401, "not yet valid"),
    ("unknown key", lambda i: signed(i, "RS256", kid="other"), 401, "has no key 'other'"),
    ("another algorithm than its key's", lambda i: signed(i, "PS256", kid="first"), 401, "its key is for RS256"),
    ("another signature", forged, 401, "Signature verification failed"),
    ("other claims", changed, 401, "Signature verification failed"),
    ("dots alone", lambda i: "..", 401, "JSON Web Token"),
    ("no JSON", lambda i: "a.b.c", 401, "JSON Web Token"),
    ("deep JSON", lambda i: ".".join((b64({"alg": "RS256"}), b64_text("[" * 30_000), "c2ln")), 401, "JSON Web Token"),
    ("a list of claims", lambda i: ".".join((b64({"alg": "RS256"}), b64([1]), "c2ln")), 401, "JSON Web Token"),
    (
        "a key's id of another kind",
        lambda i: f"{b64({'alg': 'RS256', 'kid': [1]})}.{b64({'iss': i.address})}.c2ln",
        401,
        "",
    ),
    ("no user claim", lambda i: i.token(HERE, email=None), 403, "no claim 'email'"),
    ("a number for a user", lambda i: i.token(HERE, email=7), 403, "no claim 'email'"),
    ("an empty user", lambda i: i.token(HERE, email=""), 403, "1 to 200 printable characters"),
    ("a user of two lines", lambda i: i.token(HERE, email="ada\nben"), 403, "1 to 200 printable characters"),
    ("an address that is not verified", lambda i: i.token(HERE, email_verified=False), 403, "'email_verified'"),
    ("the same as text", lambda i: i.token(HERE, email_verified="false"), 403, "'email_verified'"),
    ("nothing is said of it", lambda i: i.token(HERE, email_verified=None), 403, "another 'user_claim'"),
]


def b64_text(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def test_tokens_that_open_nothing(served: Any, theirs: Issuer) -> None:
    pearl = served()
    assert listed(pearl, theirs.token(HERE)).status_code == 200
    users = pearl.rows("users")
    for name, make, status, message in REFUSED:
        answer = listed(pearl, make(theirs))
        error = answer.json()["error"]
        assert (answer.status_code, message in error["message"]) == (status, True), (name, error)
        assert error["code"] == ("invalid_token" if status == 401 else "no_user_claim"), name
        if status == 401:
            assert 'error="invalid_token"' in answer.headers["www-authenticate"], name
    assert pearl.rows("users") == users
    assert pearl.client.get("/metrics", headers={"Authorization": f"Bearer {theirs.token(HERE)}"}).status_code == 401


def test_a_user_is_made_at_first_sight_where_that_is_allowed(served: Any, theirs: Issuer) -> None:
    pearl = served(new_users=False)
    answer = listed(pearl, theirs.token(HERE))
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "user_not_found")
    assert pearl.rows("users") == []
    pearl = served(new_users=True)
    for _ in range(2):
        assert listed(pearl, theirs.token(HERE)).status_code == 200
    assert [row[2] for row in pearl.rows("users")] == ["ada@example.org"]


def test_so_many_users_are_made_and_no_more(served: Any, theirs: Issuer) -> None:
    pearl = served(new_users=2)
    answers = [listed(pearl, theirs.token(HERE, email=f"{name}@example.org")) for name in ("a", "b", "c", "a")]
    assert [answer.status_code for answer in answers] == [200, 200, 403, 200]
    assert answers[2].json()["error"]["code"] == "too_many_users"
    assert len(pearl.rows("users")) == 2


@pytest.mark.parametrize(
    ("there", "signs_on", "users"),
    [
        ([], ["Ada@Example.org", "ada@example.org", "ADA@EXAMPLE.ORG"], {"ada@example.org"}),
        (["Ada@Example.org"], ["ada@example.org", "ADA@example.org"], {"Ada@Example.org"}),
        (["ada@example.org", "Ada@example.org"], ["Ada@example.org"], {"ada@example.org", "Ada@example.org"}),
        # letters that are one in another case only beyond ASCII are two people's addresses
        (["sam@example.org"], ["ſam@example.org"], {"sam@example.org", "ſam@example.org"}),
    ],
)
def test_an_address_is_one_user_however_it_is_written(
    served: Any, theirs: Issuer, database_url: str, there: list[str], signs_on: list[str], users: set[str]
) -> None:
    pearl = served(database_url=database_url)
    for name in there:
        pearl.add(name, f"I am {name}.")
    for name in signs_on:
        answer = listed(pearl, theirs.token(HERE, email=name))
        assert answer.status_code == 200, answer.text
        if there and name.isascii():
            wanted = name if name in there else there[0]
            assert [document["text"] for document in answer.json()["data"]] == [f"I am {wanted}."]
    assert {row[2] for row in pearl.rows("users")} == users


def test_first_calls_at_once_make_one_user(served: Any, theirs: Issuer, database_url: str) -> None:
    pearl = served(database_url=database_url)
    token = theirs.token(HERE)
    with ThreadPoolExecutor(8) as calls:
        assert set(calls.map(lambda _: listed(pearl, token).status_code, range(16))) == {200}
    assert [row[2] for row in pearl.rows("users")] == ["ada@example.org"]
    assert theirs.asked.count("/keys") == 1


def test_a_prefix_tells_two_issuers_users_apart(served: Any, theirs: Issuer) -> None:
    with issuer() as other:
        pearl = served(f'[[issuers]]\nissuer = "{other.address}"\nuser_claim = "email"\nprefix = "partner/"\n')
        for each in (theirs, other):
            assert listed(pearl, each.token(HERE)).status_code == 200
    assert {row[2] for row in pearl.rows("users")} == {"ada@example.org", "partner/ada@example.org"}


def test_audiences_can_be_named(served: Any, theirs: Issuer) -> None:
    pearl = served('audiences = ["api://pearl"]\n')
    assert listed(pearl, theirs.token("api://pearl")).status_code == 200
    assert listed(pearl, theirs.token(HERE)).status_code == 401


def test_a_new_key_is_found_and_an_old_one_ends(served: Any, theirs: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    pearl = served()
    old = theirs.token(HERE)
    assert listed(pearl, old).status_code == 200
    theirs.rotate("second", "ES256")
    assert listed(pearl, theirs.token(HERE)).status_code == 401  # asked a moment ago
    assert theirs.asked.count("/keys") == 1
    monkeypatch.setattr(issuers, "AGAIN_S", 0.0)
    assert listed(pearl, theirs.token(HERE)).status_code == 200
    assert theirs.asked.count("/keys") == 2
    assert listed(pearl, old).status_code == 401


def test_unknown_keys_are_not_asked_for_without_end(served: Any, theirs: Issuer) -> None:
    pearl = served()
    for _ in range(20):
        assert listed(pearl, signed(theirs, "RS256", kid="other")).status_code == 401
    assert theirs.asked.count("/keys") == 1


def test_while_the_issuer_is_down_known_keys_go_on(
    served: Any, theirs: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pearl = served(log_level="warning")
    theirs.down = True
    answer = listed(pearl, theirs.token(HERE))
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "issuer_unavailable")
    assert "Example, which signs users on, does not answer" in answer.json()["error"]["message"]
    assert answer.headers["retry-after"] == "10"
    asked = len(theirs.asked)
    assert listed(pearl, theirs.token(HERE)).status_code == 503
    assert len(theirs.asked) == asked  # not for each call
    theirs.down = False
    monkeypatch.setattr(issuers, "AGAIN_S", 0.0)
    monkeypatch.setattr(issuers, "FRESH_S", 0.0)
    assert listed(pearl, theirs.token(HERE)).status_code == 200
    theirs.down = True
    for _ in range(3):
        assert listed(pearl, theirs.token(HERE)).status_code == 200
    monkeypatch.setattr(issuers, "LAST_S", -1.0)
    assert listed(pearl, theirs.token(HERE)).status_code == 503


def test_after_days_without_a_call_the_keys_are_asked_for_first(
    served: Any, theirs: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pearl = served()
    assert listed(pearl, theirs.token(HERE)).status_code == 200
    later = time.monotonic() + 3 * 86_400
    monkeypatch.setattr(issuers, "time", SimpleNamespace(monotonic=lambda: later))
    assert listed(pearl, theirs.token(HERE)).status_code == 200
    assert theirs.asked.count("/keys") == 2


def test_an_issuer_that_answers_too_slowly_is_down(
    served: Any, theirs: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuers, "WHOLE_S", 0.3)
    pearl, theirs.slow_s = served(), 1.0  # each byte in time, all of them not: they would take minutes
    assert listed(pearl, theirs.token(HERE)).status_code == 503
    theirs.slow_s = 0.0


@pytest.mark.parametrize(("ends", "status"), [(timedelta(days=1), 200), (timedelta(seconds=-60), 503)])
def test_an_issuer_whose_certificate_has_expired_is_down(
    house: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, ends: timedelta, status: int
) -> None:
    folder = tmp_path.parent / f"{tmp_path.name}.tls"
    folder.mkdir()
    certified = certificate(folder / "both.pem", ends)
    monkeypatch.setenv("SSL_CERT_FILE", str(certified))
    with issuer(certified) as theirs:
        file = folder / "sign-on.toml"
        file.write_text(FILE.format(issuer=theirs.address, new_users="true"))
        answer = listed(house(sign_on=str(file)), theirs.token(HERE))
        assert answer.status_code == status
        assert ("has a certificate that is not trusted (certificate has expired)" in answer.text) == (status == 503)


@pytest.mark.parametrize(
    "change",
    [
        {"issuer": "https://evil.example"},
        {"jwks_uri": "http://elsewhere.example/keys"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": None},
    ],
)
def test_an_issuer_that_publishes_something_else_is_not_believed(served: Any, theirs: Issuer, change: Any) -> None:
    theirs.metadata |= change
    assert listed(served(), theirs.token(HERE)).status_code == 503


def test_a_symmetric_key_that_is_published_is_no_key(served: Any, theirs: Issuer) -> None:
    secret = "k" * 64
    theirs.jwks = lambda: {"keys": [{"kty": "oct", "kid": "first", "k": b64_text(secret), "alg": "HS256"}]}  # type: ignore[method-assign]
    claims = jwt.decode(theirs.token(HERE), options={"verify_signature": False})
    token = jwt.encode(claims, secret, "HS256", headers={"kid": "first"})
    assert listed(served(), token).status_code == 401
    assert listed(served(), theirs.token(HERE)).status_code == 401


def test_a_401_says_where_to_sign_on(served: Any, theirs: Issuer, pearl: Any) -> None:
    plain, pearl = pearl, served()
    for path, part in (("/v1/documents", ""), ("/mcp", "/mcp")):
        where = f"/.well-known/oauth-protected-resource{part}"
        answer = pearl.client.request("GET" if part == "" else "POST", path, json={})
        assert answer.headers["www-authenticate"] == f'Bearer resource_metadata="{HERE}{where}"'
        assert pearl.client.get(where).json() == {
            "resource": f"{HERE}{part}",
            "authorization_servers": [theirs.address],
            "scopes_supported": ["openid", "email"],
            "bearer_methods_supported": ["header"],
            "resource_name": "PEARL",
        }
        assert plain.client.get(where).json()["error"]["code"] == "no_sign_on"
    assert pearl.client.get("/.well-known/oauth-protected-resource/v1").status_code == 404
    wrong = listed(pearl, "pearl_wrong")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (401, "invalid_api_key")
    assert "error=" not in wrong.headers["www-authenticate"]
