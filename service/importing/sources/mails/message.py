"""The facts in a mail's header: who sent it, when, and what it answers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from service.importing.sources.mails.headers import (
    decode_words,
    parse_addresses,
    parse_date,
    parse_sender,
    split_header,
)
from service.importing.sources.mails.phrases import PHRASES

MESSAGE_ID = re.compile(r"<([^<>\s]+)>")
LIST_TAG = re.compile(r"\[[^\[\]]{1,60}\]\s{0,5}")
LIST_FIELDS = {"list-id", "list-post"}
SUBJECT_CHARACTERS = 1_000
# what programs put before a subject: Re:, Fwd:, [EXTERNAL], [PATCH 1/3]; the tag of a mailing list stays
SUBJECT_MARK = PHRASES.compile(
    r"{subject_marks}\.?(?:\[\d+\])?\s*[:：]"
    r"|\[\s*(?:ext(?:ern(?:al)?)?(?:[ -]?(?:e-?)?mail)?|(?:\w+ )?patch\b[^\[\]]*+)\s*\]\s*:?"
    r"|\bexternal:"
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """The facts in a mail's header. ``answers``: the ids of mails that it may answer, the likeliest first; ``thread``:
    the id of the mail that began the conversation, as far as the header says."""

    id: str | None
    sender: tuple[str, str]  # name, address; both empty where there is none
    time: float | None
    subject: str  # without Re: and Fwd:
    answers: tuple[str, ...]
    recipients: tuple[str, ...]  # addresses in To, or in Cc where To has none
    thread: str | None
    fields: dict[str, str]


def read_envelope(raw: bytes) -> Envelope:
    """Read a mail's header; malformed fields count as missing."""
    fields, _ = split_header(raw)
    ids = MESSAGE_ID.findall(fields.get("message-id", ""))
    answered = MESSAGE_ID.findall(fields.get("in-reply-to", ""))
    references = MESSAGE_ID.findall(fields.get("references", ""))
    dates = (fields.get("date", ""), fields.get("received", "").rpartition(";")[2])
    return Envelope(
        id=ids[0] if ids else None,
        sender=_sender(fields),
        time=next((time for date in dates if (time := parse_date(date)) is not None), None),
        subject=bare_subject(decode_words(fields.get("subject", ""))),
        answers=(*answered, *references[:-2:-1]),  # the last reference is what was answered, the others are older
        recipients=tuple(parse_addresses(fields.get("to", "")) or parse_addresses(fields.get("cc", ""))),
        thread=next(iter((*references, *answered, *ids)), None),
        fields=fields,
    )


def _sender(fields: dict[str, str]) -> tuple[str, str]:
    """Return the sender's name and address. If a mailing list sent the mail in its own name ("Ann via Tea"), return the
    author's."""
    sender = parse_sender(fields.get("from", ""))
    author = fields.get("x-original-from") or (fields.get("reply-to") if fields.keys() & LIST_FIELDS else None)
    if author and " via " in sender[0] and parse_sender(author)[1]:
        return parse_sender(author)
    return sender


def bare_subject(subject: str) -> str:
    """Remove marks such as "Re:" and "[PATCH 1/3]" from a subject; a mailing list's tag stays."""
    subject = " ".join(subject[:SUBJECT_CHARACTERS].split())
    tag = ""
    while True:
        if mark := SUBJECT_MARK.match(subject):
            subject = subject[mark.end() :].lstrip()
        elif not tag and (tagged := LIST_TAG.match(subject)):  # [tea] Re: Cups
            tag, subject = tagged[0], subject[tagged.end() :]
        else:
            return tag + subject
