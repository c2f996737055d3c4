"""pearl documents, voices, users and imports, as they are used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pearl.records import Document
from service.store import documents, users
from service.store.database import Database
from service.store.documents import Addition

LINES = [
    {"user_id": "ann", "id": "m-1", "timestamp": 1_700_000_000, "text": "Tea at four?\nYes.", "voice": "email"},
    {"user_id": "ann", "id": "m-2", "timestamp": 1_700_000_100, "text": "Milk, 100%.", "request": "What?"},
    {"user_id": "ann", "id": "p-1", "timestamp": 1_700_000_200, "text": "On tea and KÖLN.", "voice": "blog"},
]


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)


@pytest.fixture
def pearl(command: Any, write_lines: Any) -> Any:
    assert command("import", "jsonl", write_lines(LINES)).status == 0
    return command


def listed(pearl: Any, *words: str) -> list[str]:
    run = pearl("documents", *words, "--json", "-")
    assert run.status == 0, run.err
    return [each["id"] for each in run.json["documents"]]


def import_id(pearl: Any) -> str:
    return str(pearl("imports", "list", "--json", "-").json["imports"][0]["id"])


@pytest.mark.parametrize(
    "words",
    [
        ("documents", "show", "caf\udce9"),
        ("documents", "list", "--user", "caf\udce9"),
        ("voices", "delete", "caf\udce9", "--yes"),
        ("imports", "undo", "caf\udce9", "--yes"),
        ("keys", "revoke", "caf\udce9"),
        ("export", "--user", "caf\udce9", "--json", "-"),
    ],
)
def test_a_name_of_a_terminal_in_latin_1(pearl: Any, words: tuple[str, ...]) -> None:
    run = pearl(*words)
    assert run.status == 2
    assert run.err == "pearl: A name or id is not UTF-8 text; check the terminal's encoding.\n"


def test_list_documents(pearl: Any) -> None:
    run = pearl("documents", "list")
    assert run.status == 0
    first, second, *_ = run.out.splitlines()
    assert first.split() == ["id", "written", "voice", "language", "text"]
    assert second.split()[0] == "p-1"
    assert second.rstrip().endswith("blog   -         On tea and KÖLN.")
    assert listed(pearl, "list", "--voice", "email") == ["m-1"]
    assert listed(pearl, "list", "--voice", "pearl") == listed(pearl, "list") == ["p-1", "m-2", "m-1"]
    assert listed(pearl, "list", "--oldest-first", "--limit", "2") == ["m-1", "m-2"]
    assert listed(pearl, "list", "--oldest-first", "--after", "m-2") == ["p-1"]
    assert pearl("documents", "list", "--limit", "1").err == "There are more; go on with --after p-1\n"


@pytest.mark.parametrize(
    ("words", "found"), [("tea", ["p-1", "m-1"]), ("köln TEA", ["p-1"]), ("Ko\u0308ln", ["p-1"]), ("%", ["m-2"])]
)
def test_search(pearl: Any, words: str, found: list[str]) -> None:
    assert listed(pearl, "list", words) == found


@pytest.mark.parametrize(
    ("text", "word", "shown"),
    [
        (f"{'word ' * 40}and then the kettle sang{' word' * 40}", "KETTLE", "…d word and then the kettle sang word"),
        (f"The kettle sang. {'word ' * 40}kettle", "kettle", "The kettle sang. word"),
        (f"{'字' * 200}茶", "茶", "…字"),
    ],
)
def test_search_shows_the_word(pearl: Any, write_lines: Any, text: str, word: str, shown: str) -> None:
    assert pearl("import", "jsonl", write_lines([{**LINES[0], "id": "k", "text": text}], "k.jsonl")).status == 0
    row = pearl("documents", "list", word).out.splitlines()[1]
    assert shown in row
    assert word.casefold() in row


def test_nothing_found(pearl: Any) -> None:
    run = pearl("documents", "list", "coffee", "pot")
    assert (run.status, run.out, run.err) == (0, "", "No document contains 'coffee pot'.\n")
    assert pearl("documents", "list", " ").err == "pearl: Give at least one word to search for.\n"
    instead = "pearl: search went: use pearl documents list WORDS. See 'pearl documents --help'.\n"
    assert pearl("documents", "search", "tea").err == instead
    assert "pearl drafts list WORDS" in pearl("search", "tea").err
    assert "no voice 'emial'" in pearl("documents", "list", "--voice", "emial").err


def test_show(pearl: Any) -> None:
    run = pearl("documents", "show", "m-2")
    assert run.out.startswith("id:           m-2\nwritten:      2023-11-1")
    assert run.out.endswith("request:\n\nWhat?\n\ntext:\n\nMilk, 100%.\n")
    assert pearl("documents", "show", "m-1", "--json", "-").json["text"] == "Tea at four?\nYes."
    missing = pearl("documents", "show", "m-9")
    assert (missing.status, missing.err) == (2, "pearl: There is no document 'm-9' in your history.\n")


def test_a_terminal_is_not_told_what_to_do_by_a_text(
    pearl: Any, write_lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"id": "m-3", "text": "Red:\n\x1b[31mtea", "request": "\x1b]0;mine\x07Which?"}
    assert pearl("import", "jsonl", write_lines([{**LINES[0], **told}], "told.jsonl")).status == 0
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    shown = pearl("documents", "show", "m-3").out
    assert not {"\x1b", "\x07"} & set(shown)
    assert shown.endswith("Red:\n\N{REPLACEMENT CHARACTER}[31mtea\n")


def test_delete_documents(pearl: Any) -> None:
    assert pearl("documents", "delete", "m-1", "m-1").err == "Deleted 1 document.\n"
    assert listed(pearl, "list") == ["p-1", "m-2"]
    assert pearl("documents", "delete", "m-2", "m-9").status == 2
    assert listed(pearl, "list") == ["p-1", "m-2"], "all or none"
    asked = pearl("documents", "delete", "--voice", "blog")
    assert (asked.status, asked.err) == (
        2,
        "pearl: Delete 1 document of the voice 'blog' of ann? Nobody can be asked here; give --yes to do it.\n",
    )
    assert pearl("documents", "delete", "--voice", "blog", "--yes").err == "Deleted 1 document.\n"
    gone = pearl("documents", "delete", "--import", "x")
    assert (gone.status, "--import went: use pearl imports undo ID" in gone.err) == (2, True)


@pytest.mark.parametrize("words", [[], ["m-1", "--voice", "blog"]])
def test_never_everything_by_accident(pearl: Any, words: list[str]) -> None:
    run = pearl("documents", "delete", *words, "--yes")
    assert run.status == 2
    assert "Give either ids of documents or --voice V" in run.err
    assert len(listed(pearl, "list")) == 3


@pytest.fixture
def nearly_full(pearl: Any, own_home: Path, files_of_at_most: Any) -> Iterator[None]:
    """The write-ahead log has room for a deletion, and the database's file none for what the log holds."""
    with closing(Database(f"sqlite:///{own_home / 'pearl.db'}")) as service:
        for size in (110, 60):  # the first is over 1,000 pages, at which SQLite copies them from the log to the file
            with service.write() as connection:
                ann = users.ensure(connection, {"ann"})["ann"]
                many = [Document(f"long {size} {number}", "word " * 10_000, 1.0) for number in range(size)]
                documents.add(connection, [Addition(ann.id, document) for document in many])
        with files_of_at_most((own_home / "pearl.db-wal").stat().st_size):
            yield


