from __future__ import annotations

from typing import Any

import pytest

from service.store import keys

ROUTES = [
    ("GET", "/v1/documents"),
    ("POST", "/v1/documents"),
    ("GET", "/v1/documents/a"),
    ("PATCH", "/v1/documents/a"),
    ("DELETE", "/v1/documents/a"),
    ("DELETE", "/v1/documents"),
    ("POST", "/v1/drafts"),
    ("GET", "/v1/drafts"),
    ("GET", "/v1/drafts/a"),
    ("POST", "/v1/feedback"),
    ("GET", "/v1/voices"),
    ("GET", "/v1/voices/a"),
    ("PUT", "/v1/voices/a"),
    ("DELETE", "/v1/voices/a"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/responses"),
    ("POST", "/v1/messages"),
    ("POST", "/v1/messages/count_tokens"),
    ("POST", "/api/chat"),
    ("POST", "/api/generate"),
    ("GET", "/api/tags"),
    ("POST", "/api/show"),
    ("GET", "/api/version"),
    ("GET", "/v1/models"),
    ("GET", "/v1/models/pearl"),
    ("POST", "/v1/likeness"),
    ("POST", "/v1/blind-pairs"),
    ("POST", "/v1/rerank"),
    ("POST", "/v2/rerank"),
    ("GET", "/v1/profile"),
    ("PATCH", "/v1/profile"),
    ("DELETE", "/v1/profile"),
    ("PUT", "/v1/profile/lines/a"),
    ("DELETE", "/v1/profile/lines/a"),
    ("GET", "/v1/imports"),
    ("POST", "/v1/imports"),
    ("GET", "/v1/imports/kinds"),
    ("POST", "/v1/imports/guess"),
    ("GET", "/v1/export"),
    ("DELETE", "/v1/me"),
    ("POST", "/mcp"),
    ("GET", "/metrics"),
]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer pearl_wrong"},
        {"Authorization": "Bearer "},
        {"Authorization": "Basic YTpi"},
        {"x-api-key": "pearl_wrong"},
        {"Authorization": "Bearer ä".encode("latin-1")},
        {"X-Pearl-User": "ann"},
        {"Authorization": "Bearer pearl_wrong", "X-Pearl-User": "ann"},
    ],
    ids=["none", "wrong", "empty", "basic", "x-api-key", "latin-1", "no key but a name", "wrong key and a name"],
)
def test_every_route_wants_a_key(pearl: Any, headers: Any) -> None:
    for method, path in ROUTES:
        answer = pearl.client.request(method, path, headers=headers, json={} if method in ("POST", "PUT") else None)
        assert answer.status_code == 401, (method, path)
        assert answer.headers["www-authenticate"] == "Bearer"
        error = answer.json()["error"]
        assert (error["type"], error["code"]) == ("authentication_error", "invalid_api_key")


def test_the_key_comes_before_the_address(pearl: Any) -> None:
    for method, path in ROUTES:
        for query in ("nonsense=1", "limit=x", "order=%ff"):
            answer = pearl.client.request(method, f"{path}?{query}", json={} if method in ("POST", "PUT") else None)
            assert answer.status_code == 401, (method, path, query)


def test_the_routes_above_are_all_there_are(pearl: Any) -> None:
    documented = {
        (method.upper(), path.replace("{id}", "a").replace("{name}", "a"))
        for path, operations in pearl.client.get("/openapi.json").json()["paths"].items()
        for method in operations
    }
    without_key = {("GET", "/health"), ("GET", "/health/ready")}
    ours = {(method, path.replace("models/pearl", "models/a")) for method, path in ROUTES}
    assert documented == ours | without_key


def test_a_service_key_must_say_for_whom(pearl: Any) -> None:
    headers = {"Authorization": f"Bearer {pearl.service_key('ann')}"}
    answer = pearl.client.get("/v1/documents", headers=headers)
    assert answer.status_code == 403
    assert answer.json()["error"]["type"] == "permission_error"
    assert answer.json()["error"]["param"] == "X-Pearl-User"


def test_a_service_key_acts_for_those_it_was_granted(pearl: Any) -> None:
    pearl.add("ann", "Ann's.")
    pearl.add("ben", "Ben's.")
    headers = {"Authorization": f"Bearer {pearl.service_key('ann')}"}
    granted = pearl.client.get("/v1/documents", headers={**headers, "X-Pearl-User": "ann"})
    assert [document["text"] for document in granted.json()["data"]] == ["Ann's."]
    refused = pearl.client.get("/v1/documents", headers={**headers, "X-Pearl-User": "ben"})
    unknown = pearl.client.get("/v1/documents", headers={**headers, "X-Pearl-User": "nobody"})
    assert (refused.status_code, unknown.status_code) == (403, 403)
    assert refused.json() == unknown.json()  # names cannot be probed


