"""Parsing the header fields of mails in linear time, whatever a sender put there.

The standard library's ``email`` parses brackets and parts by recursion, so a hostile header ends the program.
"""

from __future__ import annotations

import re
from email.errors import HeaderParseError
from email.header import decode_header
from email.utils import mktime_tz, parsedate_tz
from urllib.parse import unquote

from pearl.errors import InputError
from pearl.text.recipients import ADDRESS
from service.importing.sources.dates import read_date
from service.importing.sources.mails.charsets import decode_bytes

HEADER_BYTES = 1 << 17
FIELD_CHARACTERS = 4_000
LINE = re.compile(rb"[^\n]*(?:\n|\Z)")
FIELD_NAME = re.compile(rb"([!-9;-~]+)[ \t]*:")
ENCODED_WORDS = re.compile(r"=\?[^?\s]{1,60}\?[bq]\?[^?]*\?=(?:\s*=\?[^?\s]{1,60}\?[bq]\?[^?]*\?=)*", re.IGNORECASE)
PARAMETER = re.compile(r";\s*([^\s=;]+)\s*=\s*(\"[^\"]*\"|[^\s;]*)")
ANGLE = re.compile(r"<([^<>]*)>")
QUOTED = re.compile(r'"[^"]*"')


def split_header(raw: bytes) -> tuple[dict[str, str], bytes]:
    """Split a mail into its header fields, by lower-case name, and its body. Of repeated fields the first counts;
    folded lines are joined."""
    fields: dict[str, list[bytes]] = {}
    current: list[bytes] = []
    end = len(raw)
    for match in LINE.finditer(raw, 0, HEADER_BYTES):
        line = match.group().rstrip(b"\r\n")
        if not line:
            end = match.end()
            break
        name = FIELD_NAME.match(line)
        if name:
            current = []
            fields.setdefault(name[1].lower().decode("ascii"), current)
            current.append(line[name.end() :])
        elif line[:1] in (b" ", b"\t"):
            current.append(line)
        elif not line.startswith((b"From ", b">From ")):
            end = match.start()  # not a header any more
            break
    return {name: _value(name, lines) for name, lines in fields.items()}, raw[end:]


def _value(name: str, lines: list[bytes]) -> str:
    text = decode_bytes(b" ".join(line.strip() for line in lines), None).strip()
    if name == "references" and len(text) > FIELD_CHARACTERS:
        # the first reference began the thread, the last is what was answered
        return f"{text[:500]} {text[-FIELD_CHARACTERS:]}"
    return text[:FIELD_CHARACTERS]


def decode_words(value: str) -> str:
    """Decode the encoded words (RFC 2047) in a field; a character may be split between two of them."""
    return ENCODED_WORDS.sub(_decoded_words, value) if "=?" in value else value


def _decoded_words(match: re.Match[str]) -> str:
    try:
        words = decode_header(match.group())
    except HeaderParseError:
        return match.group()
    return "".join(word if isinstance(word, str) else decode_bytes(word, charset) for word, charset in words)


def parse_sender(value: str) -> tuple[str, str]:
    """Return the name and the address of the first sender in a From field; each is empty if the field lacks it."""
    plain, comment = _without_comments(value)
    angle = ANGLE.search(plain)
    if angle:
        return _name(plain[: angle.start()] or comment), "".join(angle[1].split())
    first = plain.partition(",")[0].strip()
    if "@" not in first:
        local, at, domain = first.partition(" at ")  # public archives of lists hide addresses so
        if not (at and comment and " " not in local + domain):
            return _name(plain or comment), ""
        first = f"{local}@{domain}"
    return _name(comment), "".join(first.split())


def parse_addresses(value: str) -> list[str]:
    """Return the addresses in a To or Cc field in lower case, without names."""
    plain, _ = _without_comments(QUOTED.sub("", value))
    named = ((ANGLE.search(part), part) for part in re.split(r"[,;]", plain))
    return [address[0].lower() for angle, part in named if (address := ADDRESS.search(angle[1] if angle else part))]


def _without_comments(value: str) -> tuple[str, str]:
    """Return the text outside parentheses and the text inside them. Parentheses in quotes do not count."""
    outside: list[str] = []
    inside: list[str] = []
    depth = position = 0
    quoted = False
    for match in re.finditer(r'[()"]', value):
        (inside if depth else outside).append(value[position : match.start()])
        position = match.end()
        if match.group() == '"' and not depth:
            quoted = not quoted
            outside.append('"')
        elif quoted:
            outside.append(match.group())
        elif match.group() == "(":
            depth += 1
        else:
            depth = max(0, depth - 1)
    (inside if depth else outside).append(value[position:])
    return "".join(outside).strip(), "".join(inside).strip()


def _name(text: str) -> str:
    return " ".join(decode_words(text.strip().strip('"').replace('\\"', '"')).split())


def parameter(value: str, name: str) -> str | None:
    """Return a field's parameter, such as ``boundary`` in ``multipart/mixed; boundary="B"``; None if it is missing. It
    may be encoded (``boundary*=us-ascii''B``) or split (``boundary*0="B"``), as in RFC 2231."""
    pieces: dict[int, str] = {}
    for key, content in PARAMETER.findall(value):
        base, _, section = key.lower().partition("*")
        if base != name:
            continue
        text = unquote(content.strip('"').split("'")[-1]) if key.endswith("*") else str(content).strip('"')
        number = section.removesuffix("*")
        if not number.isdecimal():
            return text
        pieces.setdefault(int(number), text)
    return "".join(pieces[number] for number in sorted(pieces)) if pieces else None


def parse_date(value: str) -> float | None:
    """Convert a Date field to Unix seconds; without a time zone it is taken as UTC. None if it is not a date."""
    try:
        parsed = parsedate_tz(value[:200])
        return read_date(value) if parsed is None else float(mktime_tz(parsed))  # ISO 8601, as some programs write
    except (InputError, ValueError, OverflowError, TypeError, IndexError):  # the parser checks no ranges
        return None
