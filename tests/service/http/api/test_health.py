from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pearl import __version__
from pearl.errors import ChatError, ChatRateLimited, ChatRefused, ChatRejected, InputError, StoreError
from pearl.models.chat.choose import make_chat_model
from pearl.settings import load_settings
from service.store.database import TABLE_WAIT_S
from service.store.schema import known
from service.store.tables import metadata
from tests.fake_chat import FakeChatModel


class LoadingModel(FakeChatModel):
    """A model that loads when it is let, and fails if it is told to."""

    def __init__(self, failure: Exception | None = None) -> None:
        super().__init__()
        self.may_load = threading.Event()
        self.failure = failure

    def load(self) -> None:
        assert self.may_load.wait(60)
        if self.failure is not None:
            raise self.failure


def test_health_needs_no_key(pearl: Any) -> None:
    answer = pearl.client.get("/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "version": __version__})


def test_ready_once_the_models_are_loaded(house: Any, until: Any) -> None:
    model = LoadingModel()
    client = house(model).client
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()) == (
        503,
        {"status": "starting", "checks": {"database": "ok", "models": "loading", "llm": "not asked"}},
    )
    assert client.get("/health").status_code == 200
    model.may_load.set()
    until(lambda: client.get("/health/ready").status_code == 200)
    assert client.get("/health/ready").json() == {
        "status": "ready",
        "checks": {"database": "ok", "models": "ok", "llm": "ok"},
    }


def metrics_of(pearl: Any) -> str:
    return str(pearl.client.get("/metrics", headers={"Authorization": f"Bearer {pearl.service_key()}"}).text)


def test_a_chat_model_that_is_away(pearl: Any, until: Any) -> None:
    pearl.model.unwell = ChatError("The model's endpoint cannot be reached.", code="llm_unreachable")
    until(lambda: pearl.client.get("/health/ready").json()["status"] == "failed")
    answer = pearl.client.get("/health/ready")
    assert (answer.status_code, answer.json()["checks"]["llm"]) == (503, "The model's endpoint cannot be reached.")
    assert 'pearl_llm_failures_total{code="llm_unreachable"} 1.0' in metrics_of(pearl)


