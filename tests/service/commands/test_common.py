from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest


def test_any_command_brings_the_schema_up_to_date(command: Any, own_home: Path) -> None:
    assert command("users", "list").status == 0
    with sqlite3.connect(own_home / "pearl.db") as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert {"users", "documents", "drafts", "alembic_version"} <= tables


def test_another_database(command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
    monkeypatch.setenv("PEARL_DATABASE_URL", f"sqlite:///{tmp_path / 'other.db'}")
    assert command("users", "list").status == 0
    assert (tmp_path / "other.db").exists()
    assert not (own_home / "pearl.db").exists()


@pytest.mark.parametrize("url", ["mysql://host/db", "nonsense", "sqlite:////proc/nowhere/pearl.db"])
def test_a_database_that_cannot_be(command: Any, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("PEARL_DATABASE_URL", url)
    ran = command("users", "list")
    assert ran.status == 2
    assert "PEARL_DATABASE_URL" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_file_that_is_no_database(command: Any, own_home: Path) -> None:
    own_home.mkdir()
    (own_home / "pearl.db").write_bytes(b"not a database " * 1000)
    ran = command("users", "list")
    assert ran.status == 1
    assert len(ran.err.splitlines()) == 1


def test_a_setting_that_cannot_be(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEARL_LLM_TIMEOUT_S", "soon")
    ran = command("users", "list")
    assert ran.status == 2
    assert "PEARL_LLM_TIMEOUT_S='soon'" in ran.err
