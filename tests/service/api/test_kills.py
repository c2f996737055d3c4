"""A process that is killed between any two statements of a call: the retry finds both, what it did and its answer, or
neither."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Forks, so that the imports are paid once: a child for each call, which kills itself after its n-th statement, and one
# that goes on serving, as a second worker does.
CALLS = """
import gc, json, os, signal, sys
from itertools import count
from sqlalchemy import event, text
from starlette.testclient import TestClient
from pearl.chat.fake import FakeChatModel
from pearl.settings import load_settings
from service.app import create_app

url, home, path, body = sys.argv[1:]
settings = load_settings(home=home, database_url=url, retriever="bm25", embed_in_background=False, log_level="error")


def post(client, key):
    headers = {"Authorization": f"Bearer {os.environ['KEY']}", "Idempotency-Key": key}
    answer = client.post(path, json=json.loads(body), headers=headers)
    return answer.status_code, answer.json(), answer.headers.get("idempotent-replayed")


def die(key, dies_after):
    app = create_app(settings, model=FakeChatModel())
    with TestClient(app) as client:
        statements = count(1)

        def after(*_):
            if next(statements) == dies_after:
                os.kill(os.getpid(), signal.SIGKILL)

        app.state.services.sweep = lambda: None  # its statements are nobody's call
        for moment in ("after_cursor_execute", "commit"):
            event.listen(app.state.services.database.engine, moment, after)
        post(client, key)


def survive(keys, answers):
    app = create_app(settings, model=FakeChatModel())
    with TestClient(app) as client:
        for key in map(str.strip, keys):
            soon = post(client, key)
            # before two calls more, the claim of a dead process lapses
            with app.state.services.database.write() as connection:
                connection.execute(text("UPDATE idempotency SET created_at = created_at - 60 WHERE status IS NULL"))
            print(json.dumps([soon, post(client, key), post(client, key)]), file=answers, flush=True)


def in_child(work):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    return child


gc.freeze()  # what is there already is not copied into each child
their_keys, keys = os.pipe()
answers, their_answers = os.pipe()


def serve():
    os.close(keys)  # or the end of the keys would never come
    with os.fdopen(their_keys) as asked, os.fdopen(their_answers, "w") as told:
        survive(asked, told)


survivor = in_child(serve)
with os.fdopen(keys, "w") as asked, os.fdopen(answers) as told:
    for n in count(1):
        _, status = os.waitpid(in_child(lambda: die(f"key{n}", n)), 0)
        killed = os.WIFSIGNALED(status)
        print(f"key{n}", file=asked, flush=True)
        soon, retried, again = json.loads(told.readline())
        print(json.dumps({"killed": killed, "soon": soon, "retried": retried, "again": again}), flush=True)
        if not killed:
            assert status == 0
            break
_, status = os.waitpid(survivor, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def killed_calls(url: str, home: Path, key: str, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-c", CALLS, url, str(home), path, json.dumps(body)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "KEY": key},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, house: Any) -> Any:
    """A service on either database."""
    url = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")
    return house(database_url=url, retriever="bm25")


def url_of(place: Any) -> str:
    return str(place.settings.resolved_database_url)


def test_documents(place: Any, tmp_path: Path) -> None:
    calls = killed_calls(url_of(place), tmp_path, place.key("ann"), "/v1/documents", {"text": "No id."})
    assert len(calls) > 8
    assert [call["killed"] for call in calls] == [True] * (len(calls) - 1) + [False]
    for call in calls:
        assert call["soon"][0] == 201  # nobody has to wait for a key
        assert call["again"][1] == call["retried"][1] == call["soon"][1]
        assert call["again"][2] == call["retried"][2] == "true"
    stored = [row.document_id for row in place.rows("documents")]
    assert sorted(stored) == sorted(call["soon"][1]["data"][0]["id"] for call in calls)


def test_feedback(place: Any, tmp_path: Path) -> None:
    """One draft: the first feedback that survives its process is the one that every retry tells of."""
    draft = place.as_user("ann").post("/v1/drafts", {"request": "write"}).json()
    body = {"draft_id": draft["id"], "outcome": "edited", "final_text": "So."}
    calls = killed_calls(url_of(place), tmp_path, place.key("ann"), "/v1/feedback", body)
    assert len(calls) > 8
    assert {json.dumps(call[name][1]) for call in calls for name in ("soon", "retried", "again")} == {
        json.dumps(calls[0]["soon"][1])
    }
    assert len(place.rows("feedback")) == len(place.rows("documents")) == 1


def test_drafts(place: Any, tmp_path: Path) -> None:
    """A draft claims its key while it is written; the claim of a dead process lapses."""
    calls = killed_calls(url_of(place), tmp_path, place.key("ann"), "/v1/drafts", {"request": "write"})
    assert len(calls) > 8
    assert {call["soon"][0] for call in calls} == {200, 409}
    for call in calls:
        assert call["retried"][0] == call["again"][0] == 200
        assert call["again"][1]["id"] == call["retried"][1]["id"]
        assert call["again"][1]["text"] == "A fake reply."
        if call["soon"][0] == 200:
            assert call["soon"][1]["id"] == call["retried"][1]["id"]
    assert sorted(row.id for row in place.rows("drafts")) == sorted(call["retried"][1]["id"] for call in calls)
