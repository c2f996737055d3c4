"""Finding the lines that introduce a quoted mail: "On Monday Bob wrote:", the quoted mail's header, or a separator such
as "--- Original Message ---".

In any language an attribution line is directly above a quote, ends in a colon and holds an address, a date with its
time, or a verb of writing. If no quote marks follow, only the forms that mail programs use count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from service.importing.sources.mails.phrases import (
    ABOVE,
    ANSWER,
    FIRST_PERSON,
    FORWARD_LINES,
    JOINED_VERBS,
    LABELS,
    LINE,
    OPENERS,
    PARTICLES,
    SEPARATORS,
    SPOKEN,
    VERBS,
)
from service.importing.sources.quotes import INVISIBLE, LINE_CHARACTERS, QUOTE_MARK

ATTRIBUTION_LINES = 4
ATTRIBUTION_CHARACTERS = 400
HEADER_LINES = 12
RULE = re.compile(r"\s*[_=\-\u2010-\u2015]{5,}\s*")
DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015_ \t*"
LABEL = re.compile(r"[\s*_|]{0,8}([^\s:：*][^:：*]{0,29}?)\s{0,14}\*?[:：]\*?(?:\s|$|[^\s/])")
FIELD = re.compile(r"[^\W\d_][^\s:：]{0,19}(?: [^\s:：]{1,12}){0,2} ?[:：](?: |$)")
ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}")
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# the year first may be 1403 or 2568: calendars differ
SHORT_DATE = re.compile(r"(?<!\d)(?:\d{1,2}[./-] ?\d{1,2}[./-] ?(?:\d\d|\d{4})|\d{4}[./-]\d\d?[./-]\d\d?)(?!\d)")
TIME = re.compile(r"(?<!\d)\d{1,2}[:.h]\d\d(?!\d)")
BRACKETED_ADDRESS = re.compile(r"[<(\[][^\s<>()\[\]]{1,64}@[^\s<>()\[\]]{1,200}[>)\]]")
ADDRESS_WORD = re.compile(r"[\w.+-]{1,64}@[\w.-]{1,200}\w")
# the date ends with its last digit or what belongs to that: 10:12 AM, 10.12 Uhr, 5日
DATE_AND_NAME = re.compile(r"(.*\d(?:日| ?[ap]\.?m\.?| Uhr| ?h| GMT| \(?UTC\)?)?)[\s,;:]*([^\d]*)", re.IGNORECASE)
DATE_WORDS = 7  # "terça-feira, 5 de março de 2025 às 10:12"
NAME_WORDS = 6
DESK_CHARACTERS = 120
DESK_GAP = 16  # between "above" and "line"
ADDRESS_AND_VERB = re.compile(r"@[^\s<>]{1,80}> \S{1,16} ?[:：]$")
WORD = re.compile(r"[^\s,;<>\[\]\"]+")
# GroupWise's and supercite's attribution lines have the mark of a quote themselves
SUPERCITE = re.compile(r'>{2,8} "[^"]{1,80}" == ')
GROUPWISE = re.compile(r">{3} [^>]{1,100}>?.{0,60} >{3}")
# "BB> " of The Bat, "Bob> " of supercite, and bars
NAMED_QUOTE = re.compile(r" {0,6}(?:[A-Z][A-Za-z]{0,9}>|\|)(?: |$)")


def find_attribution_lines(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return each attribution line's first line and the line after its last, in order. Adjacent ones are joined."""
    short = [_visible(line[:LINE_CHARACTERS]).strip() for line in lines]
    marked = [bool(QUOTE_MARK.match(line)) and not _is_marked_attribution(line) for line in short]
    following = _following(short)
    spans: list[tuple[int, int]] = []
    position = 0
    while position < len(lines):
        end = None if marked[position] or not short[position] else _attribution(short, marked, following, position)
        if end is None:
            position += 1
            continue
        start = position
        if spans and not any(short[spans[-1][1] : start]):
            start = spans.pop()[0]
        spans.append((start, end))
        position = end
    return spans


def _visible(line: str) -> str:
    return line if line.isascii() else INVISIBLE.sub("", line)


def _is_marked_attribution(line: str) -> bool:
    return bool(SUPERCITE.match(line) or (GROUPWISE.fullmatch(line) and _has_date(line)))


def _following(short: list[str]) -> list[int]:
    """Return, for each line, the number of the next line that is not empty."""
    following = [len(short)] * (len(short) + 1)
    for number in range(len(short) - 1, -1, -1):
        following[number] = number + 1 if number + 1 < len(short) and short[number + 1] else following[number + 1]
    return following


