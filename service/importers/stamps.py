"""The date and time before each message of a chat export, in whatever order and words the phone's language has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from pearl.errors import InputError
from pearl.text.usable import parse_timestamp
from service.importers.notes.kinds import NARROW_SPACES
from service.importers.quotes import INVISIBLE, LINE_CHARACTERS

ORDERS = {"day_first": (2, 1, 0), "month_first": (2, 0, 1), "year_first": (0, 1, 2)}  # where year, month, day stand
FLAGS: Mapping[str, str] = {
    "day_first": "Read 03/04/24 as 3 April; needed only where no date in the chat tells.",
    "month_first": "Read 03/04/24 as March 4.",
    "year_first": "Read 13/04/03 as 3 April 2013.",
}
FIRST_DAY = date(2009, 1, 1)  # there was no WhatsApp before
STAMP = re.compile(
    r"(\[?)(\d{1,4})([./-]) ?(\d{1,2})\3 ?(\d{1,4})\.?,? (?:([^\W\d][^\d\n:]{0,14}?|ч\.) ?)?"
    r"(\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?: ?([^\W\d][^\d\n:\]]{0,14}?))?(\] ?| - )"
)
NO_HALF = {"", "à", "às", "kl", "klo", "um", "om", "в", "o", "alle", "saat"}  # only words between date and time
# by Unicode's locale data, without dots and spaces
MORNING = {
    *("am", "오전", "上午", "午前", "凌晨", "早上", "清晨", "ص", "πμ", "de", "öö", "sa", "fm", "ap", "vm", "pg", "dop"),
    *("पूर्वाह्न", "ก่อนเที่ยง", "קודםהצהריים", "לפנהצ", "קבל"),
}
AFTERNOON = {
    *("pm", "오후", "下午", "午後", "晚上", "中午", "م", "μμ", "du", "ös", "ch", "em", "ip", "nm", "ptg", "odp"),
    *("अपराह्न", "หลังเที่ยง", "אחהצ"),
}
SIGNS = re.compile(r"[\s.'\"׳״]")


@dataclass(frozen=True, slots=True)
class Stamp:
    """A date and time as they are written; ``form`` is the same for all of one export."""

    text: str
    form: tuple[object, ...]
    date: tuple[str, str, str]
    dotted: bool
    half: str  # the word for the half of the day, "" on a clock of 24 hours
    clock: tuple[int, int, int]


def find_stamp(line: str) -> tuple[Stamp, str] | None:
    """The stamp at the line's beginning and what follows it, None where there is none."""
    if "A" <= line[:1] <= "Z" or "\\" <= line[:1] <= "~":  # as most lines of a long message begin
        return None
    match = STAMP.match(INVISIBLE.sub("", line[:LINE_CHARACTERS]).translate(NARROW_SPACES))
    if match is None:
        return None
    bracket, first, sign, second, third, before, hour, minute, seconds, after, end = match.groups()
    if bool(bracket) != end.startswith("]"):
        return None
    rest = line.partition("]" if bracket else " - ")[2]
    form = (bracket, sign, len(first) == 4, len(third) == 4, seconds is None)
    half = SIGNS.sub("", before or after or "").casefold()
    clock = int(hour), int(minute), int(seconds or 0)
    stamp = Stamp(match[0].strip("[] -"), form, (first, second, third), sign == ".", half, clock)
    return stamp, rest.removeprefix(" ") if bracket else rest


class StampReader:
    """Finds out in which order an export writes its dates, and reads them. It never guesses."""

    def __init__(self, flags: frozenset[str]) -> None:
        self._asked = [order for order in ORDERS if order in flags]
        self._possible = list(self._asked or ORDERS)
        self._days: dict[tuple[str, str, str], tuple[str, bool]] = {}  # the days met, as text, and whether with dots

    def note(self, stamp: Stamp) -> None:
        """Note the order that a stamp allows. Raises InputError for a word that is no known half of the day."""
        if stamp.half not in NO_HALF | MORNING | AFTERNOON:
            raise InputError(
                f"'{stamp.text}': '{stamp.half}' is not known as a half of the day; set the phone to a clock of 24 "
                "hours or to English and export the chat again.",
                code="unknown_locale",
            )
        if stamp.date not in self._days:
            self._days[stamp.date] = (stamp.text, stamp.dotted)

    def decide(self) -> None:
        """Choose the order. Raises InputError that names the options where several orders can be, or where none can."""
        if len(self._asked) > 1:
            raise InputError(f"Give one of {_named(self._asked)}.", code="ambiguous_dates")
        if self._asked:
            return
        for parts, (text, dotted) in self._days.items():
            # with dots and the year in two digits no language has another order
            orders = ["day_first"] if dotted and len(parts[0]) < 4 else self._possible
            left = [order for order in orders if order in self._possible and _day(parts, order)]
            if not left:
                raise InputError(
                    f"'{text}': its date cannot be read in the calendar and order of the others; export the chat with "
                    "the phone set to English.",
                    code="unknown_locale",
                )
            self._possible = left
        readings = {tuple(_day(parts, order) for parts in self._days) for order in self._possible}
        if len(readings) > 1:
            text = next(iter(self._days.values()))[0]
            raise InputError(
                f"'{text}': no date in the chat tells in which order day, month and year stand; say "
                f"{_named(self._possible)}.",
                code="ambiguous_dates",
            )

    def seconds(self, stamp: Stamp) -> float:
        """Unix seconds, the clock taken as UTC. Raises InputError for a day or time that cannot be."""
        day, (hour, minute, second) = _day(stamp.date, self._possible[0]), stamp.clock
        if stamp.half in MORNING | AFTERNOON and 1 <= hour <= 12:
            noon = stamp.half == "中午" and hour == 11
            hour = hour % 12 + (12 if stamp.half in AFTERNOON and not noon else 0)
        if day is None or hour > 23 or minute > 59 or second > 59:
            raise InputError(f"'{stamp.text}' is no date and time.", param="date", code="invalid_timestamp")
        moment = datetime(day.year, day.month, day.day, hour, minute, second, tzinfo=UTC)
        return parse_timestamp(moment.timestamp() if moment <= datetime.now(UTC) else _local(moment), param="date")


def _local(moment: datetime) -> float:
    """A moment of today that is still to come in UTC, in a zone that is ahead of it: now."""
    now = datetime.now(UTC)
    return (now if moment - now < timedelta(hours=14) else moment).timestamp()


def _day(parts: tuple[str, str, str], order: str) -> date | None:
    """The day if it can be one of WhatsApp's in this order."""
    year, month, day = (parts[place] for place in ORDERS[order])
    if len(year) not in (2, 4) or len(month) > 2 or len(day) > 2:
        return None
    try:
        found = date(int(year) + (2000 if len(year) == 2 else 0), int(month), int(day))
    except ValueError:
        return None
    return found if FIRST_DAY <= found <= datetime.now(UTC).date() + timedelta(days=1) else None


def _named(orders: list[str]) -> str:
    return " or ".join(f"--{order.replace('_', '-')}" for order in orders)
