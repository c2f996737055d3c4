"""The words by which facts are read in each language: of dates from dateparser, of units, currencies and scales from
CLDR through Babel, and all others from ``pearl/phrases/claims.toml``."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any, cast

import regex

from pearl.text import language
from pearl.text.phrases import Phrases

FREQUENT = ("cs", "da", "de", "en", "es", "fr", "it", "ja", "ko", "nb", "nl", "pl", "pt", "sv", "tr", "zh")
CALENDARS = (*FREQUENT, "el", "fi", "hu", "ro", "ru", "uk")  # whose months, weekdays and units are read
SPELLED = frozenset({"de", "en", "es", "fr", "it", "nl", "pt"})  # whose numbers in words text2num reads
INFLECTED = frozenset({"cs", "el", "fi", "hu", "ja", "ko", "pl", "ro", "ru", "tr", "uk", "zh"})  # names take endings
UNCASED = frozenset({"ar", "fa", "he", "hi", "ja", "ko", "th", "zh"})
CYRILLIC = regex.compile(r"\p{Cyrillic}")
HALVES = {"am": 0, "pm": 12}
SIGNS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]")
RELATIVE = {"in 1 day": 1, "in 2 day": 2, "1 day ago": -1, "2 day ago": -2}
LEAST_MONTH, LEAST_WEEKDAY = 3, 4  # letters, in another language one more: what is shorter is another word, too
MONEY = r"[$€£¥₹₽₩₺₴￥]"
STRENGTH = ("hedges", "soft", "unsure", "firm", "sorry", "excused", "orders", "answers", "asked")
PERCENT, HOUR = ("concentr", 1.0), ("duration", 3600.0)

Unit = tuple[str, float]  # its kind and factor, or a currency's code and 1


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """The words by which facts are read in some languages, all case-folded."""

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
    """Return the lexicon of the texts' languages, which are detected in each text and in all texts together."""
    together = "\n".join(texts)
    found = {code for text in (*texts, together) if (code := language.detect(text))}
    if not found and CYRILLIC.search(together):
        found = {"ru", "uk"}
    return lexicon(frozenset("nb" if code == "no" else code for code in found or FREQUENT))