def _attribution(short: list[str], marked: list[bool], following: list[int], start: int) -> int | None:
    """Return the line after the attribution line that starts at this line; None if no attribution line starts here."""
    below = following[start]
    line = short[start]
    if GROUPWISE.fullmatch(line) or _is_of_desk(short, start):
        return start + 1
    if below == start + 1 and is_frame(line) and _is_of_desk(short, below):
        return below + 1
    if RULE.fullmatch(line):
        return _header_end(short, marked, _past_date(short, below), least=2)
    if FORWARD_LINES.fullmatch(line) or _is_separator(line):
        return _header_end(short, marked, _past_date(short, below), least=2, labelled=False) or start + 1
    if _bare_label(line) == "from" and BRACKETED_ADDRESS.search(line):
        return _header_end(short, marked, start, least=4, labelled=False)
    first = _past_date(short, start)
    header = _header_end(short, marked, first, least=3)
    if header and _is_of_mail(short[first:header]):
        return header
    return _notes_end(short, following, start) or _attribution_end(short, marked, following, start)


def is_frame(line: str) -> bool:
    """True for a line of punctuation alone, such as a rule."""
    return not (line[:1].isalnum() or any(map(str.isalnum, line[:LINE_CHARACTERS])) or line.isspace() or not line)


def _is_of_desk(short: list[str], number: int) -> bool:
    """True for a help desk's line that asks to reply above it. It stands between signs, below a rule, or alone."""
    line = short[number] if number < len(short) else ""
    above, below = (short[at] if 0 <= at < len(short) else "" for at in (number - 1, number + 1))
    if line[:1].isalnum() and above and not is_frame(above):
        return False
    words = line.strip(" #=*-_~!+<>[]()|.:\u2010\u2011\u2012\u2013\u2014\u2015")
    if not 3 <= len(words) <= DESK_CHARACTERS:
        return False
    before, _, behind = line.partition(words)
    if before.startswith("##-") and behind.endswith("-##"):  # Zendesk, in the language of the desk
        return True
    framed = min(len(before.strip()), len(behind.strip())) > 1 or is_frame(above)
    if not framed and (above or below or not ANSWER.search(words)):
        return False
    place, mark = ABOVE.search(words), LINE.search(words)
    if place is None or mark is None:
        return False
    return max(mark.start() - place.end(), place.start() - mark.end()) < DESK_GAP


def _is_separator(line: str) -> bool:
    inner = line.strip(DASHES)
    dashes = line.partition(inner)[0] if inner else ""
    if len(dashes.strip()) < 2:
        return False
    # Zoho has the whole attribution line between its rules
    return bool(len(inner) < 60 and SEPARATORS.fullmatch(inner.rstrip(":"))) or (
        line[-2:] == "--" and bool(ADDRESS.search(inner)) and _attributes(inner, is_marked=False)
    )


def _header_end(short: list[str], marked: list[bool], start: int, least: int, *, labelled: bool = True) -> int | None:
    """Return the line after a quoted mail's header that begins here; None unless it has a sender and at least ``least``
    fields. ``labelled``: its labels must have colons; False below a line that announces a quoted mail."""
    kinds: list[str] = []
    end = start
    for number in range(start, min(start + HEADER_LINES, len(short))):
        if not short[number] or marked[number]:
            break
        kind = _label(short[number]) or (None if labelled else _bare_label(short[number]))
        if kind is None and number == start:
            return None
        # a label of the program's own, among or below those that are known
        if kind is not None or (len(set(kinds)) >= least and FIELD.match(short[number])):
            kinds.append(kind or "other")
            end = number + 1
    return end if "from" in kinds and len(set(kinds)) >= least else None


def _bare_label(line: str) -> str | None:
    words = line.casefold().split(maxsplit=2)
    return LABELS.get(" ".join(words[:2])) or LABELS.get(words[0]) if words[1:] else None


def _past_date(short: list[str], number: int) -> int:
    """Return the next line's number if this line is short and ends in a time, else this line's number. Orange's webmail
    puts such a line above a header: "Message du 05/11/19 12:11"."""
    line = short[number] if number < len(short) else ""
    is_dated = TIME.search(line[-12:]) and len(line.split()) <= DATE_WORDS and _has_date(line)
    return number + 1 if is_dated and _label(line) is None else number


def _is_of_mail(header: list[str]) -> bool:
    """True if a mail program wrote the header; false for a journey's "From: London", "To: Paris", "Date: 3 March"."""
    text = "\n".join(header)
    kinds = {_label(line) for line in header} - {None}
    dated = (YEAR.search(text) or SHORT_DATE.search(text)) and TIME.search(text)
    return bool("subject" in kinds or len(kinds) > 3 or dated or ADDRESS.search(text))