def test_a_service_key_for_everyone(pearl: Any) -> None:
    pearl.add("ben", "Ben's.")
    headers = {"Authorization": f"Bearer {pearl.service_key(all_users=True)}"}
    assert pearl.client.get("/v1/documents", headers={**headers, "X-Pearl-User": "ben"}).status_code == 200
    assert pearl.client.get("/v1/documents", headers={**headers, "X-Pearl-User": "nobody"}).status_code == 403


def test_names_in_the_header_are_utf_8(pearl: Any) -> None:
    pearl.add("Jürgen ☃", "Seins.")
    headers = {"Authorization": f"Bearer {pearl.service_key('Jürgen ☃')}", "X-Pearl-User": "Jürgen ☃".encode()}
    assert pearl.client.get("/v1/documents", headers=headers).json()["data"][0]["text"] == "Seins."
    latin = {**headers, "X-Pearl-User": "Jürgen".encode("latin-1")}
    assert pearl.client.get("/v1/documents", headers=latin).status_code == 403


@pytest.mark.parametrize("sent", ["J%C3%BCrgen", "Ju%CC%88rgen", "Ju\u0308rgen".encode()])
def test_a_name_may_be_escaped_or_decomposed(pearl: Any, sent: str | bytes) -> None:
    pearl.add("Jürgen", "Seins.")
    headers = {"Authorization": f"Bearer {pearl.service_key('Jürgen')}", "X-Pearl-User": sent}
    assert pearl.client.get("/v1/documents", headers=headers).json()["data"][0]["text"] == "Seins."
    for other in ("J%FCrgen", "J%00rgen", "%"):
        assert pearl.client.get("/v1/documents", headers={**headers, "X-Pearl-User": other}).status_code == 403


def test_a_name_with_a_percent_sign_is_itself_first(pearl: Any) -> None:
    pearl.add("100%25", "Its.")
    pearl.add("100%", "Another's.")
    headers = {"Authorization": f"Bearer {pearl.service_key(all_users=True)}", "X-Pearl-User": "100%25"}
    assert pearl.client.get("/v1/documents", headers=headers).json()["data"][0]["text"] == "Its."


def test_a_users_key_acts_for_that_user_alone(pearl: Any) -> None:
    pearl.user("ben")
    ann = pearl.as_user("ann")
    assert ann.get("/v1/documents", headers={"X-Pearl-User": "ann"}).status_code == 200
    for name in ("ben", "nobody", ""):
        assert ann.get("/v1/documents", headers={"X-Pearl-User": name}).status_code == 403


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/drafts", {"request": "write", "user_id": "ben"}),
        ("/v1/drafts", {"request": "write", "user": "ben"}),
        ("/v1/feedback", {"draft_id": "x", "outcome": "accepted", "user_id": "ben"}),
    ],
)
def test_a_user_in_a_body_is_refused(pearl: Any, path: str, body: Any) -> None:
    assert pearl.as_user("ann").post(path, body).json()["error"]["code"] == "extra_forbidden"


def test_the_user_of_an_openai_call_is_not_read(pearl: Any) -> None:
    pearl.add("ben", "Ben's secret.")
    body = {"model": "pearl", "messages": [{"role": "user", "content": "secret"}], "user": "ben"}
    assert pearl.as_user("ann").post("/v1/chat/completions", body).status_code == 200
    assert "Ben's" not in str(pearl.model.calls)


def test_a_revoked_key_opens_nothing(pearl: Any) -> None:
    from service.store import keys

    ann = pearl.as_user("ann")
    assert ann.get("/v1/voices").status_code == 200
    with pearl.database.write() as connection:
        keys.revoke(connection, keys.list_all(connection)[0].id)
    assert ann.get("/v1/voices").status_code == 401


def test_the_key_in_another_header(pearl: Any) -> None:
    key = pearl.key("ann")
    pearl.voice("ann", "email")
    for headers in ({"x-api-key": key}, {"x-api-key": key, "Authorization": "Basic YTpi"}):
        assert pearl.client.get("/v1/voices", headers=headers).json()["data"][0]["name"] == "email"
    both = {"x-api-key": key, "Authorization": "Bearer pearl_wrong"}
    assert pearl.client.get("/v1/voices", headers=both).status_code == 401
    assert pearl.client.get("/metrics", headers={"x-api-key": pearl.service_key()}).status_code == 200


def test_the_name_of_the_scheme_has_no_case(pearl: Any) -> None:
    headers = {"Authorization": f"bearer {pearl.key('ann')}"}
    assert pearl.client.get("/v1/voices", headers=headers).status_code == 200


def test_an_expired_key_gets_its_reason(pearl: Any) -> None:
    with pearl.database.write() as connection:
        key = keys.create_for_user(connection, "ann", terms=keys.KeyTerms(expires_at=1_700_000_000.0))
    answer = pearl.client.get("/v1/voices", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]["code"] == "expired_api_key"
    assert "expired at 2023-11-14T22:13:20Z" in answer.json()["error"]["message"]
