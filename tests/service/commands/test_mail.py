"""`pearl mail watch` against a real Dovecot: sent mail, waiting messages, kills, a line that is cut, new UIDs."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time
from typing import Any

import pytest

from service.store import documents, users
from tests.dovecot import ADDRESS, DOVECOT, MISSING, PASSWORD, Ann, RememberingKeyring, sent, waiting
from tests.source import ROOT

pytestmark = pytest.mark.skipif(DOVECOT is None, reason=MISSING)


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
    assert draft["From"] == ADDRESS
    assert draft["Subject"] == "Re: Rails, again"
    assert draft["In-Reply-To"] == "<waiting-1@example.net>"
    assert draft["References"] == "<a@example.net> <b@example.net> <waiting-1@example.net>"
    assert draft.get_content().strip() == "Kettle's on, come by at nine."
    assert ann.look("--answer-flag", "flagged") == ""
    (path,) = (ann.server.base / "mail" / ".Drafts" / "cur").iterdir()
    assert set("DS") <= set(path.name.rpartition(",")[2])
    path.unlink()  # she rejects it
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
    ann.server.put("", flags="a")
    (ann.server.base / "mail" / "dovecot-keywords").write_text("0 $todo\n")
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
    ann.server.admin("mailbox", "update", "--uid-validity", "77", "Sent", "-u", ADDRESS)
    assert ann.look() == ""  # what is read again is known
    assert (len(ann.history()), len(ann.outcomes())) == (3, 2)


STEPS = {
    "in a batch of mails": "service.importing.import_record.ImportRecord.finish",
    "before the state names the batch": "service.mail.watch.Watch._read_to",
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
    ann.server.admin("mailbox", "update", "--uid-validity", "77", "Sent", "-u", ADDRESS)
    assert "1 sent mail learnt" in ann.look()
    assert sorted(ann.history()) == ["sent-2@example.org", "sent-3@example.org"]  # what she deleted stays away
    ann.server.admin("mailbox", "update", "--uid-validity", "78", "Sent", "-u", ADDRESS)
    assert ann.look() == ""
    ann.server.put("Sent", sent(4))
    ann.look()
    assert len(ann.history()) == 3
    assert json.loads(ann.state.read_text())["folders"]["Sent"]["validity"] == 78


@pytest.mark.parametrize("idle", [True, False], ids=["IDLE", "without IDLE"])
def test_it_watches_and_reconnects(start: Any, process: Any, until: Any, idle: bool) -> None:
    ann = start(more="" if idle else "imap_capability = IMAP4rev1 SASL-IR SPECIAL-USE LITERAL+")
    every = "1500" if idle else "1"
    watching = process(*ann.words("--answer-flag", "flagged", "--every", every))
    try:
        for number in (1, 2):
            ann.server.put("", waiting(number), flags="F")
            until(lambda: len(ann.laid()) == number or watching.poll() is not None)  # noqa: B023
            assert watching.poll() is None
            ann.server.put("Sent", sent(number))
            ann.server.admin("kick", ADDRESS)
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