def test_deleted_with_a_full_disk_is_said_to_be_deleted(pearl: Any, nearly_full: None) -> None:
    run = pearl("documents", "delete", "m-1")
    assert run.status == 0, run.err
    note, deleted = run.err.splitlines()
    assert note.startswith("Deleted, but not overwritten in the database's files yet; `pearl serve` does that. The ")
    assert deleted == "Deleted 1 document."
    assert pearl("documents", "show", "m-1").status == 2


def test_an_update_with_a_full_disk_is_done(pearl: Any, nearly_full: None, write_lines: Any) -> None:
    run = pearl("import", "jsonl", write_lines([LINES[0] | {"text": "Changed."}]), "--update", "--yes")
    assert run.status == 0, run.err
    assert "1  changed since" in run.err


def test_a_user_is_named_where_there_are_several(pearl: Any) -> None:
    pearl("keys", "create", "--user", "ben")
    run = pearl("documents", "list")
    assert (run.status, run.err) == (2, "pearl: There are 2 users (ann, ben); name one with --user.\n")
    assert listed(pearl, "list", "--user", "ann") == ["p-1", "m-2", "m-1"]
    assert pearl("documents", "show", "m-1", "--user", "ben").status == 2


def test_voices(pearl: Any) -> None:
    assert [line.split() for line in pearl("voices", "list").out.splitlines()] == [
        ["name", "documents", "template", "k", "instructions"],
        ["blog", "1", "free", "-", "-"],
        ["email", "1", "free", "-", "-"],
    ]
    assert (
        pearl("voices", "set", "email", "--instructions", "Briefly.", "-k", "3").err == "Changed the voice 'email'.\n"
    )
    assert pearl("voices", "set", "email", "--template", "message").status == 0
    shown = pearl("voices", "show", "email", "--json", "-").json
    assert (shown["instructions"], shown["template"], shown["k"], shown["documents"]) == ("Briefly.", "message", 3, 1)
    assert pearl("voices", "set", "email", "-k", "0").status == 0
    assert "k:            4 (the template's)\n" in pearl("voices", "show", "email").out
    assert pearl("voices", "set", "letters").err == "Made the voice 'letters'.\n"
    assert "say what to set with --instructions" in pearl("voices", "set", "letters").err
    refused = pearl("voices", "set", "letters", "--instructions", "x" * 20_001)
    assert (refused.status, "'instructions' has 20,001 characters" in refused.err) == (2, True)
    asked = pearl("voices", "delete", "email")
    assert (asked.status, asked.err) == (
        2,
        "pearl: Delete the voice 'email' of ann? Its settings go, its documents stay. "
        "Nobody can be asked here; give --yes to do it.\n",
    )
    run = pearl("voices", "delete", "email", "--yes")
    assert run.err == "Deleted the voice 'email'; 1 document of it stay in the history.\n"
    assert len(listed(pearl, "list")) == 3
    assert [each["name"] for each in pearl("voices", "list", "--json", "-").json["voices"]] == ["blog", "letters"]


