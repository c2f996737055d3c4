"""Why a message that waits for an answer gets no draft: rules, each with a reason for the user."""

from __future__ import annotations

from collections.abc import Callable

from service.importing.sources.mails.kinds import CALENDAR, ENCRYPTED, REACTION, RECEIPT, why_automatic, why_no_letter
from service.importing.sources.mails.parts import text_of
from service.importing.sources.mbox import MACHINE
from service.mail.answering import Waiting

BULK = {"auto_reply", "bulk", "junk"}  # Precedence; older mailing lists set "bulk", too

IsAnswered = Callable[[Waiting], bool]


def _is_bounce(waiting: Waiting, _: IsAnswered) -> bool:
    fields = waiting.envelope.fields
    returns = "".join(fields.get("return-path", "").split())
    sender = waiting.envelope.sender[1].lower()
    return returns == "<>" or sender.startswith("mailer-daemon@") or why_no_letter(fields, waiting.parts) == RECEIPT


def _is_automatic(waiting: Waiting, _: IsAnswered) -> bool:
    fields = waiting.envelope.fields
    suppressed = fields.get("x-auto-response-suppress", "none").strip().lower() not in ("", "none")
    bulk = fields.get("precedence", "").strip().lower() in BULK and "list-post" not in fields
    return suppressed or bulk or why_automatic(fields) is not None


def _is_encrypted(waiting: Waiting, _: IsAnswered) -> bool:
    parts = waiting.parts
    sealed = any(part.kind in ("application/pgp-encrypted", "application/pkcs7-mime") for part in parts)
    armoured = waiting.text is None and "-----BEGIN PGP MESSAGE" in text_of(parts)
    return sealed or armoured or why_no_letter(waiting.envelope.fields, parts) == ENCRYPTED


def _has_no_text(waiting: Waiting, _: IsAnswered) -> bool:
    """True if the message holds only a picture or file. An empty mail with a subject can still be answered."""
    files = any(part.is_file or not part.kind.startswith("text/") for part in waiting.parts)
    unread = not text_of(waiting.parts).strip() and any(part.body.strip() for part in waiting.parts)
    return waiting.text is None and (files or unread or waiting.request is None)


def _is_of_program(kind: str) -> Callable[[Waiting, IsAnswered], bool]:
    return lambda waiting, _: why_no_letter(waiting.envelope.fields, waiting.parts) == kind


# the first that holds counts; a post of a mailing list is answered like any other mail
RULES: dict[str, Callable[[Waiting, IsAnswered], bool]] = {
    "bounce or receipt": _is_bounce,
    "automatic mail": _is_automatic,
    "calendar invitation": _is_of_program(CALENDAR),
    "reaction": _is_of_program(REACTION),
    "encrypted": _is_encrypted,
    "no text": _has_no_text,
    "sender that takes no answers": lambda waiting, _: any(MACHINE.match(address) for _, address in waiting.to),
    "answered already": lambda waiting, is_answered: is_answered(waiting),
}


def why_unanswered(waiting: Waiting, is_answered: IsAnswered) -> str | None:
    """Return why a message gets no draft; None if it gets one. ``is_answered``: tells if a sent mail answers it."""
    return next((reason for reason, holds in RULES.items() if holds(waiting, is_answered)), None)
