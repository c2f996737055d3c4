"""Keys of dates, times and numbers, which are equal for a value however it is written, and a test if two keys agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import regex

from pearl.style.claims.languages import HOUR, PERCENT, Lexicon, Unit
from pearl.style.claims.tokens import Token

Key: TypeAlias = tuple[object, ...]  # ("date", year, month, day), ("time", hour, minute), ("number", value, units), ...
DAY = 31
THINGS = frozenset({"things"})  # the unit of 20 in "20 chairs", which are not 20 %
SHORTEST_MONTH = 5  # letters from which on a month alone is one; "may" and "mar" need a number beside them
CLEAR = frozenset({"juni", "juli", "june", "july", "août", "mayo", "maio", "mars"})
COUNTRY_DIGITS = 3  # of a telephone number
ROMAN = regex.compile(r"(?=.)M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def _iso(run: Sequence[Token], _: Lexicon) -> list[Key]:
    year, month, day = map(int, run[0].text.split("-"))
    return [_date(year, month, day)] if month <= 12 and day <= DAY else []


def _numeric(run: Sequence[Token], _: Lexicon) -> list[Key]:
    """Keys of a date in digits, with day and month in both orders; 3.5 may be a number as well."""
    text = run[0].text
    mark = "/" if "/" in text else "."
    parts = [int(part) for part in text.split(mark) if part]
    year = None if len(parts) < 3 else parts[2] + (2000 if parts[2] < 100 else 0)
    dates = [
        _date(year, month, day) for day, month in (parts[:2], parts[1::-1]) if 1 <= month <= 12 and 1 <= day <= DAY
    ]
    plain = len(parts) == 2 and mark == "." and not text.endswith(".")
    return [*dates, *([("number", float(text), frozenset())] if plain else [])]


def _named(run: Sequence[Token], lexicon: Lexicon) -> list[Key]:
    letters = {token.letter for token in run}
    counted = [token.values[0] for token in run if token.values]
    if "m" in letters:
        year = int(counted.pop(0)) if "y" in letters else None
        return [_date(year, int(counted[0]), int(counted[1]) if len(counted) > 1 else None)]
    word = next(token.text for token in run if token.letter == "M")
    day = next((int(value) for value in counted if value <= DAY), None)
    year = next((int(value) for value in counted if value > DAY), None)
    alone = day is None and year is None and word not in CLEAR
    if alone and (len(word) < SHORTEST_MONTH or word in lexicon.no_names):
        return []
    return [_date(year, lexicon.months[word], day)]


def _weekday(run: Sequence[Token], lexicon: Lexicon) -> list[Key]:
    word = run[0].text
    return [("weekday", lexicon.weekdays.get(word) or lexicon.weekdays[word.removesuffix("s")])]


def _relative(run: Sequence[Token], lexicon: Lexicon) -> list[Key]:
    return [("relative", float(lexicon.relative[run[0].text]))]


def _fixed(run: Sequence[Token], _: Lexicon) -> list[Key]:
    if run[0].kind == "time":
        return [("time", int(value) // 60, int(value) % 60) for value in run[0].values]
    (value,) = run[0].values
    return [("number", value, frozenset({PERCENT[0]})) if run[0].kind == "share" else ("relative", value)]


def _time(run: Sequence[Token], lexicon: Lexicon) -> list[Key]:
    numbers: list[float] = []
    for token in run:
        if token.letter in "TD":
            numbers += map(float, regex.findall(r"\d+", token.text))
        elif token.letter == "N":
            numbers.append(token.values[-1])
    if any(number != int(number) for number in numbers) or numbers[0] > 24 or (*numbers, 0)[1] > 59:
        return []
    hour, minute = (int(number) for number in (*numbers, 0)[:2])
    for token in run:
        if token.letter == "P":
            return [("time", hour % 12 + lexicon.halves[token.text], minute)]
    keys: list[Key] = [("time", hour % 24, minute), ("time", (hour + 12) % 24, minute)]
    if len(numbers) < 2 and any(HOUR in lexicon.units.get(token.text, ()) for token in run if token.letter == "H"):
        keys.append(("number", hour * HOUR[1], frozenset({HOUR[0]})))  # 15 heures
    return keys


def _number(run: Sequence[Token], lexicon: Lexicon) -> list[Key]:
    """Keys of a number, converted to its unit's base, so that 14 days equal two weeks."""
    first = next(token for token in run if token.letter in "NOD")
    scale = next((lexicon.scales[token.text] for token in run if token.letter == "S"), 1)
    units = {unit for token in run if token.letter in "UCd" for unit in _units(token.text, lexicon)}
    values = [value * scale for value in first.values]
    return [
        ("number", round(value * factor, 6), frozenset({kind})) for value in values for kind, factor in sorted(units)
    ] or [("number", value, frozenset()) for value in values]


def _units(word: str, lexicon: Lexicon) -> frozenset[Unit]:
    return frozenset({PERCENT}) if word in "%٪" else lexicon.units.get(word, frozenset())


def word_keys(text: str) -> list[Key]:
    return [("words", text.strip('`“”«»„"').casefold().rstrip("/"))]


def name_keys(text: str) -> list[Key]:
    """Return the keys of a name: its words, and for one such as "Chapter XIV" also the number."""
    last = text.split()[-1]
    if len(last) < 2 or not ROMAN.fullmatch(last):
        return word_keys(text)
    values = [ROMAN_DIGITS[digit] for digit in last]
    total = sum(-value if value < behind else value for value, behind in zip(values, [*values[1:], 0], strict=True))
    return [*word_keys(text), ("number", float(total), frozenset())]


def _date(year: int | None, month: int, day: int | None) -> Key:
    return ("date", year, month, day)


READERS: dict[str, Callable[[Sequence[Token], Lexicon], list[Key]]] = {
    "iso": _iso,
    "numeric": _numeric,
    "named": _named,
    "weekday": _weekday,
    "relative": _relative,
    "fixed": _fixed,
    "time": _time,
    "number": _number,
}


def agrees(stated: Key, given: Key) -> bool:
    """True if a text that says ``given`` also says at least what is ``stated``.

    A date without a year agrees with that date in any year, and "at nine" with 9:00 or with 9 March.
    """
    match stated, given:
        case ("date", *one), ("date", *other):
            return all(None in parts or parts[0] == parts[1] for parts in zip(one, other, strict=True))
        case ("number", one, frozenset() as units), ("number", other, frozenset() as others):
            return one == other and (not units or not others or not units.isdisjoint(others))
        case (("number", value, frozenset() as units), ("time", int() as hour, minute)) | (
            ("time", int() as hour, minute),
            ("number", value, frozenset() as units),
        ):
            return not units and minute == 0 and value in (hour, hour % 12 or 12)
        case ("number", value, frozenset() as units), ("date", year, _, day):
            return not units and value in (year, day)
        case ("phone", str() as one), ("phone", str() as other):
            short, long = sorted((one, other), key=len)
            abroad = long[0] != "0" and long.endswith(short.lstrip("0")) and len(long) - len(short) <= COUNTRY_DIGITS
            return one == other or abroad
    return stated == given
