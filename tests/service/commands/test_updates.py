from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pearl.settings import load_settings
from service.commands.common import open_database
from service.store import documents, users


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
