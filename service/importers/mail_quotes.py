"""What of a mail's text its author wrote, what they quoted, and where their signature starts.

The words by which mail programs introduce a quote or a signature, in a dozen languages, are those of
``mailparser_reply``; its own splitting strips indentation and drops answers written between the quoted lines,
so only its expressions are used, on lines cut short (some of them take quadratic time on long ones).
"""

from __future__ import annotations

import re
from functools import cache

import mailparser_reply

from service.importers.quotes import QUOTE_MARK, Parts, tidy

MAIL_LANGUAGES: dict[str, dict[str, str]] = mailparser_reply.constants.MAIL_LANGUAGES
LINE_CHARACTERS = 300
HEADER_LINES = 5_000  # a quote that is introduced further down is left to its > marks
SIGNATURE_LINES = 40  # how far from the end a signature may start
CONTACT_LINES = 10
FORWARD = re.compile(r"^(?:-{2,} ?(?:Forwarded|Original) [Mm]essage ?-{2,}|Begin forwarded message:)\s*$", re.MULTILINE)
RULE = re.compile(r"^ ?[_-]{20,}$")  # mailing lists put their own lines below one


def split_mail(text: str) -> Parts:
    """The author's own lines without signature, and the quoted ones without marks.

    Below an introduction ("On Monday Bob wrote:") lines without a ``>`` are answers if the first line has one, else
    all the rest is the other mail.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    own: list[str] = []
    quoted: list[str] = []
    start = 0
    introduced = False
    for header_start, header_end in [*_introductions(lines), (len(lines), len(lines))]:
        section = lines[start:header_start]
        if introduced and not _starts_with_quote(section):
            quoted += lines[start:]
            break
        own += _without_signature([line for line in section if not QUOTE_MARK.match(line)])
        quoted += [line for line in section if QUOTE_MARK.match(line)]
        start, introduced = header_end, True
    return Parts(tidy(own), tidy([QUOTE_MARK.sub("", line) for line in quoted]))


def _starts_with_quote(lines: list[str]) -> bool:
    first = next((line for line in lines if line.strip()), "")
    return bool(QUOTE_MARK.match(first))


def _introductions(lines: list[str]) -> list[tuple[int, int]]:
    """First and past-the-last line of what introduces another mail, in order; those within quotes do not count."""
    short = "\n".join(line.rstrip()[:LINE_CHARACTERS] for line in lines[:HEADER_LINES])
    found = []
    for expression in (_expressions().HEADER_REGEX, FORWARD):
        for match in expression.finditer(short):
            start = match.start() + len(match.group()) - len(match.group().lstrip("\n"))
            first = short.count("\n", 0, start)
            last = short.count("\n", 0, match.start() + len(match.group().rstrip("\n")))
            if not QUOTE_MARK.match(lines[first]):
                found.append((first, last + 1))
    return _without_overlaps(sorted(found))


def _without_overlaps(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for span in spans:
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


def _without_signature(lines: list[str]) -> list[str]:
    """Cut the signature block. How a person signs off ("Best, Ann") is theirs and stays; below it, contact data go."""
    for position in range(max(0, len(lines) - SIGNATURE_LINES), len(lines)):
        line = lines[position].rstrip()[:LINE_CHARACTERS]
        if RULE.match(line) or line in ("--", "__"):
            return lines[:position]
        if not _opens_signature(line):
            continue
        if not _is_sign_off(line):
            if _is_sent_from(line):
                return lines[:position]
            continue
        after = _past_the_name(lines, position + 1)
        if _is_contact_data(lines[after:]):
            return lines[:after]
    return lines


def _opens_signature(line: str) -> bool:
    # the expressions look for the line's start after other lines, and for its end
    return bool(_expressions().SIGNATURE_REGEX.match(f"\n{line}\n", 1)) if line.strip() else False


def _is_sent_from(line: str) -> bool:
    return bool(_sent_from().match(line))


def _is_sign_off(line: str) -> bool:
    """A line of its own ("Kind regards,"), not the start of a sentence ("Thanks, that works.")."""
    words = line.strip().rstrip(",.!")
    return "," not in words and len(words.split()) <= 4 and not _is_sent_from(line)


def _past_the_name(lines: list[str], position: int) -> int:
    while position < len(lines) and not lines[position].strip():
        position += 1
    is_name = position < len(lines) and len(lines[position].split()) <= 4
    return position + is_name


def _is_contact_data(lines: list[str]) -> bool:
    written = [line.strip() for line in lines if line.strip()]
    prose = any(len(line) > 80 or line[-1] in ".?!" or re.match(r"p\.?\s?s\b", line, re.I) for line in written)
    return len(written) <= CONTACT_LINES and not prose


@cache
def _expressions() -> mailparser_reply.EmailMessage:
    # "david" is a joke of the library's; hyphen lists are text, not signatures
    languages = [name for name in MAIL_LANGUAGES if name != "david"]
    return mailparser_reply.EmailMessage(text="", languages=languages, keep_hyphen_lists=True)


@cache
def _sent_from() -> re.Pattern[str]:
    phrases = [words["sent_from"] for words in MAIL_LANGUAGES.values() if words.get("sent_from")]
    return re.compile(rf"\s*(?:{'|'.join(phrases)})", re.IGNORECASE)
