"""One shape of error on every route and for every status."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import sqlite3
from typing import Any

import pytest

from pearl.errors import ChatError, ChatRateLimited, ChatRefused, ChatRejected, ChatTimeout
from service.http.api.bodies import MOST
from service.http.api.errors import CatchUnexpected, explain_validation

JSON = {"Content-Type": "application/json"}
SECRET = "my secret words"


def check_shape(answer: Any, status: int, code: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    assert answer.status_code == status
    assert list(answer.json()) == ["error"]
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["code"], error["type"]) == (code, kind)
    assert error["message"]
    assert answer.headers["x-request-id"]
    assert answer.headers["content-type"] == "application/json"
    return error


@pytest.mark.parametrize("path", ["/v1", "/v1/nothing", "/v2/drafts", "/v3"])
def test_no_such_route(ann: Any, path: str) -> None:
    check_shape(ann.get(path), 404, "unknown_route", "not_found_error")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/drafts", "GET, POST"),
        ("PATCH", "/v1/documents", "DELETE, GET, POST"),
        ("POST", "/v1/voices/email", "DELETE, GET, PUT"),
        ("POST", "/v1/documents/a%2Fb", "DELETE, GET, PATCH"),
        ("POST", "/health", "GET, HEAD"),
    ],
)
def test_another_method(ann: Any, method: str, path: str, allowed: str) -> None:
    answer = ann(method, path)
    error = check_shape(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == allowed
    assert error["message"] == f"This route does not know {method}; it knows {allowed}."


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "invalid_json"),
        (b"request=write", "invalid_json"),
        (b"", "missing"),
        (b'{"request": "caf\xe9"}', "not_utf8"),
        (b"\xff\xfe\x00", "not_utf8"),
        (b"[" * 300, "too_deep"),
    ],
)
def test_what_is_not_json(ann: Any, body: bytes, code: str) -> None:
    for path in ("/v1/drafts", "/v1/documents", "/v1/feedback", "/v1/chat/completions", "/v1/rerank"):
        check_shape(ann.post(path, content=body, headers=JSON), 422 if code == "missing" else 400, code)


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "text/plain", None])
@pytest.mark.parametrize("path", ["/v1/drafts", "/v1/documents", "/v1/chat/completions"])
def test_json_that_is_not_called_json(ann: Any, path: str, content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    error = check_shape(ann.post(path, content=b'{"request": "write"}', headers=headers), 422, "not_json")
    assert "Content-Type: application/json" in error["message"]


@pytest.mark.parametrize(("encoding", "status"), [("gzip", 422), ("Identity", 201)])
def test_a_compressed_body(ann: Any, encoding: str, status: int) -> None:
    body = b'{"text": "Kettle on."}'
    headers = {**JSON, "Content-Encoding": encoding}
    answer = ann.post("/v1/documents", content=gzip.compress(body) if status == 422 else body, headers=headers)
    assert answer.status_code == status
    if status == 422:
        assert check_shape(answer, 422, "compressed_body")["param"] == "Content-Encoding"


def test_a_body_that_is_too_large(ann: Any) -> None:
    assert ann.post("/v1/documents", {"text": "x" * 1000}).status_code == 201
    check_shape(ann.post("/v1/documents", content=b" " * (MOST + 1), headers=JSON), 413, "body_too_large")


def test_a_body_that_is_too_large_and_does_not_say_so(listen: Any) -> None:
    import httpx2

    served = listen()
    headers = {"Authorization": f"Bearer {served.house.key('ann')}", **JSON}
    with httpx2.Client(base_url=served.address, headers=headers, timeout=60) as client:
        answer = client.post("/v1/documents", content=(b" " * 1_000_000 for _ in range(20)))
        check_shape(answer, 413, "body_too_large")
        assert client.get("/health").status_code == 200


def test_a_text_that_is_too_large(ann: Any) -> None:
    error = check_shape(ann.post("/v1/drafts", {"request": "x" * 1_000_001}), 413, "text_too_large")
    assert error["param"] == "request"


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/v1/drafts", b"", "The body is empty; send a JSON object."),
        ("/v1/drafts", b'["write"]', "The body: Input should be a JSON object."),
        ("/v1/documents", b'["kettle"]', "'0': Input should be a JSON object."),
    ],
)
def test_a_body_without_its_object(ann: Any, path: str, body: bytes, message: str) -> None:
    assert ann.post(path, content=body, headers=JSON).json()["error"]["message"] == message


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({}, "request", "missing"),
        ({"request": ""}, "request", "empty_text"),
        ({"request": "a\0"}, "request", "nul_character"),
        ({"request": "a", "k": 0}, "k", "greater_than_equal"),
        ({"request": "a", "k": 21}, "k", "less_than_equal"),
        ({"request": "a", "k": "x"}, "k", "int_parsing"),
        ({"request": "a", "k": 1.5}, "k", "int_from_float"),
        ({"request": "a", "revise": "maybe"}, "revise", "literal_error"),
        ({"request": "a", "voice": ""}, "voice", "invalid_id"),
        ({"request": "a", "instructions": "\0"}, "instructions", "nul_character"),
        ({"request": "a", "candidates": 1}, "candidates", "no_reward_model"),
        ({"request": "a", "nonsense": 1}, "nonsense", "extra_forbidden"),
    ],
)
def test_a_commission_that_cannot_be(pearl: Any, ann: Any, body: Any, param: str, code: str) -> None:
    assert check_shape(ann.post("/v1/drafts", body), 422, code)["param"] == param
    assert pearl.model.calls == []


def test_a_voice_that_is_not_there(ann: Any) -> None:
    for stream in (False, True):
        answer = ann.post("/v1/drafts", {"request": "a", "voice": "email", "stream": stream})
        assert check_shape(answer, 404, "voice_not_found", "not_found_error")["param"] == "voice"


@pytest.mark.parametrize(
    ("method", "path", "body", "param", "known"),
    [
        (
            "POST",
            "/v1/feedback",
            {"draft": "d1", "outcome": "accepted"},
            "draft",
            "draft_id, final_text, outcome, variant",
        ),
        (
            "POST",
            "/v1/documents",
            {"txt": "Hello."},
            "txt",
            "id, mine, recipient, request, text, thread, timestamp, user_id, voice",
        ),
        (
            "POST",
            "/v1/documents",
            [{"text": "a"}, {"by": 1}],
            "1.by",
            "id, mine, recipient, request, text, thread, timestamp, user_id, voice",
        ),
        ("POST", "/v1/documents", {"documents": [], "user": "ann"}, "user", "documents"),
        ("PUT", "/v1/voices/email", {"K": 3}, "K", "edges, instructions, k, local_only, template"),
    ],
)
def test_an_unknown_field_is_named_with_the_known_ones(
    ann: Any, method: str, path: str, body: Any, param: str, known: str
) -> None:
    error = check_shape(ann(method, path, body), 422, "extra_forbidden")
    assert error["param"] == param
    assert error["message"] == f"There is no field '{param.split('.')[-1]}' here. There are {known}."


@pytest.mark.parametrize(
    ("method", "path", "body", "place"),
    [
        ("DELETE", "/v1/documents/%20", None, "id"),
        ("POST", "/v1/rerank", {"query": "a", "documents": ["", " "]}, "documents.0"),
        ("POST", "/v1/documents", [{"text": "'value'"}, {"text": " "}], "1.text"),
    ],
)
def test_a_message_names_the_place_of_what_is_wrong(ann: Any, method: str, path: str, body: Any, place: str) -> None:
    error = ann(method, path, body).json()["error"]
    assert error["param"] == place
    assert error["message"].startswith(f"'{place}' ")


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_longer_than_the_context(pearl: Any, ann: Any, stream: bool) -> None:
    answer = ann.post("/v1/drafts", {"request": "word " * 5000, "stream": stream})
    check_shape(answer, 400, "context_length_exceeded")
    assert pearl.rows("drafts") == []


def test_instructions_longer_than_the_context(pearl: Any, ann: Any) -> None:
    pearl.voice("ann", "email", instructions="word " * 5000)
    for body in ({"request": "write", "instructions": "word " * 5000}, {"request": "write", "voice": "email"}):
        error = check_shape(ann.post("/v1/drafts", body), 400, "context_length_exceeded")
        assert error["param"] == "instructions"
        assert error["message"].startswith("The instructions, a voice's included, are too long for the model: shorten")


FAILURES = [
    (ChatError("It answered 500."), 502, "llm_error"),
    (ChatTimeout("Too late."), 504, "llm_timeout"),
    (ChatRateLimited("Wait.", retry_after=6.2), 503, "llm_rate_limited"),
    (ChatRefused("No."), 502, "llm_refused"),
    (ChatRejected("400."), 502, "llm_rejected"),
]


@pytest.mark.parametrize(("failure", "status", "code"), FAILURES, ids=lambda value: str(value))
def test_a_model_that_fails(pearl: Any, ann: Any, failure: Any, status: int, code: str) -> None:
    for path, body in (
        ("/v1/drafts", {"request": "a"}),
        ("/v1/chat/completions", {"model": "pearl", "messages": [{"role": "user", "content": "a"}]}),
        ("/v1/responses", {"model": "pearl", "input": "a"}),
    ):
        pearl.model.replies.append(failure)
        answer = ann.post(path, body)
        check_shape(answer, status, code, "upstream_error")
        assert answer.headers.get("retry-after") == ("7" if status == 503 else None)
    assert pearl.rows("drafts") == []


def test_over_the_rate_limit(house: Any) -> None:
    ann = house(rate_limit="2/minute").as_user("ann")
    left = [ann.get("/v1/voices").headers["x-ratelimit-remaining-requests"] for _ in range(2)]
    assert left == ["1", "0"]
    answer = ann.get("/v1/voices")
    check_shape(answer, 429, "rate_limit_exceeded", "rate_limit_error")
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert answer.headers["x-ratelimit-limit-requests"] == "2"
    assert answer.headers["x-ratelimit-remaining-requests"] == "0"
    assert answer.headers["x-ratelimit-reset-requests"].endswith("s")


def test_limits_are_per_key_and_those_without_a_key_use_up_nothing(house: Any) -> None:
    pearl = house(rate_limit="1/minute")
    ann, ben = pearl.as_user("ann"), pearl.as_user("ben")
    for _ in range(3):
        assert pearl.client.get("/v1/voices").status_code == 401
        assert pearl.client.get("/health").status_code == 200
    assert [ann.get("/v1/voices").status_code for _ in range(2)] == [200, 429]
    assert ben.get("/v1/voices").status_code == 200


def test_without_a_limit_there_are_no_headers_of_it(house: Any) -> None:
    answer = house(rate_limit="").as_user("ann").get("/v1/voices")
    assert answer.status_code == 200
    assert not [name for name in answer.headers if "ratelimit" in name]


def test_a_locked_database(house: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.store.database.TIMEOUT_S", 0.05)
    pearl = house()
    ann = pearl.as_user("ann")
    other = sqlite3.connect(pearl.settings.home / "pearl.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        for answer in (
            ann.post("/v1/documents", {"text": "a"}),
            ann.put("/v1/voices/email", {}),
            ann.delete("/v1/me"),
            ann.post("/v1/drafts", {"request": "a"}),
        ):
            check_shape(answer, 503, "store_locked", "server_error")
            assert answer.headers["retry-after"] == "1"
        assert caplog.text.count("store_locked: The database is locked by another program") == 4
        assert ann.get("/v1/documents").status_code == 200  # readers need not wait
    finally:
        other.close()
    assert ann.get("/v1/documents").json()["data"] == []
    assert ann.post("/v1/documents", {"text": "a"}).status_code == 201


class Breaking:
    """A model that fails as no model of ours does, with words of the user in its error."""

    name = "breaking"
    context_tokens = 2000
    continues = False

    def count_tokens(self, text: str) -> int:
        return 1

    async def stream(self, messages: Any, decoding: Any) -> Any:
        raise KeyError(SECRET)
        yield

    async def check(self) -> None:
        pass

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("cors", ["", "*"])
def test_an_error_nobody_expected(house: Any, caplog: pytest.LogCaptureFixture, cors: str) -> None:
    ann = house(Breaking(), cors_origins=cors).as_user("ann")
    with caplog.at_level(logging.DEBUG):
        answer = ann.post("/v1/drafts", {"request": SECRET}, headers={"Origin": "https://a.example"})
    error = check_shape(answer, 500, "internal_error", "server_error")
    assert SECRET not in error["message"]
    assert answer.headers["x-ratelimit-remaining-requests"]
    assert answer.headers.get("access-control-allow-origin") == (cors or None)
    assert "unexpected KeyError" in caplog.text
    assert "drafter.py" in caplog.text  # where it happened
    assert SECRET not in caplog.text  # but not what was written


def test_an_error_nobody_expected_in_a_stream(house: Any, caplog: pytest.LogCaptureFixture) -> None:
    ann = house(Breaking()).as_user("ann")
    with caplog.at_level(logging.DEBUG):
        answer = ann.post("/v1/drafts", {"request": SECRET, "stream": True})
    assert answer.status_code == 200
    assert answer.text.rstrip().splitlines()[-2] == "event: error"
    assert '"internal_error"' in answer.text
    assert "unexpected KeyError" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("path", "meant"), [("/chat/completions", "/v1/chat/completions"), ("/documents/a1", "/v1/documents/{id}")]
)
def test_a_base_url_that_lacks_its_end(ann: Any, path: str, meant: str) -> None:
    error = check_shape(ann.post(path, json={}), 404, "unknown_route", "not_found_error")
    assert error["message"] == f"There is no such route; it is {meant}, and a client's base URL ends in /v1."


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/v1/draft", "the nearest are POST /v1/drafts, GET /v1/drafts, POST /v1/rerank."),
        ("/v1/zzzz/ü/q", "GET / lists all routes."),
    ],
)
def test_an_unknown_route_names_the_nearest(ann: Any, path: str, said: str) -> None:
    error = check_shape(ann.post(path, json={}), 404, "unknown_route", "not_found_error")
    assert error["message"] == f"There is no such route; {said}"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/v1/messages", {}, 422),
        ("POST", "/v1/messages/count_tokens", {"Authorization": "Bearer wrong"}, 401),
        ("GET", "/v1/models/nobody", {"anthropic-version": "2023-06-01"}, 404),
        ("GET", "/v1/model", {"anthropic-version": "2023-06-01"}, 404),
        ("PUT", "/v1/messages", {}, 405),
    ],
)
def test_anthropics_clients_find_their_mark_of_an_error(
    ann: Any, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = ann(method, path, {}, headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (status, "error")
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


def test_a_list_with_a_slash_too_many_is_no_route(ann: Any) -> None:
    for path in ("/v1/documents", "/v1/models", "/v1/voices"):
        error = check_shape(ann.get(f"{path}/"), 404, "unknown_route", "not_found_error")
        assert f"GET {path}" in error["message"]
    error = check_shape(ann.delete("/v1/documents/"), 422, "invalid_id")  # the id was forgotten
    assert error["param"] == "id"


@pytest.mark.parametrize("begun", [False, True])
def test_a_call_that_the_server_cuts_short_as_it_stops(begun: bool) -> None:
    sent: list[Any] = []

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/drafts", "headers": []}

    async def cut_short() -> None:
        call = asyncio.create_task(CatchUnexpected(endless)(scope, send, send))
        await asyncio.sleep(0)
        call.cancel("Task cancelled, timeout graceful shutdown exceeded")
        await call

    asyncio.run(cut_short())
    assert sent[0]["status"] == (200 if begun else 503)
    if begun:
        assert len(sent) == 1
    else:
        assert (b"retry-after", b"5") in sent[0]["headers"]
        assert json.loads(sent[1]["body"])["error"]["code"] == "stopping"


def test_the_place_of_a_problem_leaves_out_only_the_shape_of_the_body() -> None:
    problem = {"loc": ("body", "(list)", 3, "text"), "type": "x", "msg": "no"}
    assert explain_validation(problem).param == "3.text"
    assert explain_validation({**problem, "loc": ("body", "(one)", "list")}).param == "list"
    assert explain_validation({**problem, "loc": ("body",)}).param is None
