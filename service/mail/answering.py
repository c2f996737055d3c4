"""Drafts of answers as mails for the Drafts folder. Whatever the answered mail holds, no field of it reaches a header
unread."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate

from pearl.recipients import ADDRESS, recipient_of
from pearl.text.usable import printable, storable
from service.importers.base import stable_id
from service.importers.mails.headers import parse_sender
from service.importers.mails.message import MESSAGE_ID, Envelope, read_envelope
from service.importers.mbox import request_of

USABLE_ID = re.compile(r"[!-;=?-~]{1,250}")
REFERENCES = 20  # the first and the last of a long thread
SUBJECT_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Waiting:
    """A message that waits for an answer."""

    key: str  # a digest of what names it
    envelope: Envelope
    request: str | None  # its text, or its subject; None if it has neither
    to: tuple[str, str]  # whom the answer goes to: name and address, both empty where there is none

    @classmethod
    def read(cls, raw: bytes) -> Waiting:
        envelope = read_envelope(raw)
        answered = parse_sender(envelope.fields.get("reply-to", ""))
        to = answered if ADDRESS.fullmatch(answered[1]) else envelope.sender
        subject = envelope.subject.strip() or None
        return cls(key_of(raw), envelope, request_of(raw) or subject, to)

    @property
    def recipient(self) -> str | None:
        return recipient_of(self.to[1]) if self.to[1] else None

    @property
    def thread(self) -> str | None:
        return stable_id(self.envelope.thread) if self.envelope.thread else None


def key_of(head: bytes) -> str:
    """A digest that names a message: of its Message-ID, or where it has none of its header."""
    known = read_envelope(head).id
    return id_key(known) if known else id_key(head.partition(b"\r\n\r\n")[0].decode(errors="replace"))


def id_key(message_id: str) -> str:
    return hashlib.sha256(message_id.encode(errors="replace")).hexdigest()[:32]


def draft_id_of(key: str, address: str) -> str:
    """The Message-ID of the draft that answers a message: the same in every run, so that it is found in Drafts."""
    return f"pearl.{key}@{address.rpartition('@')[2]}"


def as_mail(waiting: Waiting, address: str, text: str) -> bytes:
    """The draft as a mail in the thread of the message it answers."""
    message = EmailMessage(policy=SMTP.clone(cte_type="7bit"))
    message["From"] = address
    if to := _address(*waiting.to):
        message["To"] = to
    subject = _plain(waiting.envelope.subject)[:SUBJECT_CHARACTERS]
    message["Subject"] = f"Re: {subject}".strip()
    message["Date"] = formatdate(localtime=True)
    message.set_content(storable(text))
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


def _address(name: str, address: str) -> Address | None:
    if not ADDRESS.fullmatch(address) or not address.isascii():
        return None
    try:
        return Address(_plain(name)[:SUBJECT_CHARACTERS], addr_spec=address)
    except (ValueError, HeaderParseError, IndexError):
        return None


def _plain(text: str) -> str:
    return printable(storable(" ".join(text.split())))
