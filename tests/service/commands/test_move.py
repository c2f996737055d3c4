from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pearl.settings import load_settings
from service.commands.common import open_database
from service.store import documents, users

LINES = [
    {"user_id": "ann", "id": str(number), "timestamp": 1_700_000_000 + number, "text": f"Text {number}.", "voice": "v"}
    for number in range(250)
]


def texts(url: str) -> list[str]:
    with open_database(load_settings(database_url=url)) as database, database.read() as connection:
        return [each.text for each in documents.all_of_user(connection, users.get(connection, "ann").id)]


def test_to_postgresql_and_back(command: Any, write_lines: Any, postgres_databases: Any, tmp_path: Path) -> None:
    assert command("import", "jsonl", write_lines(LINES)).status == 0
    # as the address stands in everybody's notes, without the driver
    url = postgres_databases("template1").replace("postgresql+psycopg://", "postgresql://")
    run = command("move", "--to", url)
    assert run.status == 0, run.err
    assert "      250  documents\n" in run.out
    assert run.err.startswith("Copied 25")
    assert texts(url) == [line["text"] for line in LINES]
    again = command("move", "--to", url)
    assert again.status == 2
    assert again.err.startswith("pearl: The target is not empty: there are rows in")
    back = f"sqlite:///{tmp_path / 'back.db'}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PEARL_DATABASE_URL", url)
        run = command("move", "--to", back, "--json", "-")
    assert (run.status, run.json["tables"]["documents"]) == (0, 250)
    assert texts(back) == texts(url)


def test_an_empty_database_is_no_source(command: Any, tmp_path: Path) -> None:
    """As one is whose address was mistyped: SQLite makes the file."""
    target = tmp_path / "target.db"
    run = command("move", "--to", f"sqlite:///{target}")
    assert run.status == 2
    assert run.err == (
        "pearl: The database is empty: there is nothing to copy. Check PEARL_DATABASE_URL or PEARL_HOME.\n"
    )
    assert not target.exists()


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("nonsense", "pearl: --to cannot be used: "),
        ("mysql://localhost/pearl", "pearl: --to "),
        ("sqlite://", "pearl: --to names no file"),
        (
            "postgresql://nobody@127.0.0.1:1/none",
            "pearl: The database cannot be opened (Connection refused); check --to, and that its server runs.",
        ),
    ],
)
def test_targets_that_cannot_be(command: Any, write_lines: Any, to: str, message: str) -> None:
    assert command("import", "jsonl", write_lines(LINES[:1])).status == 0
    run = command("move", "--to", to)
    assert run.status in (1, 2)
    assert run.err.startswith(message)
    assert len(run.err.splitlines()) == 1
