"""What becomes of a message: why it gets no draft, to whom the draft goes, how it looks in a mail program."""

from __future__ import annotations

import email
import email.policy
from datetime import UTC, datetime
from email.message import EmailMessage

import pytest

from service.importing.sources.identities import Identities
from service.importing.sources.mails.quotes import split_mail
from service.mail.answering import INTRODUCTIONS, Waiting, as_mail, as_note
from service.mail.habits import Habits, read_habits
from service.mail.unanswered import RULES, why_unanswered

ME = Identities(("ann@example.org", "ann@work.example"))
PLAIN = Habits()
HERE = f"{datetime(2026, 3, 3, 10, tzinfo=UTC).astimezone():%Y-%m-%d %H:%M}"  # the time in read()
ASKED = "Who brings the rope on Saturday, and how many oars are there in the shed?"


def read(head: str = "", body: str = ASKED, sender: str = "Nan <nan@example.net>") -> Waiting:
    fields = f"From: {sender}\nDate: Tue, 3 Mar 2026 10:00:00 +0000\nSubject: Oars\nMessage-ID: <a@example.net>\n{head}"
    return Waiting.read(f"{fields}\n{body}\n".replace("\n", "\r\n").encode(), 1.7e9, ME)


def drafted(waiting: Waiting, habits: Habits = PLAIN, text: str = "In the shed.") -> EmailMessage:
    raw = as_mail(waiting, "ann@example.org", text, habits)
    return email.message_from_bytes(raw, policy=email.policy.default)  # type: ignore[return-value]


def mixed(*parts: str, kind: str = "multipart/mixed") -> tuple[str, str]:
    return f"Content-Type: {kind}; boundary=B\n", "".join(f"--B\n{part}\n" for part in parts) + "--B--"


PICTURE = "Content-Type: image/png\nContent-Transfer-Encoding: base64\n\niVBORw0KGgo="
PGP = "-----BEGIN PGP MESSAGE-----\n\nhQEMA1\n-----END PGP MESSAGE-----"
NONE: tuple[str, str] = ("", "")
KINDS: dict[str, tuple[str | None, tuple[str, str], str]] = {  # the reason, the head and the body, the sender
    "a question": (None, ("", ASKED), ""),
    "a post of a list": (None, ("Precedence: list\nList-Id: <oars>\nList-Post: <mailto:oars@x>\n", ASKED), ""),
    "a post of an old list": (None, ("Precedence: bulk\nList-Post: <mailto:oars@x>\n", ASKED), ""),
    "not automatic": (None, ("Auto-Submitted: no\nX-Auto-Response-Suppress: None\nReturn-Path: <n@x>\n", ASKED), ""),
    "a question in the subject": (None, ("", ""), ""),
    "a picture below words": (None, mixed(f"\n{ASKED}", PICTURE), ""),
    "a program that takes answers": (None, ("Reply-To: <issue-1@example.net>\n", ASKED), "notifications@example.net"),
    "a null return path": ("bounce or receipt", ("Return-Path: <>\n", "no such user"), ""),
    "a mail daemon": ("bounce or receipt", ("", "no such user"), "MAILER-DAEMON@example.net"),
    "a report": ("bounce or receipt", mixed("\nno such user", kind="multipart/report"), ""),
    "away": ("automatic mail", ("Auto-Submitted: auto-replied\n", "I am away."), ""),
    "of a program": ("automatic mail", ("auto-submitted: Auto-Generated (rule)\n", "Done."), ""),
    "suppressed": ("automatic mail", ("X-Auto-Response-Suppress: DR, OOF\n", "I am away."), ""),
    "auto_reply": ("automatic mail", ("Precedence: auto_reply\n", "I am away."), ""),
    "a newsletter": ("automatic mail", ("Precedence: bulk\nList-Id: <news>\n", "Buy oars."), ""),
    "an invitation": (
        "calendar invitation",
        mixed(f"\n{ASKED}", "Content-Type: text/calendar; method=REQUEST\n\nBEGIN:VCALENDAR"),
        "",
    ),
    "PGP/MIME": (
        "encrypted",
        mixed("Content-Type: application/pgp-encrypted\n\nVersion: 1", "\nx", kind="multipart/encrypted"),
        "",
    ),
    "PGP/MIME, its type lost": ("encrypted", mixed("Content-Type: application/pgp-encrypted\n\nVersion: 1"), ""),
    "inline PGP": ("encrypted", ("", PGP), ""),
    "S/MIME": ("encrypted", ("Content-Type: application/pkcs7-mime; smime-type=enveloped-data\n", "MIAG"), ""),
    "a picture": ("no text", (PICTURE.partition("\n\n")[0] + "\n", "iVBORw0KGgo="), ""),
    "a picture from a phone": ("no text", mixed("\nSent from my iPhone", PICTURE), ""),
    "a picture in HTML": ("no text", ("Content-Type: text/html\n", "<img src='https://x/a.png'>"), ""),
    "no address that answers reach": ("sender that takes no answers", ("", ASKED), "no-reply@example.net"),
}


