"""Splitting a mail into its MIME parts, without recursion, and reading the text that a reader sees."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from service.importing.sources.html_text import html_to_text, without_data
from service.importing.sources.mails.charsets import decode_bytes
from service.importing.sources.mails.headers import parameter, split_header

META_CHARSET = re.compile(rb"<meta\b[^>]{0,200}?\bcharset\s*=\s*[\"']?([A-Za-z0-9_-]{2,40})", re.IGNORECASE)
HEAD_BYTES = 4_000
MAX_DEPTH = 20
MAX_PARTS = 1_000
RICH = {"text/html", "text/enriched", "text/richtext"}
PREAMBLE = re.compile(rb"\s*This is a\b.{0,40}\b(?:multi-?part|MIME)\b|\s*\Z", re.IGNORECASE)
BASE64 = re.compile(rb"\s*(?:[A-Za-z0-9+/]+={0,2}[ \t]*(?:\r?\n\s*|\Z))*")
IS_HTML = re.compile(r"\s*<(?:!doctype html|html)\b", re.IGNORECASE)
# Eudora's own marks, whatever it left of the header
MARKED = re.compile(r"^<x-(html|flowed|rich)>(.*?)(?:</x-\1>|\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE)
SIGNATURE = re.compile(r"<x-sigsep>(?:<p>)?(?:</x-sigsep>)?", re.IGNORECASE)
PARAM = re.compile(r"<param>[^<]{0,200}</param>", re.IGNORECASE)
EXCERPT = re.compile(r"(?<=<)(/?)excerpt(?=>)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MailPart:
    """A part of a mail that holds no further parts."""

    fields: dict[str, str]
    body: bytes  # of a text without its transfer encoding
    choice: int  # the number of the alternatives among which it is one, 0 for none
    flaw: str | None = None  # why a text in it cannot be read

    @property
    def kind(self) -> str:
        return content_kind(self.fields)

    @property
    def is_attachment(self) -> bool:
        return self.fields.get("content-disposition", "").strip().lower().startswith("attachment")

    @property
    def is_file(self) -> bool:
        """True for attachments, even of text, and for other parts with a file name."""
        named = parameter(self.fields.get("content-disposition", ""), "filename")
        return self.is_attachment or bool(named or parameter(self.fields.get("content-type", ""), "name"))


def content_kind(fields: dict[str, str]) -> str:
    """Return the content type in lower case; ``text/plain`` if none is given."""
    kind = fields.get("content-type", "").partition(";")[0].strip().lower()
    return kind if "/" in kind else "text/plain"


def parts_of(raw: bytes) -> list[MailPart]:
    """Return a mail's parts in order. A mail within the mail is one part; so is a body that cannot be split."""
    parts: list[MailPart] = []
    waiting = [(raw, 0, 0)]
    choices = 0
    while waiting:
        data, depth, choice = waiting.pop()
        if len(parts) == MAX_PARTS:
            return [*parts, MailPart({}, b"", 0, f"it has more than {MAX_PARTS:,} parts.")]
        fields, body = split_header(data)
        kind = content_kind(fields)
        if not kind.startswith("multipart/") or kind == "multipart/digest":  # its parts are other mails
            parts.append(_part(fields, body, choice))
            continue
        pieces = list(_pieces(body, parameter(fields.get("content-type", ""), "boundary")))
        if not pieces and PREAMBLE.match(body):
            parts.append(MailPart(fields, b"", choice, "its parts are missing."))
        elif not pieces:  # Eudora took them apart
            parts.append(_part({**fields, "content-type": "text/plain"}, body, choice))
        elif depth == MAX_DEPTH:
            parts.append(MailPart(fields, b"", choice, f"its parts are nested more than {MAX_DEPTH} deep."))
        else:
            if kind == "multipart/alternative":
                choices += 1
                choice = choices
            waiting += [(piece, depth + 1, choice) for piece in reversed(pieces)]
    return parts


