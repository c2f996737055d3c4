"""`pearl mail watch` against a Dovecot, or our own server: sent mail, drafts, kills, a line that is cut, new UIDs."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from service.services import Services
from service.store import documents, users
from tests.dovecot import ADDRESS, PASSWORD, RAILS, Ann, RememberingKeyring, sent, waiting
from tests.source import ROOT


def test_sent_mail_becomes_history_once(ann: Ann) -> None:
    ann.server.put("Sent", sent(1, quote="\nOn Sunday Nan wrote:\n> Who has the long oars?\n"), sent(2))
    ann.server.put("", b"From: nan@example.net\nMessage-ID: <asked-2@example.net>\n\nHow many do you need?\n")
    assert "2 sent mails learnt" in ann.look()
    first = ann.history()
    assert sorted(first) == ["sent-1@example.org", "sent-2@example.org"]
    assert [first[name].request for name in sorted(first)] == ["Who has the long oars?", "How many do you need?"]
    assert {document.recipient for document in first.values()} == {"nan@example.net"}
    assert first["sent-2@example.org"].thread == "asked-2@example.net"
    assert ann.look() == ""
    ann.server.put("Sent", sent(3))
    assert "1 sent mail learnt" in ann.look()
    assert len(ann.history()) == 3
    assert ann.server.mails("Drafts") == []


def test_a_signature_is_known_by_the_mails_before(ann: Ann) -> None:
    signed = "We meet at {number}.\n\nAnn Lee, chair of the rowing club of Skellmouth, member of the board of lifeboats"
    ann.server.put("Sent", *(sent(number, signed) for number in (1, 2, 3)))
    ann.look()
    ann.server.put("Sent", sent(4, signed))
    ann.look()
    assert ann.history()["sent-4@example.org"].text == "We meet at 4."


def test_only_new_mail_if_that_is_wanted(ann: Ann) -> None:
    ann.server.put("Sent", sent(1))
    assert ann.look("--new") == ""
    ann.server.put("Sent", sent(2))
    ann.look("--new")
    assert list(ann.history()) == ["sent-2@example.org"]


def test_a_waiting_message_gets_a_draft_in_its_thread_once(ann: Ann) -> None:
    ann.server.put("Sent", sent(1))
    more = "Reply-To: Nan Lee <desk@example.net>\nReferences: <a@example.net> <b@example.net>\n"
    ann.server.put("", waiting(1, more=more), flags="F")
    ann.server.put("", waiting(2))  # has no flag
    ann.server.put("", waiting(3), flags="FR")  # is answered
    ann.look("--answer-flag", "flagged")
    (draft,) = ann.laid()
    assert draft["To"] == "Nan Lee <desk@example.net>"
    assert draft["From"] == f"Ann Lee <{ADDRESS}>"
    assert draft["Subject"] == "Re: Rails, again"
    assert draft["In-Reply-To"] == "<waiting-1@example.net>"
    assert draft["References"] == "<a@example.net> <b@example.net> <waiting-1@example.net>"
    text = draft.get_content().replace("\r\n", "\n")
    at = f"{datetime(2026, 3, 3, 10, tzinfo=UTC).astimezone():%Y-%m-%d %H:%M}"
    assert text == f"Kettle's on, come by at nine.\n\nOn {at}, Nan wrote:\n> {RAILS}\n"
    assert ann.look("--answer-flag", "flagged") == ""
    (flags,) = ann.server.flags("Drafts")
    assert set("DS") <= set(flags)
    ann.server.empty("Drafts")  # she rejects it
    assert ann.look("--answer-flag", "flagged") == ""
    assert (ann.laid(), ann.drafted()) == ([], 1)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--answer-folder", "To answer"], {"<waiting-1@example.net>", "<waiting-2@example.net>"}),
        (["--answer-folder", "To answer", "--answer-flag", "flagged"], {"<waiting-1@example.net>"}),
        (["--answer-flag", "$todo"], {"<waiting-3@example.net>"}),
    ],
)
def test_the_place_of_waiting_messages(ann: Ann, options: list[str], expected: set[str]) -> None:
    ann.server.put("To answer", waiting(1), flags="F")
    ann.server.put("To answer", waiting(2), sent(9))  # her own mail in the thread waits for nothing
    ann.server.put("", waiting(3), flags="a")
    ann.look(*options)
    assert {draft["In-Reply-To"] for draft in ann.laid()} == expected


def test_what_is_sent_from_a_draft_is_feedback_on_it(ann: Ann) -> None:
    ann.server.put("", waiting(1), waiting(2), flags="F")
    ann.look("--answer-flag", "flagged")
    answer = "Kettle's on, come by at nine."
    edited = "No, Nan. The rails are with Bea, who has them until Sunday; ask her. Come by at nine."
    for number, text in ((1, answer), (2, edited)):
        mail = sent(number, text).replace(b"<asked-", b"<waiting-")
        ann.server.put("Sent", mail)
    assert "2 sent mails learnt" in ann.look()
    assert [outcome for outcome, _ in ann.outcomes()] == ["accepted", "edited"]
    assert [reason is None for _, reason in ann.outcomes()] == [False, True]  # what is the machine's is no sample
    assert len(ann.history()) == 2
    ann.server.put("Sent", sent(3, "One more thing, Nan: bring the tape.").replace(b"<asked-3", b"<waiting-1"))
    ann.look()
    assert len(ann.history()) == 3
    ann.server.renumber("Sent", 77)
    assert ann.look() == ""  # what is read again is known
    assert (len(ann.history()), len(ann.outcomes())) == (3, 2)


def test_what_needs_no_answer_is_counted(ann: Ann, endpoint: Any) -> None:
    """One message was answered from a telephone, one forwarded from there; a picture and a report need no answer."""
    named = b"In-Reply-To: <waiting-1@example.net>"
    ann.server.put("Sent", sent(1).replace(b"In-Reply-To: <asked-1@example.net>", named))
    forwarded = sent(2).replace(b"In-Reply-To: <asked-2@example.net>", b"References: <waiting-2@example.net>")
    ann.server.put("Sent", forwarded.replace(b"To: Nan <Nan@example.net>", b"To: Cy <cy@example.net>"))
    ann.server.put("", waiting(1), waiting(2), flags="F")
    ann.server.put(
        "", waiting(3, "iVBORw0KGgo=", "Content-Type: image/png\nContent-Transfer-Encoding: base64\n"), flags="F"
    )
    ann.server.put("", *(waiting(number, more="Return-Path: <>\n") for number in (4, 5)), flags="F")
    said = "No draft for 4 messages that need none: 2 bounce or receipt, 1 no text, 1 answered already.\n"
    assert said in ann.look("--answer-flag", "flagged")
    assert [draft["In-Reply-To"] for draft in ann.laid()] == ["<waiting-2@example.net>"]
    assert len(endpoint.requests) == 1
    assert ann.look("--answer-flag", "flagged") == ""


def test_a_draft_begins_as_the_persons_mails_do(ann: Ann) -> None:
    """Her answers go to all, and have HTML and a signature."""
    to_all = ("To: Nan", "Cc: bea@example.net\nContent-Type: multipart/alternative; boundary=B\nTo: Nan")
    body = "--B\n\nAt {number}, then.\n\n-- \nAnn Lee\n--B\nContent-Type: text/html\n\n<p>At {number}.</p>\n--B--"
    ann.server.put("Sent", *(sent(number, body).replace(*map(str.encode, to_all)) for number in (1, 2)))
    ann.server.put("", *(waiting(n, more="Cc: bea@example.net\n").replace(b"waiting", b"asked") for n in (1, 2)))
    ann.server.put("", waiting(3, more="Cc: cy@example.net\n"), flags="F")
    ann.look("--answer-flag", "flagged")
    (draft,) = ann.laid()
    assert (draft["To"], draft["Cc"]) == ("Nan <nan@example.net>", "cy@example.net")
    assert "come by at nine.\n\n-- \nAnn Lee\n\nOn " in draft.get_body(("plain",)).get_content().replace("\r\n", "\n")
    assert "come by at nine.</div>" in draft.get_body(("html",)).get_content()
    ann.server.put("Sent", draft.as_bytes().replace(b"pearl.", b"sent."))
    ann.look()
    assert ann.outcomes()[0][0] == "accepted"


def test_questions_in_place_of_a_draft(ann: Ann, endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that she wrote has to do with the message."""
    for name, value in {"RETRIEVER": "embedded", "RETRIEVAL_BUDGET_MS": "60000"}.items():
        monkeypatch.setenv(f"PEARL_{name}", value)
    ann.server.put("Sent", sent(1, "The council approved the bridge budget on Tuesday."))
    ann.server.put("", waiting(1, "Write a post about how I like to relax after work"), flags="F")
    endpoint.first = ["- What do you do after work?\n"]
    assert "No draft: nothing written so far helps. Questions that would are in Drafts." in ann.look(
        "--answer-flag", "flagged"
    )
    (note,) = ann.laid()
    assert (note["To"], note["In-Reply-To"]) == (None, "<waiting-1@example.net>")
    assert "- What do you do after work?" in note.get_content()
    assert ann.look("--answer-flag", "flagged") == ""
    assert len(endpoint.requests) == 1


