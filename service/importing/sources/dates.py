"""Reading dates as people and programs write them: in fields, in file names and in folder names."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, date, datetime, timedelta
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from pearl.errors import InputError
from pearl.text.usable import parse_timestamp

if TYPE_CHECKING:
    from dateparser.date import DateDataParser

DAY_IN_NAME = re.compile(
    r"(?<!\d)(\d{4})([-_.]?)(\d\d)\2(\d\d)(?:[T _-]?(\d\d)[-:_.h]?([0-5]\d)(?:[-:_.]?[0-5]\d)?)?(?!\d)"
)
MONTH_IN_NAME = re.compile(r"(?<!\d)(\d{4})[-_./](\d\d)(?!\d)")
DAY_OF_MONTH = re.compile(r"(?<!\d)(\d\d)[-_.](\d\d)(?!\d)")
DAY_IN_FOLDERS = re.compile(r"(?:^|/)((?:19|20)\d\d)/(\d\d)/(\d\d)(?:/|$|[-_])")
YEAR = re.compile(r"(?:19|20)\d\d")
# in a file's name a date of another form is looked for only where it has few words, a year and another number
DATED_NAME = re.compile(r"(?=.*\d\D+\d)(?=.*\b(?:19|20)\d\d\b)\W*(?:\w+\W+){1,6}\w*\W*")
YEAR_FIRST = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
DAY_AND_MONTH = re.compile(r"(?<![\w:.])(\d{1,2})([-/])(\d{1,2})\2(\d{4}|\d\d)(?!\w)")  # with dots the day comes first
ZONE_OF_ONE_DIGIT = re.compile(r"(?<=\d:\d\d) ?([+-])(\d)(?=(?::?\d\d)?$)")  # which YAML allows
ORDINAL = re.compile(r"(?<=\d)(?:[ºª°]|ste|de|-го)(?!\w)")  # that the parser does not know
LANGUAGES = (
    *("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "fi", "pl", "cs", "sk", "hu", "ru", "uk", "bg", "el"),
    *("tr", "ro", "hr", "ca", "zh", "ja", "ko", "vi", "id", "hi", "ar", "he", "fa"),
)
MAX_DATE_CHARACTERS = 100
EARLIEST_YEAR = 1900  # of diaries and letters that were typed later


@dataclass(frozen=True, slots=True)
class NamedDate:
    """The day, month or year that a file's name tells. ``start``: its first second; ``end``: the first second after it;
    both in Unix seconds."""

    start: float
    end: float
    exact: bool  # a day

    def within(self, seconds: float) -> float:
        """Return the given time if it lies in this day, month or year, else its first second."""
        return seconds if self.start <= seconds < self.end else self.start


def read_date(value: Any, day_first: bool = True) -> float:
    """Convert a date in any common form to Unix seconds; without a time zone it is taken as UTC. ``day_first``:
    03/04/2023 is in April. Raises InputError if it cannot be read."""
    text = _date_text(value)
    if re.fullmatch(r"\d{13}", text):  # milliseconds
        return parse_timestamp(int(text) / 1000, param="date")
    if re.fullmatch(r"\d{9,10}(?:\.\d+)?", text):
        return parse_timestamp(float(text), param="date")
    moment = _moment(text, day_first)
    if moment is None:
        raise InputError(
            f"'{text[:MAX_DATE_CHARACTERS]}' is no date that can be read.", param="date", code="invalid_timestamp"
        )
    return parse_timestamp(_in_utc(moment).timestamp(), param="date")


def date_in_form(text: str, form: str) -> float | None:
    """Convert a date to Unix seconds by a strptime format; UTC if it has no zone. None if the text does not fit."""
    try:
        return _in_utc(datetime.strptime(text, form)).timestamp()
    except ValueError:
        return None


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def possible_orders(value: Any) -> set[bool]:
    """Tell how a date such as 03/04/2023 can be read: True with the day first, False with the month first. Both are
    possible if the date alone does not tell. The set is empty for dates in other forms, and if both readings give the
    same day."""
    match = DAY_AND_MONTH.search(_date_text(value))
    if match is None or match[1] == match[3]:
        return set()
    first, second, year = (int(match[number]) for number in (1, 3, 4))
    year += 0 if year > 99 else 2000 if year < 69 else 1900
    possible = {True: _day_of(year, second, first), False: _day_of(year, first, second)}
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    return {day_first for day_first, day in possible.items() if day and day < tomorrow}


def _day_of(year: int, month: int, day: int) -> datetime | None:
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def _date_text(value: Any) -> str:
    """Return a date field's text: of a list the first entry's, of a link the title's."""
    while isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, date):
        value = value.isoformat()
    text = str(value).strip("![<\"' ") if isinstance(value, (str, int, float)) else ""
    return re.split(r"[|\[\]<>\"]", text, maxsplit=1)[0].strip("' ")


def _moment(text: str, day_first: bool) -> datetime | None:
    if len(text) > MAX_DATE_CHARACTERS or not re.search(r"\d", text):  # the parser looks through all languages
        return None
    text = ZONE_OF_ONE_DIGIT.sub(r"\g<1>0\2", text)
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    order = "DMY" if day_first else "MDY"
    if year_first := YEAR_FIRST.match(text):
        if _day_of(*map(int, year_first.groups())) is None:
            return None
        order = "YMD"
    found = _parser(order).get_date_data(ORDINAL.sub("", text))
    moment: datetime | None = found.date_obj
    if moment is not None and ("day" in found.parts or "time" not in found.parts):  # else today's day of a month
        return moment
    written = DAY_IN_NAME.search(text)  # with more behind it
    day = _day(written[1], written[3], written[4], written[5], written[6]) if written else None
    return datetime.fromtimestamp(day.start, UTC) if day else None


@cache
def _parser(order: str) -> DateDataParser:
    from dateparser.date import DateDataParser  # takes a tenth of a second

    settings = {
        "DATE_ORDER": order,
        "PREFER_LOCALE_DATE_ORDER": False,
        "PARSERS": ["absolute-time"],  # no "yesterday"
        "REQUIRE_PARTS": ["year", "month"],
        "PREFER_DAY_OF_MONTH": "first",
        "TIMEZONE": "UTC",
        "RETURN_AS_TIMEZONE_AWARE": True,
    }
    return DateDataParser(languages=list(LANGUAGES), settings=settings, try_previous_locales=True)


def date_in_name(name: str) -> NamedDate | None:
    """Find the date in a file's name, else in its folders' names: 2024-03-01-tea, journals/2024_03_01,
    2024/03/01/tea."""
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
    moment = _day_of(int(year), int(month), int(day))
    if moment is None:
        return None
    if hour is not None and int(hour) < 24:
        moment = moment.replace(hour=int(hour), minute=int(minute or 0))
    return _named(moment, moment + timedelta(days=1), exact=True)


def _span(year: str, month: str | None = None) -> NamedDate | None:
    start = _day_of(int(year), int(month or 1), 1)
    if start is None or start.year == MAXYEAR:
        return None
    end = start.replace(year=start.year + 1) if month is None else (start + timedelta(days=32)).replace(day=1)
    return _named(start, end, exact=False)


def _named(start: datetime, end: datetime, exact: bool) -> NamedDate | None:
    if not EARLIEST_YEAR <= start.year <= datetime.now(UTC).year:
        return None  # a number that is no date
    return NamedDate(start.timestamp(), end.timestamp(), exact)
