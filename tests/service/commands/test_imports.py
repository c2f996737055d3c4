from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys

import pytest

from pearl import cli
from pearl.settings import load_settings
from service.commands.common import open_database
from service.store import documents, users

LINES = [
    {"user_id": "ann", "id": "1", "timestamp": 1_700_000_000, "text": "Tea at four."},
    {"user_id": "bob", "id": "1", "timestamp": "2024-03-01T09:00:00Z", "text": "Milk?", "request": "What?"},
]
LOADED = "sorted(sys.modules.keys() & {'torch', 'transformers', 'faiss'})"
PLUG_IN = """
from pearl.records import Document
from service.importers.base import Found

class PostcardImporter:
    name = "postcards"
    summary = "Postcards, one a line."
    examples = ("pearl import postcards drawer.txt --user ann",)
    unit = "bytes"
    needs_user = True
    needs_me = False

    def size(self, source):
        return None

    def read(self, source, options):
        for number, line in enumerate(source.read_text().splitlines(), start=1):
            yield Found(options.owner, Document(f"card-{number}", line, 1.0, None, options.voice), f"{source}:{number}")
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("PEARL_DATABASE_URL", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


@pytest.fixture
def pearl(monkeypatch, capsys):
    """Run the command line in this process: exit status, standard output, standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pearl", *map(str, arguments)])
        try:
            cli.main()
            status = 0
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 0
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


@pytest.fixture
def history(tmp_path):
    def write(*lines, name="history.jsonl"):
        path = tmp_path / name
        path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
        return path

    return write


def stored(user: str) -> list[str]:
    with open_database(load_settings()) as database, database.read() as connection:
        return [document.text for document in documents.all_of_user(connection, users.get(connection, user).id)]


def test_an_import_and_its_second_run(pearl, history):
    path = history(*LINES)
    status, out, error = pearl("import", "jsonl", path)
    assert (status, out) == (0, "")
    assert "2  imported, for 2 users" in error
    assert stored("bob") == ["Milk?"]
    status, _, error = pearl("import", "jsonl", path)
    assert status == 0
    assert "0  imported" in error
    assert "2  already there" in error


def test_json_on_standard_output_and_nothing_else(pearl, history):
    status, out, error = pearl("import", "jsonl", history(*LINES, {**LINES[0], "text": ""}, LINES[0]), "--json", "-")
    summary = json.loads(out)
    assert status == 0
    assert summary.pop("seconds") >= 0
    assert summary.pop("errors")[0] == {
        "where": error.split(": text:")[0],
        "field": "text",
        "message": "'text' is empty; give at least one word.",
    }
    assert summary == {
        "imported": 2,
        "already_there": 1,
        "conflicts": 0,
        "left_out": {"empty text": 1},
        "errors_total": 1,
        "users": 2,
    }


def test_json_into_a_file(pearl, history, tmp_path):
    status, out, _ = pearl("import", "jsonl", history(*LINES), "--json", tmp_path / "summary.json")
    assert (status, out) == (0, "")
    assert json.loads((tmp_path / "summary.json").read_text())["imported"] == 2


def test_a_bad_line_is_one_line_on_standard_error(pearl, history):
    path = history(LINES[0], {**LINES[1], "text": 4}, "{\n")
    status, _, error = pearl("import", "jsonl", path)
    assert status == 0
    assert error.splitlines()[0] == f"{path}:2: text: must be a string, not a number."
    assert error.splitlines()[1].startswith(f"{path}:3: is not JSON")
    assert stored("ann") == ["Tea at four."]


def test_many_bad_lines_are_not_all_shown(pearl, history):
    status, _, error = pearl("import", "jsonl", history(LINES[0], *["nonsense\n"] * 30))
    assert status == 0
    assert error.count("is not JSON") == 20
    assert "and 10 more" in error.splitlines()


def test_what_a_source_calls_itself_cannot_control_the_terminal(pearl, history):
    _, _, error = pearl("import", "jsonl", history(LINES[0], "nonsense\n", name="\x1b[31mred.jsonl"))
    assert "\x1b" not in error.split("imported")[0]


