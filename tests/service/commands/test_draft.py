from __future__ import annotations

import json
import re
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from pearl.settings import load_settings
from service.commands.common import open_database
from service.http.api.draft_form import DraftOut
from service.sample import load_sample, sample_documents
from service.store.tables import embeddings


@pytest.fixture
def sample(own_home: Path) -> None:
    settings = load_settings(home=own_home)
    with open_database(settings) as database:
        load_sample(database, settings)


@pytest.mark.slow
def test_a_draft_with_the_real_models(process: Any, sample: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """From end to end: the installed command, the embedded models, the sample user."""
    monkeypatch.setenv("PEARL_RETRIEVER", "fusion")  # a trained one may ask instead, or leave documents out
    monkeypatch.setenv("PEARL_MAX_DRAFT_TOKENS", "24")
    monkeypatch.setenv("PEARL_FIRST_WORD_S", "0")  # other programs may make this machine slow
    words = ("--user", "sample", "--voice", "email", "-k", "2", "--json", "-")
    running = process("draft", "Ask Nan for the costume rails again", *words)
    out, err = running.communicate(timeout=180)
    assert running.returncode == 0, err
    draft = json.loads(out)  # and nothing else is on standard output
    assert draft["object"] == "draft"
    assert len(draft["text"].split()) > 3
    assert draft["stage"] == "draft"
    assert draft["revision"]["reason"] == "no_threshold"
    emails = {document.id for document in sample_documents() if document.voice == "email"}
    shown = [document["id"] for document in draft["retrieval"]["documents"]]
    assert len(shown) == 2
    assert set(shown) <= emails
    assert draft["usage"]["completion_tokens"] > 3
    assert "<document>" not in draft["text"]


def test_an_unreachable_model_is_status_1(command: Any, sample: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEARL_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("PEARL_LLM_MODEL", "nothing")
    monkeypatch.setattr("pearl.settings.MAX_RETRIES", 0)
    monkeypatch.setenv("PEARL_RETRIEVER", "bm25")
    ran = command("draft", "write", "--user", "sample", "--json", "-")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == "pearl: The model's endpoint cannot be reached; check PEARL_LLM_BASE_URL.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("write", "--user", "nobody"), "There is no user 'nobody'"),
        (("write", "--user", "sample", "--voice", "nobody"), "There is no voice 'nobody'"),
        (("write", "--user", "sampel"), "Did you mean 'sample'?"),
        (("write", "--voice", "emial"), "Did you mean 'email'?"),
        (("write", "--intent", "declin"), "Did you mean 'decline'?"),
        (("write", "--candidates", "2"), "needs a reward model"),
        (("write", "--instructions", "short, " * 60_000), "are too long for the model"),
        (("", "--user", "sample"), "'request' is empty"),
        (("write", "--user", "sample", "--revise", "perhaps"), "revise"),
        (("write", "--user", "sample", "-k", "0"), "-k"),
        (("write", "--user", "sample", "--voice", ""), "'voice' must have"),
        (("write", "--json", "/nowhere/draft.json"), "there is no folder /nowhere"),
        (("write", "--json", "/"), "that is a folder"),
        (("write", "--to", "a@x.org, b@x.org"), "'--to' names several recipients"),
        (("write", "--to", "a\nBcc: b"), "'--to' must have"),
        (("write", "--thread", "t" * 201), "'--thread' must have"),
        ((" ",), "'request' is empty"),
        (("write", "--instructions", "a\0b"), "'instructions' contains a NUL character"),
        ((), "REQUEST"),
    ],
)
def test_options_that_cannot_be(
    command: Any, sample: None, endpoint: Any, arguments: tuple[str, ...], message: str
) -> None:
    ran = command("draft", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert endpoint.requests == []  # before the model is asked
    with open_database(load_settings()) as database, database.read() as connection:
        assert connection.scalars(select(embeddings.c.encoder)).all() == []  # and before any text is embedded


def test_a_draft_is_listed_with_what_became_of_it(command: Any, sample: None, endpoint: Any) -> None:
    assert command("drafts", "list").err == "No drafts.\n"
    first = command("draft", "Ask about the costume rails", "--voice", "email", "--json", "-").json["id"]
    second = command("draft", "Thank Nan for the kettle", "--json", "-").json["id"]
    command("feedback", first, "--rejected")
    shown = command("drafts", "list").out.splitlines()
    assert [line.split()[0] for line in shown] == ["id", second, first]
    assert shown[2].endswith(" email  rejected  Ask about the costume rails")
    found = command("drafts", "list", "nan", "KETTLE", "--json", "-").json
    assert [(each["id"], each["outcome"], each["voice"]) for each in found["drafts"]] == [(second, None, None)]
    assert f"go on with --after {second}" in command("drafts", "list", "--limit", "1").err
    assert command("drafts", "list", "tea").err == "No draft contains 'tea'.\n"


def test_texts_to_embed_are_told(
    command: Any, write_lines: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEARL_RETRIEVER", "fusion")
    lines = [
        {"user_id": "ann", "id": str(number), "timestamp": 1.7e9 + number, "text": f"Tea {number}."}
        for number in range(200)
    ]
    said = "embeds 200 texts: about 1 s on two quiet cores."
    assert said in command("import", "jsonl", write_lines(lines)).err
    assert command("draft", "Boil", "--user", "ann").err.startswith("Embedding 200 texts first, once.\n")
    assert said not in command("import", "jsonl", write_lines([{**lines[0], "id": "x", "text": "Milk."}])).err


def test_the_text_is_all_of_standard_output(command: Any, sample: None, endpoint: Any) -> None:
    ran = command("draft", "--no-edges", "Tomas asks about the costume rails", "--voice", "email")
    assert (ran.status, ran.out) == (0, "Kettle's on, come by at nine.\n")
    assert "`pearl calibrate --user sample --voice email` would do it" in ran.err


def test_the_evidence_has_date_request_and_score(command: Any, own_home: Path, endpoint: Any) -> None:
    rails = "The rails are in the red shed, " + "behind the door " * 20
    lines = [
        {
            "id": "<a1@mail>",
            "timestamp": "2025-03-04T12:00:00Z",
            "text": "Fetch the bike.",
            "request": "Is the bike done?",
        },
        {"id": "<b2@mail>", "timestamp": "2024-01-02T12:00:00Z", "text": rails},
    ]
    source = own_home.parent / "history.jsonl"
    source.write_text("\n".join(json.dumps({"user_id": "ann", **line}) for line in lines))
    assert command("import", "jsonl", source).status == 0
    ran = command("draft", "When is the bike done, and where are the rails?")
    found = re.findall(r"^ +(-?[\d.e+-]+)  (\S+) +(.+)$", ran.err, re.MULTILINE)
    days = [datetime.fromisoformat(str(line["timestamp"])).astimezone().strftime("%Y-%m-%d") for line in lines]
    assert {(date, about) for _, date, about in found} == {
        (days[0], "Is the bike done?"),
        (days[1], '"The rails are in the red shed, behind the door behind the door behind…"'),
    }
    assert "<a1@mail>" not in ran.err
    (id,) = re.findall(r"^(draft_\w+)$", ran.err, re.MULTILINE)
    assert f"pearl feedback {id} --accepted" in ran.err


def test_a_draft_streams(process: Any, sample: None, endpoint: Any) -> None:
    endpoint.go_on.clear()
    running = process("draft", "--no-edges", "write")
    assert running.stdout.read(12) == "Kettle's on,"  # while the rest is not written yet
    endpoint.go_on.set()
    out, err = running.communicate(timeout=180)
    assert (running.returncode, out) == (0, " come by at nine.\n"), err


def test_a_request_from_standard_input(process: Any, sample: None, endpoint: Any) -> None:
    running = process("draft", "-", "--json", "-", stdin=subprocess.PIPE)
    out, err = running.communicate("Größe?\nYours, Tomas\n", timeout=180)
    assert running.returncode == 0, err
    assert json.loads(out)["text"] == endpoint.text
    assert "Größe?\nYours, Tomas" in endpoint.requests[0]["messages"][-1]["content"]


def test_standard_input_that_is_no_text(process: Any, sample: None, endpoint: Any) -> None:
    running = process("draft", "-", stdin=subprocess.PIPE)
    running.stdin.buffer.write(b"\xff\xfe\0")
    out, err = running.communicate(timeout=180)
    assert (running.returncode, out) == (2, "")
    assert err == "pearl: REQUEST -: not UTF-8 text; convert it first.\n"


def test_an_answer_that_breaks_off_ends_its_line(command: Any, sample: None, endpoint: Any) -> None:
    endpoint.cut = True
    ran = command("draft", "--no-edges", "write")
    assert (ran.status, ran.out) == (1, "Kettle's on, come by at nine.\n")
    assert "broke off" in ran.err
    assert "draft_" not in ran.err


def test_a_revision_that_failed_is_said(command: Any, sample: None, endpoint: Any) -> None:
    ran = command("draft", "--no-edges", "write", "--revise", "always")
    assert (ran.status, ran.out) == (0, f"{endpoint.text}\n")
    assert "\nNot revised: The model gave no readable edited draft.\n" in ran.err


def test_of_several_users_one_is_named(command: Any, sample: None, endpoint: Any) -> None:
    assert command("keys", "create", "--user", "ben").status == 0
    ran = command("draft", "write")
    assert (ran.status, ran.out) == (2, "")
    assert "There are 2 users (ben, sample); name one with --user." in ran.err


def test_the_json_is_what_the_api_answers(command: Any, sample: None, endpoint: Any) -> None:
    ran = command("draft", "--no-edges", "write", "--voice", "pearl", "--json", "-")
    assert set(ran.json) == set(DraftOut.model_fields) - {"variants"}
    assert DraftOut.model_validate(ran.json).text == endpoint.text


def test_variants_are_shown_one_after_the_other(command: Any, sample: None, endpoint: Any) -> None:
    endpoint.first = ["Come at ten, Tomas.", "I'll bring them, too."]
    ran = command("draft", "--no-edges", "Tomas asks about the costume rails", "--variants", "3")
    assert ran.out == (
        "Come at ten, Tomas.\n\n--- variant 2 ---\n\nI'll bring them, too.\n\n--- variant 3 ---\n\n"
        "Kettle's on, come by at nine.\n"
    )
    assert "variant 2: commitment: 'I'll bring them, too' (" in ran.err
    assert "--accepted [--variant N] |" in ran.err
    assert [round(asked.get("temperature", 0), 1) for asked in endpoint.requests] == [0.0, 0.7, 0.7]
    (listed,) = command("export", "--json", "-").json["drafts"]
    assert command("feedback", listed["id"], "--accepted", "--variant", "4").status == 2
    assert command("feedback", listed["id"], "--accepted", "--variant", "2").status == 0
    assert command("documents", "show", listed["id"], "--json", "-").json["text"] == "I'll bring them, too."


def test_a_variant_that_is_left_out_is_said(command: Any, sample: None, endpoint: Any) -> None:
    ran = command("draft", "--no-edges", "write", "--variants", "2")
    assert ran.out == "Kettle's on, come by at nine.\n"
    assert "Left out 1 variant: asked twice, the model wrote an earlier text again." in ran.err
    assert command("draft", "write", "--variants", "4").status == 2
