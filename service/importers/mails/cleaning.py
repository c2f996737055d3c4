"""Removal of what programs add to a mail's text: PGP's armour, diffs, stand-ins for pictures, warnings of gateways."""

from __future__ import annotations

import re
from dataclasses import dataclass

from service.importers.commits.footers import own_text
from service.importers.mails.phrases import BANNER_MARK, BANNERS, PHRASES
from service.importers.quotes import LINE_CHARACTERS, tidy

SIGNED = re.compile(
    r"^-----BEGIN PGP SIGNED MESSAGE-----[ \t]*\n(?:.+\n)*\n?((?s:.*?))(?=^-----BEGIN PGP SIGNATURE|\Z)", re.MULTILINE
)
ARMOUR = re.compile(
    r"^-----BEGIN PGP [A-Z ]{3,40}-----[ \t]*$(?s:.*?)(?:^-----END PGP [A-Z ]{3,40}-----[ \t]*(?:\n|\Z)|\Z)",
    re.MULTILINE,
)
ESCAPED_DASH = re.compile("^- ", re.MULTILINE)
BANNER_LINES = 8  # a gateway's warning stands at the top
# stand-ins for pictures and files; "[images of cats]" is a person's
STAND_IN = PHRASES.compile(
    r"[ \t]?\[(?:{pictures}"
    r"(?:\s?\d{0,4}|\s?:[^\[\]\n]{0,200}|[ .]?[^\[\]\n]{0,80}\b(?:png|jpe?g|gif|bmp|svg|webp|heic))"
    r"|embedded image[^\[\]\n]{0,200}|attachment \"[^\[\]\n]{1,300}\" deleted by [^\[\]\n]{1,100}"
    r"|non-text portions of this message have been removed)\]"
    r"|[ \t]?<image\d{1,6}\.\w{1,5}>|(?<!\S)<<(?:file: ?)?[^<>\n]{1,150}\.\w{2,5}>>(?!\S)"
    r"|[ \t]?\(see attached file: [^()\n]{1,200}\)|\ufffc"
)
# files in a text: Eudora's paths, uuencode, BinHex, and base64 below its fields
ATTACHED = re.compile(
    r"^(?i:attachment converted|embedded content): ?.*[\\/:].*$"
    r"|^begin [0-7]{3,4} \S.*\n(?:(?:[ -`]{1,70}\n)+end$|(?:M[ -`]{40,61}\n)+)"
    r"|^\((?i:this file must be converted with binhex).*\s+:[^\s:]*(?:\n[^\s:]+)*:?"
    r"|^(?:--\S{4,70}\n(?:[\w-]{4,40}: .*\n(?:[ \t]+\S.*\n)*){1,10}\n)?"
    r"(?:[A-Za-z0-9+/]{60,76}\n){3,}[A-Za-z0-9+/]*={0,2}$"
    r"|^-{10,20} next part -{10,20}\n(?s:.*)",  # Mailman's archives
    re.MULTILINE,
)
SCISSORS = re.compile(r"---|-{1,10} ?-*>?(?:8<|>8) ?-{1,80}.{0,20}")
DIFF_START = re.compile(r"diff --git \S+ \S")
OLDER_DIFF_START = re.compile(r"Index: \S|diff -\w+ ")  # followed by a rule or the names of the two versions
OLDER_DIFF_LINE = re.compile(r"--- |\*\*\* |={5}")
DIFF_STAT = re.compile(r" \S[^|]{0,200}\| +(?:\d+ [+-]+|Bin .*)$")


@dataclass(frozen=True, slots=True)
class Patch:
    """The message of a patch, and the From field in its first line where it names another author than the mail."""

    message: str
    author: str | None = None


def unwrap(text: str) -> str:
    """The text without PGP's armour: what is signed stays, what is encrypted, keys and signatures go."""
    if "-----BEGIN PGP" not in text:
        return text
    return ARMOUR.sub("", SIGNED.sub(lambda signed: ESCAPED_DASH.sub("", signed[1]), text)).rstrip("\n")


def without_attached(text: str) -> str:
    """The text without the files that programs wrote into it, or their paths."""
    return ATTACHED.sub("", text)


def read_patch(text: str) -> Patch | None:
    """The message of a patch that somebody mailed; None if the text holds no diff of its sender's."""
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines) if _starts_diff(lines, number, line)), None)
    if start is None:
        return None
    rule = next((number for number, line in enumerate(lines[:start]) if SCISSORS.fullmatch(line.rstrip())), start)
    message, author = tidy(lines[:rule]), None
    if message.startswith("From: ") and rule < start:
        first, _, message = message.partition("\n")
        author = first.removeprefix("From: ")
    if rule < start or DIFF_STAT.match(lines[start][:LINE_CHARACTERS]):
        above, _, last = message.rpartition("\n\n")
        message = message if own_text(last) else above
    return Patch(message.strip("\n"), author)


def _starts_diff(lines: list[str], number: int, line: str) -> bool:
    if line.startswith("--- ") and number + 1 < len(lines):
        return lines[number + 1].startswith("+++ ")
    if OLDER_DIFF_START.match(line):
        return any(OLDER_DIFF_LINE.match(below) for below in lines[number + 1 : number + 4])
    return bool(DIFF_START.match(line) or DIFF_STAT.match(line[:LINE_CHARACTERS]))


def without_images(text: str) -> str:
    """The text without ``[image: cup.png]`` and its like; lines that held nothing else go."""
    if not STAND_IN.search(text):
        return text
    shown_lines: list[str] = []
    for line in text.split("\n"):
        shown = STAND_IN.sub("", line)
        if shown != line:
            shown = shown.removeprefix(" ")
            if not shown.strip():
                continue
        shown_lines.append(shown)
    return tidy(shown_lines)


def without_banners(text: str) -> str:
    """The text without the warnings that gateways put on top of a mail from outside."""
    lines = text.split("\n")
    top: list[str] = []
    seen = 0
    for number, line in enumerate(lines):
        if seen >= BANNER_LINES:
            return tidy([*top, *lines[number:]])
        seen += bool(line.strip())
        short = line[:LINE_CHARACTERS]
        if not (BANNERS.search(short) or (line.strip() and BANNER_MARK.fullmatch(short))):
            top.append(line)
    return tidy(top)
