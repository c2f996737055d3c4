"""Dates as people and programs write them: in a field, in a file's name, in its folders' names."""

from __future__ import annotations

import datetime
import re
from contextlib import suppress
from dataclasses import dataclass
from email.utils import mktime_tz, parsedate_tz
from pathlib import PurePosixPath
from typing import Any

from pearl.texts import parse_timestamp

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAY_IN_NAME = re.compile(
    r"(?<!\d)(\d{4})([-_.]?)(\d\d)\2(\d\d)(?:[T _-]?(\d\d)[-:_.h]?([0-5]\d)(?:[-:_.]?[0-5]\d)?)?(?!\d)"
)
MONTH_IN_NAME = re.compile(r"(?<!\d)(\d{4})[-_./](\d\d)(?!\d)")
DAY_OF_MONTH = re.compile(r"(?<!\d)(\d\d)[-_.](\d\d)(?!\d)")
DAY_IN_FOLDERS = re.compile(r"(?:^|/)((?:19|20)\d\d)/(\d\d)/(\d\d)(?:/|$|[-_])")
YEAR = re.compile(r"(?:19|20)\d\d")
NUMERIC = re.compile(
    r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ,]+(\d{1,2}):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?\s*(.*)", re.ASCII
)
DOTTED = re.compile(r"(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})(?:,? +(\d{1,2}:\d\d(?::\d\d)?))?", re.ASCII)
WORDED = re.compile(
    r"(?:[a-z]{3,9},? +)?(?:(?P<m1>[a-z]{3,9})\.? +(?P<d1>\d{1,2})(?:st|nd|rd|th)?,?|"
    r"(?P<d2>\d{1,2})(?:st|nd|rd|th)? +(?P<m2>[a-z]{3,9})\.?,?) +(?P<year>\d{4})"
    r"(?: +(?:at +)?(?P<time>\d{1,2}:\d\d.*))?",
    re.ASCII,
)
CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::\d\d)?(?: *([ap])m)?.*")
ZONE = re.compile(r"(Z|[+-]\d\d:?\d\d)?(?: ?[A-Za-z]{2,5})?$")
MAX_DATE_CHARACTERS = 100
EARLIEST_YEAR = 1900  # of diaries and letters that were typed later


@dataclass(frozen=True, slots=True)
class NamedDate:
    """The day, month or year in a file's name: its first second, and the first one after it."""

    start: float
    end: float
    exact: bool  # a day

    def within(self, seconds: float) -> float:
        """The time where it agrees with the name, else the beginning of what the name says."""
        return seconds if self.start <= seconds < self.end else self.start


def read_date(value: Any) -> float:
    """Unix seconds from a date as people and programs write it; without a zone it is UTC. Raises InputError."""
    if isinstance(value, (datetime.date, datetime.datetime)):
        value = value.isoformat()
    if isinstance(value, list) and value:
        value = value[0]
    text = str(value).strip().strip("[]<>\"'").strip() if isinstance(value, (str, int, float)) else ""
    text = text[:MAX_DATE_CHARACTERS]
    if re.fullmatch(r"\d{13}", text):  # milliseconds
        return parse_timestamp(int(text) / 1000, param="date")
    if re.fullmatch(r"\d{9,10}(?:\.\d+)?", text):
        return parse_timestamp(float(text), param="date")
    with suppress(ValueError, OverflowError, TypeError, IndexError):
        for read in (_numeric, _dotted, _compact, _mail_date, _worded):
            seconds = read(text)
            if seconds is not None:
                return parse_timestamp(seconds, param="date")
    return parse_timestamp(text or value, param="date")  # says what is wrong