def test_strict(pearl, history):
    path = history(*LINES, "nonsense\n")
    status, out, error = pearl("import", "jsonl", path, "--strict", "--json", "-")
    assert status == 2
    assert json.loads(out)["imported"] == 0
    assert error.splitlines()[-1] == f"pearl: {path}: 1 error, so --strict imported nothing."
    assert pearl("import", "jsonl", history(*LINES), "--strict")[0] == 0
    assert stored("ann") == ["Tea at four."]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "nothing to import: it holds no documents"),
        ("\n\n", "nothing to import: it holds no documents"),
        ("Dear diary,\n", "nothing to import: 1 invalid json"),
        ("\x00\x01\x02", "nothing to import: 1 invalid json"),
        ("\x1f\x8bcut short", "nothing to import"),
    ],
)
def test_nothing_usable(pearl, history, content, message):
    status, _, error = pearl("import", "jsonl", history(content))
    assert status == 2
    assert message in error.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jsonl", "/nowhere.jsonl"], "pearl: /nowhere.jsonl: there is no such file or folder."),
        (["jsonl", "/"], "cannot be read"),
        (["git", "/"], "--user"),
        (["mbox", "/", "--user", "ann"], "--me"),
        (["git", "/", "--user", " ann"], "'--user' must have"),
        (["git", "/", "--user", "ann", "--voice", ""], "'--voice' must have"),
        (["git", "/nowhere", "--user", "ann"], "no such file or folder"),
        (["telegraph", "/"], "No such command 'telegraph'"),
        (["jsonl"], "Missing argument"),
        (["jsonl", "/", "--colour"], "No such option"),
    ],
)
def test_unusable_options(pearl, arguments, message):
    status, out, error = pearl("import", *arguments)
    assert (status, out) == (2, "")
    assert message in error


def test_a_json_file_that_cannot_be_written(pearl, history):
    status, _, error = pearl("import", "jsonl", history(*LINES), "--json", "/nowhere/summary.json")
    assert status == 2
    assert "--json /nowhere/summary.json" in error


def test_a_locked_database(pearl, history, home, monkeypatch):
    path = history(*LINES)
    assert pearl("import", "jsonl", path)[0] == 0
    monkeypatch.setenv("PEARL_DATABASE_TIMEOUT_S", "0.2")
    other = sqlite3.connect(home / "pearl.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    status, _, error = pearl("import", "jsonl", path)
    other.close()
    assert status == 1
    assert error.startswith("pearl: The database is locked by another program")


def test_help_lists_the_sources_and_keeps_the_examples_lines(pearl):
    status, out, _ = pearl("import", "--help")
    assert status == 0
    for name in ("discord", "git", "jsonl", "markdown", "mbox", "reddit", "slack"):
        assert f"\n  {name} " in out
    _, out, _ = pearl("import", "jsonl", "--help")
    assert "\n    pearl import jsonl history.jsonl.gz\n" in out
    assert "--batch-size" not in out


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a package with an entry point on the path, as pip would."""

    def add(entry_point: str) -> None:
        site = tmp_path / "site"
        (site / "postcards-1.0.dist-info").mkdir(parents=True)
        (site / "pearl_postcards.py").write_text(PLUG_IN)
        (site / "postcards-1.0.dist-info" / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: postcards\nVersion: 1.0\n"
        )
        (site / "postcards-1.0.dist-info" / "entry_points.txt").write_text(
            f"[pearl.importers]\npostcards = {entry_point}\n"
        )
        monkeypatch.syspath_prepend(str(site))

    yield add
    sys.modules.pop("pearl_postcards", None)


def test_a_plug_in_is_a_subcommand_like_the_others(pearl, install, tmp_path):
    install("pearl_postcards:PostcardImporter")
    assert "postcards  Postcards, one a line." in pearl("import", "--help")[1]
    assert "pearl import postcards drawer.txt --user ann" in pearl("import", "postcards", "--help")[1]
    (tmp_path / "drawer.txt").write_text("Wish you were here.\nIt rains.\n")
    status, out, _ = pearl("import", "postcards", tmp_path / "drawer.txt", "--user", "ann", "--json", "-")
    assert (status, json.loads(out)["imported"]) == (0, 2)
    assert stored("ann") == ["Wish you were here.", "It rains."]


def test_a_plug_in_that_does_not_load_does_not_hide_the_others(pearl, install, history):
    install("pearl_postcards:NoSuchImporter")
    _, out, _ = pearl("import", "--help")
    assert "cannot be loaded" in " ".join(out.split())
    assert "A history file" in out
    status, _, error = pearl("import", "postcards", "/", "--user", "ann")
    assert status == 2
    assert "The importer 'postcards' (pearl_postcards:NoSuchImporter) cannot be loaded" in error
    assert pearl("import", "jsonl", history(*LINES))[0] == 0


def test_as_a_process_of_its_own(history, tmp_path):
    """The whole way once; and neither torch nor the rest of the retriever is loaded for it."""
    code = f"import atexit, sys; atexit.register(lambda: print({LOADED}, file=sys.stderr))\n"
    code += "from pearl.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "import", "jsonl", str(history(*LINES)), "--json", "-"],
        capture_output=True,
        text=True,
        env=os.environ | {"PEARL_HOME": str(tmp_path / "other")},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["imported"] == 2
    assert done.stderr == "[]\n"