@pytest.mark.parametrize(
    "words",
    [
        ["show", "x"],
        ["delete", "x"],
        ["set", "pearl"],
        ["set", "email", "--template", "x"],
        ["set", "email", "-k", "21"],
    ],
)
def test_voices_that_cannot_be(pearl: Any, words: list[str]) -> None:
    assert pearl("voices", *words).status == 2


def test_users(pearl: Any) -> None:
    pearl("keys", "create", "--user", "ann")
    pearl("keys", "create", "--user", "ben")
    names, ann, ben = pearl("users", "list").out.splitlines()
    assert names.split()[:5] == ["name", "documents", "voices", "drafts", "keys"]
    assert ann.split()[:5] == ["ann", "3", "2", "0", "1"]
    assert ben.split()[:6] == ["ben", "0", "0", "0", "1", "-"]
    asked = pearl("users", "delete", "ann")
    assert asked.status == 2
    assert "Delete ann with 3 documents, 2 voices, 0 drafts and 1 key? It cannot be undone." in asked.err
    assert pearl("users", "delete", "ann", "--yes").err == "Deleted ann.\n"
    assert [each["name"] for each in pearl("users", "list", "--json", "-").json["users"]] == ["ben"]
    assert pearl("users", "delete", "ann", "--yes").status == 2


def test_a_user_with_an_accent_is_deleted_under_either_spelling(pearl: Any) -> None:
    pearl("keys", "create", "--user", "Zo\u00eb")
    assert pearl("users", "delete", "Zoe\u0308", "--yes").err == "Deleted Zo\u00eb.\n"