def date_in_name(name: str) -> NamedDate | None:
    """The date in the file's name, else in its folders': 2024-03-01-tea, journals/2024_03_01, 2024/03/01/tea."""
    path = PurePosixPath(name)
    *folders, file = path.with_suffix("").parts
    for part in (file, *reversed(folders)):
        written = DAY_IN_NAME.search(part)
        if written and (day := _day(written[1], written[3], written[4], written[5], written[6])):
            return day
    years = [folder for folder in folders if YEAR.fullmatch(folder)]
    joined = "/".join(folders)
    parts = DAY_IN_FOLDERS.search(f"{joined}/{file}")
    if parts and (day := _day(parts[1], parts[2], parts[3])):
        return day
    of_month = DAY_OF_MONTH.match(file) if years else None
    if of_month and (day := _day(years[-1], of_month[1], of_month[2])):
        return day
    month = MONTH_IN_NAME.search(file) or MONTH_IN_NAME.search(joined)
    if month and (span := _span(month[1], month[2])):
        return span
    return _span(years[-1]) if years else None


def _day(year: str, month: str, day: str, hour: str | None = None, minute: str | None = None) -> NamedDate | None:
    try:
        at_hour = hour is not None and int(hour) < 24
        clock = (int(hour or 0), int(minute or 0)) if at_hour else (0, 0)
        moment = datetime.datetime(int(year), int(month), int(day), *clock, tzinfo=datetime.UTC)
    except ValueError:
        return None
    return _named(moment, moment + datetime.timedelta(days=1), exact=True)


def _span(year: str, month: str | None = None) -> NamedDate | None:
    try:
        start = datetime.datetime(int(year), int(month or 1), 1, tzinfo=datetime.UTC)
        if month is None:
            end = start.replace(year=start.year + 1)
        else:
            end = (start + datetime.timedelta(days=32)).replace(day=1)
    except ValueError:
        return None
    return _named(start, end, exact=False)


def _named(start: datetime.datetime, end: datetime.datetime, exact: bool) -> NamedDate | None:
    if not EARLIEST_YEAR <= start.year <= datetime.datetime.now(datetime.UTC).year:
        return None  # a number that is no date
    return NamedDate(start.timestamp(), end.timestamp(), exact)


def _numeric(text: str) -> float | None:
    match = NUMERIC.fullmatch(text)
    if not match:
        return None
    year, month, day, hour, minute, second, zone = match.groups()
    offset = ZONE.fullmatch(zone.strip())
    moment = datetime.datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0))
    if offset is None:  # 2024-03-01 Fri 10:00, as Org and Logseq have it
        clock = re.fullmatch(r"\D{2,10} ?(?:(\d{1,2}):(\d\d).*)?", zone.strip())
        if clock is None:
            return None
        moment = moment.replace(hour=int(clock[1] or 0), minute=int(clock[2] or 0))
    sign = offset[1] if offset else None
    return datetime.datetime.fromisoformat(f"{moment.isoformat()}{sign or '+00:00'}").timestamp()


def _dotted(text: str) -> float | None:
    """1.3.2024 9:05: with dots the day always comes first."""
    match = DOTTED.fullmatch(text)
    return _numeric(f"{match[3]}-{match[2]}-{match[1]} {match[4] or '0:00'}") if match else None


def _compact(text: str) -> float | None:
    match = re.fullmatch(r"(\d{4})(\d\d)(\d\d)(?:T?(\d\d)(\d\d)(?:\d\d)?Z?)?", text)
    day = _day(*match.groups()) if match else None
    return day.start if day else None


def _worded(text: str) -> float | None:
    match = WORDED.fullmatch(text.lower())
    if not match:
        return None
    month = MONTHS.index((match["m1"] or match["m2"])[:3]) + 1
    date = f"{match['year']}-{month:02}-{int(match['d1'] or match['d2']):02}"
    clock = CLOCK.fullmatch(match["time"] or "0:00")
    hour = int(clock[1]) if clock else 0
    hour = hour % 12 + 12 * (clock[3] == "p") if clock and clock[3] else hour
    return _numeric(f"{date} {hour}:{clock[2] if clock else '00'}")


def _mail_date(text: str) -> float | None:
    parsed = parsedate_tz(text) if re.match(r"[A-Za-z]{3}, \d{1,2} [A-Za-z]{3} \d{4} \d", text) else None
    return None if parsed is None else float(mktime_tz(parsed))
