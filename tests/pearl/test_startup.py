"""What a command loads before it works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

NEVER = {"alembic", "faiss", "limits", "prometheus_client", "pyarrow", "scipy", "torch", "transformers"}
MODELS = {"openai", "openvino", "tokenizers"}

RUN = """
import json, sys
from pearl.cli.main import main
sys.argv = ["pearl", *json.loads(sys.argv[1])]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""
EVERY_HELP = """
import json, sys
from importlib import import_module
from pearl.cli.commands import click_command
from typer.testing import CliRunner
from pearl.cli.main import COMMANDS, app
for name in COMMANDS:
    command = click_command(import_module(COMMANDS[name][0]))
    below = command.list_commands(None) if hasattr(command, "list_commands") else []
    for path in ([name], *([name, each] for each in below)):
        assert CliRunner().invoke(app, [*path, "--help"]).exit_code == 0, path
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def loaded(program: str, home: Path, words: Sequence[str] = (), **settings: str) -> set[str]:
    """The packages that a fresh process has loaded at its end."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PEARL_")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, json.dumps(words)],
        env={**kept, "PEARL_HOME": str(home), **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def test_the_list_of_commands_loads_no_command(tmp_path):
    found = loaded(RUN, tmp_path, ["--help"])
    assert not found & (NEVER | MODELS | {"fastapi", "numpy", "pydantic", "rich", "sqlalchemy"})


def test_help_for_a_draft_loads_neither_the_store_nor_a_model(tmp_path):
    assert not loaded(RUN, tmp_path, ["draft", "--help"]) & (NEVER | MODELS | {"fastapi", "numpy", "sqlalchemy"})


@pytest.mark.slow
def test_no_help_loads_what_only_the_work_needs(tmp_path):
    assert not loaded(EVERY_HELP, tmp_path) & ((NEVER | MODELS | {"fastapi"}) - {"prometheus_client"})


@pytest.mark.slow
def test_an_import_and_a_draft_load_no_more_than_they_need(tmp_path, judge_endpoint):
    endpoint = {"PEARL_LLM_BASE_URL": judge_endpoint.address, "PEARL_LLM_MODEL": "mock"}
    source = tmp_path / "history.jsonl"
    source.write_text(json.dumps({"user_id": "me", "id": "a", "timestamp": 1, "text": "Fetch the bike at nine."}))
    loaded(RUN, tmp_path / "home", ["import", "jsonl", str(source)])  # makes the store, which alembic does
    found = loaded(RUN, tmp_path / "home", ["import", "jsonl", str(source)])
    assert not found & (NEVER | MODELS | {"fastapi"})
    found = loaded(RUN, tmp_path / "home", ["draft", "When is it done?"], **endpoint)
    assert not found & (NEVER | {"fastapi", "sklearn", "sentence_transformers"})
    found = loaded(RUN, tmp_path / "home", ["draft", "When?", "--json", "-"], **endpoint)
    assert not found & (NEVER | {"fastapi"})
