"""Separating a mail's text into the author's own words, quotations, and the signature.

All is decided line by line, on shortened lines and with a few lines of context, so hostile texts take linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from service.importing.sources.mails.attribution_lines import NAMED_QUOTE, find_attribution_lines, is_frame
from service.importing.sources.mails.phrases import DEVICES, DISCLAIMERS, FOOTERS, LEAVE, PAPER, sign_offs
from service.importing.sources.quotes import LINE_CHARACTERS, QUOTE_MARK, Parts, tidy

SIGNATURE_LINES = 40  # how far from the end a signature may start
FOOTER_LINES = 8
LONG_CHARACTERS = 60  # of a quoted line that a program may have broken
BROKEN_CHARACTERS = 40  # of what it broke off
FOOTER_WORDS = 10
CONTACT_LINES = 10
NAME_EDGES = " -\u2013\u2014_*.~"
TITLE_WORDS = 2  # behind a name
DISCLAIMER_WORDS = 12
PARAGRAPHS_AT_THE_END = 4
RULE = re.compile(r" ?[_~-]{20,}")  # mailing lists put their own lines below one
# above and below a signature, in Japan nearly always
DRAWN_RULE = re.compile(
    r"[ \t\u3000]{0,40}(?:[━─═＝=*＊_~+☆★◇◆■□・…#-]{5,200}|(?:[-=*_~] ){4,80}[-=*_~]?)[ \t\u3000]{0,40}"
)
LINK = re.compile(r"https?://|www\.|\S@\S")
LIST = re.compile(rf"unsubscribe|mailing list|mailinglist|subscribed|listinfo|{LINK.pattern}", re.IGNORECASE)
FOOTER_OF_A_LIST = 12
# forwarded mails of mutt's and Gnus's; AOL's quotes
BETWEEN = (
    (
        re.compile(r"^-{4,30} ?(?:Start of f|F)orwarded message(?: from .{1,200})? ?-{4,30}[ \t]*$", re.IGNORECASE),
        re.compile(r"^-{4,30} ?End (?:of )?forwarded message ?-{4,30}[ \t]*$", re.IGNORECASE),
    ),
    (re.compile(r"^<<\s*"), re.compile(r"\s*>>\s*$")),
)
CONTACT = re.compile(r"\+?\d[\d ()/.-]{6,}|https?://|www\.|\S@\S|\b(?:tel|fon|phone|mobil\w*|fax)\b", re.IGNORECASE)


def split_mail(text: str, author: str = "") -> Parts:
    """Separate the author's own lines, without the signature, from the quoted lines, without their marks. ``author``:
    the author's name, if known.

    Below an attribution line ("On Monday Bob wrote:") lines without a ``>`` are the author's answers if the first line
    there has a ``>``; else all that follows is quoted.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if "<<" in text or "-" * 4 in text:
        lines = _with_marks(lines)
    own: list[str] = []
    quoted: list[str] = []
    start = 0
    introduced = False
    for header_start, header_end in [*find_attribution_lines(lines), (len(lines), len(lines))]:
        section = lines[start:header_start]
        mark = _mark_of(section) if introduced else QUOTE_MARK
        if mark is None:
            quoted += lines[start:]
            break
        mine, theirs = _parted(section, mark)
        own += _without_ending(mine, author)
        quoted += theirs
        start, introduced = header_end, True
    return Parts(tidy(own), tidy(quoted))


def _with_marks(lines: list[str]) -> list[str]:
    """Put ">" before lines that a program quoted by a mark at the beginning and another at the end."""
    for begin, end in BETWEEN:
        ends = [number for number, line in enumerate(lines) if end.search(line)]
        until = -1
        for number, line in enumerate(lines if ends else ()):
            if until < number <= ends[-1] and begin.match(line):
                until = ends[bisect_left(ends, number)]
            if number <= until:
                lines[number] = ">" + end.sub("", begin.sub("", line))
    return lines