def test_imports_and_undo(pearl: Any, write_lines: Any) -> None:
    more = {"user_id": "ann", "id": "x", "timestamp": 1_700_000_300, "text": "More."}
    pearl("import", "jsonl", write_lines([*LINES, more], "more.jsonl"))
    newest, first = pearl("imports", "list", "--json", "-").json["imports"]
    assert (newest["importer"], newest["counts"]["imported"], newest["counts"]["already_there"]) == ("jsonl", 1, 3)
    assert newest["source"].endswith("more.jsonl")
    assert pearl("imports", "list").out.splitlines()[1].split()[-2:] == ["1", "1"]
    asked = pearl("imports", "undo", first["id"])
    assert (asked.status, asked.err) == (
        2,
        f"pearl: Remove what the import '{first['id']}' brought (3 documents)? "
        "Nobody can be asked here; give --yes to do it.\n",
    )
    run = pearl("imports", "undo", first["id"], "--yes")
    assert (run.status, run.err) == (0, "Removed 3 documents.\n")
    assert listed(pearl, "list") == ["x"]
    again = pearl("imports", "undo", first["id"])
    assert again.status == 2
    assert "was undone already" in again.err, "nothing to ask about"
    assert "(undone 20" in " ".join(pearl("imports", "list").out.split())
    assert pearl("imports", "undo", "import_9").status == 2


def test_undo_says_what_it_cannot_bring_back(pearl: Any, write_lines: Any) -> None:
    changed = [{**LINES[0], "text": "Tea at five?"}, *LINES[1:]]
    pearl("import", "jsonl", write_lines(changed), "--update")
    run = pearl("imports", "undo", import_id(pearl), "--yes", "--json", "-")
    assert run.json == {"removed": 1, "kept": 0, "replaced": 1}
    assert listed(pearl, "list") == ["p-1", "m-2"]


def test_what_only_reads_and_writes_rows_starts_without_numpy() -> None:
    names = ("documents", "imports", "past_imports", "export", "drafts", "move", "users")
    lines = [f"import service.commands.{name}; print('{name}', 'numpy' in sys.modules)" for name in names]
    program = "\n".join(("import sys", *lines))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{name} False" for name in names]


def test_nothing_there_yet(command: Any) -> None:
    assert "No users yet" in command("users", "list").err
    for words in (["documents", "list"], ["voices", "list"], ["imports", "list"]):
        run = command(*words)
        assert run.status == 2
        assert run.err.startswith("pearl: There is no user yet; import a history")


MACHINE = {
    "user_id": "ann",
    "id": "odd",
    "timestamp": 1_700_000_300,
    "text": "I hope this email finds you well. I wanted to reach out about the rails. Thank you for your patience and "
    "understanding. Please don't hesitate to contact me.",
}


def test_what_is_set_apart_is_listed_and_kept(pearl: Any, write_lines: Any) -> None:
    run = pearl("import", "jsonl", write_lines([MACHINE]))
    assert "1  of these set apart, for they read like an assistant's prose" in run.err
    assert "pearl documents list --set-apart; pearl documents keep ID" in run.err
    assert listed(pearl, "list", "--set-apart") == ["odd"]
    assert pearl("documents", "list", "--json", "-").json["documents"][0]["set_apart"] == "machine_prose"
    assert pearl("documents", "list").out.split("\n")[1].split()[:7][-2:] == ["machine", "prose"]
    shown = pearl("documents", "show", "odd")
    assert shown.err == (
        "Drafts do not learn from it, for it reads like an assistant's prose, more than your texts from before "
        "December 2022 do; if it is yours all the same: pearl documents keep odd\n"
    )
    assert pearl("documents", "keep", "odd").err == "Kept: 1 document.\n"
    assert listed(pearl, "list", "--set-apart") == []
    assert pearl("documents", "keep", "m-1", "m-2", "--not-mine").err == "Set apart: 2 documents.\n"
    assert listed(pearl, "list", "--set-apart") == ["m-2", "m-1"]
    assert pearl("documents", "keep", "--all").err == "Kept: 2 documents.\n"
    assert listed(pearl, "list", "--set-apart") == []


def test_an_import_may_take_all_as_its_owners(pearl: Any, write_lines: Any) -> None:
    assert pearl("import", "jsonl", write_lines([MACHINE]), "--with-machine", "--json", "-").json["set_apart"] == 0
    assert listed(pearl, "list", "--set-apart") == []


@pytest.mark.parametrize("words", [(), ("m-1", "--all"), ("--all", "--not-mine"), ("nothing",)])
def test_nothing_is_kept_that_is_not_named(pearl: Any, words: tuple[str, ...]) -> None:
    assert pearl("documents", "keep", *words).status == 2
