"""Reading the stamp (date and time) before each message of a chat export, in the order and words of any language."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import chain
from pathlib import Path

from pearl.errors import InputError
from pearl.text.usable import parse_timestamp
from service.importing.sources.dates import LANGUAGES
from service.importing.sources.quotes import INVISIBLE

ORDERS = {"day_first": (2, 1, 0), "month_first": (2, 0, 1), "year_first": (0, 1, 2)}  # where year, month, day stand
FLAGS: Mapping[str, str] = {
    "day_first": "Read 03/04/24 as 3 April; needed only where no date in the chat tells.",
    "month_first": "Read 03/04/24 as March 4.",
    "year_first": "Read 13/04/03 as 3 April 2013.",
}
FIRST_DAY = date(2009, 1, 1)  # there was no WhatsApp before
STAMP_CHARACTERS = 100
# the spaces of the world, which locales put between date, time and "PM"; and the Arabic comma
PLAIN = {0xA0: " ", 0x202F: " ", 0x205F: " ", 0x3000: " ", 0x060C: ",", **dict.fromkeys(range(0x2000, 0x200B), " ")}
DATE = r"(?P<first>\d{1,4})(?P<sign>[./-]) ?(?P<second>\d{1,2})(?P=sign) ?(?P<third>\d{1,4})"
TIME = r"(?P<hour>\d{1,2})(?:[:.]| ?h ?)(?P<minute>\d\d)(?:(?:[:.]| min )(?P<seconds>\d\d)(?: s)?)?"
BETWEEN = r"(?P<before>(?=\S{0,6} )[^\d\n:\[\]-]{1,24})"
STAMPS = tuple(
    re.compile(rf"(?P<open>\[?){first}{BETWEEN}{second}(?P<after>(?:[^\d\n:\[\]-]|\b-\b){{0,22}}?)(?P<end>\] ?| - |, )")
    for first, second in ((DATE, TIME), (TIME, DATE))
)
SIGNS = re.compile(r"[\s.'\"׳״,()]")
BETWEEN_WORDS = re.compile(r"[\s,()]+")
LITERAL = re.compile(r"'([^']+)'|([^\W\d_a-zA-Z][^\s{}]*)")  # of a pattern of Unicode's, in which letters are fields
Hours = tuple[float, ...]  # the first and the one past the last, none for words that only belong to a time
HALVES: dict[str, Hours] = {"am": (0, 12), "pm": (12, 24)}
MOST_WORDS = 50


@dataclass(frozen=True, slots=True)
class Stamp:
    """A date and time as written. ``form``: the punctuation and digits, which are the same throughout an export."""

    text: str
    form: tuple[object, ...]
    date: tuple[str, str, str]
    dotted: bool
    words: tuple[str, str]  # before and behind what stands second, such as "г." and "PM"
    clock: tuple[int, int, int]


def match_stamp(line: str) -> re.Match[str] | None:
    """Match a stamp at the beginning of a line, whose spaces :func:`plain_spaces` must have normalized."""
    return STAMPS[0].match(line) or STAMPS[1].match(line)


def plain_spaces(line: str) -> str:
    """Replace all kinds of spaces by simple ones, and remove invisible characters."""
    return line if line.isascii() else INVISIBLE.sub("", line).translate(PLAIN)


def find_stamp(line: str) -> tuple[Stamp, str] | None:
    """Return the stamp at the beginning of a line and the text behind it; None if there is no stamp."""
    if "A" <= line[:1] <= "Z" or "\\" <= line[:1] <= "~":  # as most lines of a long message begin
        return None
    match = match_stamp(plain_spaces(line[:STAMP_CHARACTERS]))
    if match is None or bool(match["open"]) != match["end"].startswith("]") or match["end"] == ", ":
        return None
    part = match.group
    rest = line.partition("]" if match["open"] else " - ")[2]
    form = (match.re, part("open"), part("sign"), len(part("first")) == 4, len(part("third")) == 4, not part("seconds"))
    stamp = Stamp(
        match[0].strip("[] -"),
        form,
        (part("first"), part("second"), part("third")),
        part("sign") == ".",
        (part("before").strip(" ,"), part("after").strip(" ,")),
        (int(part("hour")), int(part("minute")), int(part("seconds") or 0)),
    )
    return stamp, rest.removeprefix(" ") if match["open"] else rest


class StampReader:
    """Finds out in which order (day, month, year) and language an export writes its dates, then reads them. First
    ``note`` each stamp, then ``decide``, then read ``seconds``. An ambiguous order is an error."""

    def __init__(self, flags: frozenset[str]) -> None:
        self._asked = [order for order in ORDERS if order in flags]
        self._possible = list(self._asked or ORDERS)
        self._days: dict[tuple[str, str, str], tuple[str, bool]] = {}  # the days met, as text, and whether with dots
        self._words: dict[str, str] = {}  # those met, with a stamp that only their meaning tells
        self._meanings: dict[str, Hours | None] = {}

    def note(self, stamp: Stamp) -> None:
        """Record a stamp's day and words, for ``decide``."""
        if stamp.date not in self._days:
            self._days[stamp.date] = (stamp.text, stamp.dotted)
        for word, is_before in zip(stamp.words, (True, False), strict=True):
            by_24 = is_before and stamp.clock[0] > 12  # so that it is no half of the day
            if word and (by_24 or (word not in self._words and len(self._words) < MOST_WORDS)):
                self._words[word] = "" if by_24 else stamp.text

    def decide(self) -> None:
        """Choose the order and the language. Raises InputError if no order or more than one fits all dates (the message
        names the options that settle it), or if a word such as "PM" is known in no language."""
        if len(self._asked) > 1:
            raise InputError(f"Give one of {_named(self._asked)}.", code="ambiguous_dates")
        self._meanings = _meanings(list(self._words))
        for word, text in self._words.items():
            if text and self._meanings[word] is None:
                raise InputError(
                    f"'{text}': '{word}' is not known as a half of the day; set the phone to a clock of 24 hours or to "
                    "English and export the chat again.",
                    code="unknown_locale",
                )
        if self._asked:
            return
        for parts, (text, _) in self._days.items():
            left = [order for order in self._possible if _day(parts, order)]
            if not left:
                raise InputError(
                    f"'{text}': its date cannot be read in the calendar and order of the others; export the chat with "
                    "the phone set to English.",
                    code="unknown_locale",
                )
            self._possible = left
        # with dots and the year in two digits the day comes first wherever it can
        if "day_first" in self._possible and any(
            dotted and len(parts[0]) < 4 for parts, (_, dotted) in self._days.items()
        ):
            self._possible = ["day_first"]
        readings = {tuple(_day(parts, order) for parts in self._days) for order in self._possible}
        if len(readings) > 1:
            text = next(iter(self._days.values()))[0]
            raise InputError(
                f"'{text}': no date in the chat tells in which order day, month and year stand; say "
                f"{_named(self._possible)}.",
                code="ambiguous_dates",
            )

    def seconds(self, stamp: Stamp) -> float:
        """Convert a stamp to Unix seconds, taking its clock as UTC. Raises InputError if there is no such time."""
        day, (hour, minute, second) = _day(stamp.date, self._possible[0]), stamp.clock
        period = next(filter(None, map(self._meanings.get, stamp.words)), None)
        if period and hour <= 12:
            hour = min(hour % 12, hour % 12 + 12, key=lambda each: _hours_away(each + minute / 60, period))
        if day is None or hour > 23 or minute > 59 or second > 59:
            raise InputError(f"'{stamp.text}' is no date and time.", param="date", code="invalid_timestamp")
        moment = datetime(day.year, day.month, day.day, hour, minute, second, tzinfo=UTC)
        return parse_timestamp(moment.timestamp() if moment <= datetime.now(UTC) else _local(moment), param="date")


