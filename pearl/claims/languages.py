"""The words of languages by which facts are read: those of dates from dateparser, those of units, currencies and scales
from CLDR through Babel, and the rest from ``pearl/phrases/claims.toml``."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import Any

import regex

from pearl.text import language
from pearl.text.phrases import Phrases

CALENDARS = ("cs", "da", "de", "el", "en", "es", "fi", "fr", "hu", "it", "ja", "ko", "nb", "nl", "pl", "pt", "ro", "ru")
CALENDARS += ("sv", "tr", "uk", "zh")
SPELLED = frozenset({"de", "en", "es", "fr", "it", "nl", "pt"})  # whose numbers in words text2num reads
INFLECTED = frozenset({"cs", "el", "fi", "hu", "ja", "ko", "pl", "ro", "ru", "tr", "uk", "zh"})  # names take endings
UNCASED = frozenset({"ar", "fa", "he", "hi", "ja", "ko", "th", "zh"})
CYRILLIC, GREEK = regex.compile(r"\p{Cyrillic}"), regex.compile(r"\p{Greek}")
MONTHS = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
HALVES = {"am": 0, "pm": 12}
SIGNS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]")
RELATIVE = {"in 1 day": 1, "in 2 day": 2, "1 day ago": -1, "2 day ago": -2}
LEAST_ELSEWHERE = 5  # letters of a month or weekday of another language
LEAST_WEEKDAY = 4  # letters; shorter ones are abbreviations that are words, too
CURRENCIES = (
    ["AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HUF", "INR", "JPY", "KRW", "MXN", "NOK", "NZD", "PLN", "RON", "RUB", "SEK", "THB", "TRY", "UAH", "USD", "ZAR"]
)
MONEY = r"[$€£¥₹₽₩₺₴￥]"
# what a unit is of its kind's base, so that 14 days are two weeks
FACTORS = {
    "duration": {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "fortnight": 1209600}
    | {"month": 2_629_746, "year": 31_556_952},
    "length": {"millimeter": 0.001, "centimeter": 0.01, "meter": 1, "kilometer": 1000, "inch": 0.0254, "foot": 0.3048}
    | {"yard": 0.9144, "mile": 1609.344},
    "mass": {"milligram": 0.001, "gram": 1, "kilogram": 1000, "tonne": 1_000_000, "ounce": 28.35, "pound": 453.6},
    "volume": {"milliliter": 0.001, "centiliter": 0.01, "liter": 1, "pint": 0.5683, "gallon": 4.546},
    "area": {"square-meter": 1, "hectare": 10_000, "square-kilometer": 1_000_000},
    "digital": {"byte": 1, "kilobyte": 1e3, "megabyte": 1e6, "gigabyte": 1e9, "terabyte": 1e12},
    "temperature": {"celsius": 1, "fahrenheit": 1},
    "power": {"watt": 1, "kilowatt": 1000, "horsepower": 735.5},
    "speed": {"kilometer-per-hour": 1, "mile-per-hour": 1.609},
    "concentr": {"percent": 1},
}
PERCENT, HOUR = ("concentr", 1.0), ("duration", 3600.0)

Unit = tuple[str, float]  # its kind and factor, or a currency's code and 1


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """The words of some languages, all case-folded."""

    languages: frozenset[str]
    months: Mapping[str, int]  # 1 to 12
    weekdays: Mapping[str, int]  # 1 is Monday
    relative: Mapping[str, int]  # tomorrow is 1
    halves: Mapping[str, int]  # am is 0, pm is 12
    units: Mapping[str, frozenset[Unit]]
    scales: Mapping[str, float]  # million
    of: frozenset[str]  # between a day and its month, or the words of a name
    letters: Mapping[str, str]  # what a word is: those of facts.FACTS
    counting: Mapping[str, str]  # what it is behind a number
    no_names: frozenset[str]
    fixed: Mapping[str, tuple[str, float]]  # noon, half of: what they say, by the kind of fact
    idioms: regex.Pattern[str] | None  # half past N
    minutes: tuple[int, ...]  # of each idiom
    symbols: tuple[str, ...]  # units that are no word: km/h, °C, square metres
    signs: tuple[str, ...]  # words of scripts without blanks that stand anywhere
    after_digits: tuple[str, ...]  # those that count


def of_texts(*texts: str) -> Lexicon:
    """Return the words of the languages that the texts are in, taken together where one alone is too short."""
    found = {language.detect(text) for text in (*texts, "\n".join(texts))} - {None}
    if not found:
        together = "\n".join(texts)
        scripts = ({"ru", "uk"}, CYRILLIC), ({"el"}, GREEK)
        found = next((codes for codes, script in scripts if script.search(together)), None) or (
            set(CALENDARS) - {"ru", "uk", "el", "fi", "hu", "ro"}
        )
    return lexicon(frozenset("nb" if code == "no" else str(code) for code in found))


@lru_cache(64)
def lexicon(languages: frozenset[str]) -> Lexicon:
    """Read the words of these languages."""
    known = sorted(languages & set(CALENDARS))
    dates = _dates(known)
    own, (units, scales) = partial(_own().entries, languages=languages), _units(known)
    # months and weekdays of every language: hardly one is another word, and a text of a line has no sure language
    months = {**_numbered(_dates(CALENDARS), MONTHS, LEAST_ELSEWHERE), **_numbered(dates, MONTHS, 3)}
    weekdays = {**_numbered(_dates(CALENDARS), DAYS, LEAST_ELSEWHERE), **_numbered(dates, DAYS, LEAST_WEEKDAY)}
    relative = {
        word.casefold(): number
        for date in dates
        for name, number in RELATIVE.items()
        for word in date.get("relative-type", {}).get(name, ())
    }
    halves = {word: hour for date in dates for name, hour in HALVES.items() for word in date.get(name, ())}
    for word, unit in _pairs(own("units")):
        units.setdefault(word, set()).add(_unit(unit))
    fixed = {word: ("relative", float(day)) for word, day in relative.items() if " " in word}
    fixed |= {word: ("share", float(percent)) for word, percent in _pairs(own("share"))} | _noons(known)
    idioms, clock = _pairs(own("idioms")), frozenset(own("clock"))
    signs = {word for words in (months, weekdays, relative, halves) for word in words if SIGNS.match(word)}
    return Lexicon(
        languages,
        months,
        weekdays,
        relative,
        halves,
        {word: frozenset(each) for word, each in units.items()},
        scales,
        frozenset(_own().entries("of")),
        {
            word: letter
            for letter, words in (
                *((letter, _own().entries(name)) for letter, name in (("o", "of"), ("G", "roles"), ("L", "titles"))),
                *(("K", own("before_clock")), ("P", halves), ("R", relative), ("W", weekdays), ("M", months)),
            )
            for word in words
        },
        dict.fromkeys("年년", "y")
        | dict.fromkeys("月월", "m")
        | dict.fromkeys("日일号號", "d")
        | {
            word: letter
            for letter, words in (("P", halves), ("U", units), ("S", scales), ("H", clock))
            for word in words
        },
        frozenset(_own().entries("no_names")),
        fixed,
        _idioms([words for words, _ in idioms], fixed),
        tuple(int(minutes) for _, minutes in idioms),
        _longest_first(word for word in units if not word.isalpha() and len(word) > 1),
        _longest_first(word for word in signs if len(word) > 1),
        _longest_first(word for word in (*units, *scales, *clock) if SIGNS.match(word)),
    )


def not_read(text: str) -> list[str]:
    """Return what is not read in the text's language: "numbers in words are not read in Polish"."""
    code = language.detect(text)
    if code is None or code == "en":
        return []
    names, own = language.names()[code], _own()
    kinds = {
        "numbers in words": code in SPELLED,
        "weekdays and months": ("nb" if code == "no" else code) in CALENDARS,
        "times in words": bool(own.entries("idioms", {code})),
        "promises": bool(own.entries("commitments", {code})),
        "names without a title": code not in UNCASED,
    }
    return [f"{kind} are not read in {names}" for kind, read in kinds.items() if not read]


