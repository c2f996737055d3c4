"""Removal of what programs add to a mail's text: PGP's armour, diffs, stand-ins for pictures, warnings of gateways."""

from __future__ import annotations

import re
from dataclasses import dataclass

from service.importers.mails.phrases import BANNER_MARK, BANNERS
from service.importers.quotes import tidy

PGP_LINE = re.compile(r"-----(BEGIN|END) PGP ([A-Z ]{3,40}?)-----\s*")
BANNER_LINES = 8  # a gateway's warning stands at the top
LINE_CHARACTERS = 300
# a word for a picture alone, with a number, a colon or a file's name; "[images of cats]" is a person's
IMAGE = re.compile(
    r"[ \t]?\[(?:(?:image|inline image|bild|imagen|immagine|imagem|afbeelding|obraz|изображение|画像|图片|cid)"
    r"(?:\s?\d{0,4}|\s?:[^\[\]\n]{0,200}|[ .]?[^\[\]\n]{0,80}\b(?:png|jpe?g|gif|bmp|svg|webp|heic))"
    r"|embedded image[^\[\]\n]{0,200})\]|[ \t]?<image\d{1,6}\.\w{1,5}>",
    re.IGNORECASE,
)
SCRUBBED = re.compile(r"^-{10,20} next part -{10,20}$", re.MULTILINE)
SCISSORS = re.compile(r"---|-{1,10} ?-*>?(?:8<|>8) ?-{1,80}.{0,20}")
DIFF_START = re.compile(r"diff --git \S+ \S")
OLDER_DIFF_START = re.compile(r"Index: \S|diff -\w+ ")  # followed by a rule or the names of the two versions
OLDER_DIFF_LINE = re.compile(r"--- |\*\*\* |={5}")
DIFF_STAT = re.compile(r" \S[^|]{0,200}\| +(?:\d+ [+-]+|Bin .*)$")
TRAILER = re.compile(r"(?:[A-Z][\w-]{0,40}-(?:by|id|url)|fixes|link|cc|closes|bug|refs):? ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Patch:
    """The message of a patch, and the From field in its first line where it names another author than the mail."""

    message: str
    author: str | None = None


def unwrap(text: str) -> str:
    """The text without PGP's armour: what is signed stays, what is encrypted, keys and signatures go."""
    if "-----BEGIN PGP" not in text:
        return text
    plain: list[str] = []
    within: str | None = None  # the kind of the armour around the line
    header = False
    for line in text.split("\n"):
        mark = PGP_LINE.fullmatch(line[:LINE_CHARACTERS])
        if mark and mark[1] == "BEGIN":
            within, header = mark[2], True
        elif mark:
            within = None
        elif within is None:
            plain.append(line)
        elif within == "SIGNED MESSAGE" and not header:
            plain.append(line.removeprefix("- "))
        elif not line.strip():
            header = False
    return "\n".join(plain)


def without_scrubbed(text: str) -> str:
    """The text without the notes on attachments that Mailman's archives have below it."""
    scrubbed = SCRUBBED.search(text)
    return text[: scrubbed.start()] if scrubbed else text


def read_patch(text: str) -> Patch | None:
    """The message of a patch that somebody mailed; None if the text holds no diff of its sender's."""
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines) if _starts_diff(lines, number, line)), None)
    if start is None:
        return None
    rule = next((number for number, line in enumerate(lines[:start]) if SCISSORS.fullmatch(line.rstrip())), start)
    message = lines[:rule]
    author = None
    first = next((number for number, line in enumerate(message) if line.strip()), 0)
    if message[first : first + 1] and message[first].startswith("From: ") and rule < start:
        author, message = message[first].removeprefix("From: "), message[first + 1 :]
    if rule < start or DIFF_STAT.match(lines[start][:LINE_CHARACTERS]):
        message = _without_trailers(message)
    return Patch(tidy(message), author)


def _starts_diff(lines: list[str], number: int, line: str) -> bool:
    if line.startswith("--- ") and number + 1 < len(lines):
        return lines[number + 1].startswith("+++ ")
    if OLDER_DIFF_START.match(line):
        return any(OLDER_DIFF_LINE.match(below) for below in lines[number + 1 : number + 4])
    return bool(DIFF_START.match(line) or DIFF_STAT.match(line[:LINE_CHARACTERS]))


def _without_trailers(lines: list[str]) -> list[str]:
    """Signed-off-by and its like go where they are the last paragraph."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    start = end
    while start and lines[start - 1].strip() and TRAILER.match(lines[start - 1]):
        start -= 1
    above = start == 0 or not lines[start - 1].strip()
    return lines[:start] if above else lines


def without_images(text: str) -> str:
    """The text without ``[image: cup.png]`` and its like; lines that held nothing else go."""
    if "[" not in text and "<image" not in text:
        return text
    shown_lines: list[str] = []
    for line in text.split("\n"):
        shown = IMAGE.sub("", line)
        if shown is not line and shown != line:
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