def _local(moment: datetime) -> float:
    """Return the present if the moment lies up to 14 hours ahead, because the phone's time zone is then ahead of UTC;
    otherwise the moment itself."""
    now = datetime.now(UTC)
    return (now if moment - now < timedelta(hours=14) else moment).timestamp()


def _day(parts: tuple[str, str, str], order: str) -> date | None:
    """Return the date in this order; None if it is no date, or not between WhatsApp's beginning and tomorrow."""
    year, month, day = (parts[place] for place in ORDERS[order])
    if len(year) not in (2, 4) or len(month) > 2 or len(day) > 2:
        return None
    try:
        found = date(int(year) + (2000 if len(year) == 2 else 0), int(month), int(day))
    except ValueError:
        return None
    return found if FIRST_DAY <= found <= datetime.now(UTC).date() + timedelta(days=1) else None


def _hours_away(hour: float, period: Hours) -> float:
    """Return the hours between a time and a part of the day, 0 inside it; the part may span midnight."""
    start, end = period
    inside = start <= hour < end if start < end else hour >= start or hour < end
    return 0 if inside else min(abs(hour - start), abs(hour - end))


def _meanings(words: list[str]) -> dict[str, Hours | None]:
    """Return the part of the day that each word, such as "PM", means: its first and last hour; () for words without
    such a meaning, None for unknown words. The first language that knows all words is preferred."""
    found: dict[str, Hours | None] = dict.fromkeys(words)
    for language in _languages() if words else ():
        here = {word: _meaning(word, _vocabulary(language)) for word in words}
        if None not in here.values():
            return here
        found = {word: here[word] if known is None else known for word, known in found.items()}
    return found