def load() -> None:
    """Load names and the words of English now, so that the first request does not wait for them."""
    given_names()
    lexicon(frozenset({"en"}))


@cache
def given_names() -> frozenset[str]:
    """Return given names of many countries, as Faker has them."""
    import faker.providers.person as people

    found: set[str] = set()
    for module in pkgutil.iter_modules(people.__path__):
        provider = import_module(f"{people.__name__}.{module.name}").Provider
        for part in ("first_names", "first_names_male", "first_names_female", "first_names_nonbinary"):
            names = getattr(provider, part, ())
            if not isinstance(names, property):
                found.update(names)
    return frozenset(found)


@lru_cache(20_000)
def is_number(word: str, languages: frozenset[str]) -> bool:
    """True for a word that is a number, or part of one, in one of the languages."""
    return any(spelled_out((word,), code) for code in sorted(languages & SPELLED))


@dataclass(frozen=True, slots=True)
class SpelledNumber:
    start: int  # its first word
    end: int  # the word behind it
    value: float
    is_ordinal: bool


def spelled_out(words: tuple[str, ...], code: str) -> list[SpelledNumber]:
    """Return the numbers of a run of words in a language."""
    from text_to_num import find_numbers

    found = find_numbers([_Token(word) for word in words], code, 0)
    return [SpelledNumber(each.start, each.end, float(each.value), each.is_ordinal) for each in found if each.value]


