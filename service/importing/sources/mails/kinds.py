"""Recognizing mails that are not a person's letters: drafts, trash, automatic answers, invitations, receipts."""

from __future__ import annotations

import binascii
import re
import unicodedata

from service.importing.sources.mails.headers import decode_words, parameter
from service.importing.sources.mails.parts import MailPart, content_kind
from service.importing.sources.mails.phrases import PHRASES

SPAM, DRAFT, TRASH, CHAT = "spam", "draft", "in the trash", "chat"
AUTOMATIC, CALENDAR, RECEIPT, REACTION, ENCRYPTED = "automatic answer", "calendar", "receipt", "reaction", "encrypted"
LABELS = {
    reason: frozenset(name.casefold() for kind in kinds for name in PHRASES.entries(f"{kind}_folders"))
    for reason, kinds in ((SPAM, ("spam",)), (DRAFT, ("draft", "unsent")), (TRASH, ("trash",)), (CHAT, ("chat",)))
}
LABEL = re.compile(r'"[^"]*"|[^,"]+')
MAILDIR_FLAGS = re.compile(r"[\W_]2,([A-Za-z]*)(?:\.gz)?$")  # behind a colon, where a file's name may have one
IMAP_LETTERS = re.compile(r"&([A-Za-z0-9+,]{2,200})-")
# fields of mails that were not sent: Outlook's X-Unsent, X-Mozilla-Draft-Info, Roundcube's, Horde's, K-9's and others'
UNSENT = re.compile(
    r"x-(?:[a-z0-9]+-)*(?:unsent|drafts?)(?:-info)?|x-(?:claws|sylpheed)-end-special-headers|x-mutt-fcc|x-k9mail-identity"
)
FLAGS = re.compile(r"\b(?:flags?|labels?|keywords|status)\b")  # fields in which an export keeps \Draft and its like
BITS = (
    ("x-mozilla-status", 0x8, TRASH),
    ("x-mozilla-status", 0x800, DRAFT),  # queued
    ("x-mozilla-status2", 0x20_0000, TRASH),
    ("x-mozilla-status2", 0x100_0000, DRAFT),  # a template
    ("x-evolution", 0x2, TRASH),
    ("x-evolution", 0x4, DRAFT),
)
HEX = re.compile(r"(?:[0-9a-f]{8}-)?([0-9a-f]{1,8})\b", re.IGNORECASE)
AUTOMATIC_SUBJECT = PHRASES.compile(r"{automatic}\b|{away}\s?[:：]")
CALENDAR_SUBJECT = PHRASES.compile(r"{calendar}: (?>.*?@ ).*\d")  # and a date


def why_left_out(fields: dict[str, str], parts: list[MailPart]) -> str | None:
    """Return why a mail is not imported, in the words of the summary; None if it is the sender's own text."""
    return _place(fields) or why_automatic(fields) or why_no_letter(fields, parts)


def why_out_of(place: str) -> str | None:
    """Return why no mail of a mailbox is imported (a folder named Trash, a Maildir's flag); None if mails are imported.
    ``place``: the mailbox's path within the source."""
    flags = MAILDIR_FLAGS.search(place)
    if flags and ("T" in flags[1] or "D" in flags[1]):  # small letters are a server's own keywords
        return TRASH if "T" in flags[1] else DRAFT
    *folders, name = place.split("/")[-4:]
    if re.fullmatch(r",\d+", name):  # so MH renames what it deletes
        return TRASH
    places = {folder_name(folder) for folder in folders}
    places.add(folder_name(name.removesuffix(".gz")))
    return next((reason for reason, names in LABELS.items() if not places.isdisjoint(names)), None)


def folder_name(folder: str) -> str:
    """Return a mail folder's own name in lower case, whatever the mail program adds: Thunderbird's Trash.sbd, Apple
    Mail's Trash.mbox, KMail's .trash.directory, a Maildir's .INBOX.Trash, and IMAP's encoding (RFC 3501)."""
    composed = unicodedata.normalize("NFC", IMAP_LETTERS.sub(_imap_letters, folder))  # macOS writes ü as two signs
    name = composed.casefold().removesuffix(".sbd").removesuffix(".mbox").removesuffix(".directory")
    return name.rpartition(".")[2] if name.startswith((".", "inbox.", "[gmail].", "[google mail].")) else name


def _imap_letters(match: re.Match[str]) -> str:
    try:
        return binascii.a2b_base64(match[1].replace(",", "/") + "===").decode("utf-16-be")
    except (binascii.Error, UnicodeDecodeError):
        return match.group()


def label_names(fields: dict[str, str]) -> list[str]:
    """Return the labels that Gmail gave a mail, in lower case."""
    return [label.strip('" ').casefold() for label in LABEL.findall(decode_words(fields.get("x-gmail-labels", "")))]


def _place(fields: dict[str, str]) -> str | None:
    """Return the reason that a mail's labels, flags and fields give for leaving it out (a draft, trash, spam, a chat),
    or None."""
    labels = set(label_names(fields))
    for name, value in fields.items():
        if UNSENT.fullmatch(name) and value.strip().lower() not in ("", "0", "no", "false"):
            return DRAFT
        if FLAGS.search(name):
            labels.update(re.findall(r"\\(\w+)", value.casefold()))
    for reason, names in LABELS.items():
        if not labels.isdisjoint(names):
            return reason
    if "mail-draft" in fields.get("x-uniform-type-identifier", ""):  # Apple Mail
        return DRAFT
    for name, bit, reason in BITS:
        number = HEX.match(fields.get(name, ""))
        if number and int(number[1], 16) & bit:
            return reason
    marks = fields.get("x-status", "")[:20] + fields.get("status", "")[:20]
    return TRASH if "D" in marks else DRAFT if "T" in fields.get("x-status", "")[:20] else None


def why_automatic(fields: dict[str, str]) -> str | None:
    submitted = fields.get("auto-submitted", "no").partition(";")[0].strip().lower()
    automatic = (
        submitted not in ("", "no")
        or fields.get("x-autoreply", "no").strip().lower() not in ("", "no")
        or "x-autorespond" in fields
        or fields.get("precedence", "").strip().lower() == "auto_reply"
        or AUTOMATIC_SUBJECT.match(decode_words(fields.get("subject", "")).strip())
    )
    return AUTOMATIC if automatic else None


def why_no_letter(fields: dict[str, str], parts: list[MailPart]) -> str | None:
    whole = content_kind(fields)
    kinds = {part.kind for part in parts}
    if whole == "multipart/report" or "message/disposition-notification" in kinds:
        return RECEIPT
    if whole == "multipart/encrypted" or whole in ("application/pkcs7-mime", "application/x-pkcs7-mime"):
        return ENCRYPTED
    if any(kind.startswith("text/vnd.google.email-reaction") for kind in kinds):
        return REACTION
    shown = [part for part in parts if part.kind == "text/calendar" and not part.is_attachment]
    invites = any(parameter(part.fields["content-type"], "method") for part in shown)
    answers = CALENDAR_SUBJECT.match(decode_words(fields.get("subject", "")).strip())
    meeting = fields.get("content-class", "").strip().lower() == "urn:content-classes:calendarmessage"
    return CALENDAR if invites or answers or meeting else None
