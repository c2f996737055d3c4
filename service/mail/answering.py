"""Writing drafts of answers as mails for the Drafts folder. What comes from the answered mail is checked before it
enters a header, and escaped in HTML."""

from __future__ import annotations

import hashlib
import html
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate

from pearl.text.language import detect
from pearl.text.recipients import ADDRESS, recipient_of
from pearl.text.usable import printable, storable
from service.importing.sources.base import stable_id
from service.importing.sources.identities import Identities
from service.importing.sources.mails.headers import parse_sender
from service.importing.sources.mails.message import MESSAGE_ID, Envelope, read_envelope
from service.importing.sources.mails.parts import MailPart, parts_of, text_of
from service.importing.sources.mbox import request_of
from service.mail.habits import Habits

USABLE_ID = re.compile(r"[!-;=?-~]{1,250}")
REFERENCES = 20  # the first and the last of a long thread
SUBJECT_CHARACTERS = 300
QUOTED_CHARACTERS = 50_000
ONE_MAILBOX = re.compile(r'(?:"[^"]*"|[^",;:])+')  # a colon ends the name of a group
# above a quote, as the importer knows it again; in another language the English one
INTRODUCTIONS = {
    "cs": "Dne {date} napsal(a) {name}:",
    "da": "Den {date} skrev {name}:",
    "de": "Am {date} schrieb {name}:",
    "en": "On {date}, {name} wrote:",
    "es": "El {date}, {name} escribió:",
    "fi": "{date}, {name} kirjoitti:",
    "fr": "Le {date}, {name} a écrit :",
    "it": "Il {date}, {name} ha scritto:",
    "nl": "Op {date} schreef {name}:",
    "no": "Den {date} skrev {name}:",
    "pl": "W dniu {date}, {name} napisał(a):",
    "pt": "Em {date}, {name} escreveu:",
    "sv": "Den {date} skrev {name}:",
}
NOTE = """PEARL wrote no draft for this message: nothing that you have written so far helps with it.
The answers to these questions would:

{questions}

This note is addressed to no one; delete it when you have read it."""

Mailbox = tuple[str, str]  # name and address


def read_mailboxes(value: str) -> list[Mailbox]:
    """Return the names and addresses in a field such as Reply-To, without duplicate addresses."""
    found = [parse_sender(each) for each in ONE_MAILBOX.findall(value)]
    return list({address.lower(): (name, address) for name, address in found if ADDRESS.fullmatch(address)}.values())


@dataclass(frozen=True, slots=True)
class Waiting:
    """A received message that waits for an answer."""

    key: str  # a digest of what names it
    time: datetime  # when it was sent, of the zone here
    envelope: Envelope
    parts: list[MailPart]
    text: str | None  # what its sender wrote
    to: list[Mailbox]  # to whom the answer goes: nobody, if only the person's own addresses are named
    others: list[Mailbox]  # who got the message, too
    own: str | None  # the person's address that it was sent to

    @classmethod
    def read(cls, raw: bytes, received: float, me: Identities) -> Waiting:
        """Read a message. ``received``: when the server got it, in Unix seconds; ``me``: the person who got it."""
        envelope = read_envelope(raw)
        fields = envelope.fields
        got = [each for name in ("to", "cc") for each in read_mailboxes(fields.get(name, ""))]
        choices = [read_mailboxes(fields.get("reply-to", "")), [envelope.sender] if envelope.sender[1] else []]
        to = next(filter(None, ([each for each in choice if not me.match("", each[1])] for choice in choices)), [])
        answered = {address.lower() for _, address in to}
        others = [each for each in got if each[1].lower() not in answered and not me.match("", each[1])]
        own = next((address for _, address in got if me.match("", address)), None)
        time = datetime.fromtimestamp(received)
        with suppress(ValueError, OverflowError, OSError):  # a year that no calendar has
            time = datetime.fromtimestamp(received if envelope.time is None else envelope.time)
        return cls(key_of(raw), time, envelope, parts_of(raw), request_of(raw), to, others, own)

    @property
    def request(self) -> str | None:
        """The draft's request: the message's text, else its subject; None if the message has neither."""
        return self.text or self.envelope.subject.strip() or None

    @property
    def recipient(self) -> str | None:
        return recipient_of(self.to[0][1]) if self.to else None

    @property
    def thread(self) -> str | None:
        return stable_id(self.envelope.thread) if self.envelope.thread else None

    def is_answered_by(self, sent: Envelope) -> bool:
        """True if ``sent``, a mail that refers to this message, went to anybody who wrote or got it; False for a
        forward."""
        people = {address.lower() for _, address in (*self.to, *self.others, self.envelope.sender)}
        got = {address for name in ("to", "cc") for _, address in read_mailboxes(sent.fields.get(name, ""))}
        return not people.isdisjoint(map(str.lower, got))