@lru_cache(64)
def lexicon(languages: frozenset[str]) -> Lexicon:
    """Return the lexicon of these languages."""
    from babel import Locale  # not above: commands that check nothing start without it

    known = sorted(languages & set(CALENDARS))
    dates = _dates(known)
    own, (units, scales) = partial(_own().entries, languages=languages), _units(known)
    # months and weekdays of every language: hardly one is another word, and a text of a line has no sure language
    every, english = _dates(CALENDARS), cast("Any", Locale.parse("en"))
    names_of = english.months["format"]["wide"], english.days["format"]["wide"]
    months, weekdays = (
        _numbered(every, names, least + 1) | _numbered(dates, names, least)
        for names, least in zip(names_of, (LEAST_MONTH, LEAST_WEEKDAY), strict=True)
    )
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
        {
            word: letter
            for letter, words in (
                *(("P", halves), ("U", units), ("S", scales), ("H", clock)),
                *(("y", "年년"), ("m", "月월"), ("d", "日일号號")),
            )
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
    """Return what cannot be read in the text's language, such as "numbers in words are not read in Polish"."""
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
    """Load given names and the English lexicon now, so that the first request does not wait for them."""
    given_names()
    lexicon(frozenset({"en"}))
    strength_words(frozenset({"en"}))


@cache
def given_names() -> frozenset[str]:
    """Return given names of many countries, from the library Faker."""
    import faker.providers.person as people

    found: set[str] = set()
    for module in pkgutil.iter_modules(people.__path__):
        provider = pkgutil.resolve_name(f"{people.__name__}.{module.name}:Provider")
        for part in ("first_names", "first_names_male", "first_names_female", "first_names_nonbinary"):
            names = getattr(provider, part, ())
            if not isinstance(names, property):
                found.update(names)
    return frozenset(found)


@lru_cache(20_000)
def is_number(word: str, languages: frozenset[str]) -> bool:
    """True for a word that is a number, or part of a number, in one of the languages."""
    return any(spelled_out((word,), code) for code in sorted(languages & SPELLED))


@dataclass(frozen=True, slots=True)
class SpelledNumber:
    start: int  # its first word
    end: int  # the word behind it
    value: float
    is_ordinal: bool


def spelled_out(words: tuple[str, ...], code: str) -> list[SpelledNumber]:
    """Return the numbers written in words among a row of words in a language."""
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
    """Return two patterns: of promises, and of requests that ask for a promise."""
    promised, asked = (
        _own().compile_with(regex.compile, rf"(?<!\w){name}", regex.IGNORECASE) for name in ("{commitments}", "{asks}")
    )
    return promised, asked


@lru_cache(64)
def strength_words(languages: frozenset[str]) -> Mapping[str, regex.Pattern[str]]:
    """Return the patterns that the module ``strength`` uses for these languages, by the names of their word lists."""

    def pattern(entries: Sequence[str]) -> regex.Pattern[str]:
        words = "|".join(entries) or "(?!)"
        return regex.compile(
            rf"(?:(?<!\w)|(?<={SIGNS.pattern}))(?:{words})(?:(?!\w)|(?<={SIGNS.pattern}))", regex.IGNORECASE
        )

    return {name: pattern(_own().entries(name, languages)) for name in STRENGTH}


def _dates(languages: Iterable[str]) -> list[dict[str, Any]]:
    from dateparser.languages.loader import default_loader

    return [default_loader.get_locale(code).info for code in languages]


def _numbered(dates: list[dict[str, Any]], names: Mapping[int, str], least: int) -> dict[str, int]:
    return {
        word.casefold().rstrip("."): number
        for date in dates
        for number, (_, name) in enumerate(sorted(names.items()), start=1)
        for word in date.get(name.casefold(), ())
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
    """Convert a unit of CLDR to its kind and its factor to that kind's base unit; a currency to its code and 1."""
    factor = _factors().get(name, 0.0)
    return (name.partition("-")[0], factor) if factor else (name, 1.0)


@cache
def _factors() -> dict[str, float]:
    return {name: float(factor) for name, factor in _pairs(_own().entries("measures"))}


def _units(languages: list[str]) -> tuple[dict[str, set[Unit]], dict[str, float]]:
    """Return the units, currencies among them, and the scales by their words."""
    from babel import Locale

    locales: list[Any] = [Locale.parse(code) for code in ("en_GB", "en", *languages)]  # symbols are read everywhere
    units: dict[str, set[Unit]] = {}
    for word, unit in ((word, unit) for locale in locales for word, unit in (*_measures(locale), *_currencies(locale))):
        units.setdefault(word, set()).add(unit)
    return units, {word: value for locale in locales for word, value in _scales(locale) if word not in units}


def _measures(locale: Any) -> Iterator[tuple[str, Unit]]:
    """Yield the words of units: metre, metres, m."""
    for name in _factors():
        for length in locale._data["unit_patterns"].get(name, {}).values():
            for pattern in getattr(length, "values", tuple)():
                word = pattern.replace("{0}", "").strip().rstrip(".").casefold()
                if word and word.count(" ") < 2 and "{" not in word:
                    yield word, _unit(name)


def _currencies(locale: Any) -> Iterator[tuple[str, Unit]]:
    """Yield the words and symbols of currencies; of a name in several words, such as "US dollars", the last word."""
    for code in _own().entries("currencies"):
        plurals = locale._data["currency_names_plural"].get(code, {}).values()
        for name in (code, locale.currencies.get(code), locale.currency_symbols.get(code), *plurals):
            if name:
                yield name.casefold().split()[-1].rstrip("."), (code, 1.0)


def _scales(locale: Any) -> Iterator[tuple[str, float]]:
    """Yield the words of powers of ten: thousand, k, 万."""
    for powers in (powers for length in locale.compact_decimal_formats.values() for powers in length.values()):
        for power, format_ in powers.items():
            word = format_.pattern.strip("0 \u00a0'.").replace("'", "").casefold()
            if word:
                yield word, int(power) / 10 ** (format_.pattern.count("0") - 1)


def _idioms(entries: list[str], fixed: Mapping[str, object]) -> regex.Pattern[str] | None:
    """Compile the idioms of the clock, each a group, and the fixed words."""
    parts = [entry.replace("N", rf"(?P<n{index}>\w+)") for index, entry in enumerate(entries)]
    parts += [f"(?P<fixed>{'|'.join(sorted(map(regex.escape, fixed), key=len, reverse=True))})"] if fixed else []
    return regex.compile(rf"(?i)(?<!\w)(?:{'|'.join(parts)})(?!\w)") if parts else None