@pytest.mark.parametrize("name", KINDS)
def test_mail_that_needs_no_answer(name: str) -> None:
    reason, (head, body), sender = KINDS[name]
    waiting = read(head, body, sender or "Nan <nan@example.net>")
    assert why_unanswered(waiting, lambda _: False) == reason
    assert why_unanswered(waiting, lambda _: True) == (reason or "answered already")
    assert {kind for kind, _, _ in KINDS.values()} >= RULES.keys() - {"reaction", "answered already"}


OTHERS = "To: Ann <ann@work.example>, Bea <bea@example.net>\nCc: cy@example.net, ann@example.org, nan@example.net\n"


@pytest.mark.parametrize(
    ("head", "to", "cc"),
    [
        (OTHERS, "Nan <nan@example.net>", "Bea <bea@example.net>, cy@example.net"),
        ('Reply-To: "Desk, the" <desk@x.net>, boss@x.net\n', '"Desk, the" <desk@x.net>, boss@x.net', None),
        ("Reply-To: Crew: desk@x.net, DESK@x.net, Ann <ANN@example.org>;\n", "DESK@x.net", None),
        ("Reply-To: ann@example.org\n", "Nan <nan@example.net>", None),
        ("Reply-To: (((((\n", "Nan <nan@example.net>", None),
        ("Reply-To: " + "(" * 3000 + "\n", "Nan <nan@example.net>", None),
    ],
)
def test_whom_a_draft_goes_to(head: str, to: str, cc: str | None) -> None:
    waiting = read(head)
    draft = drafted(waiting, Habits("Ann Lee", reply_all=True))
    assert (draft["To"], draft["Cc"]) == (to, cc)
    assert drafted(waiting)["Cc"] is None
    assert draft["From"] == f"Ann Lee <{'ann@work.example' if head is OTHERS else 'ann@example.org'}>"


def test_nobody_writes_to_oneself() -> None:
    assert drafted(read("Reply-To: ann@work.example\nTo: bea@x.net\n", sender="ann@example.org"))["To"] is None


MAILS = {
    "cs": "Dobrý den, kolik vesel potřebujete v sobotu a kdo přiveze dlouhé lano k přístavu?",
    "da": "Hvor mange årer skal I bruge på lørdag, og hvem tager det lange reb med ned til havnen?",
    "de": "Wie viele Ruder braucht ihr am Samstag, und wer bringt das lange Seil mit an den Steg?",
    "en": ASKED,
    "es": "¿Cuántos remos necesitáis el sábado y quién trae la cuerda larga al muelle por la mañana?",
    "fi": "Kuinka monta airoa tarvitsette lauantaina, ja kuka tuo pitkän köyden laiturille aamulla?",
    "fr": "Combien de rames vous faut-il samedi, et qui apporte la longue corde sur le quai le matin ?",
    "it": "Quanti remi vi servono sabato e chi porta la corda lunga al molo la mattina presto?",
    "no": "Hvor mange årer trenger dere på lørdag, og hvem tar med seg det lange tauet ned til brygga?",
    "nl": "Hoeveel riemen hebben jullie zaterdag nodig, en wie brengt het lange touw mee naar de steiger?",
    "pl": "Ile wioseł potrzebujecie w sobotę i kto przyniesie długą linę na pomost z samego rana?",
    "pt": "Quantos remos vocês precisam no sábado e quem traz a corda comprida para o cais de manhã?",
    "sv": "Hur många åror behöver ni på lördag, och vem tar med sig det långa repet till bryggan?",
    "ja": "土曜日にオールは何本必要ですか。長いロープは誰が持って来ますか。",
}


@pytest.mark.parametrize("language", MAILS)
def test_the_quoted_original_is_known_again(language: str) -> None:
    """What is sent from a draft is learnt without what the draft quoted."""
    asked = f"{MAILS[language]}\n> An older line.\n<b>&amp;"
    habits = Habits("Ann Lee", "\n\n-- \nAnn Lee\nHarbour Road 2, Skellmouth", html=True)
    draft = drafted(read("Content-Type: text/plain; charset=utf-8\n", asked), habits, "Nine.\n\nAnn")
    plain, rich = draft.get_body(("plain",)), draft.get_body(("html",))
    assert plain
    assert rich
    text = plain.get_content().replace("\r\n", "\n")
    introduction = INTRODUCTIONS.get(language, INTRODUCTIONS["en"]).format(date=HERE, name="Nan")
    quoted = f"> {MAILS[language]}\n>> An older line.\n> <b>&amp;\n"
    assert text == f"Nine.\n\nAnn{habits.signature}\n\n{introduction}\n{quoted}"
    split = split_mail(text, "Ann Lee")
    assert (split.own, split.quoted.split("\n")[0]) == ("Nine.\n\nAnn", MAILS[language])
    assert "&lt;b&gt;&amp;amp;" in rich.get_content()
    assert '<blockquote type="cite">' in rich.get_content()


