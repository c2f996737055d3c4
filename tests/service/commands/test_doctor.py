"""`pearl doctor`"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from pearl.models.chat.gguf_file import read_gguf
from pearl.models.chat.speed import Speed, Speeds
from pearl.records import Document
from service.commands import doctor
from service.store import documents, erasures, keys, users
from service.store.database import Database
from service.store.documents import Addition

NAMES = ["program", "settings", "home", "disk", "schema", "database", "model", "retriever"]
TEXT = "Kettle's on, quagga."


@pytest.fixture
def served(own_home: Path, endpoint: Any) -> Database:
    """A home with a database, a user, a document and a key, and an endpoint that answers."""
    made = Database(f"sqlite:///{own_home / 'pearl.db'}")
    made.migrate()
    with made.write() as connection:
        ann = users.ensure(connection, {"ada.lovelace"})["ada.lovelace"]
        documents.add(connection, [Addition(ann.id, Document("d1", TEXT, 1.0))])
        keys.create_for_user(connection, "ada.lovelace")
    made.close()
    return made


@pytest.fixture
def found(command: Any) -> Any:
    """The state and message of each check, by name."""

    def run(status: int) -> dict[str, tuple[str, str]]:
        done = command("doctor", json="-")
        assert done.status == status, done.out + done.err
        assert done.err == ""
        assert all(list(check) == ["name", "state", "message"] for check in done.json["checks"])
        return {check["name"]: (check["state"], check["message"]) for check in done.json["checks"]}

    return run


def test_a_service_that_is_well(served: Database, own_home: Path, endpoint: Any, found: Any, command: Any) -> None:
    (own_home / "pearl.toml").write_text("likeness = true")
    checks = found(0)
    assert list(checks) == NAMES
    states = {name: state for name, (state, _) in checks.items()}
    del states["disk"]  # this machine's
    assert set(states.values()) == {"ok"}
    assert "likeness by pearl.toml; all others by default" in checks["settings"][1]
    assert checks["database"][1].startswith("SQLite 3.")
    assert "1 user, 1 document" in checks["database"][1]
    assert re.fullmatch(r"instant at http://127\.0\.0\.1:\d+/v1 answered in .* m?s, \d+ tokens", checks["model"][1])
    assert len(endpoint.requests) == 1  # one real call
    run = command("doctor")
    assert run.status == 0
    assert run.out.splitlines()[4] == f"ok       schema     {served.schema_version()[1]}"


def test_on_postgresql(postgres_url: str, endpoint: Any, found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEARL_DATABASE_URL", postgres_url)
    checks = found(0)
    assert checks["database"][1].startswith("PostgreSQL 1")


def test_nothing_is_made(own_home: Path, endpoint: Any, found: Any) -> None:
    assert found(0)["schema"] == ("warning", "There is no database yet; `pearl serve` makes it.")
    assert not own_home.exists()


def test_what_nobody_else_may_read(
    served: Database, endpoint: Any, command: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In whatever state things are, neither texts nor keys, passwords or names of people's folders are shown."""
    home = tmp_path / "people" / "countess"
    monkeypatch.setenv("HOME", str(home))
    address = endpoint_address = os.environ["PEARL_LLM_BASE_URL"].replace("http://", "http://ada:pw-of-llm@")
    secrets = {"PEARL_LLM_API_KEY": "sk-very-secret-1", "PGPASSWORD": "pw-of-pg", "OPENAI_API_KEY": "sk-other-2"}
    for name, value in {**secrets, "PEARL_LLM_BASE_URL": address}.items():
        monkeypatch.setenv(name, value)
    said = ""
    for name, value in (
        ("PEARL_CORS_ORIGINS", "http://example.org"),
        ("PEARL_RETRIEVER", str(home / "artifact")),
        ("PEARL_RETRIEVER", "/home/countess/artifact"),
        ("PEARL_RATE_LIMIT_STORAGE", "redis://:pw-of-redis@127.0.0.1:1"),
        ("PEARL_LLM_MODEL", str(home / "model.gguf")),
        ("PEARL_DATABASE_URL", "postgresql://ada:pw-of-database@127.0.0.1:1/pearl"),
        ("PEARL_DATABASE_URL", f"sqlite:///{home}/none/pearl.db"),
        ("PEARL_LLM_BASE_URL", "ftp://ada:pw-of-llm@127.0.0.1"),
        ("PEARL_HOME", str(home / "pearl")),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            for options in ({}, {"json": "-"}):
                run = command("doctor", **options)
                assert run.err == ""
                said += run.out
    endpoint.status = 401
    refused = command("doctor")
    assert refused.status == 1
    assert "failed   model      The model's endpoint refused our key; check PEARL_LLM_API_KEY." in refused.out
    said += refused.out
    for hidden in ("countess", "lovelace", "quagga", "sk-very", "sk-other", "pw-of", "ada:", str(tmp_path)):
        assert hidden not in said, hidden
    assert endpoint_address not in said


def test_settings_that_cannot_be(found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEARL_LLM_TIMEOUT_S", "never")
    checks = found(1)
    assert checks["settings"][0] == "failed"
    assert checks["settings"][1].startswith("PEARL_LLM_TIMEOUT_S='never': ")


def test_homes_that_are_not_well(served: Database, own_home: Path, found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home.chmod(0o777)
    assert found(0)["home"] == ("warning", "PEARL_HOME can be written by others (mode 777): chmod go-w")
    (file := own_home.with_name("file")).touch()
    monkeypatch.setenv("PEARL_HOME", str(file))
    monkeypatch.setenv("PEARL_DATABASE_URL", f"sqlite:///{own_home / 'pearl.db'}")
    assert found(1)["home"] == ("failed", "PEARL_HOME is no folder; name another with PEARL_HOME.")


def test_a_full_disk(served: Database, found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for free, state in ((400_000_000, "warning"), (1000, "failed")):
        monkeypatch.setattr("shutil.disk_usage", lambda folder, free=free: type("Usage", (), {"free": free}))
        assert found(int(state == "failed"))["disk"][0] == state


def test_databases_that_are_not_well(served: Database, own_home: Path, found: Any) -> None:
    file = own_home / "pearl.db"
    with served.write() as connection:
        erasures.owe(connection, 1)
        connection.exec_driver_sql("UPDATE erasures SET requested_at = 1.0")
    assert found(0)["database"][1].startswith("Deleted texts are still in its files")
    for revision, state in (("0010", "warning"), ("9999", "failed")):
        with served.write() as connection:
            connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{revision}'")
        checks = found(int(state == "failed"))
        assert checks["schema"][0] == state
        assert revision in checks["schema"][1]
    served.close()
    content = file.read_bytes()
    file.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    assert found(1)["schema"][1].startswith("PEARL_HOME/pearl.db is damaged.")


def test_models_of_this_machine(
    served: Database, own_home: Path, found: Any, monkeypatch: pytest.MonkeyPatch, tiny_gguf: Path
) -> None:
    for name in ("PEARL_LLM_BASE_URL", "PEARL_LLM_MODEL"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PEARL_LLM", "embedded")
    monkeypatch.setenv("PEARL_LLM_MODEL", str(tiny_gguf))
    Speeds(own_home).add(read_gguf(tiny_gguf).digest, Speed(600, 20, 100, 10))  # its context is too small for a draft's
    message = found(0)["model"][1]
    assert re.search(
        r" answered in .* tokens?; it reads \d+ and writes [\d.]+ tokens a second on this machine", message
    )
    monkeypatch.setenv("PEARL_LLM_MODEL", "none")
    assert found(1)["model"][0] == "failed"


def test_a_retriever_with_another_encoder(
    served: Database, found: Any, monkeypatch: pytest.MonkeyPatch, make_artifact: Any
) -> None:
    monkeypatch.setenv("PEARL_RETRIEVER", str(make_artifact()))  # trained with the encoder "words"
    state, message = found(1)["retriever"]
    assert state == "failed"
    assert "words" in message
    monkeypatch.setenv("PEARL_RETRIEVER", "dense")
    assert found(0)["retriever"][1].startswith("dense with the encoder all-MiniLM-L6-v2; a request is encoded in ")


def test_what_was_not_foreseen(served: Database, found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(examined: object) -> None:
        raise ValueError(TEXT)

    monkeypatch.setitem(doctor.CHECKS, "disk", fail)
    assert found(1)["disk"][1] == "It could not be checked (ValueError): please tell PEARL's makers."