def _languages() -> Iterator[str]:
    """Yield the languages of LANGUAGES, then all others of Unicode's locale data, without countries' variants."""
    from babel.localedata import locale_identifiers

    others = (name for name in locale_identifiers() if not re.search(r"_(?:[A-Z]{2}|\d{3})\b", name))
    return chain(LANGUAGES, (name for name in others if name not in LANGUAGES))


def _meaning(word: str, known: Mapping[str, Hours]) -> Hours | None:
    """Look up a word or phrase in a vocabulary; words in front that have no meaning of their own are ignored."""
    parts = BETWEEN_WORDS.split(word)
    while len(parts) > 1 and known.get(_folded(parts[0])) == ():
        parts = parts[1:]
    return known.get(_folded("".join(parts)))


def _folded(word: str) -> str:
    return SIGNS.sub("", plain_spaces(word)).casefold()


@cache
def _vocabulary(language: str) -> Mapping[str, Hours]:
    """Return the words in a language's short dates and times (Unicode's locale data) and the hours that they mean."""
    from babel.localedata import exists, resolve_locale_filename  # takes a twentieth of a second

    if not exists(language):
        return {}
    # not by `load`, which would keep what this language alone has for every other reader of it
    data = pickle.loads(Path(resolve_locale_filename(language)).read_bytes())
    patterns = [data.get("date_formats", {}).get("short")]
    for kind in ("time_formats", "datetime_formats", "datetime_formats_relative", "datetime_skeletons"):
        named = data.get(kind, {}).items()
        patterns += [text for name, text in named if kind != "datetime_skeletons" or set(name) <= set("BHhms")]
    literals = (part for text in patterns for part in LITERAL.findall(str(text)))
    known: dict[str, Hours] = {_folded(word): () for quoted, bare in literals for word in (quoted or bare).split()}
    rules = (data.get("day_period_rules") or {}).get(None, {})
    hours = {name: _hours(rule[0]) for name, rule in rules.items()} | HALVES
    for period in sorted(hours, key=lambda name: name in HALVES):
        for words in (words for context in data.get("day_periods", {}).values() for words in context.values()):
            if isinstance(words.get(period), str):
                known[_folded(words[period])] = hours[period]
    return known | {"": ()}


def _hours(rule: Mapping[str, int]) -> Hours:
    start = rule.get("from", rule.get("at", 0)) / 3600
    end = rule.get("before", 3600 * (start + 1)) / 3600
    return 0 if end == 12 else start, end  # the forenoon's word is that of the first half, too


def _named(orders: list[str]) -> str:
    return " or ".join(f"--{order.replace('_', '-')}" for order in orders)
