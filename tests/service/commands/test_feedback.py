from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def draft(command: Any, own_home: Path, endpoint: Any) -> Callable[[], str]:
    """Write a draft for ann and give its id."""
    source = own_home.parent / "history.jsonl"
    source.write_text(json.dumps({"user_id": "ann", "id": "a", "text": "Fetch the bike.", "timestamp": 1}))
    assert command("import", "jsonl", source).status == 0

    def make() -> str:
        ran = command("draft", "Is the bike done?")
        return re.findall(r"^(draft_\w+)$", ran.err, re.MULTILINE)[0]

    return make


def sent(command: Any, id: str) -> str:
    return str(command("documents", "show", id, "--json", "-").json["text"])


def test_an_accepted_draft_becomes_history(command: Any, draft: Any, endpoint: Any) -> None:
    id = draft()
    ran = command("feedback", id, "--accepted")
    assert (ran.status, ran.out) == (0, "")
    assert ran.err == (
        f"Recorded: accepted. The text is in the history as {id}.\n"
        "Drafts do not learn from it, for it is a draft that was sent unchanged, or nearly; if it is yours all the "
        f"same: pearl documents keep {id}\n"
    )
    assert sent(command, id) == endpoint.text


def test_a_document_says_that_drafts_do_not_learn_from_it(command: Any, draft: Any) -> None:
    id = draft()
    assert command("feedback", id, "--accepted").status == 0
    assert "for it is a draft that was sent unchanged, or nearly" in command("documents", "show", id).err
    shown = command("documents", "show", id, "--json", "-").json
    assert shown["sent_draft"] == {"draft_id": id, "machine_share": 1.0, "mine": None, "sample": False}
    assert shown["set_apart"] == "accepted_unchanged"
    assert command("feedback", id, "--mine").status == 0
    assert command("documents", "show", id).err == ""
    assert command("feedback", id, "--not-mine").status == 0
    assert command("documents", "show", id).err == (
        f"Drafts do not learn from it, as you said; if it is yours: pearl documents keep {id}\n"
    )
    assert command("documents", "keep", id).status == 0
    assert command("documents", "show", id).err == ""


def test_a_document_is_found_by_its_draft_among_several_users(command: Any, draft: Any) -> None:
    id = draft()
    assert command("feedback", id, "--accepted").status == 0
    command("keys", "create", "--user", "bob")
    ran = command("feedback", id, "--mine")
    assert (ran.status, ran.err) == (0, f"Recorded: accepted. The text is in the history as {id}.\n")
    assert command("feedback", id, "--mine", "--user", "bob").status == 2


def test_an_edited_text_becomes_history(command: Any, draft: Any, tmp_path: Path) -> None:
    id = draft()
    (tmp_path / "sent.txt").write_text("Come at ten,\nGröße 9.\n")
    ran = command("feedback", id, "--edited", tmp_path / "sent.txt", "--user", "ann", "--json", "-")
    assert "learn" not in command("documents", "show", id).err
    assert set(ran.json) == {"id", "object", "draft_id", "outcome", "document_id", "created_at"}
    assert (ran.json["draft_id"], ran.json["outcome"], ran.json["document_id"]) == (id, "edited", id)
    assert sent(command, id) == "Come at ten,\nGröße 9."


def test_the_edits_of_a_voice_have_an_interval_from_two_drafts_on(command: Any, draft: Any, tmp_path: Path) -> None:
    draft()
    assert command("voices", "set", "email").status == 0
    shown = []
    for text in ("Come at ten.", "Come at eleven, please."):
        id = re.findall(r"^(draft_\w+)$", command("draft", "When?", "--voice", "email").err, re.MULTILINE)[0]
        (tmp_path / "sent.txt").write_text(text)
        assert command("feedback", id, "--edited", tmp_path / "sent.txt").status == 0
        shown.append(command("voices", "show", "email").out.splitlines()[-1])
    assert re.fullmatch(r"edits: {8}1 draft sent, .*, distance \d\.\d\d", shown[0])
    assert re.match(r"edits: {8}2 drafts sent, .*, distance \d\.\d\d \(\d\.\d\d to \d\.\d\d\)", shown[1])


def test_among_several_users_the_draft_says_whose_it_is(command: Any, draft: Any) -> None:
    id = draft()
    assert command("keys", "create", "--user", "ben").status == 0
    ran = command("feedback", id, "--accepted")  # as `pearl draft` says it
    assert ran.status == 0
    assert ran.err.startswith(f"Recorded: accepted. The text is in the history as {id}.\n")
    assert command("documents", "show", id, "--user", "ann").status == 0
    assert command("feedback", "draft_0", "--accepted").err == "pearl: There is no draft 'draft_0' of yours.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Give one of --accepted, --edited FILE, --rejected, --mine and --not-mine."),
        (("--accepted", "--mine"), "Give one of --accepted, --edited FILE, --rejected, --mine and --not-mine."),
        (("--accepted", "--rejected"), "Give one of --accepted, --edited FILE, --rejected, --mine and --not-mine."),
        (("--edited", "/nowhere/sent.txt"), "--edited /nowhere/sent.txt: No such file or directory."),
        (("--edited", "/"), "--edited /: Is a directory."),
        (("--edited", os.devnull), "'final_text' is empty"),
        (("--accepted", "--json", "/nowhere/x"), "there is no folder /nowhere"),
    ],
)
def test_what_cannot_be_recorded(command: Any, draft: Any, arguments: tuple[str, ...], message: str) -> None:
    id = draft()
    ran = command("feedback", id, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert command("feedback", id, "--rejected").status == 0  # nothing was


def test_a_binary_file_is_no_text(command: Any, draft: Any, tmp_path: Path) -> None:
    (tmp_path / "sent.doc").write_bytes(b"\xd0\xcf\x11\xe0")
    assert "not UTF-8 text" in command("feedback", draft(), "--edited", tmp_path / "sent.doc").err
    (tmp_path / "long.txt").write_text("a" * 1_000_000 + "ä")
    assert "over 1,000,000 bytes" in command("feedback", draft(), "--edited", tmp_path / "long.txt").err
