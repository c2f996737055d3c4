"""One mail: who sent it, when, what it answers, and its text. Nothing a sender got wrong raises anything here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import mktime_tz, parseaddr, parsedate_tz

from service.importers.html_text import html_to_text

HTML_CHARACTERS = 1_000_000
MESSAGE_ID = re.compile(r"<([^<>\s]+)>")
ANSWER_MARK = re.compile(r"^(?:(?:re|fwd?|aw|wg|sv|vs|antw|tr|rif|odp)(?:\[\d+\])?\s*:\s*)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a mail's header says. ``answers`` are ids of mails it may answer, the likeliest first."""

    id: str | None
    sender: tuple[str, str]  # name, address; both empty where there is none
    time: float | None
    subject: str  # without Re: and Fwd:
    answers: tuple[str, ...]


def read_envelope(raw: bytes) -> Envelope:
    fields = _fields(BytesHeaderParser().parsebytes(raw))
    ids = MESSAGE_ID.findall(fields.get("message-id", ""))
    name, address = parseaddr(fields.get("from", ""))
    answered = MESSAGE_ID.findall(fields.get("in-reply-to", ""))
    references = MESSAGE_ID.findall(fields.get("references", ""))
    return Envelope(
        id=ids[0] if ids else None,
        sender=(_words(name), address),
        time=parse_date(fields.get("date", "")),
        subject=ANSWER_MARK.sub("", " ".join(_words(fields.get("subject", "")).split())),
        answers=(*answered, *references[:-2:-1]),  # the last reference is what was answered, the others are older
    )


def read_text(raw: bytes) -> str:
    """The text a reader sees first: plain text if there is any, else the HTML as text; "" if there is neither."""
    plain, html = _bodies(message_from_bytes(raw))
    return plain if plain.strip() else html_to_text(html[:HTML_CHARACTERS])


def parse_date(value: str) -> float | None:
    """Unix seconds from a Date header; without a zone it is taken as UTC. None when it is not a date."""
    try:
        parsed = parsedate_tz(value)
        return None if parsed is None else float(mktime_tz(parsed))
    except (ValueError, OverflowError, TypeError, IndexError):  # the parser checks no ranges
        return None


def _fields(message: Message) -> dict[str, str]:
    """The first field of each name, unfolded; bytes that are no ASCII are taken as UTF-8."""
    found: dict[str, str] = {}
    for name, value in message.raw_items():
        text = str(value).encode(errors="surrogateescape").decode(errors="replace")
        found.setdefault(name.lower(), re.sub(r"\r?\n[ \t]+", " ", text).strip())
    return found


def _words(value: str) -> str:
    """A header's text, its encoded words decoded."""
    if "=?" not in value:
        return value
    try:
        parts = decode_header(value)
    except (HeaderParseError, ValueError):
        return value
    return "".join(part if isinstance(part, str) else _decoded(part, charset) for part, charset in parts)


def _bodies(message: Message) -> tuple[str, str]:
    """First plain text and first HTML that are not attachments; a mail within the mail is someone else's."""
    plain = html = ""
    waiting = [message]
    while waiting and not plain.strip():
        part = waiting.pop(0)
        if part.is_multipart():
            if part.get_content_maintype() == "multipart":
                waiting[:0] = [each for each in part.get_payload() if isinstance(each, Message)]
        elif part.get_content_disposition() == "attachment":
            continue
        elif part.get_content_type() == "text/plain":
            plain = _part_text(part)
        elif part.get_content_type() == "text/html" and not html:
            html = _part_text(part)
    return plain, html


def _part_text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    text = _decoded(payload, _charset(part))
    if str(part.get_param("format", "")).lower() == "flowed":
        return _unflow(text, delete_space=str(part.get_param("delsp", "")).lower() == "yes")
    return text


def _charset(part: Message) -> str | None:
    try:
        return part.get_content_charset()
    except ValueError:  # NUL within the name
        return None


def _decoded(data: bytes, charset: str | None) -> str:
    """Text in the charset it is said to be in; UTF-8 or Windows-1252 where that is unknown or plainly wrong."""
    if charset not in (None, "us-ascii", "ascii", "unknown-8bit", "default"):
        try:
            return data.decode(charset, errors="replace")
        except (LookupError, ValueError):
            return data.decode(errors="replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _unflow(text: str, delete_space: bool) -> str:
    """Join the lines that format=flowed (RFC 3676) broke: those that end in a space, at the same quote depth."""
    lines: list[str] = []
    open_depth: int | None = None  # of the line above, where it goes on
    for line in text.replace("\r\n", "\n").split("\n"):
        depth = len(line) - len(line.lstrip(">"))
        content = line[depth:].removeprefix(" ")
        flows = content.endswith(" ") and content != "-- "
        content = content[:-1] if flows and delete_space else content
        if open_depth == depth and content != "-- ":
            lines[-1] += content
        else:
            lines.append((">" * depth + " " if depth else "") + content)
        open_depth = depth if flows else None
    return "\n".join(lines)
