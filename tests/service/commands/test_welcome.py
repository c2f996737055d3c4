from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from pearl.models.chat.gguf_file import read_gguf
from pearl.models.chat.speed import Speed, Speeds
from pearl.models.weights import shelf, table
from pearl.models.weights.shelf import model_path
from pearl.models.weights.table import SMALLEST
from pearl.settings import load_settings
from service.commands import serve as greeting
from service.commands.serve import welcome
from service.store.jobs import FAILED
from service.store.tables import jobs
from service.store.user_counts import Overview, overview

NOTHING = Overview(0, 0, 0, 0, 0)
ADDRESS = "http://127.0.0.1:8000"


def said(held: Overview, key: str | None = None, **settings: Any) -> str:
    return welcome(ADDRESS, load_settings(**settings), held, key)


def test_an_empty_store() -> None:
    text = said(NOTHING)
    assert f"is starting on {ADDRESS} (API documentation: {ADDRESS}/docs)" in text
    assert "chat model  embedded" in text
    assert "0 users, 0 documents, 0 voices" in text
    assert "pearl keys create --user me" in text
    assert "serve --sample" in text
    begins = f"open {ADDRESS} in a browser and begin there"
    assert begins not in text
    assert begins in welcome(ADDRESS, load_settings(), NOTHING, None, here=True)
    assert begins not in welcome(ADDRESS, load_settings(), replace(NOTHING, users=1), None, here=True)


def test_a_store_in_use() -> None:
    text = said(Overview(2, 1050, 1, 3, 1), llm="openai", llm_base_url="http://llm:1/v1", llm_model="m")
    assert "m at http://llm:1/v1" in text
    assert "2 users, 1,050 documents, 1 voice; documents of 1 user are still to be embedded" in text
    assert "pearl keys create --user NAME (3 keys so far" in text
    assert "import" not in text


def test_the_sample_user() -> None:
    text = said(NOTHING, "pearl_abc")
    assert "The sample user's key: pearl_abc" in text
    assert f"curl -s {ADDRESS}/v1/drafts" in text


def test_a_better_model_is_named_where_nobody_chose_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["pearl"])
    default = replace(SMALLEST, name="Default", parts=())
    for module in (table, shelf):
        monkeypatch.setattr(module, "TABLE", (SMALLEST, default))
    for module in (table, shelf, greeting):
        monkeypatch.setattr(module, "DEFAULT", "Default")
    fetch = "Default writes better and is not on this machine; fetch it with: pearl models get Default\n"
    assert fetch in said(NOTHING, home=tmp_path)
    assert "Default" not in said(NOTHING, home=tmp_path, llm_model=SMALLEST.name)
    assert "Default" not in said(NOTHING, home=tmp_path, llm_model="m", llm_base_url="http://llm:1/v1")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "Default.gguf").symlink_to(model_path(SMALLEST.name, tmp_path))
    text = said(NOTHING, home=tmp_path)
    assert "chat model  embedded (Default)\n" in text
    assert "pearl models get" not in text


def test_the_speed_of_the_model_is_told_once_it_was_measured(tmp_path: Path) -> None:
    assert "tokens a second" not in said(NOTHING, home=tmp_path)
    digest = read_gguf(model_path(SMALLEST.name, tmp_path)).digest
    Speeds(tmp_path).add(digest, Speed(600, 20, 100, 10))
    told = "reads 30 and writes 10.0 tokens a second on this machine; a draft of 100 tokens takes about 20 s\n"
    assert told in said(NOTHING, home=tmp_path)
    assert "tokens a second" not in said(NOTHING, home=tmp_path, llm_model="m", llm_base_url="http://llm:1/v1")


def test_no_password_is_printed() -> None:
    text = said(NOTHING, database_url="postgresql://ann:secret@db/pearl")
    assert "pearl on db (PostgreSQL)" in text
    assert "secret" not in text
    text = said(NOTHING, llm="openai", llm_base_url="https://ann:secret@llm/v1?api-key=secret&v=2", llm_model="m")
    assert "m at https://***@llm/v1?api-key=***&v=2" in text
    assert "secret" not in text


@pytest.mark.parametrize("documents", [0, 2])
def test_what_a_store_holds(pearl: Any, documents: int) -> None:
    pearl.key("ann")
    pearl.add("ann", *["One.", "Two."][:documents])
    with pearl.database.read() as connection:
        assert overview(connection) == Overview(1, documents, 0, 1, min(documents, 1))


def test_a_job_that_was_given_up_is_not_waited_for(pearl: Any) -> None:
    pearl.add("ann", "One.")
    with pearl.database.write() as connection:
        connection.execute(update(jobs).values(state=FAILED))
        assert overview(connection).embedding == 0


@pytest.mark.parametrize("path", ["", "bin"])
def test_the_command_is_named_as_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """By its name where the shell knows it, as in the container image, and else by its path from here."""
    command = tmp_path / "bin" / "pearl"
    command.parent.mkdir()
    command.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(command)])
    monkeypatch.setenv("PATH", str(tmp_path / path))
    assert f"  {'pearl' if path else 'bin/pearl'} keys create --user me\n" in said(NOTHING)