def test_an_endpoint_that_nobody_listens_at(house: Any, until: Any) -> None:
    """The real client, at an address of which no service answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        settings = load_settings(llm="openai", llm_base_url=address, llm_model="m", llm_max_retries=0)
        pearl = house(make_chat_model(settings))
        until(lambda: pearl.client.get("/health/ready").json()["status"] == "failed")
        answer = pearl.client.get("/health/ready")
    assert answer.status_code == 503
    assert "cannot be reached; check PEARL_LLM_BASE_URL" in answer.json()["checks"]["llm"]


def test_what_real_calls_show_counts(pearl: Any, until: Any, caplog: pytest.LogCaptureFixture) -> None:
    """An endpoint that lists its models and writes nothing is not ready, until a draft is written again."""
    ann = pearl.as_user("ann")
    until(lambda: pearl.client.get("/health/ready").status_code == 200)
    pearl.model.replies.append(ChatError("The model's endpoint answered with status 500; try again later."))
    assert ann.post("/v1/drafts", {"request": "a secret request"}).status_code == 502
    answer = pearl.client.get("/health/ready")
    assert answer.status_code == 503
    assert answer.json()["checks"]["llm"].startswith("The last draft failed: The model's endpoint answered with status")
    assert [record.getMessage() for record in caplog.records if record.name == "pearl.models.chat"] == [
        "llm_error: The model's endpoint answered with status 500; try again later."
    ]
    assert 'pearl_llm_failures_total{code="llm_error"} 1.0' in metrics_of(pearl)
    assert ann.post("/v1/drafts", {"request": "write"}).status_code == 200
    assert pearl.client.get("/health/ready").status_code == 200


@pytest.mark.parametrize("failure", [ChatRejected("No."), ChatRefused("No."), ChatRateLimited("Wait.")])
def test_what_one_request_met_says_nothing_of_the_next(pearl: Any, until: Any, failure: ChatError) -> None:
    until(lambda: pearl.client.get("/health/ready").status_code == 200)
    pearl.model.replies.append(failure)
    ann = pearl.as_user("ann")
    assert ann.post("/v1/drafts", {"request": "write"}).status_code >= 500
    assert pearl.client.get("/health/ready").status_code == 200
    assert f'pearl_llm_failures_total{{code="{failure.code}"}} 1.0' in metrics_of(pearl)


def test_models_that_cannot_be_loaded(house: Any, until: Any) -> None:
    for failure, message in (
        (InputError("The encoder 'x' cannot be loaded."), "The encoder 'x' cannot be loaded."),
        (ValueError("a library's own words"), "The models could not be loaded (ValueError)."),
    ):
        model = LoadingModel(failure)
        client = house(model).client
        model.may_load.set()
        until(lambda client=client: client.get("/health/ready").json()["status"] == "failed")
        answer = client.get("/health/ready")
        assert (answer.status_code, answer.json()["checks"]["models"]) == (503, message)


def test_a_database_that_was_deleted_under_the_service(pearl: Any, until: Any) -> None:
    until(lambda: pearl.client.get("/health/ready").status_code == 200)
    ann = pearl.as_user("ann")
    file = Path(pearl.database.engine.url.database)
    file.unlink()
    ready = pearl.client.get("/health/ready")
    assert ready.status_code == 503
    assert ready.json()["checks"]["database"].startswith("The database was deleted, replaced or cut while PEARL had it")
    added = ann.post("/v1/documents", {"id": "a", "text": "Kept?"})
    assert (added.status_code, added.json()["error"]["code"]) == (503, "store_gone")
    strange = pearl.client.get("/v1/documents", headers={"Authorization": "Bearer pearl_nobody"})
    for answer in (ready, added, strange):
        assert str(file.parent) not in answer.text
    assert not file.exists()


def test_models_that_lie_in_the_data_folder_do_not_show_it(pearl: Any, until: Any) -> None:
    until(lambda: pearl.client.get("/health/ready").status_code == 200)
    pearl.services.load_error = f"{pearl.settings.home}/models/x is damaged."
    assert pearl.client.get("/health/ready").json()["checks"]["models"] == "PEARL_HOME/models/x is damaged."


def test_a_database_without_a_schema(pearl: Any, until: Any) -> None:
    until(lambda: pearl.client.get("/health/ready").status_code == 200)
    with pearl.database.write() as connection:
        connection.exec_driver_sql("DROP TABLE alembic_version")
    answer = pearl.client.get("/health/ready")
    assert (answer.status_code, answer.json()["status"]) == (503, "failed")
    assert "pearl serve" in answer.json()["checks"]["database"]


def test_metrics_count_and_name_no_text(pearl: Any) -> None:
    ann = pearl.as_user("ann")
    ann.post("/v1/documents", {"id": "secret-id", "text": "A secret text."})
    ann.post("/v1/drafts", {"request": "a secret request"})
    ann.post("/v1/drafts", {"request": "a secret request", "stream": True})
    ann.get("/v1/documents/secret-id")
    ann.get("/secret/path")
    ann("SECRET", "/v1/drafts")
    answer = pearl.client.get("/metrics", headers={"Authorization": f"Bearer {pearl.service_key()}"})
    assert answer.headers["content-type"].startswith("text/plain")
    text = answer.text
    assert 'pearl_http_requests_total{method="POST",route="/v1/drafts",status="200"} 2.0' in text
    assert 'pearl_http_requests_total{method="GET",route="/v1/documents/{id:path}",status="200"} 1.0' in text
    assert 'pearl_http_requests_total{method="GET",route="unknown",status="404"} 1.0' in text
    assert 'pearl_drafts_total{revision="no_threshold",stage="draft"} 2.0' in text
    assert 'pearl_draft_stage_seconds_count{stage="generate"} 2.0' in text
    assert 'pearl_llm_tokens_total{kind="completion"} 6.0' in text
    assert "pearl_history_indexes_built_total 1.0" in text
    assert "secret" not in text.lower()


def test_metrics_are_the_operators(pearl: Any) -> None:
    refused = pearl.as_user("ann").get("/metrics")
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "permission_error")
    assert "pearl keys create --service" in refused.json()["error"]["message"]
    for granted in ([], ["ann"]):
        headers = {"Authorization": f"Bearer {pearl.service_key(*granted)}"}
        assert pearl.client.get("/metrics", headers=headers).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite_url", "postgres_url"])
def test_a_database_that_a_later_version_has_upgraded(
    house: Any, until: Any, database: str, request: pytest.FixtureRequest
) -> None:
    """Another server has been upgraded, and this one still runs: it works on unless something was taken away."""
    pearl = house(database_url=request.getfixturevalue(database))
    until(lambda: pearl.client.get("/health/ready").status_code == 200)
    ann = pearl.as_user("ann")
    ended, statuses = threading.Event(), set()

    def work() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            statuses.add(ann.post("/v1/documents", {"id": f"d{number}", "text": "See you at ten."}).status_code)
            draft = ann.post("/v1/drafts", {"request": "write"})
            body = {"draft_id": draft.json()["id"], "outcome": "edited", "final_text": f"So {number}."}
            statuses.update((draft.status_code, ann.post("/v1/feedback", body).status_code))

    working = threading.Thread(target=work)
    working.start()
    newest = int(known()[1])
    while int(pearl.database.schema_version()[0]) == newest:  # again and again, as Database.migrate does
        with suppress(StoreError), pearl.database.write(within_s=TABLE_WAIT_S) as connection:
            for table in metadata.sorted_tables:
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN later VARCHAR(9) DEFAULT 'x' NOT NULL")
            connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{newest + 1:04}'")
    time.sleep(0.5)
    ended.set()
    working.join()
    assert statuses == {200, 201}
    assert pearl.client.get("/health/ready").status_code == 200
    assert ann.get("/v1/export").status_code == 200
    assert ann.delete("/v1/me").status_code == 204
    for revision in (f"{newest + 100:04}", "9999"):
        with pearl.database.write() as connection:
            connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{revision}'")
        answer = pearl.client.get("/health/ready")
        assert answer.status_code == 503
        assert f"is of a later version of PEARL ({revision}; this one knows" in answer.json()["checks"]["database"]
