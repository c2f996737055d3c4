from __future__ import annotations

import logging
import re
from typing import Any

import pytest

from service.http.app import EXPOSED_HEADERS


def test_a_request_id_is_made_up_or_taken_over(pearl: Any) -> None:
    made = pearl.client.get("/health").headers["x-request-id"]
    assert re.fullmatch(r"req_[0-9a-f]{28}", made)
    assert pearl.client.get("/health").headers["x-request-id"] != made
    given = pearl.client.get("/health", headers={"X-Request-Id": "abc-1.2:3_4"})
    assert given.headers["x-request-id"] == "abc-1.2:3_4"


@pytest.mark.parametrize("given", ["", "x" * 129, "a b", "a\u00e9", "<script>"])
def test_one_that_is_no_use_in_a_log_is_replaced(pearl: Any, given: str) -> None:
    answer = pearl.client.get("/health", headers={"X-Request-Id": given.encode("latin-1")})
    assert answer.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize(("path", "status"), [("/nowhere", 404), ("/v1/voices", 401), ("/health", 200)])
def test_every_answer_has_one(pearl: Any, path: str, status: int) -> None:
    answer = pearl.client.get(path, headers={"X-Request-Id": "mine"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (status, "mine")


def test_the_log_has_a_line_a_request_and_no_text(house: Any, caplog: pytest.LogCaptureFixture) -> None:
    pearl = house(log_level="info")
    ann = pearl.as_user("ann")
    with caplog.at_level(logging.DEBUG, "pearl"):
        ann.post("/v1/drafts", {"request": "secret"}, headers={"X-Request-Id": "mine"})
        ann.get("/v1/documents?after=secret")
        ann.get("/v1/documents/secret")
        ann.get("/secret")
    lines = [record.getMessage() for record in caplog.records if record.name == "pearl.access"]
    assert len(lines) == 4
    assert re.fullmatch(r"POST /v1/drafts 200 [\d.]+ ms mine", lines[0])
    assert "secret" not in caplog.text
    assert "pearl_" not in caplog.text  # nor a key


@pytest.mark.parametrize(
    ("path", "route", "status"),
    [
        ("/openapi.json", "/openapi.json", 200),
        ("/docs", "/docs", 200),
        ("/docs/assets/swagger-ui.css", "/docs/assets", 200),
        ("/docs/assets/nothing.css", "/docs/assets", 404),
        ("/v1/documents/a", "/v1/documents/{id:path}", 401),
        ("/nowhere", "unknown", 404),
    ],
)
def test_the_log_names_the_route_and_not_the_address(
    pearl: Any, caplog: pytest.LogCaptureFixture, path: str, route: str, status: int
) -> None:
    with caplog.at_level(logging.INFO, "pearl.access"):
        pearl.client.get(path)
    (record,) = [record for record in caplog.records if record.name == "pearl.access"]
    assert (record.fields["route"], record.fields["status"]) == (route, status)  # type: ignore[attr-defined]


def test_without_the_setting_no_other_page_may_call(pearl: Any) -> None:
    answer = pearl.client.get("/health", headers={"Origin": "https://a.example"})
    assert "access-control-allow-origin" not in answer.headers


def test_pages_of_the_setting_may_call(house: Any) -> None:
    pearl = house(cors_origins="https://a.example, https://b.example")
    client = pearl.client
    for path, status in (("/health", 200), ("/v1/voices", 401), ("/nowhere", 404)):
        answer = client.get(path, headers={"Origin": "https://b.example"})
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == "https://b.example"
        assert answer.headers["access-control-expose-headers"] == ", ".join(EXPOSED_HEADERS)
        assert "access-control-allow-credentials" not in answer.headers
    refused = client.get("/health", headers={"Origin": "https://c.example"})
    assert "access-control-allow-origin" not in refused.headers


def test_a_page_asks_beforehand(house: Any) -> None:
    asks = {
        "Origin": "https://a.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type, idempotency-key",
    }
    allowed = house(cors_origins="https://a.example").client.options("/v1/drafts", headers=asks)
    assert allowed.status_code == 200
    assert "POST" in allowed.headers["access-control-allow-methods"]
    assert "idempotency-key" in allowed.headers["access-control-allow-headers"]
    assert house(cors_origins="*").client.options("/v1/drafts", headers=asks).status_code == 200
    local = house(cors_origins="https://a.example").client.options(
        "/v1/drafts", headers={**asks, "Access-Control-Request-Private-Network": "true"}
    )
    assert (local.status_code, local.headers["access-control-allow-private-network"]) == (200, "true")
    refused = house(cors_origins="https://b.example").client.options("/v1/drafts", headers=asks)
    assert refused.status_code == 400
    assert (refused.json()["error"]["code"], refused.json()["error"]["param"]) == ("origin_not_allowed", "Origin")
    assert "access-control-allow-origin" not in refused.headers
