"""The facts of a text, each with keys by which it is the same fact in another form: "4 March" and "04.03."."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

import regex

from pearl.claims.languages import words
from pearl.manner.reference import common_words

Key: TypeAlias = tuple[object, ...]
CURRENCIES = "$€£¥₹"
DAY, NO_PART = 31, None
ARTICLE = 4  # letters of a common word before a name, as "The", that is no part of it
ROMAN = regex.compile(r"(?=.)M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
# full-width characters, and the Arabic marks of decimals and thousands
USUAL = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x066B: ".", 0x066C: ","}
NAME = r"(?!I['’])\p{Lu}[\p{L}\p{M}'’-]++(?!\w)"  # I'll is none
PARTICLES = "of|the|de|da|di|del|della|van|von|der|den|zu|la|le|du|des|y|and|&"


@dataclass(frozen=True, slots=True)
class Fact:
    kind: str  # "date", "number", "time", "link", "address", "code", "quote", "name"
    text: str
    start: int  # character of the text
    end: int
    keys: frozenset[Key]  # one for each way to read it: 03/04 has two


@cache
def _pattern() -> regex.Pattern[str]:
    known = words()
    month = "|".join(sorted(map(regex.escape, known.months), key=len, reverse=True))
    weekday = "|".join(sorted(map(regex.escape, known.weekdays), key=len, reverse=True))
    ordinal = "|".join(sorted(map(regex.escape, known.ordinals), key=len, reverse=True))
    day = rf"(?:\d{{1,2}}(?:st|nd|rd|th|\.(?=\s*\p{{L}})|º|er|e)?|(?:the\s+)?(?:{ordinal})(?!\w))"
    return regex.compile(
        rf"""(?xi)
        (?:(?<!\w)(?=\S|\s\d)(?!(?!\L<calendar>)(?-i:\p{{Ll}}++\s))|(?=[hw\d`“«„]))(?:
        (?P<link>(?:https?://|www\.)[^\s<>()"'`]*[^\s<>()"'`.,;:!?])
        |(?P<address>(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+)
        |(?P<iso>(?<!\w)\d{{4}}-\d{{1,2}}-\d{{1,2}}(?!\w))
        |(?P<numeric>(?<![\w./])\d{{1,2}}(?P<mark>[./])\d{{1,2}}(?:(?P=mark)(?:\d{{4}}|\d{{2}})?)?(?![\w/])(?!\.\d))
        |(?P<cjk>(?:\d{{4}}年)?\d{{1,2}}月(?:\d{{1,2}}日)?)
        |(?P<named>(?<!\w){day}\s*(?:of\s+|de\s+|di\s+)?(?:{month})\b(?:\.?,?\s*(?:de\s+)?\d{{4}})?
          |(?<!\w)(?:{month})\b\.?\s+{day}(?!\w)(?:,?\s*\d{{4}})?
          |(?<!\w)(?:{month})\b(?:\s+(?:de\s+)?\d{{4}})?)
        |(?P<weekday>(?<!\w)(?:{weekday})s?\b)
        |(?P<time>(?<![\w:])\d{{1,2}}[:h]\d{{2}}(?:\s*[ap]\.?m\b\.?)?(?![\w:])|(?<!\w)\d{{1,2}}\s*(?:[ap]\.?m\b\.?|o['’]clock|Uhr|h\b))
        |(?P<code>`[^`\n]{{1,80}}`
          |(?<![\w/.+~-])(?:~/|\.{{1,2}}/|/)?(?:[\p{{L}}_.][\w.+-]*+/)+[\w.*+-]*\w
          |(?<![\w.-])(?-i:[\w-]{{2,}}+(?:\.[a-z][\w-]++)+)(?![\w.]\w)
          |(?<![\w.])[\w.]*_[\w.]*\w(?:\(\))?|(?<![\w.])\w[\w.]*+\(\)
          |(?<![\w-])--[a-z][\w-]+
          |(?<!\w)O\([^()\s]{{1,12}}\)|(?<![\w&])\#(?!(?:define|endif|include|ifn?def|if|else|undef|pragma)\b)[a-z][\w-]+
          |(?<!\w)v?\d+\.\d+(?:\.\d+)+\w*|(?<!\w)v\d+(?:\.\d+)*\b
          |(?<!\w)(?-i:\p{{Ll}}+\p{{Lu}}\w*|\p{{Lu}}+\p{{Ll}}+\p{{Lu}}\w*|\p{{L}}+\d\w*(?<!\d(?:st|nd|rd|th)))(?!\w)
          |(?<!\w)(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{{7,40}}(?!\w)|(?<![\w&])\#\d+)
        |(?P<quote>[“«„][^“”«»„\n]{{2,120}}[”»“]|(?<![\w"])"[^"\n]{{2,120}}"(?!\w))
        |(?P<number>(?<![\w.,])[{CURRENCIES}]?\s?\d{{1,3}}(?:[,.'’\u00a0\u202f]\d{{3}})+(?:[.,]\d+)?(?!\w)
          |(?<![\w.,])[{CURRENCIES}]?\d+(?:[.,]\d+)?
           (?:\s?(?:%|[{CURRENCIES}])|\p{{L}}{{1,3}}(?:/\p{{L}}{{1,2}})?)?(?!\w))
        |(?P<name>(?-i:(?<!\w){NAME}(?:(?:\ (?:{PARTICLES}))?\ (?!(?i:{month})\b\.?\s+\d){NAME})*)))
        """,
        calendar={"the", *known.months, *known.weekdays, *known.ordinals},
    )


def in_usual_forms(text: str) -> str:
    """Return the text with full-width characters and Arabic marks of numbers in their usual forms, as long as it is."""
    return text.translate(USUAL)


def facts(text: str) -> Iterator[Fact]:
    """Yield the facts of a text in their order; names include any word with a capital, also at a sentence's start."""
    written, text = text, in_usual_forms(text)
    for match in _pattern().finditer(text):
        kind = match.lastgroup or ""  # the outermost group, which every alternative is
        start, end = match.span()
        if kind == "name":
            end = start + len(regex.sub(r"['’]s$", "", match[0].rstrip("'’-")))  # without a possessive's end
            first = regex.match(rf"\p{{Lu}}\p{{Ll}}{{0,{ARTICLE - 1}}} ", text[start:end])
            if first and first[0].strip().casefold() in common_words():
                start += first.end()
        start += len(text[start:end]) - len(text[start:end].lstrip())
        if kind == "quote" and regex.search(r"\s", text[start:end]) is None:  # a link, a path, a name, or set apart
            within = tuple(facts(text[start + 1 : end - 1]))
            yield from (replace(fact, start=start + 1 + fact.start, end=start + 1 + fact.end) for fact in within)
            if within or text[start + 1 : end - 1].isalpha():
                continue
        if keys := READERS[kind](text[start:end]):
            yield Fact("date" if kind in DATES else kind, written[start:end], start, end, frozenset(keys))


def _iso(text: str) -> list[Key]:
    year, month, day = map(int, text.split("-"))
    return [_date(year, month, day)] if month <= 12 and day <= DAY else []


def _numeric(text: str) -> list[Key]:
    """Day and month in both orders; 3.5 may be a number as well."""
    mark = "/" if "/" in text else "."
    parts = [int(part) for part in text.split(mark) if part]
    year = None if len(parts) < 3 else parts[2] + (2000 if parts[2] < 100 else 0)
    first, second = parts[:2]
    dates = [
        _date(year, month, day)
        for day, month in ((first, second), (second, first))
        if 1 <= month <= 12 and 1 <= day <= DAY
    ]
    plain = len(parts) == 2 and mark == "." and not text.endswith(".")
    return [*dates, *([("number", float(text))] if plain else [])]


def _cjk(text: str) -> list[Key]:
    numbers = [int(number) for number in regex.findall(r"\d+", text)]
    year = numbers.pop(0) if "年" in text else None
    return [_date(year, numbers[0], numbers[1] if len(numbers) > 1 else None)]


def _named(text: str) -> list[Key]:
    known = words()
    tokens = regex.findall(r"[\p{L}\p{M}]+|\d+", text.casefold())
    month = next((known.months[token] for token in tokens if token in known.months), None)
    if month is None:  # "1ermars": no word of it is the month
        return []
    numbers = [int(token) for token in tokens if token.isdecimal()]
    day = next((number for number in numbers if number <= DAY), None)
    day = day or next((known.ordinals[token] for token in tokens if token in known.ordinals), None)
    year = next((number for number in numbers if number > DAY), None)
    alone = day is None and year is None
    if alone and (text.casefold() in known.ambiguous or (not text[0].isupper() and len(text) < 4)):
        return []
    return [_date(year, month, day)]


def _weekday(text: str) -> list[Key]:
    token = text.casefold()
    number = words().weekdays.get(token) or words().weekdays.get(token.removesuffix("s"))
    return [("weekday", number)] if number else []


def _time(text: str) -> list[Key]:
    numbers = [int(number) for number in regex.findall(r"\d+", text)]
    hour, minute = numbers[0], numbers[1] if len(numbers) > 1 else 0
    if hour > 24 or minute > 59:
        return []
    half = regex.search(r"[ap](?=\.?m)", text.casefold())
    if half:
        return [("time", hour % 12 + (12 if half[0] == "p" else 0), minute)]
    return [("time", hour, minute), ("time", (hour + 12) % 24, minute)]


def _number(text: str) -> list[Key]:
    digits = regex.sub(r"[^\d.,]", "", text).rstrip(".,")
    keys: list[Key] = []
    plain = regex.sub(r"[.,](?=\d{3}(?!\d))", "", digits)
    for spelled in {plain, digits}:
        value = "".join(str(int(sign)) if sign.isdecimal() else "." for sign in spelled)
        if value.count(".") <= 1:
            keys.append(("number", float(value)))
    return keys


def _word(text: str) -> list[Key]:
    return [("words", text.strip('`“”«»„"').casefold())]


def _name(text: str) -> list[Key]:
    """The words; of "Chapter XIV" the number as well."""
    last = text.split()[-1]
    if len(last) < 2 or not ROMAN.fullmatch(last):
        return _word(text)
    values = [ROMAN_DIGITS[digit] for digit in last]
    number = sum(-value if value < behind else value for value, behind in zip(values, [*values[1:], 0], strict=True))
    return [*_word(text), ("number", float(number))]


def _date(year: int | None, month: int, day: int | None) -> Key:
    return ("date", year, month, day)


READERS: dict[str, Callable[[str], list[Key]]] = {
    "link": lambda text: [("words", text.casefold().rstrip("/"))],
    "address": _word,
    "iso": _iso,
    "numeric": _numeric,
    "cjk": _cjk,
    "named": _named,
    "weekday": _weekday,
    "time": _time,
    "code": _word,
    "quote": _word,
    "number": _number,
    "name": _name,
}
DATES = frozenset({"iso", "numeric", "cjk", "named", "weekday"})


def same(one: Key, other: Key) -> bool:
    """True for keys that may mean the same: a date without a year agrees with one of any year."""
    if one[0] != other[0]:
        return False
    if one[0] != "date":
        return one == other
    return all(NO_PART in parts or parts[0] == parts[1] for parts in zip(one[1:], other[1:], strict=True))
