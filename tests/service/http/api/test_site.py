"""What a browser, and a program that lost its way, are told."""

from __future__ import annotations

import base64
import hashlib
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


# the page's forms need their Origin, which no-referrer takes away
@pytest.mark.parametrize(("path", "referrer"), [("/", "same-origin"), ("/docs", "no-referrer")])
def test_a_page_may_run_nothing_but_its_own(pearl: Any, path: str, referrer: str) -> None:
    answer = pearl.client.get(path, headers={"Accept": "text/html"})
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert (policy["default-src"], policy["frame-ancestors"], policy["base-uri"]) == ("'none'",) * 3
    assert "unsafe" not in policy["script-src"]
    for script in re.findall(r"<script>(.*?)</script>", answer.text, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy["script-src"]
    assert answer.text.count("<script") == answer.text.count("<script>") + answer.text.count('<script src="docs/')
    assert " onclick" not in answer.text
    assert answer.headers["referrer-policy"] == referrer
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_what_is_a_persons_is_in_no_cache(pearl: Any) -> None:
    ann = pearl.as_user("ann")
    pearl.add("ann", "Kettle's on.")
    answers = [
        *(ann.get(path) for path in ("/v1/documents", "/v1/documents/d1", "/v1/profile", "/v1/export", "/v1/models")),
        *(ann.get(path) for path in ("/v1/drafts", "/v1/voices", "/v1/documents/nothing")),
        ann.post("/v1/drafts", {"request": "Write"}),
        ann.post("/v1/drafts", {"request": "Write", "stream": True}),
        ann.post("/v1/rerank", {"query": "tide", "documents": ["tide"]}),
        pearl.client.get("/v1/documents"),
    ]
    for answer in answers:
        assert answer.headers.get_list("cache-control") == ["no-store"], answer.url
        assert answer.headers["x-content-type-options"] == "nosniff"
    for path in ("/docs", "/openapi.json", "/docs/assets/swagger-ui.css"):
        assert "cache-control" not in pearl.client.get(path).headers


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1", "/v2/drafts", "/elsewhere", "/docs/assets/nothing.js"])
def test_an_unknown_route_says_what_there_is(pearl: Any, path: str) -> None:
    error = pearl.client.get(path).json()["error"]
    assert error["code"] == "unknown_route"
    assert ("/drafts" in error["message"]) == ("/drafts" in path)  # the nearest, not all of them
    assert len(error["message"]) < 200


def test_another_method_says_which_there_are(pearl: Any) -> None:
    answer = pearl.client.patch("/v1/feedback")
    assert answer.json()["error"]["message"] == "This route does not know PATCH; it knows POST."


@pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json", "/health", "/health/ready"])
def test_head_is_get_without_a_body(pearl: Any, until: Any, path: str) -> None:
    until(lambda: pearl.client.get("/health/ready").status_code == 200)
    answer = pearl.client.head(path)
    assert (answer.status_code, answer.content) == (200, b"")
