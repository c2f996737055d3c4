"""Mail servers and mails that are wrong, by tables; passwords that others can read."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from keyring.backends.fail import Keyring as NoKeyring

from service.mail import mailbox
from tests.dovecot import ADDRESS, DOVECOT, MISSING, PASSWORD, SPECIAL, Ann, RememberingKeyring, sent, waiting
from tests.imap_server import Folder, ImapServer, Stored
from tests.issuer import certificate

needs_dovecot = pytest.mark.skipif(DOVECOT is None, reason=MISSING)


class LyingServer(ImapServer):
    """A server with the mails 5 and 6 in its folder Sent."""

    def __init__(self, lie: str, folder: Path) -> None:
        super().__init__(certificate(folder / "cert.pem", timedelta(days=2)), {"Sent": r"\Sent"}, (ADDRESS, "word"))
        self.lie = lie
        self.folders["Sent"].next_uid = 5
        self.put("Sent", sent(5), sent(6))

    @property
    def greeting(self) -> bytes:  # type: ignore[override]
        lies = {"another protocol": b"HTTP/1.1 400 Bad Request\r\n", "a greeting of 1.5 GB": b"* OK {1500000000}"}
        return lies.get(self.lie, b"* OK ready")

    def ends(self, command: str) -> bool:
        return super().ends(command) or (self.lie == "a line cut in a mail" and "BODY" in command)

    def told(self, folder: Folder) -> list[bytes]:
        validity, next_uid = super().told(folder)
        shown = [] if self.lie == "no UIDVALIDITY" else [validity]
        lies = {"a UIDNEXT that went back": [b"OK [UIDNEXT 2] ."], "no UIDNEXT": []}
        return [*shown, *lies.get(self.lie, [next_uid])]

    def found(self, uids: list[int]) -> list[int]:
        lies = {"UIDs that are not there": [*uids, 9, 4294967295], "a UID twice": sorted([*uids, *uids, *uids])}
        return lies.get(self.lie, uids)

    def fetches(self, uid: int, asked: set[int]) -> bool:
        return super().fetches(uid, asked) or self.lie == "mails that were not asked for"

    def fetched(self, mail: Stored, asked: str) -> bytes:
        told = super().fetched(mail, asked.replace("INTERNALDATE", "") if self.lie == "no times" else asked)
        lies: dict[str, tuple[bytes, bytes]] = {
            "a size below nothing": (rb"SIZE \d+", b"SIZE -3"),
            "an answer that is no IMAP": (rb"(?s).*BODY\[\].*", b"FETCH (UID x5 )) (("),
            "a line cut in a mail": (rb"\{\d+\}", b"{10000}"),
            "a mail of 1.5 GB": (rb"\{\d+\}", b"{1500000000}"),
            "an answer without an end": (rb"(?s).*", b"FETCH (FLAGS ())\r\n* 1 " * 9000 + b"FETCH (FLAGS ())"),
        }
        return re.sub(*lies[self.lie], told, count=1) if self.lie in lies else told


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        ("nothing", ""),
        ("UIDs that are not there", ""),
        ("a UID twice", ""),
        ("mails that were not asked for", ""),
        ("no UIDVALIDITY", ""),
        ("no UIDNEXT", ""),
        ("no times", ""),
        ("a size below nothing", ""),
        ("a UIDNEXT that went back", "nothing"),
        ("a line cut in a mail", "ended"),
        ("an answer that is no IMAP", "cannot be read"),
        ("another protocol", "cannot be reached"),
        ("a greeting of 1.5 GB", "it announced 1,500,000,000 bytes, more than were asked for"),
        ("a mail of 1.5 GB", "it announced 1,500,000,000 bytes, more than were asked for"),
        ("an answer without an end", "its answer does not end"),
    ],
)
def test_a_server_that_lies(
    lie: str, said: str, own_home: Path, run_pearl: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox, "ANSWER_BYTES", 100_000)
    server = LyingServer(lie, tmp_path)
    with server.running():
        ann = Ann(server, own_home, run_pearl, tmp_path)
        ann.secret.write_text("word")
        if said and said != "nothing":
            for _ in range(2):
                assert said in ann.look(status=1)
            server.lie = "nothing"
        first = ann.look()
        if said == "nothing":  # what lies behind the end that the server tells is left for later
            assert first == ""
            server.lie = "nothing"
            first = ann.look()
        assert "2 sent mails learnt" in first
        assert sorted(ann.history()) == ["sent-5@example.org", "sent-6@example.org"]
        server.lie = lie if not said else "nothing"
        assert ann.look() == ""
        assert len(ann.history()) == 2


def test_a_server_without_auth_plain(own_home: Path, run_pearl: Any, tmp_path: Path) -> None:
    server = LyingServer("nothing", tmp_path)
    server.capabilities = "IMAP4rev1 SPECIAL-USE"
    with server.running():
        ann = Ann(server, own_home, run_pearl, tmp_path)
        assert "takes no password with letters beyond ASCII" in ann.look(status=2)


FOLDERS = {f"Project {number}": "" for number in range(200)}


def test_two_hundred_folders(start: Callable[..., Ann]) -> None:
    ann = start(SPECIAL | FOLDERS)
    ann.server.put("Sent", sent(1))
    assert "1 sent mail learnt" in ann.look()
    said = ann.look("--answer-folder", "Project 200", status=2)
    assert "--answer-folder Project 200: there is no such folder; there are" in said
    assert "and 193 more" in said


def test_folders_are_known_by_their_names_where_the_server_says_nothing(start: Callable[..., Ann]) -> None:
    ann = start({"Gesendet": "", "Entwürfe": ""})
    ann.server.put("Gesendet", sent(1))
    ann.server.put("", waiting(1), flags="F")
    ann.look("--answer-flag", "flagged")
    assert len(ann.history()) == 1
    assert len(ann.server.mails("Entw&APw-rfe")) == 1


@pytest.mark.parametrize("name", ["Outbox", "Postausgang", "Templates"])
def test_no_draft_goes_where_a_server_may_send_it(start: Callable[..., Ann], name: str) -> None:
    ann = start({"Sent": "", name: ""})
    ann.server.put("", waiting(1), flags="F")
    said = ann.look("--answer-flag", "flagged", status=2)
    assert "does not say which folder --drafts is; name it, as in --drafts NAME. There are" in said
    ann.look("--answer-flag", "flagged", "--drafts", "INBOX")
    assert len(ann.server.mails("")) == 2


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--ca-file", ""], 2, "its certificate is not trusted (self-signed certificate); if the server is your own"),
        (["--login", "bob"], 2, "refused the password of bob"),
        (["--host", "localhost:1"], 1, "localhost:1 cannot be reached (["),
        (["--host", "nowhere.invalid"], 1, "nowhere.invalid:993 cannot be reached ("),
        (["--host", "imaps://localhost"], 2, "--host imaps://localhost: write it as HOST or HOST:PORT."),
        (["--host", "localhost:x"], 2, "--host localhost:x: write it as HOST or HOST:PORT."),
        (["--ca-file", "nowhere.pem"], 2, "--ca-file nowhere.pem: there is no such file."),
        (["--sent", "Gone"], 2, "--sent Gone: there is no such folder; there are"),
        (["--answer-flag", "a b"], 2, "--answer-flag a b: is no flag"),
        (["--answer-flag", "flagged", "--drafts", "Gone"], 2, "--drafts Gone: there is no such folder"),
        (["--user", "a\tb"], 2, "'--user' must have"),
        (["--secret-file", "nowhere"], 2, "--secret-file nowhere: No such file"),
        (["--secret-file", "wide"], 2, "--secret-file wide: others may read or write it (mode 0640); run: chmod 600"),
        (["--secret-file", "empty"], 2, "--secret-file empty: is empty"),
        (["--secret-file", "binary"], 2, "--secret-file binary: is not UTF-8 text"),
        (["--secret-file", "wrong"], 2, "refused the password of ann@example.org: [AUTHENTICATIONFAILED]"),
    ],
)
def test_options_that_cannot_be_used(
    ann: Ann, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: list[str], status: int, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"wide": b"x", "empty": b"\n", "binary": b"\xff\xfe", "wrong": b"{not json"}
    for name, content in files.items():
        Path(name).write_bytes(content)
        Path(name).chmod(0o640 if name == "wide" else 0o600)
    words = ann.words("--once", *options)
    if options == ["--ca-file", ""]:
        words = [word for word in ann.words("--once") if word not in ("--ca-file", str(ann.server.ca))]
    done = ann.run(*words)
    assert done.status == status, done.err
    assert said in done.err
    assert done.err.count("\n") == 1


@needs_dovecot
def test_starttls(ann: Ann) -> None:
    ann.server.put("Sent", sent(1))
    ann.look("--host", f"localhost:{ann.server.starttls_port}", "--starttls")
    assert len(ann.history()) == 1
    said = ann.look("--host", f"localhost:{ann.server.starttls_port}", status=1)
    assert "there is no TLS" in said
    assert "give --starttls" in said


LONG = "a" * 200 + "@example.net"


@dataclass(frozen=True)
class Hostile:
    """A message that waits, and fields of its draft."""

    head: str
    expected: dict[str, str | None]


HOSTILE = {
    "a break in an encoded subject": Hostile(
        "From: nan@example.net\nSubject: =?utf-8?q?Rails=0D=0ABcc:_eve@example.com=0D=0A=0D=0AHello?=\n",
        {"Subject": "Re: Rails Bcc: eve@example.com Hello", "Bcc": None},
    ),
    "a break in a name": Hostile(
        "From: =?utf-8?q?Nan=0ABcc:_eve@example.com?= <nan@example.net>\nSubject: Rails\n",
        {"To": '"Nan Bcc: eve@example.com" <nan@example.net>', "Bcc": None},
    ),
    "several addresses to answer to": Hostile(
        "From: nan@example.net\nReply-To: desk@example.net, eve@example.com\nSubject: Rails\n",
        {"To": "desk@example.net, eve@example.com", "Cc": None},
    ),
    "no address": Hostile("From: Nan\nSubject: Rails\n", {"To": None}),
    "an address that is none": Hostile('From: <a@b"c\\@example.net>\nSubject: Rails\n', {"To": None}),
    "ids with blanks and breaks": Hostile(
        "From: nan@example.net\nSubject: Rails\nReferences: <a b@x> <\n c@x> <ok@x>\n",
        {"References": "<ok@x> <hostile@example.net>"},
    ),
    "a thousand references": Hostile(
        "From: nan@example.net\nSubject: Rails\nReferences:" + "".join(f"\n <r{n}@x>" for n in range(1000)) + "\n",
        {"References": "<r0@x> " + " ".join(f"<r{n}@x>" for n in range(982, 1000)) + " <hostile@example.net>"},
    ),
    "an id longer than a line": Hostile(
        f"From: nan@example.net\nSubject: Rails\nReferences: <{LONG}>\n",
        {"References": f"<{LONG}> <hostile@example.net>"},
    ),
    "a subject of a megabyte": Hostile(
        "From: nan@example.net\nSubject: " + "ä" * 500_000 + "\n", {"In-Reply-To": "<hostile@example.net>"}
    ),
    "signs that turn the direction": Hostile(
        "From: nan@example.net\nSubject: =?utf-8?b?4oCucmlh?=\n", {"Subject": "Re: \N{REPLACEMENT CHARACTER}ria"}
    ),
}


def test_hostile_headers(ann: Ann) -> None:
    """One server for all of them: each is told by the message that it answers."""
    for number, case in enumerate(HOSTILE.values()):
        head = f"Message-ID: <hostile-{number}@example.net>\n{case.head}\nHow many rails?\n"
        ann.server.put("", head.encode(), flags="F")
    ann.look("--answer-flag", "flagged")
    drafts = {draft["In-Reply-To"]: draft for draft in ann.laid()}
    assert len(drafts) == len(HOSTILE)
    for number, (name, case) in enumerate(HOSTILE.items()):
        draft = drafts[f"<hostile-{number}@example.net>"]
        found = {field: draft[field] and str(draft[field]) for field in case.expected}
        expected = {
            field: value and value.replace("<hostile@", f"<hostile-{number}@") for field, value in case.expected.items()
        }
        assert found == expected, name
        assert draft.get_content().startswith("Kettle's on, come by at nine.")
        assert set(draft.keys()) <= {
            *("Message-ID", "In-Reply-To", "References", "From", "To", "Subject", "Date"),
            *("Content-Type", "Content-Transfer-Encoding", "MIME-Version"),
        }


def test_messages_without_an_id_or_a_text(ann: Ann) -> None:
    ann.server.put("", b"From: nan@example.net\nSubject: How many rails?\n\n", flags="F")
    ann.server.put("", b"From: nan@example.net\n\n\n", flags="F")  # there is nothing to answer
    ann.look("--answer-flag", "flagged")
    (draft,) = ann.laid()
    assert draft["In-Reply-To"] is None
    assert draft["Subject"] == "Re: How many rails?"
    assert ann.look("--answer-flag", "flagged") == ""
    assert len(ann.laid()) == 1


def test_a_mail_of_fifty_megabytes(ann: Ann) -> None:
    head = sent(1).partition(b"\n\n")[0] + b'\nContent-Type: multipart/mixed; boundary="B"\n\n'
    line = b"A" * 76 + b"\n"
    photo = b"--B\nContent-Type: image/png\nContent-Transfer-Encoding: base64\n\n" + line * (50_000_000 // 77)
    ann.server.put("Sent", head + b"--B\n\nThe photo of the boat, Nan, in full size.\n" + photo + b"--B--\n", sent(2))
    large = waiting(1).partition(b"\n\n")[0] + b'\nContent-Type: multipart/mixed; boundary="B"\n\n'
    ann.server.put("", large + b"--B\n\nIs this the boat?\n" + photo + b"--B--\n", flags="F")
    assert "2 sent mails learnt" in ann.look("--answer-flag", "flagged")
    assert ann.history()["sent-1@example.org"].text == "The photo of the boat, Nan, in full size."
    assert len(ann.laid()) == 1


def test_a_model_that_is_away_costs_no_message(ann: Ann, endpoint: Any) -> None:
    ann.server.put("", waiting(1), flags="F")
    endpoint.status = 500
    assert "No draft yet: " in ann.look("--answer-flag", "flagged")
    endpoint.status = 200
    ann.look("--answer-flag", "flagged")
    assert len(ann.laid()) == 1


def test_a_state_that_is_damaged_or_anothers(ann: Ann) -> None:
    ann.server.put("Sent", sent(1))
    ann.look()
    state = ann.state
    assert state.stat().st_mode & 0o777 == 0o600
    state.write_text('{"owner": "x", "folders": 3}')  # of another user: it is read anew
    assert ann.look() == ""
    state.write_text(state.read_text()[:-9])
    assert "is damaged; delete it. The sent mail is read again, and nothing comes twice." in ann.look(status=2)
    state.unlink()
    assert ann.look() == ""
    assert len(ann.history()) == 1


def test_the_password_comes_from_the_keyring(
    ann: Ann, system_keyring: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = system_keyring(RememberingKeyring()).kept
    words = [word for word in ann.words("--once") if word not in ("--secret-file", str(ann.secret))]
    done = ann.run(*words)
    assert (done.status, done.err) == (
        2,
        f"pearl: There is no password of {ADDRESS} in the keyring; store it: pearl mail sign-in {ADDRESS}\n",
    )
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    assert ann.run("mail", "sign-in", ADDRESS).err == "Stored in the keyring.\n"
    assert kept == {("pearl mail", ADDRESS): PASSWORD}
    ann.server.put("Sent", sent(1))
    assert ann.run(*words).status == 0
    assert len(ann.history()) == 1


def test_no_keyring_and_a_file_instead(
    own_home: Path, run_pearl: Any, system_keyring: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    system_keyring(NoKeyring())
    monkeypatch.setattr("sys.stdin", io.StringIO("word\n" * 2))
    done = run_pearl("mail", "sign-in", ADDRESS)
    assert done.status == 2
    assert "name a file instead, as in --secret-file ~/.pearl-mail" in done.err
    file = tmp_path / "secret"
    assert run_pearl("mail", "sign-in", ADDRESS, secret_file=file).status == 0
    assert file.read_text() == "word\n"
    assert file.stat().st_mode & 0o777 == 0o600
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert "The password is empty" in run_pearl("mail", "sign-in", ADDRESS).err
    assert "is not a mail address" in run_pearl("mail", "sign-in", "Ann <ann@example.org>").err
    assert "The mail server of ann@example.org is not known" in run_pearl("mail", "watch", ADDRESS).err