def _notes_end(short: list[str], following: list[int], start: int) -> int | None:
    """Return the line after a header of Lotus Notes (sender, date, each label above its value); None without one."""
    date = following[start]
    if date >= len(short) or len(short[date]) > 40 or not (TIME.search(short[date]) and _has_date(short[date])):
        return None
    kinds: set[str | None] = set()
    number = following[date]
    for _ in range(HEADER_LINES):
        if number >= len(short):
            return None
        kind = LABELS.get(short[number].casefold())
        kinds.add(kind)
        number = following[number]
        if kind == "subject" and "to" in kinds:
            return number + 1
    return None


def _label(line: str) -> str | None:
    match = LABEL.match(line)
    return LABELS.get(match[1].casefold().strip("* ")) if match else None


def _attribution_end(short: list[str], marked: list[bool], following: list[int], start: int) -> int | None:
    for end in range(start + 1, min(start + ATTRIBUTION_LINES, len(short)) + 1):
        if not short[end - 1] or marked[end - 1]:
            return None
        attributed = short[end - 1][-1] in ":："
        if not attributed and "@" not in short[end - 1]:
            continue
        below, text = following[end - 1], " ".join(short[start:end])
        is_marked = below < len(short) and below - end <= 2 and (marked[below] or bool(NAMED_QUOTE.match(short[below])))
        if attributed:
            return end if _opens(short, start, end) and _attributes(text, is_marked) else None
        broken = end == start + 1 or short[start][-1] == "<"
        alone = broken and below < len(short) and not short[end] and not (start and short[start - 1])
        if (is_marked or alone) and _is_sender_and_date(text.replace("< ", "<"), is_marked):
            return end
    return None


def _is_sender_and_date(text: str, is_marked: bool) -> bool:
    """True if the text is only a name, an address and a date. ``is_marked``: marked lines follow; without them the
    address must be in angle brackets, and no word may stand before the date."""
    address = BRACKETED_ADDRESS.search(text) or (ADDRESS_WORD.search(text) if is_marked else None)
    if address is None or len(text) > LINE_CHARACTERS or not _has_date(text):
        return False
    before, behind = text[: address.start()], text[address.end() :].strip(DASHES + ",.;()")
    dated = DATE_AND_NAME.fullmatch(before) if not behind else None
    date, name = (dated[1], dated[2]) if dated else (behind, before)
    words = name.strip(" \"',").split()
    opens = date[:1].isdigit() or _first_word(date) in OPENERS
    return (
        len(words) <= NAME_WORDS
        and not any((word[0].islower() and word not in PARTICLES) or word[0].isdigit() for word in words)
        and _has_date(date)
        and len(re.findall(r"[^\W\d_]+", date)) <= DATE_WORDS
        and (is_marked or opens)
    )


def _opens(short: list[str], start: int, end: int) -> bool:
    """True if the attribution line starts at line ``start``; False if that line is the author's own, and the
    attribution line starts at a later one."""
    if end - start == 1:
        return True
    if any(_first_word(short[number]) in OPENERS and _has_date(short[number]) for number in range(start + 1, end)):
        return False
    first = short[start]
    return _first_word(first) in OPENERS or bool(ADDRESS.search(first) or _has_date(first)) or first[-1:] == "<"


def _first_word(line: str) -> str:
    return next(iter(WORD.findall(line.lstrip(DASHES + ">*[(")[:40])), "").casefold().rstrip(".,:")


def _has_date(text: str) -> bool:
    return bool(YEAR.search(text) or SHORT_DATE.search(text) or (TIME.search(text) and re.search(r"\d\d? ", text)))


def _attributes(text: str, is_marked: bool) -> bool:
    """True if the text says who wrote what follows. ``is_marked``: marked lines follow; without them only a form that
    mail programs use counts."""
    if len(text) > ATTRIBUTION_CHARACTERS:
        return False
    words = [word.casefold().rstrip(":：") for word in WORD.findall(text)]
    verb = any(word in VERBS for word in words) or any(joined in text[-20:] for joined in JOINED_VERBS)
    address, date, time = ADDRESS.search(text), _has_date(text), TIME.search(text)
    opens = _first_word(text) in OPENERS
    if is_marked:
        named = bool(re.fullmatch(r"(?:[A-Z]\w+ ){2,3}\w+(?: \w+)? ?:|According to [^:]{1,60}:", text))
        return bool(address or (date and time) or (verb and (opens or date or len(words) <= 5)) or named)
    if date and time and BRACKETED_ADDRESS.search(text):
        return True
    if not verb or not FIRST_PERSON.isdisjoint(words):
        return False
    if (date and (time or address)) or ADDRESS_AND_VERB.search(text):
        return True
    # "At dinner Bob said:" tells what somebody said; programs tell what they wrote
    return opens and SPOKEN.isdisjoint(words) and bool(date or address or len(words) <= 6)