def test_one_set_of_services_writes_all_drafts(ann: Ann, endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(
        "service.commands.writing.Services", lambda *given, **named: made.append(Services(*given, **named)) or made[-1]
    )
    ann.server.put("", *map(waiting, (1, 2, 3)), flags="F")
    endpoint.status = 500
    assert ann.look("--answer-flag", "flagged").count("No draft yet") == 3
    assert len(made) == 3  # the model failed each time
    endpoint.status = 200
    ann.look("--answer-flag", "flagged")
    assert (len(ann.laid()), len(made)) == (3, 4)


def test_the_server_of_the_home_drafts(ann: Ann, serve_home: Any) -> None:
    ann.server.put("Sent", sent(1))
    ann.look()
    serve_home()
    ann.server.put("", waiting(1), flags="F")
    ann.look("--answer-flag", "flagged")
    assert (len(ann.laid()), ann.drafted()) == (1, 1)


STEPS = {
    "in a batch of mails": "service.importing.run.ImportRecord.finish",
    "before the state names the batch": "service.mail.watch.MailWatcher._read_to",
    "before the draft is recorded": "service.store.drafts.add",
    "while it is recorded": "service.mail.state.State.save",
    "before it is laid": "service.mail.mailbox.Mailbox.append",
}
KILLED = """
import os, sys
from pkgutil import resolve_name
path, after, times = sys.argv.pop(1), sys.argv.pop(1) == "after", int(sys.argv.pop(1))
owner, _, name = path.rpartition(".")
place = resolve_name(owner)
kept, calls = getattr(place, name), []
def killed(*arguments, **options):
    calls.append(name)
    answer = kept(*arguments, **options) if after or len(calls) < times else None
    if len(calls) == times:
        os._exit(137)
    return answer
setattr(place, name, killed)
from pearl.cli.main import main
main()
"""


def kill(step: str, when: str, times: int, words: list[str]) -> None:
    """Run the command in a process that ends at once before or after this function is called so many times."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, step, when, str(times), *words], capture_output=True, text=True
    )
    assert done.returncode == 137, done.stderr


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("step", "times"), [(step, 1) for step in STEPS] + [("while it is recorded", 2)])
def test_nothing_comes_twice_after_a_kill_at_any_step(ann: Ann, step: str, times: int, when: str) -> None:
    ann.server.put("Sent", sent(1), sent(2))
    ann.server.put("", waiting(1), flags="F")
    words = ann.words("--once", "--answer-flag", "flagged")
    if step == "while it is recorded":  # the state is saved at its beginning and after the batch, too
        times += 2
    kill(STEPS[step], when, times, words)
    ann.look("--answer-flag", "flagged")
    ann.look("--answer-flag", "flagged")
    assert sorted(ann.history()) == ["sent-1@example.org", "sent-2@example.org"]
    assert len(ann.laid()) == 1
    assert ann.drafted() == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_feedback_comes_once_after_a_kill(ann: Ann, when: str) -> None:
    ann.server.put("", waiting(1), flags="F")
    ann.look("--answer-flag", "flagged")
    ann.server.put("Sent", sent(1, "No, Nan, ask Bea; come by at nine.").replace(b"<asked-", b"<waiting-"))
    kill("service.store.feedback.add", when, 1, ann.words("--once"))
    ann.look()
    ann.look()
    assert [outcome for outcome, _ in ann.outcomes()] == ["edited"]
    assert len(ann.history()) == 1


def test_a_draft_is_found_on_the_server_where_the_state_is_lost(ann: Ann) -> None:
    ann.server.put("Sent", sent(1))
    ann.server.put("", waiting(1), flags="F")
    ann.look("--answer-flag", "flagged")
    ann.state.unlink()
    ann.look("--answer-flag", "flagged")
    assert (len(ann.history()), len(ann.laid()), ann.drafted()) == (1, 1, 1)


def test_a_folder_with_other_uids_is_read_on_and_not_again(ann: Ann) -> None:
    day = 86_400
    ann.server.put("Sent", sent(1), received=time.time() - 9 * day)
    ann.server.put("Sent", sent(2), received=time.time() - 3 * day)
    ann.look()
    deleted = "sent-1@example.org"
    with ann.database() as database, database.write() as connection:
        documents.remove(connection, users.get(connection, "ann").id, deleted)
    ann.server.put("Sent", sent(3))
    ann.server.renumber("Sent", 77)
    assert "1 sent mail learnt" in ann.look()
    assert sorted(ann.history()) == ["sent-2@example.org", "sent-3@example.org"]  # what she deleted stays away
    ann.server.renumber("Sent", 78)
    assert ann.look() == ""
    ann.server.put("Sent", sent(4))
    ann.look()
    assert len(ann.history()) == 3
    assert json.loads(ann.state.read_text())["folders"]["Sent"]["validity"] == 78


@pytest.mark.parametrize("idle", [True, False], ids=["IDLE", "without IDLE"])
def test_it_watches_and_reconnects(start: Any, process: Any, until: Any, idle: bool) -> None:
    ann = start(idle=idle)
    every = "1500" if idle else "1"
    watching = process(*ann.words("--answer-flag", "flagged", "--every", every))
    try:
        for number in (1, 2):
            ann.server.put("", waiting(number), flags="F")
            until(lambda: len(ann.laid()) == number or watching.poll() is not None)  # noqa: B023
            assert watching.poll() is None
            ann.server.put("Sent", sent(number))
            ann.server.kick()
            until(lambda: len(ann.history()) == number)  # noqa: B023
    finally:
        watching.terminate()
    assert "Trying again in 1 s." in watching.communicate()[1]
    assert len(ann.laid()) == 2


def test_a_deleted_user_stays_away(ann: Ann, process: Any, until: Any) -> None:
    ann.server.put("Sent", sent(1))
    watching = process(*ann.words("--every", "1"))
    until(lambda: ann.state.exists() and "sent" in ann.state.read_text().lower())
    assert ann.run("users", "delete", "ann", yes=None).status == 0
    ann.server.put("Sent", sent(2))
    assert "This user was deleted." in watching.communicate(timeout=180)[1]
    assert (watching.returncode, ann.state.exists()) == (2, False)
    with ann.database() as database, database.read() as connection:
        assert users.find(connection, "ann") is None


def test_a_second_watch_of_an_account_is_refused(ann: Ann, process: Any, until: Any) -> None:
    ann.server.put("Sent", sent(1))
    watching = process(*ann.words())
    try:
        until(lambda: ann.state.exists())
        assert f"Another `pearl mail watch {ADDRESS}` is running" in ann.look(status=2)
    finally:
        watching.terminate()
        watching.communicate()


def test_five_thousand_mails(ann: Ann) -> None:
    quote = "\nOn Sunday Nan wrote:\n> Who has the long oars of number {0}?\n"
    ann.server.put("Sent", *(sent(number, quote=quote.format(number)) for number in range(5000)))
    assert "5,000 sent mails learnt" in ann.look()
    with ann.database() as database, database.read() as connection:
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM documents").scalar() == 5000
    assert ann.look() == ""


def test_the_three_steps_of_the_page(ann: Ann, system_keyring: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As written, but for the server's name and the end of the watch."""
    page = (ROOT / "docs" / "mail.md").read_text(encoding="utf-8")
    install, sign_in, watch = page.partition("```\n")[2].partition("```")[0].splitlines()
    assert install == "pip install 'pearl-writing[mail]'"
    system_keyring(RememberingKeyring())
    ann.server.put("Sent", sent(1))
    ann.server.put("", waiting(1), flags="F")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    assert ann.run(*sign_in.split()[1:]).status == 0
    words = watch.replace("imap.example.org", f"localhost:{ann.server.port}").split()[1:]
    done = ann.run(*words, "--once", ca_file=ann.server.ca)
    assert done.status == 0, done.err
    assert (len(ann.history()), len(ann.laid())) == (1, 1)