def _parted(lines: list[str], mark: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Separate own lines from quoted ones, without marks. In both an empty line shows where the other side spoke."""
    own: list[str] = []
    quoted: list[str] = []
    last: list[str] | None = None
    for number, line in enumerate(lines):
        match = mark.match(line)
        if not match and not line.strip():
            own.append(line)
            continue
        side = quoted if match or _is_broken_off(lines, number, mark) else own
        if side and last is not side:
            side.append("")
        last = side
        side.append(line[match.end() :] if match else line)
    return own, quoted


def _is_broken_off(lines: list[str], number: int, mark: re.Pattern[str]) -> bool:
    """True for the rest of a long quoted line that a program broke: unmarked, in lower case, between marked lines."""
    if not 0 < number < len(lines) - 1 or len(lines[number]) > BROKEN_CHARACTERS or not lines[number][:1].islower():
        return False
    above, below = lines[number - 1], lines[number + 1]
    return len(above) >= LONG_CHARACTERS and bool(mark.match(above) and mark.match(below))


def latest_quoted(quoted: str) -> str:
    """Return the answered mail's own words from the quoted text: without that mail's header and its own quotations."""
    for _ in range(3):  # a rule, a header, and below them "On Monday Bob wrote:"
        parts = split_mail(quoted)
        if parts.own or not parts.quoted:
            return parts.own
        quoted = parts.quoted
    return quoted


def _mark_of(lines: list[str]) -> re.Pattern[str] | None:
    """Return the pattern of the quote marks below an attribution line; None if the first line has no mark."""
    first = next((line for line in lines if line.strip()), "")
    return next((mark for mark in (QUOTE_MARK, NAMED_QUOTE) if mark.match(first)), None)


def _without_ending(lines: list[str], author: str) -> list[str]:
    """Cut the signature, footers and disclaimers. The person's sign-off ("Best, Ann") stays."""
    return _without_disclaimers(_without_footers(_without_contact_data(_without_signature(lines), author)))


def _without_signature(lines: list[str]) -> list[str]:
    for position in range(max(0, len(lines) - SIGNATURE_LINES), len(lines)):
        line = lines[position].rstrip()[:LINE_CHARACTERS]
        if line in ("--", "__") or (is_frame(line) and _is_list_footer(lines[position:])):
            return lines[:position]
        if position and _is_drawn_signature(lines[position - 1 :]):
            return lines[:position]
        if not (sign_offs().match(line) and _is_sign_off(line)):
            continue
        after = _past_the_name(lines, position + 1)
        if _has_contact_data(lines[after:]) or _is_title(lines[after:]):
            return lines[:after]
    return lines


def _without_contact_data(lines: list[str], author: str) -> list[str]:
    """Cut addresses, phone numbers and the lines among them that follow the author's name at the end."""
    name = " ".join(reversed(author.split(","))).casefold().split()  # Lee, Ann
    for position in range(max(0, len(lines) - CONTACT_LINES - 1), len(lines)) if name else ():
        words = lines[position][:LINE_CHARACTERS].casefold().replace(",", " ").strip(NAME_EDGES).split()
        signs = words == name[:1] or (words[: len(name)] == name and len(words) <= len(name) + TITLE_WORDS)
        if signs and _has_contact_data(lines[position + 1 :]):
            return lines[: position + 1]
    return lines


def _is_list_footer(lines: list[str]) -> bool:
    """True if the lines are a mailing list's footer: a rule, with a few lines below it that hold a link, or with
    nothing.

    A rule that authors draw counts only if words about unsubscribing follow.
    """
    blocks: list[list[str]] = []
    for line in lines:
        if is_frame(line):
            blocks.append([line.rstrip()])
        elif line.strip():
            blocks[-1].append(line[:LINE_CHARACTERS])
    written = [line for block in blocks for line in block[1:]]
    if RULE.fullmatch(blocks[0][0]):
        few = len(written) <= FOOTER_OF_A_LIST and any(map(LIST.search, written))
        return few or not written or _leads_out("\n".join(written))
    return bool(blocks[0][1:]) and all(len(block) == 1 or _leads_out("\n".join(block[1:])) for block in blocks)


def _leads_out(text: str) -> bool:
    return text.count("\n") < 2 * FOOTER_OF_A_LIST and bool(LEAVE.search(text) and LINK.search(text))


def _is_sign_off(line: str) -> bool:
    """True for a closing alone on its line ("Kind regards,"), not for the beginning of a sentence ("Thanks, that
    works.")."""
    words = line.strip().rstrip(",.!")
    return "," not in words and len(words.split()) <= 4


def _past_the_name(lines: list[str], position: int) -> int:
    while position < len(lines) and not lines[position].strip():
        position += 1
    is_name = position < len(lines) and len(lines[position].split()) <= 4
    return position + is_name


def _is_title(lines: list[str]) -> bool:
    """True for lines directly below a name that all begin with a capital, such as an office, a firm and a town."""
    written = [line.strip() for line in lines if line.strip()]
    capitals = all(line[0].isupper() or line[0].isdigit() for line in written)
    return bool(written) and bool(lines[0].strip()) and capitals and _is_contact_data(lines)


def _is_contact_data(lines: list[str]) -> bool:
    written = [line.strip() for line in lines if line.strip()]
    prose = any(len(line) > 80 or line[-1] in ".?!" or re.match(r"p\.?\s?s\b", line, re.I) for line in written)
    return len(written) <= CONTACT_LINES and not prose


def _is_drawn_signature(lines: list[str]) -> bool:
    """True for a signature below a drawn rule: an empty line, the rule, and one paragraph of contact data."""
    written = "\n".join(lines).rstrip().split("\n")
    return (
        len(written) > 2
        and bool(DRAWN_RULE.fullmatch(written[1][:LINE_CHARACTERS]))
        and not written[0].strip()
        and all(line.strip() for line in written[1:])
        and _has_contact_data(written[2:])
    )


def _has_contact_data(lines: list[str]) -> bool:
    """True for a few lines without prose that hold an address or number; rules between them are ignored."""
    plain = [line for line in lines if not DRAWN_RULE.fullmatch(line[:LINE_CHARACTERS])]
    return _is_contact_data(plain) and any(CONTACT.search(line[:LINE_CHARACTERS]) for line in plain)


def _without_footers(lines: list[str]) -> list[str]:
    """Cut a line such as "Sent from my phone" from the last lines, and contact data below it."""
    remaining = list(lines)
    looked_at = 0
    position = len(remaining)
    while position and looked_at < FOOTER_LINES:
        position -= 1
        line = remaining[position].strip()[:LINE_CHARACTERS]
        looked_at += bool(line)
        if len(line.split()) <= FOOTER_WORDS and FOOTERS.match(line.strip("*_ ")) and DEVICES.search(line):
            below = [] if _is_contact_data(remaining[position + 1 :]) else remaining[position + 1 :]
            remaining = [*remaining[:position], *below]
    return remaining


def _without_disclaimers(lines: list[str]) -> list[str]:
    """Cut legal notices and appeals not to print from the last paragraphs."""
    end = len(lines)
    for _ in range(PARAGRAPHS_AT_THE_END):
        while end and not lines[end - 1].strip():
            end -= 1
        start = end
        while start and lines[start - 1].strip():
            start -= 1
            if lines[start].strip() == "---":  # what checks for viruses draws one above its words
                break
        if not _is_disclaimer(" ".join(line[:LINE_CHARACTERS] for line in lines[start : start + SIGNATURE_LINES])):
            break
        lines = lines[:start]
        end = start
    return lines


def _is_disclaimer(paragraph: str) -> bool:
    if PAPER.search(paragraph):
        return True
    phrases = {phrase.group() for phrase in DISCLAIMERS.finditer(paragraph)}
    return len(phrases) > 1 and len(paragraph.split()) >= DISCLAIMER_WORDS
