"""A process that is killed between any two statements of a call: the retry finds both, what it did and its answer, or
neither."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Forks, so that the imports are paid once for all tests: a child for each line that is asked; of it one child for each
# call, which kills itself after its n-th statement, and one that goes on serving, as a second worker does.
CALLS = """
import gc, json, os, signal, sys, traceback
from itertools import count
from sqlalchemy import event, text
from starlette.testclient import TestClient
from tests.fake_chat import FakeChatModel
from pearl.settings import load_settings
from service.http.app import create_app


def app_of(asked):
    settings = load_settings(
        home=asked["home"], database_url=asked["url"], retriever="bm25", embed_in_background=False, log_level="error"
    )
    app = create_app(settings, model=FakeChatModel())
    TestClient(app).get("/health")  # what FastAPI does at the first request, it has done for all children
    return app


def post(client, asked, key):
    headers = {"Authorization": f"Bearer {asked['key']}", "Idempotency-Key": key}
    answer = client.post(asked["path"], json=asked["body"], headers=headers)
    return answer.status_code, answer.json(), answer.headers.get("idempotent-replayed")


def die(app, asked, key, dies_after):
    with TestClient(app) as client:
        statements = count(1)

        def after(*_):
            if next(statements) == dies_after:
                os.kill(os.getpid(), signal.SIGKILL)

        app.state.services.sweep = lambda: None  # its statements are nobody's call
        for moment in ("after_cursor_execute", "commit"):
            event.listen(app.state.services.database.engine, moment, after)
        post(client, asked, key)


def survive(app, asked, keys, answers):
    with TestClient(app) as client:
        for key in map(str.strip, keys):
            soon = post(client, asked, key)
            # before two calls more, the claim of a dead process lapses
            with app.state.services.database.write() as connection:
                connection.execute(text("UPDATE idempotency SET created_at = created_at - 60 WHERE status IS NULL"))
            told = [soon, post(client, asked, key), post(client, asked, key)]
            print(json.dumps(told), file=answers, flush=True)


def in_child(work):
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_calls(asked):
    app = app_of(asked)  # made once: it has no connection and no thread before it is entered
    their_keys, keys = os.pipe()
    answers, their_answers = os.pipe()

    def serve():
        os.close(keys)  # or the end of the keys would never come
        with os.fdopen(their_keys) as given, os.fdopen(their_answers, "w") as told:
            survive(app, asked, given, told)

    survivor = in_child(serve)
    os.close(their_answers)  # or the end of the answers would never come
    calls = []
    with os.fdopen(keys, "w") as given, os.fdopen(answers) as told:
        for n in count(1):
            status = ended(in_child(lambda: die(app, asked, f"key{n}", n)))
            print(f"key{n}", file=given, flush=True)
            soon, retried, again = json.loads(told.readline())
            calls.append({"killed": status == -signal.SIGKILL, "soon": soon, "retried": retried, "again": again})
            if not calls[-1]["killed"]:
                assert status == 0, status
                break
    assert ended(survivor) == 0
    print(json.dumps(calls), flush=True)


gc.freeze()  # what is there already is not copied into each child
for line in sys.stdin:
    if ended(in_child(lambda: killed_calls(json.loads(line)))):
        print("null", flush=True)
"""


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    """Make a call again and again, each time in a process that dies one statement later, until one lives."""
    errors = tmp_path_factory.mktemp("killed") / "errors.txt"
    with (
        errors.open("w") as noted,
        subprocess.Popen(
            [sys.executable, "-c", CALLS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=noted, text=True
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None

        def call(**asked: Any) -> list[dict[str, Any]]:
            print(json.dumps(asked), file=process.stdin, flush=True)
            calls = json.loads(process.stdout.readline() or "null")
            assert calls, errors.read_text()[-2000:]
            return list(calls)

        yield call


@pytest.fixture
def killed_calls(caller: Callable[..., Any], place: Any, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """The calls of ``ann`` to a path, with a body, each of which but the last died."""

    def call(path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
        url = str(place.settings.resolved_database_url)
        return list(caller(url=url, home=str(tmp_path), key=place.key("ann"), path=path, body=body))

    return call


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, house: Any) -> Any:
    """A service on either database."""
    url = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return house(database_url=url, retriever="bm25")


@pytest.mark.slow
def test_documents(place: Any, killed_calls: Any) -> None:
    calls = killed_calls("/v1/documents", {"text": "No id."})
    assert len(calls) > 8
    assert [call["killed"] for call in calls] == [True] * (len(calls) - 1) + [False]
    for call in calls:
        assert call["soon"][0] == 201  # nobody has to wait for a key
        assert call["again"][1] == call["retried"][1] == call["soon"][1]
        assert call["again"][2] == call["retried"][2] == "true"
    stored = [row.document_id for row in place.rows("documents")]
    assert sorted(stored) == sorted(call["soon"][1]["data"][0]["id"] for call in calls)


@pytest.mark.slow
def test_feedback(place: Any, killed_calls: Any) -> None:
    """One draft: the first feedback that survives its process is the one that every retry tells of."""
    draft = place.as_user("ann").post("/v1/drafts", {"request": "write"}).json()
    body = {"draft_id": draft["id"], "outcome": "edited", "final_text": "So."}
    calls = killed_calls("/v1/feedback", body)
    assert len(calls) > 8
    assert {json.dumps(call[name][1]) for call in calls for name in ("soon", "retried", "again")} == {
        json.dumps(calls[0]["soon"][1])
    }
    assert len(place.rows("feedback")) == len(place.rows("documents")) == 1


@pytest.mark.slow
def test_drafts(place: Any, killed_calls: Any) -> None:
    """A draft claims its key while it is written; the claim of a dead process lapses."""
    calls = killed_calls("/v1/drafts", {"request": "write"})
    assert len(calls) > 8
    assert {call["soon"][0] for call in calls} == {200, 409}
    for call in calls:
        assert call["retried"][0] == call["again"][0] == 200
        assert call["again"][1]["id"] == call["retried"][1]["id"]
        assert call["again"][1]["text"] == "A fake reply."
        if call["soon"][0] == 200:
            assert call["soon"][1]["id"] == call["retried"][1]["id"]
    assert sorted(row.id for row in place.rows("drafts")) == sorted(call["retried"][1]["id"] for call in calls)