def _part(fields: dict[str, str], body: bytes, choice: int) -> MailPart:
    if not content_kind(fields).startswith("text/"):
        return MailPart(fields, body, choice)
    encoding = fields.get("content-transfer-encoding", "").strip().lower()
    if encoding == "quoted-printable":
        return MailPart(fields, binascii.a2b_qp(body), choice)
    encoded = BASE64.match(body) if encoding == "base64" else None
    if encoded is None or not encoded[0].strip():  # its text stands there as it is
        return MailPart(fields, body, choice)
    try:
        return MailPart(fields, binascii.a2b_base64(encoded[0] + b"==="), choice)
    except binascii.Error:
        return MailPart(fields, b"", choice, "a part of it is in damaged base64.")


def is_cut_off(raw: bytes) -> bool:
    """True for a mail of several parts that ends before its closing boundary."""
    fields, body = split_header(raw)
    boundary = f"--{parameter(fields.get('content-type', ''), 'boundary') or ''}".encode(errors="replace")
    if boundary == b"--" or not content_kind(fields).startswith("multipart/"):
        return False
    return boundary + b"--" not in body and (boundary in body or PREAMBLE.match(body) is not None)


def _pieces(body: bytes, boundary: str | None) -> Iterator[bytes]:
    if not boundary:
        return
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
    """Return the text that a reader sees. HTML is converted; it is ignored if it is an alternative to plain text."""
    alone = len(parts) == 1 and "content-disposition" not in parts[0].fields  # some programs give a mail's text a name
    shown = [part for part in parts if part.kind in {"text/plain", *RICH} and (alone or not part.is_file)]
    texts = [(part, decoded(part)) for part in shown]
    chosen = {part.choice for part, text in texts if part.kind not in RICH and text.strip()}
    seen: list[str] = []
    for part, text in texts:
        if part.kind in RICH:
            if part.choice and part.choice in chosen:
                continue
            chosen.add(part.choice)
        text = _as_shown(text, part.kind, part.fields.get("content-type", ""))
        seen.append(text.replace("\N{BOM}", "").strip("\r\n"))  # Apple Mail puts one before each quote
    return "\n\n".join(text for text in seen if text.strip())


def decoded(part: MailPart) -> str:
    charset = parameter(part.fields.get("content-type", ""), "charset")
    meta = META_CHARSET.search(part.body, 0, HEAD_BYTES) if charset is None and part.kind == "text/html" else None
    with suppress(UnicodeDecodeError):
        if meta and b"\x1b" not in part.body:  # what converts HTML to UTF-8 often leaves the charset in it
            return part.body.decode()
    return decode_bytes(part.body, meta[1].decode() if meta else charset)


def _as_shown(text: str, kind: str, parameters: str = "") -> str:
    if MARKED.search(text):
        return MARKED.sub(lambda mark: _as_shown(mark[2], f"x-{mark[1].lower()}"), text)
    text = SIGNATURE.sub("<br>-- <br>" if kind == "x-html" else "\n-- \n", text) if kind.startswith("x-") else text
    if kind in ("text/html", "x-html") or IS_HTML.match(text):
        return html_to_text(without_data(text))
    if kind in ("text/enriched", "text/richtext", "x-rich"):  # RFC 1896
        text = PARAM.sub("", text).replace("&", "&amp;").replace("<<", "&lt;").replace("\r", "")
        breaks = re.sub(r"\n+", lambda ends: "<br>" * (len(ends[0]) - 1) or " ", text)
        return html_to_text(EXCERPT.sub(r"\1blockquote", breaks))
    if kind == "x-flowed" or (parameter(parameters, "format") or "").lower() == "flowed":
        return unflow(text, delete_space=(parameter(parameters, "delsp") or "").lower() == "yes")
    return text


def unflow(text: str, delete_space: bool) -> str:
    """Join the lines that format=flowed (RFC 3676) broke: a line that ends in a space continues in the next line of the
    same quote depth."""
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
