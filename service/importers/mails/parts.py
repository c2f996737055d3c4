"""The parts of a mail (MIME), taken apart without recursion, and the text that a reader sees."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from pearl.errors import InputError
from service.importers.html_text import html_to_text, without_data
from service.importers.mails.charsets import decode_bytes, is_charset
from service.importers.mails.headers import parameter, split_header

HTML_CHARACTERS = 1_000_000
META_CHARSET = re.compile(rb"<meta\b[^>]{0,200}?\bcharset\s*=\s*[\"']?([A-Za-z0-9_-]{2,40})", re.IGNORECASE)
HEAD_BYTES = 4_000
MAX_DEPTH = 20
MAX_PARTS = 1_000


@dataclass(frozen=True, slots=True)
class MailPart:
    """A part that holds no others. ``choice`` numbers the alternatives among which it is one, 0 for none."""

    fields: dict[str, str]
    body: bytes
    choice: int

    @property
    def kind(self) -> str:
        return content_kind(self.fields)

    @property
    def is_attached(self) -> bool:
        """True for files, the texts among them too."""
        disposition = self.fields.get("content-disposition", "")
        named = parameter(disposition, "filename") or parameter(self.fields.get("content-type", ""), "name")
        return disposition.strip().lower().startswith("attachment") or bool(named)


def content_kind(fields: dict[str, str]) -> str:
    """The content type in lower case, ``text/plain`` where none is given."""
    kind = fields.get("content-type", "").partition(";")[0].strip().lower()
    return kind if "/" in kind else "text/plain"


def parts_of(raw: bytes) -> list[MailPart]:
    """The parts in order; a mail within the mail is one part. Raises InputError if they are nested too deep."""
    parts: list[MailPart] = []
    waiting = [(raw, 0, 0)]
    choices = 0
    while waiting and len(parts) < MAX_PARTS:
        data, depth, choice = waiting.pop()
        fields, body = split_header(data)
        kind = content_kind(fields)
        boundary = parameter(fields.get("content-type", ""), "boundary")
        if not kind.startswith("multipart/") or kind == "multipart/digest":  # its parts are other mails
            parts.append(MailPart(fields, body, choice))
        elif boundary:
            if depth == MAX_DEPTH:
                raise InputError(f"its parts are nested more than {MAX_DEPTH} deep.", code="damaged_message")
            if kind == "multipart/alternative":
                choices += 1
                choice = choices
            pieces = [(piece, depth + 1, choice) for piece in _pieces(body, boundary)]
            waiting += reversed(pieces)
    return parts


def is_cut_off(raw: bytes) -> bool:
    """True for a mail of several parts that ends before the mark behind the last of them."""
    fields, body = split_header(raw)
    boundary = parameter(fields.get("content-type", ""), "boundary")
    return (
        content_kind(fields).startswith("multipart/")
        and bool(boundary)
        and f"--{boundary}--".encode(errors="replace") not in body
    )


def _pieces(body: bytes, boundary: str) -> Iterator[bytes]:
    mark = re.compile(rb"^--" + re.escape(boundary.encode(errors="replace")) + rb"(--)?[ \t]*\r?$\n?", re.MULTILINE)
    start: int | None = None
    for match in mark.finditer(body):
        if start is not None:
            yield body[start : match.start()].removesuffix(b"\n").removesuffix(b"\r")
        start = match.end()
        if match[1]:
            return
    if start is not None:
        yield body[start:]


def text_of(parts: list[MailPart]) -> str:
    """The text a reader sees: plain text, and HTML as text where no plain text is its alternative."""
    alone = len(parts) == 1 and "content-disposition" not in parts[0].fields  # some programs give a mail's text a name
    shown = [part for part in parts if part.kind in ("text/plain", "text/html") and (alone or not part.is_attached)]
    texts = [_text(part) for part in shown]
    chosen = {
        part.choice for part, text in zip(shown, texts, strict=True) if part.kind == "text/plain" and text.strip()
    }
    seen: list[str] = []
    for part, text in zip(shown, texts, strict=True):
        if part.kind == "text/html":
            if part.choice and part.choice in chosen:
                continue
            chosen.add(part.choice)
            text = html_to_text(without_data(text)[:HTML_CHARACTERS])
        seen.append(text.replace("\N{BOM}", "").strip("\r\n"))  # Apple Mail puts one before each quote
    return "\n\n".join(text for text in seen if text.strip())


def _text(part: MailPart) -> str:
    kind, content = part.fields.get("content-type", ""), _content(part)
    charset = parameter(kind, "charset")
    if charset is None and part.kind == "text/html":
        charset = _meta_charset(content)
    text = decode_bytes(content, charset)
    if (parameter(kind, "format") or "").lower() == "flowed":
        return unflow(text, delete_space=(parameter(kind, "delsp") or "").lower() == "yes")
    return text


def _meta_charset(html: bytes) -> str | None:
    """The charset that HTML names itself, where it is a known one and the text is not plainly UTF-8."""
    meta = META_CHARSET.search(html, 0, HEAD_BYTES)
    if meta is None or not is_charset(meta[1].decode()):
        return None
    if b"\x1b" not in html:  # Japanese by escape sequences is plain ASCII
        with suppress(UnicodeDecodeError):
            html.decode()
            return None
    return meta[1].decode()


def _content(part: MailPart) -> bytes:
    encoding = part.fields.get("content-transfer-encoding", "").strip().lower()
    if encoding == "quoted-printable":
        return binascii.a2b_qp(part.body)
    if encoding != "base64":
        return part.body
    try:
        return binascii.a2b_base64(part.body + b"===")
    except binascii.Error:
        return b""


def unflow(text: str, delete_space: bool) -> str:
    """Join the lines that format=flowed (RFC 3676) broke: those that end in a space, at the same quote depth."""
    lines: list[list[str]] = []
    open_depth: int | None = None  # of the line above, where it goes on
    for line in text.replace("\r\n", "\n").split("\n"):
        depth = len(line) - len(line.lstrip(">"))
        content = line[depth:].removeprefix(" ")
        flows = content.endswith(" ") and content != "-- "
        content = content[:-1] if flows and delete_space else content
        if open_depth == depth and content != "-- ":
            lines[-1].append(content)
        else:
            lines.append([(">" * depth + " " if depth else "") + content])
        open_depth = depth if flows else None
    return "\n".join("".join(pieces) for pieces in lines)