def test_a_note_is_addressed_to_nobody() -> None:
    raw = as_note(read(), "ann@example.org", ("Who has the rope?", "When?"))
    note = email.message_from_bytes(raw, policy=email.policy.default)
    assert (note["To"], note["In-Reply-To"], note["Subject"]) == (None, "<a@example.net>", "Re: Oars")
    assert "- Who has the rope?\n- When?\n" in note.get_content().replace("\r\n", "\n")  # type: ignore[attr-defined]


def sent(body: str, head: str = "In-Reply-To: <q@x>\nTo: nan@example.net\n", name: str = "Ann Lee") -> bytes:
    return f"From: {name} <ann@example.org>\nSubject: Re: Oars\n{head}\n{body}\n".encode()


SIGNED = "\n\n-- \nAnn Lee\nHarbour Road 2"
QUOTE = "\n\nOn 2026-03-03 10:00, Nan wrote:\n> The oars?\n> -- \n> Nan\n"
CHAIR = "Ann Lee, chair of the rowing club of Skellmouth, member of the board of lifeboats"
HTML = "Content-Type: text/html\n\n<div>Nine.</div>"
DIV = '<div class="gmail_signature">-- <br>Ann Lee<div>Harbour Road <b>2</b></div></div>'
IN_HTML = [
    mixed(f"\nAt {n}.{SIGNED}", HTML + DIV + "<blockquote>x</blockquote>", kind="multipart/alternative")
    for n in (7, 8, 9)
]
ALL = "In-Reply-To: <q@x>\nTo: nan@example.net, bea@example.net\n"
ONE = "In-Reply-To: <q@x>\nTo: nan@example.net\n"
HABITS: dict[str, tuple[list[bytes], Habits]] = {
    "nothing sent": ([], Habits()),
    "a name": ([sent("At nine."), sent("At ten.")], Habits("Ann Lee")),
    "two names": ([sent("At nine.", name=name) for name in "ABCDEF"], Habits()),
    "a signature": ([sent(f"At {n}.{SIGNED}{QUOTE}") for n in (7, 8)] + [sent("Ten.")], Habits("Ann Lee", SIGNED)),
    "a signature below the quote": (
        [sent(f"> The oars?\n\nAt {n}.{SIGNED}") for n in (7, 8)],
        Habits("Ann Lee", SIGNED),
    ),
    "a signature that begins with the name": (
        [sent(f"At {n}.\n\nAnn\n\n-- \nAnn\nChair\n\nSent from my iPhone") for n in (7, 8)],
        Habits("Ann Lee", "\n\n-- \nAnn\nChair"),
    ),
    "contact data below the name": (
        [sent(f"At {n}.\n\nBest regards\nAnn Lee\nChair\n+44 1632 960 001") for n in (7, 8)],
        Habits("Ann Lee", "\nChair\n+44 1632 960 001"),
    ),
    "one of three": ([sent(f"At 7.{SIGNED}"), sent("At 8."), sent("At 9.")], Habits("Ann Lee")),
    "a paragraph that ends all": ([sent(f"At {n}.\n\n{CHAIR}") for n in (7, 8, 9)], Habits("Ann Lee", f"\n\n{CHAIR}")),
    "only in mails that answer nothing": (
        [sent("Eight."), *(sent(f"At {n}.{SIGNED}", "To: nan@example.net\n") for n in (7, 8))],
        Habits("Ann Lee"),
    ),
    "HTML": ([sent(body, ONE + head) for head, body in IN_HTML], Habits("Ann Lee", SIGNED, True, DIV)),
    "HTML that loads what is not there": (
        [sent(body.replace("<b>", "<img src='cid:1'><b>"), ONE + head) for head, body in IN_HTML],
        Habits("Ann Lee", SIGNED, True),
    ),
    "HTML of another": (
        [sent(body.replace("<div>Nine.", "<blockquote>"), ONE + head) for head, body in IN_HTML],
        Habits("Ann Lee", SIGNED, True),
    ),
    "to all, half of the time": (
        [sent("Seven.", ALL), sent("Eight.", ONE), sent("Nine.", ONE.replace("<q@", "<alone@"))],
        Habits("Ann Lee", reply_all=True),
    ),
    "to all, less often": ([sent("Seven.", ALL), *(sent(f"{n}.", ONE) for n in (7, 8))], Habits("Ann Lee")),
    "to all, of mails that are gone": ([sent("Seven.", ALL.replace("<q@", "<?@"))], Habits("Ann Lee", reply_all=True)),
}


@pytest.mark.parametrize("name", HABITS)
def test_habits(name: str) -> None:
    mails, expected = HABITS[name]
    assert read_habits(mails, {"q@x": {"bea@example.net"}, "alone@x": set()}) == expected
