from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
from service.importing.sources.base import SourceDocument

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
            document = Document(f"card-{number}", line, 1.0, None, options.voice)
            yield SourceDocument(options.owner, document, f"{source}:{number}")
"""


@pytest.fixture(autouse=True)
def plain_surroundings(own_home, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


def stored(user: str) -> list[str]:
    with open_database(load_settings()) as database, database.read() as connection:
        return [document.text for document in documents.all_of_user(connection, users.get(connection, user).id)]


def test_pipes(command, piped):
    content = "\n".join(map(json.dumps, LINES)).encode()
    assert command("import", "jsonl", piped(content), "--json", "-").json["imported"] == 2
    assert "no importer can be guessed; name it: pearl import KIND /dev/fd/" in command("import", piped(content)).err
    assert "no importer can be guessed; name it: pearl import KIND -\n" in command("import", "-").err
    run = command("import", "slack", piped(content), "--user", "ann", "--me", "ann")
    assert (run.status, "can be read only once; write it to a file" in run.err) == (2, True)


def test_an_import_and_its_second_run(command, write_lines):
    path = write_lines(LINES)
    run = command("import", "jsonl", path)
    assert (run.status, run.out) == (0, "")
    assert "2  imported, for 2 users" in run.err
    assert "pearl imports undo ID, for each user; their ids: pearl imports list --user U\n" in run.err
    assert stored("bob") == ["Milk?"]
    run = command("import", "jsonl", path)
    assert run.status == 0
    assert "0  imported" in run.err
    assert "2  already there" in run.err


def test_json_on_standard_output_and_nothing_else(command, write_lines):
    run = command("import", "jsonl", write_lines([*LINES, {**LINES[0], "text": ""}, LINES[0]]), "--json", "-")
    summary = run.json
    assert run.status == 0
    assert summary.pop("seconds") >= 0
    assert summary.pop("errors")[0] == {
        "where": run.err.split(": text:")[0],
        "field": "text",
        "message": "'text' is empty; give at least one word.",
    }
    assert sorted(summary.pop("import_ids")) == ["ann", "bob"]
    assert summary == {
        "imported": 2,
        "replaced": 0,
        "gone": 0,
        "set_apart": 0,
        "removed": 0,
        "already_there": 1,
        "conflicts": 0,
        "left_out": {"empty text": 1},
        "languages": {"unknown": 2},
        "errors_total": 1,
        "users": 2,
        "unmatched_me": [],
        "senders": [],
        "remarks": [],
    }


def test_what_is_imported_is_counted_by_language(command, write_lines):
    texts = (
        "Could you bring the long ladder on Saturday?",
        "Lunch at one, as we always do on Sundays?",
        "Kannst du am Samstag die lange Leiter mitbringen?",
        "\u202eok\u202c",
    )
    path = write_lines([{**LINES[0], "id": str(number), "text": text} for number, text in enumerate(texts)])
    run = command("import", "jsonl", path)
    assert "2  of them in English" in run.err
    assert "1  of them in German" in run.err
    assert "1  of them in a language that cannot be told" in run.err
    listed = command("documents", "list", "--user", "ann", "--json", "-").json["documents"]
    assert {document["id"]: document["language"] for document in listed} == {"0": "en", "1": "en", "2": "de", "3": None}
    assert "language:     German" in command("documents", "show", "2", "--user", "ann").out
    again = command("import", "jsonl", path, "--json", "-").json
    assert again["languages"] == {}  # nothing new


def test_json_into_a_file(command, write_lines, tmp_path):
    run = command("import", "jsonl", write_lines(LINES), "--json", tmp_path / "summary.json")
    assert (run.status, run.out) == (0, "")
    assert json.loads((tmp_path / "summary.json").read_text())["imported"] == 2


def test_a_bad_line_is_one_line_on_standard_error(command, write_lines):
    path = write_lines([LINES[0], {**LINES[1], "text": 4}, "{"])
    run = command("import", "jsonl", path)
    assert run.status == 0
    assert run.err.splitlines()[0] == f"{path}:2: text: must be a string, not a number."
    assert run.err.splitlines()[1].startswith(f"{path}:3: is not JSON")
    assert stored("ann") == ["Tea at four."]


def test_many_bad_lines_are_not_all_shown(command, write_lines):
    run = command("import", "jsonl", write_lines([LINES[0], *["nonsense"] * 30]))
    assert run.status == 0
    assert run.err.count("is not JSON") == 20
    assert "and 10 more" in run.err.splitlines()


def test_what_a_source_calls_itself_cannot_control_the_terminal(command, write_lines):
    run = command("import", "jsonl", write_lines([LINES[0], "nonsense"], "\x1b[31mred.jsonl"))
    assert "\x1b" not in run.err.split("imported")[0]


def test_strict(command, write_lines):
    path = write_lines([*LINES, "nonsense"])
    run = command("import", "jsonl", path, "--strict", "--json", "-")
    assert run.status == 2
    assert run.json["imported"] == 0
    assert run.err.splitlines()[-1] == f"pearl: {path}: 1 error, so --strict imported nothing."
    assert command("import", "jsonl", write_lines(LINES), "--strict").status == 0
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
def test_nothing_usable(command, tmp_path, content, message):
    path = tmp_path / "history.jsonl"
    path.write_text(content)
    run = command("import", "jsonl", path)
    assert run.status == 2
    assert message in run.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["jsonl", "/nowhere.jsonl"], "pearl: /nowhere.jsonl: there is no such file or folder."),
        (["jsonl", "/"], "cannot be read"),
        (["git", "/"], "--user"),
        (["mbox", "/", "--user", "ann"], "--me"),
        (["git", "/", "--user", " ann"], "'--user' must have"),
        (["git", "/", "--user", "ann", "--voice", ""], "'--voice' must have"),
        (["git", "/", "--user", "ann", "--voice", "pearl"], "'pearl' stands for the whole history"),
        (["git", "/nowhere", "--user", "ann"], "no such file or folder"),
        (
            ["--user", "me", "history.jsonl"],
            "'--user' stands before the source; options come after it: pearl import SOURCE --user ...",
        ),
        (["telegraph", "/"], "There is no file or folder 'telegraph', and no importer of that name; there are "),
        (["jsonl"], "Missing argument"),
        (["jsonl", "/", "--colour"], "No such option"),
        (["jsonl", "/", "--subjects"], "No such option: --subjects for jsonl; it is an option of git."),
        (["markdown", "/", "--day-first"], "it is an option of whatsapp."),
        (["export", "/", "--me", "ann"], "No such option: --me for export; all other kinds have it."),
        (["whatsap", "/"], "Did you mean 'whatsapp'?"),
    ],
)
def test_unusable_options(command, arguments, message):
    run = command("import", *arguments)
    assert (run.status, run.out) == (2, "")
    assert message in run.err


def test_a_folder_that_is_named_like_a_kind(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "discord").mkdir()
    said = "'discord' is taken as the kind of the source; for the file or folder of that name write ./discord"
    assert command("import", "discord", "--user", "ann").err == f"pearl: {said}\n"
    assert "Missing argument 'SOURCE'" in command("import", "slack", "--user", "ann").err


def test_a_me_that_matches_nobody_lists_the_commonest_senders(command, write_lines):
    crowd = [
        {"user_id": f"user{sender:02}", "id": str(number), "timestamp": 1_700_000_000, "text": "Tea."}
        for sender in range(12)
        for number in range(sender + 1)
    ]
    run = command("import", "jsonl", write_lines(crowd), "--me", "anne", "--me", "user03", "--json", "-")
    assert run.status == 0
    assert run.err.startswith("'anne' matches nobody in it; the commonest others are user11 (12), user10 (11), user09")
    assert "user00" not in run.err  # the eleventh
    assert run.json["unmatched_me"] == ["anne"]
    assert run.json["senders"][0] == {"name": "user11", "texts": 12}
    run = command("import", "jsonl", write_lines(crowd), "--me", "anne")
    assert run.status == 2
    assert "user11 (12)" in run.err
    assert run.err.splitlines()[-1].endswith("nothing to import: 78 not written by --me.")


def test_a_json_file_that_cannot_be_written(command, write_lines):
    run = command("import", "jsonl", write_lines(LINES), "--json", "/nowhere/summary.json")
    assert run.status == 2
    assert "--json /nowhere/summary.json" in run.err


def test_help_lists_the_sources_and_keeps_the_examples_lines(command):
    run = command("import", "--help")
    assert run.status == 0
    for name in ("discord", "git", "jsonl", "markdown", "mbox", "reddit", "slack"):
        assert f"\n  {name} " in run.out
    run = command("import", "jsonl", "--help")
    assert "\n    pearl import jsonl history.jsonl.gz\n" in run.out
    assert "--subjects" not in run.out
    assert "--subjects" in command("import", "git", "--help").out


def test_the_importer_of_a_path_is_guessed(command, write_lines, tmp_path, monkeypatch):
    run = command("import", write_lines(LINES), "--json", "-")
    assert run.status == 0
    assert run.json["imported"] == 2
    assert run.err.splitlines()[0].endswith("lines.jsonl looks like a history file: pearl import jsonl")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "tea.md").write_text("# Tea\n\nA path that is named like a kind.")
    assert "git: git rev-parse: not a git repository" in command("import", "git", "git", "--user", "ann").err
    run = command("import", "./git", "--user", "carl", "--voice", "notes")
    assert run.status == 0
    assert run.err.splitlines()[0] == "./git looks like a folder of notes or posts: pearl import markdown"
    assert stored("carl") == ["A path that is named like a kind."]


def test_a_path_that_no_importer_reads_says_what_it_looks_like(command, tmp_path):
    (tmp_path / "letter.pdf").write_bytes(b"%PDF-1.7 ...")
    run = command("import", tmp_path / "letter.pdf", "--user", "ann")
    assert run.status == 2
    assert run.err == (
        f"pearl: {tmp_path}/letter.pdf: looks like a PDF; convert it to text, for example with 'pdftotext FILE', "
        "and import the .txt file.\n"
    )


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


def test_a_plug_in_is_a_subcommand_like_the_others(command, install, tmp_path):
    install("pearl_postcards:PostcardImporter")
    assert re.search(r"postcards +Postcards, one a line\.", command("import", "--help").out)
    assert "pearl import postcards drawer.txt --user ann" in command("import", "postcards", "--help").out
    (tmp_path / "drawer.txt").write_text("Wish you were here.\nIt rains.\n")
    run = command("import", "postcards", tmp_path / "drawer.txt", "--user", "ann", "--json", "-")
    assert (run.status, run.json["imported"]) == (0, 2)
    assert stored("ann") == ["Wish you were here.", "It rains."]


@pytest.mark.parametrize("value", ["pearl_postcards:NoSuchImporter", "pearl_no_such_module:PostcardImporter"])
def test_a_plug_in_that_does_not_load_does_not_hide_the_others(command, install, write_lines, value):
    install(value)
    run = command("import", "--help")
    assert "cannot be loaded" in " ".join(run.out.split())
    assert "A history file" in run.out
    run = command("import", "postcards", "/", "--user", "ann")
    assert run.status == 2
    assert f"The importer 'postcards' ({value}) cannot be loaded" in run.err
    assert run.err.count("\n") == 1
    assert command("import", "jsonl", write_lines(LINES)).status == 0


def test_as_a_process_of_its_own_from_standard_input(tmp_path):
    """The whole way once; and neither torch nor the rest of the retriever is loaded for it."""
    code = f"import atexit, sys; atexit.register(lambda: print({LOADED}, file=sys.stderr))\n"
    code += "from pearl.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "import", "jsonl", "-", "--json", "-"],
        capture_output=True,
        text=True,
        input="\n".join(map(json.dumps, LINES)),
        env=os.environ | {"PEARL_HOME": str(tmp_path / "other")},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["imported"] == 2
    assert done.stderr == "[]\n"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    for number in range(4):
        (folder / f"note{number}.md").write_text(f"---\ndate: 2024-03-0{number + 1}\n---\nNote {number}.\n")
    return folder


def texts() -> list[str]:
    with open_database(load_settings()) as database, database.read() as connection:
        return [document.text for document in documents.all_of_user(connection, users.get(connection, "ann").id)]


def update(command: Any, vault: Path, *words: str) -> Any:
    return command("import", "markdown", vault, "--user", "ann", "--update", *words)


def test_a_living_vault_stays_current(command: Any, vault: Path) -> None:
    assert update(command, vault).status == 0
    (vault / "note0.md").write_text("---\ndate: 2024-03-01\n---\nAnother beginning.\n")
    (vault / "note4.md").write_text("---\ndate: 2024-03-05\n---\nNote 4.\n")
    advice = "\n--update takes over what differs, another --voice too.\n"
    assert advice in command("import", "markdown", vault, "--user", "ann").err
    run = update(command, vault)
    assert run.status == 0
    assert "1  changed since, now as they are in the source" in run.err
    assert texts() == ["Another beginning.", "Note 1.", "Note 2.", "Note 3.", "Note 4."]
    again = command("import", "markdown", vault, "--user", "ann")
    assert (again.status, advice in again.err) == (0, False)


def voices() -> list[str | None]:
    with open_database(load_settings()) as database, database.read() as connection:
        return [document.voice for document in documents.all_of_user(connection, users.get(connection, "ann").id)]


def test_a_voice_stays_until_another_is_named(command: Any, vault: Path) -> None:
    update(command, vault, "--voice", "notes")
    (vault / "note0.md").write_text("---\ndate: 2024-03-01\n---\nAnother beginning.\n")
    run = command("import", "markdown", vault, "--user", "ann", "--json", "-")
    assert (run.json["already_there"], run.json["conflicts"]) == (3, 1)
    run = update(command, vault, "--json", "-")
    assert (run.json["already_there"], run.json["replaced"]) == (3, 1)
    assert (texts()[0], voices()) == ("Another beginning.", ["notes"] * 4)
    assert update(command, vault, "--voice", "blog", "--json", "-").json["replaced"] == 4
    assert voices() == ["blog"] * 4


def halve(vault: Path) -> None:
    (vault / "note2.md").unlink()
    (vault / "note3.md").unlink()


def test_what_is_gone_stays_where_nobody_can_be_asked(command: Any, vault: Path) -> None:
    update(command, vault)
    halve(vault)
    run = update(command, vault, "--json", "-")
    assert (run.status, run.json["gone"], run.json["removed"], len(texts())) == (0, 2, 0, 4)
    assert f"2 of 4 documents that came from {vault} are not there any more. They stay; give --yes" in run.err
    run = update(command, vault, "--yes")
    assert "2  removed, for they are gone from the source" in run.err
    assert texts() == ["Note 0.", "Note 1."]


@pytest.mark.parametrize(("answer", "left"), [(False, 4), (True, 2)])
def test_a_person_is_asked(command: Any, vault: Path, answer: bool, left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    update(command, vault)
    halve(vault)
    asked = []

    def confirm(question: str, **options: Any) -> bool:
        asked.append(question)
        return answer

    monkeypatch.setattr("typer.confirm", confirm)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert update(command, vault).status == 0
    assert len(asked) == 1
    assert asked[0].endswith("are not there any more. Remove them from the history?")
    assert len(texts()) == left


def test_nothing_is_removed_while_something_cannot_be_read(command: Any, vault: Path) -> None:
    update(command, vault)
    (vault / "note3.md").unlink()
    (vault / "note2.md").write_bytes(b"\xff\xfe\x00")
    run = update(command, vault, "--yes")
    assert "They stay, for not everything in it could be read." in run.err
    assert len(texts()) == 4


def test_a_mail_keeps_its_id_when_its_text_is_cleaned_otherwise(command: Any, tmp_path: Path) -> None:
    mail = "From: ann@example.org\nDate: Mon, 4 Mar 2024 10:00:00 +0000\nMessage-ID: <{id}@a>\n\n{text}\n"
    for name in ("one", "two"):
        (tmp_path / f"{name}.eml").write_text(mail.format(id=name, text=f"Tea for {name}."))
    words = ("import", "mbox", tmp_path, "--user", "ann", "--me", "ann@example.org", "--json", "-")
    assert command(*words).json["imported"] == 2
    (tmp_path / "one.eml").write_text(mail.format(id="one", text="Tea for none."))
    (tmp_path / "two.eml").unlink()
    run = command(*words, "--update")
    assert (run.json["replaced"], run.json["gone"], run.json["conflicts"]) == (1, 1, 0)
    assert sorted(texts()) == ["Tea for none.", "Tea for two."]


def test_two_texts_of_one_id_keep_nothing_that_is_gone(command: Any, tmp_path: Path) -> None:
    line = '{{"user_id": "ann", "id": "{}", "timestamp": 1700000000, "text": "{}"}}\n'.format
    history = tmp_path / "history.jsonl"
    history.write_text(line("tea", "Tea.") + line("tea", "Another tea.") + line("cup", "Cup."))
    words = ("import", "jsonl", history, "--update", "--yes", "--json", "-")
    assert command(*words).json["imported"] == 2
    history.write_text(line("tea", "Tea.") + line("tea", "Another tea."))
    run = command(*words)
    assert (run.json["conflicts"], run.json["gone"], run.json["removed"], texts()) == (1, 1, 1, ["Tea."])
