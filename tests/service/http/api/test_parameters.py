from __future__ import annotations

import re
from typing import Any

import pytest

from service.http.api.bodies import OF_OTHERS


def test_a_misspelt_parameter_is_named_and_the_known_ones_are_listed(pearl: Any) -> None:
    answer = pearl.as_user("ann").get("/v1/documents", params={"limit": 3, "vioce": "email"})
    assert answer.status_code == 422
    assert answer.json()["error"] == {
        "message": "There is no query parameter 'vioce' here. There are after, limit, order, query, set_apart, voice.",
        "type": "invalid_request_error",
        "param": "vioce",
        "code": "unknown_parameter",
    }


def test_on_every_route_but_those_of_other_apis(pearl: Any) -> None:
    ann, operator = pearl.as_user("ann"), {"Authorization": f"Bearer {pearl.service_key()}"}
    asked = 0
    for path, operations in pearl.app.openapi()["paths"].items():
        for method in operations:
            headers = operator if path == "/metrics" else {}
            address = re.sub(r"{.*?}", "x", path)
            answer = ann(method.upper(), address, {}, params={"colour": "blue"}, headers=headers)
            refused = answer.status_code == 422 and answer.json()["error"]["code"] == "unknown_parameter"
            assert refused is OF_OTHERS.isdisjoint(operations[method]["tags"]), (method, path, answer.text)
            asked += refused
    assert asked >= 18


def test_known_parameters_and_none_are_let_through(pearl: Any) -> None:
    ann = pearl.as_user("ann")
    assert ann.get("/v1/documents", params={"limit": 3, "order": "asc"}).status_code == 200
    assert ann.get("/v1/voices").status_code == 200
    assert ann.get("/health?").status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/v1/voices/caf%E9"), ("DELETE", "/v1/documents/%FF"), ("GET", "/v1/documents?query=caf%E9")],
)
def test_an_address_in_another_encoding_is_refused(pearl: Any, method: str, path: str) -> None:
    answer = pearl.as_user("ann")(method, path, {})
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "not_utf8"
    assert pearl.rows("voices") == []


def test_names_in_utf8_are_let_through(pearl: Any) -> None:
    assert pearl.as_user("ann").put("/v1/voices/caf%C3%A9%EF%BF%BD", {}).json()["name"] == "café\ufffd"


def test_the_description_has_values_ranges_and_defaults(pearl: Any) -> None:
    described = pearl.app.openapi()
    listed = {item["name"]: item["schema"] for item in described["paths"]["/v1/documents"]["get"]["parameters"]}
    assert (listed["order"]["enum"], listed["order"]["default"]) == (["asc", "desc"], "desc")
    assert [listed["limit"][name] for name in ("minimum", "maximum", "default")] == [1, 1000, 20]
    [top_p, _] = described["components"]["schemas"]["ChatIn"]["properties"]["top_p"]["anyOf"]
    assert (top_p["minimum"], top_p["maximum"]) == (0, 1)
