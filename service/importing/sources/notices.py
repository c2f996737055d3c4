"""Recognizing what chat programs write among a person's messages: placeholders, "edited" marks, commands to bots."""

from __future__ import annotations

import re
from functools import cache

from pearl.text.phrases import Phrases
from service.importing.sources.base import NO_TEXT
from service.importing.sources.quotes import LINE_CHARACTERS

PHRASES = Phrases.of("service", "notices")
LONGEST_NOTICE = 120  # characters
IN_BRACKETS = re.compile(r"<[^<>\n]{0,60}(?![\w<>])[^\n][^<>\n]{0,60}>")  # alone they are no word of one's own
PLACE = re.compile(  # below a label of one or two words in any language
    r"(?:[^\s:]{1,20}(?: [^\s:]{1,12})?: ?)?https?://maps\.(?:google|apple)\.com/(?:maps)?\?(?:q|ll)=-?[\d.]+,-?[\d.]+"
)
FILE_NAME = re.compile(r"[^\n/]{1,150}[^\s./]\.(?=\w{0,4}[a-z])\w{2,5}", re.IGNORECASE)
NAMED = r"[^\n<>]{1,150}\.\w{1,5}"
# the mark of a file may stand behind its name, and the number of its pages between them
OF_FILE = PHRASES.compile(
    rf"(?:{NAMED}(?: • [^\n<>]{{1,30}}?)? ?)?(?:{{absent}}|<{{attached}}: ?[^<>\n]{{1,250}}>)"
    rf"|{NAMED} \({{attached}}\)|[\w-]{{1,40}}-WA\d{{4}}\.\w{{1,5}} \([^()\n]{{1,40}}\)"
    r"|<(?=[^<>\n]{0,60}{file})(?=[^<>\n]{0,60}{omitted})[^<>\n]{3,60}>"
)
# at the end of a line
TAG = PHRASES.compile(
    r"<(?:{attached}: ?[^<>\n]{1,250}|(?=[^<>\n]{0,60}{message})(?=[^<>\n]{0,60}{edited})[^<>\n]{4,80})>"
)
VOTES = re.compile(r"[^\n]*\(\D{0,9}\d{1,9}\D{0,20}\)")
COMMAND = re.compile(r"[/!][a-z]\w{0,31}(?:@\w{1,40})?(?: [^\n]*)?|[.$?;%&][a-z][\w-]{2,31}")


@cache
def _notice() -> re.Pattern[str]:
    """Compile the pattern of placeholders for a whole message, such as a deleted one, in fifty languages."""
    return PHRASES.compile(r"\W{0,3}(?:{gone}|{calls}|{live}|{waiting}|{absent})\W{0,3}|null")


def without_notices(text: str) -> str:
    """Remove what the chat program wrote from a message; "" if nothing else is in it. Of a poll the question stays."""
    lines = text.split("\n")
    if len(lines) > 3 and lines[0].endswith(":"):
        text = _without_votes(lines) or text
    if "<" in text or "(" in text:
        text = _without_files(lines)
    return "" if len(text) <= LONGEST_NOTICE and _is_notice(text) else text


def _is_notice(text: str) -> bool:
    rules = [_notice()]
    rules += [rule for sign, rule in ((".", OF_FILE), ("://maps", PLACE), ("<", IN_BRACKETS)) if sign in text]
    return any(rule.fullmatch(text) for rule in rules)


def _without_files(lines: list[str]) -> str:
    """Join the lines without placeholders of files, marks at line ends, and file names below a placeholder."""
    kept: list[str] = []
    below = False
    for line in lines:
        line = line.rstrip()
        marked = len(line) <= LINE_CHARACTERS and line.endswith((">", ")"))
        stands = bool(marked and OF_FILE.fullmatch(line))
        start = line.rfind("<") if line.endswith(">") else -1
        tagged = start >= 0 and TAG.fullmatch(line, start)
        own = line[:start].rstrip() if tagged else line
        if not stands and (own or not tagged) and not (below and FILE_NAME.fullmatch(line)):
            kept.append(own)
        below = stands
    return "\n".join(kept).strip()


def _without_votes(lines: list[str]) -> str | None:
    """Return a poll's question; None if the message is no poll. Each option stands on a line that begins with the same
    word in capitals."""
    label = lines[-1].partition(": ")[0] + ": "
    count = sum(line.startswith(label) for line in lines)
    capitals = lines[0] == lines[0].upper() and label == label.upper()
    options = lines[-count:] if capitals and count > 1 else []
    return "\n".join(lines[1:-count]) if options and all(map(VOTES.fullmatch, options)) else None


def why_unsaid(text: str) -> str | None:
    """Return why a message is left out (it is empty, or a command to a bot such as "/start"); None if it stays."""
    if not text.strip():
        return NO_TEXT
    return "command to a bot" if text[0] in "/!.$?;%&" and COMMAND.fullmatch(text) else None