class _Token(str):
    """A word as text2num wants it."""

    def text(self) -> str:
        return str(self)

    def nt_separated(self, _: object) -> bool:
        return False

    def not_a_number_part(self) -> bool:
        return False


@cache
def _own() -> Phrases:
    return Phrases.of("pearl", "claims")


@cache
def commitments() -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Return the patterns of promises, and of requests that ask for one."""
    promised, asked = (
        _own().compile_with(regex.compile, rf"(?<!\w){name}", regex.IGNORECASE) for name in ("{commitments}", "{asks}")
    )
    return promised, asked


def _dates(languages: Iterable[str]) -> list[dict[str, Any]]:
    return [import_module(f"dateparser.data.date_translation_data.{code}").info for code in languages]


def _numbered(dates: list[dict[str, Any]], names: list[str], least: int) -> dict[str, int]:
    return {
        word.casefold().rstrip("."): number
        for date in dates
        for number, name in enumerate(names, start=1)
        for word in date.get(name, ())
        if (len(word.rstrip(".")) >= least or SIGNS.match(word)) and not word[0].isdigit()
    }


def _noons(languages: list[str]) -> dict[str, tuple[str, float]]:
    """Return the words of noon and midnight, as minutes of the day."""
    from babel import Locale

    return {
        str(periods[name]).casefold(): ("time", minutes)
        for code in languages
        for widths in Locale.parse(code).day_periods.values()
        for periods in [widths.get("wide", {})]
        for name, minutes in (("noon", 720.0), ("midnight", 0.0))
        if name in periods
    }


def _pairs(entries: Iterable[str]) -> list[tuple[str, str]]:
    return [(words, value) for words, _, value in (entry.rpartition("=") for entry in entries)]


def _longest_first(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(words, key=len, reverse=True))


def _unit(name: str) -> Unit:
    kind, _, measure = name.partition("-")
    return (kind, float(FACTORS[kind][measure])) if measure else (name, 1.0)


def _units(languages: list[str]) -> tuple[dict[str, set[Unit]], dict[str, float]]:
    """Return the units, currencies among them, and the scales by their words."""
    from babel import Locale

    units: dict[str, set[Unit]] = {}
    scales: dict[str, float] = {}
    for code in ("en_GB", "en", *languages):  # symbols are read everywhere
        locale = Locale.parse(code)
        patterns = locale._data["unit_patterns"]
        for name in (f"{kind}-{measure}" for kind, measures in FACTORS.items() for measure in measures):
            for length in patterns[name].values():
                for pattern in getattr(length, "values", tuple)():
                    word = pattern.replace("{0}", "").strip().rstrip(".").casefold()
                    if word and word.count(" ") < 2 and "{" not in word:
                        units.setdefault(word, set()).add(_unit(name))
        for currency in CURRENCIES:
            plurals = locale._data["currency_names_plural"].get(currency, {})
            names = [locale.currencies.get(currency, ""), *plurals.values(), currency]
            names += [locale.currency_symbols.get(currency, "")]
            for word in (name.casefold().split()[-1].rstrip(".") for name in names if name):
                units.setdefault(word, set()).add((currency, 1.0))
        for length in locale.compact_decimal_formats.values():
            for powers in length.values():
                for power, pattern in powers.items():
                    digits = pattern.pattern.count("0")
                    word = pattern.pattern.strip("0 \u00a0'.").replace("'", "").casefold()
                    if word and digits and len(word) > 0:
                        scales.setdefault(word, int(power) / 10 ** (digits - 1))
    for sign, codes in (
        ("$", ("USD", "AUD", "CAD", "NZD", "MXN")),
        ("€", ("EUR",)),
        ("£", ("GBP",)),
        ("¥", ("JPY", "CNY")),
    ):
        units.setdefault(sign, set()).update((code, 1.0) for code in codes)
    return units, {word: value for word, value in scales.items() if word not in units or len(word) > 1}


def _idioms(entries: list[str], fixed: Mapping[str, object]) -> regex.Pattern[str] | None:
    """Compile the idioms of the clock, each a group, and the fixed words."""
    parts = [entry.replace("N", rf"(?P<n{index}>\w+)") for index, entry in enumerate(entries)]
    parts += [f"(?P<fixed>{'|'.join(sorted(map(regex.escape, fixed), key=len, reverse=True))})"] if fixed else []
    return regex.compile(rf"(?i)(?<!\w)(?:{'|'.join(parts)})(?!\w)") if parts else None