def key_of(head: bytes) -> str:
    """Return a digest that identifies a message, made from its Message-ID, or from its header if it has no
    Message-ID."""
    known = read_envelope(head).id
    return id_key(known) if known else id_key(head.partition(b"\r\n\r\n")[0].decode(errors="replace"))


def id_key(message_id: str) -> str:
    return hashlib.sha256(message_id.encode(errors="replace")).hexdigest()[:32]


def draft_id_of(key: str, address: str) -> str:
    """Return the Message-ID for the draft that answers a message. It is the same in every run."""
    return f"pearl.{key}@{address.rpartition('@')[2]}"


def as_mail(waiting: Waiting, address: str, text: str, habits: Habits) -> bytes:
    """Write a draft as a mail that answers the message: in its thread, with the person's signature and the quoted
    message."""
    message = _begun(waiting, waiting.own or address, habits.name)
    for name, people in (("To", waiting.to), ("Cc", waiting.others if habits.reply_all and waiting.to else [])):
        if usable := [made for each in people if (made := _address(*each))]:
            message[name] = usable
    introduction, quoted = _introduction(waiting), _quoted(waiting)
    marked = "\n".join(f">{line}" if line.startswith(">") else f"> {line}" for line in quoted.split("\n"))
    message.set_content(
        storable(f"{text}{habits.signature}\n\n{introduction}\n{marked}" if quoted else text + habits.signature)
    )
    if habits.html:
        mine = f"<div>{_as_html(text)}</div>"
        signed = habits.html_signature or _as_html(habits.signature.strip("\n"))
        mine += f"\n<br>\n<div>{signed}</div>" if signed else ""
        theirs = f'\n<br>\n<div>{_as_html(introduction)}</div>\n<blockquote type="cite">{_as_html(quoted)}</blockquote>'
        message.add_alternative(storable(mine + (theirs if quoted else "")), subtype="html")
    return _in_thread(waiting, address, message)


def as_note(waiting: Waiting, address: str, questions: tuple[str, ...]) -> bytes:
    """Write a mail with the questions that must be answered before PEARL can draft. It is in the message's thread and
    has no recipient."""
    message = _begun(waiting, address, "PEARL")
    message.set_content(storable(NOTE.format(questions="\n".join(f"- {question}" for question in questions))))
    return _in_thread(waiting, address, message)


def _begun(waiting: Waiting, address: str, name: str) -> EmailMessage:
    message = EmailMessage(policy=SMTP.clone(cte_type="7bit"))
    message["From"] = _address(name, address) or address
    subject = _plain(waiting.envelope.subject)[:SUBJECT_CHARACTERS]
    message["Subject"] = f"Re: {subject}".strip()
    message["Date"] = formatdate(localtime=True)
    return message


def _in_thread(waiting: Waiting, address: str, message: EmailMessage) -> bytes:
    # by hand: the library would encode an id that is longer than a line
    lines = [f"Message-ID: <{draft_id_of(waiting.key, address)}>"]
    fields = waiting.envelope.fields
    answered = waiting.envelope.id
    if answered and USABLE_ID.fullmatch(answered):
        before = MESSAGE_ID.findall(fields.get("references") or fields.get("in-reply-to", ""))
        thread = list(dict.fromkeys(each for each in (*before, answered) if USABLE_ID.fullmatch(each)))
        thread = thread if len(thread) <= REFERENCES else [thread[0], *thread[1 - REFERENCES :]]
        lines += [f"In-Reply-To: <{answered}>", "References: " + "\r\n ".join(f"<{each}>" for each in thread)]
    return "".join(f"{line}\r\n" for line in lines).encode() + message.as_bytes()


def _introduction(waiting: Waiting) -> str:
    """Return the line above the quoted message, in the message's language: "On 2026-03-03 10:00, Nan wrote:"."""
    envelope = waiting.envelope
    known = INTRODUCTIONS.get(detect(waiting.text or "") or "", INTRODUCTIONS["en"])
    name = _plain(envelope.sender[0] or envelope.sender[1])[:SUBJECT_CHARACTERS]
    return known.format(date=f"{waiting.time:%Y-%m-%d %H:%M}", name=name)


def _quoted(waiting: Waiting) -> str:
    text = text_of(waiting.parts).replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    return text if len(text) <= QUOTED_CHARACTERS else f"{text[:QUOTED_CHARACTERS]}\n[...]"


def _as_html(text: str) -> str:
    return html.escape(text, quote=False).replace("\n", "<br>\n")


def _address(name: str, address: str) -> Address | None:
    if not ADDRESS.fullmatch(address) or not address.isascii():
        return None
    try:
        return Address(_plain(name)[:SUBJECT_CHARACTERS], addr_spec=address)
    except (ValueError, HeaderParseError, IndexError):
        return None


def _plain(text: str) -> str:
    return printable(storable(" ".join(text.split())))
