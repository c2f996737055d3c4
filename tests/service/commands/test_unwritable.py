"""A file that cannot be written is found before anything is done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

COMMANDS = (
    ("draft", "write"),
    ("feedback", "draft_1", "--accepted"),
    ("import", "jsonl", "HISTORY"),
    ("imports", "undo", "import_1"),
    ("keys", "create", "--user", "ann"),
    ("move", "--to", "sqlite:///other.db"),
)


@pytest.mark.parametrize("command_line", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("target", "message"), [("/nowhere/x.json", "there is no folder /nowhere"), ("/", "that is a folder; name a file")]
)
def test_a_file_that_cannot_be_written(
    command: Any, own_home: Path, tmp_path: Path, command_line: tuple[str, ...], target: str, message: str
) -> None:
    history = tmp_path / "history.jsonl"
    history.write_text(json.dumps({"user_id": "ann", "id": "a", "text": "Fetch the bike.", "timestamp": 1}))
    words = [str(history) if word == "HISTORY" else word for word in command_line]
    ran = command(*words, "--json", target)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"pearl: --json {target}: {message}.\n"
    assert not own_home.exists()  # not even a database was made
