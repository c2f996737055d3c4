"""What a browser, and a program that lost its way, are told."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pearl import __version__


def test_a_browser_is_told_what_this_is(pearl: Any) -> None:
    answer = pearl.client.get("/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert "drafts text" in answer.text
    links = re.findall(r'href="([^"]+)"', answer.text)
    assert "docs" in links
    for link in links:
        assert pearl.client.get(f"/{link}").status_code in (200, 503), link  # models may still be loading


def test_a_program_is_told_the_same_in_json(pearl: Any) -> None:
    answer = pearl.client.get("/").json()
    assert (answer["name"], answer["version"], answer["documentation"]) == ("PEARL", __version__, "docs")
    assert "POST /v1/drafts" in answer["routes"]
    assert "GET /health" in answer["routes"]


def test_the_documentation_has_everything_with_it(pearl: Any) -> None:
    page = pearl.client.get("/docs").text
    assets = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(assets) >= 3
    for asset in assets:
        assert "//" not in asset
        assert pearl.client.get(f"/{asset}").status_code == 200
    assert "//" not in re.sub(r"//[^\n\"']*\n", "", page.replace("<!-- ", "")).replace("</", "")


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1", "/v2/drafts", "/elsewhere", "/docs/assets/nothing.js"])
def test_an_unknown_route_says_what_there_is(pearl: Any, path: str) -> None:
    error = pearl.client.get(path).json()["error"]
    assert error["code"] == "unknown_route"
    for route in ("POST /v1/drafts", "GET /v1/documents/{id}", "POST /v1/chat/completions"):
        assert route in error["message"]


def test_another_method_says_which_there_are(pearl: Any) -> None:
    answer = pearl.client.patch("/v1/feedback")
    assert answer.json()["error"]["message"] == "This route does not know PATCH; it knows POST."


@pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json", "/health", "/health/ready"])
def test_head_is_get_without_a_body(pearl: Any, until: Any, path: str) -> None:
    until(lambda: pearl.client.get("/health/ready").status_code == 200)
    answer = pearl.client.head(path)
    assert (answer.status_code, answer.content) == (200, b"")
