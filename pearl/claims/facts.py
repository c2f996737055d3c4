"""The facts of a text, each with keys by which it is the same fact in another form: "4 March" and "04.03.", "10 €" and
"EUR 10", "15h" and "half past three".

A text becomes a row of tokens, each with a letter for what it is in the languages at hand; facts are patterns of letters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias
from unicodedata import numeric

import regex

from pearl.claims.languages import HOUR, MONEY, PERCENT, SPELLED, Lexicon, Unit, given_names, is_number, spelled_out
from pearl.manner.reference import common_words

Key: TypeAlias = tuple[object, ...]
DAY = 31
THINGS = frozenset({"things"})  # the unit of 20 in "20 chairs", which are not 20 %
MANY = {100.0, 1000.0, 1_000_000.0}  # in a word, as in "a thousand thanks": no count
SMALL = 3  # from which on a number in a word is a count: "one", "two" are ordinary words
ROMAN = regex.compile(r"(?=.)M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
# full-width characters, and the Arabic marks of decimals and thousands
USUAL = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x066B: ".", 0x066C: ","}
NAME = r"(?!I['’])\p{Lu}[\p{L}\p{M}'’-]++(?!\w)"  # I'll is none
CAPITAL, SIGN_OF_MONEY, POSSESSIVE = map(regex.compile, (NAME, MONEY, r"['’]s$"))
LEAST_DIGITS = 7  # of a telephone number
PHONE = (
    rf"(?:\+|\(?0)[()\d](?:[ \u00a0\u202f()./-]{{0,2}}\d){{{LEAST_DIGITS - 2},14}}(?!\w)"
    r"|\(?\d{3}[-. )]{1,2}\d{3}[-. ]\d{4}(?!\w)"
)
# what is the same in all languages; a plain word is tried first, since most are
OPAQUE = r"""
    (?P<plain>\p{Ll}{2,}+(?=[\s,;!?]|[.:](?:\s|\Z)))
    |(?P<link>(?i:https?://|www\.)[^\s<>()"'`]*[^\s<>()"'`.,;:!?])
    |(?P<address>(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+)
    |(?P<iso>\d{4}-\d{1,2}-\d{1,2}(?!\w))
    |(?P<numeric>\d{1,2}(?P<mark>[./])\d{1,2}(?:(?P=mark)(?:\d{4}|\d{2})?)?(?![\w/])(?!\.\d))
    |(?P<clock>\d{1,2}[:h]\d{2}(?!\d|:\d|\p{Latin}))
    |(?P<phone>PHONE)
    |(?P<code>`[^`\n]{1,80}`
      |(?<![\w/.+~-])(?:~/|\.{1,2}/|/)?(?:[\p{L}_.][\w.+-]*+/)+[\w.*+-]*\w
      |(?<![\w.-])(?:[\w-]{2,}+(?:\.[a-z][\w-]++)+)(?![\w.]\w)
      |(?<![\w.])[\w.]*_[\w.]*\w(?:\(\))?|(?<![\w.])\w[\w.]*+\(\)
      |(?<![\w-])--[A-Za-z][\w-]+
      |(?<!\w)O\([^()\s]{1,12}\)|(?<![\w&])\#(?!(?:define|endif|include|ifn?def|if|else|undef|pragma)\b)[A-Za-z][\w-]+
      |(?<!\w)(?!\d{1,3}(?:\.\d{3})+(?![\w.]))v?\d+\.\d+(?:\.\d+)+\w*|(?<!\w)v\d+(?:\.\d+)*\b
      |(?<!\w)(?:\p{Ll}+\p{Lu}\w*|\p{Lu}+\p{Ll}+\p{Lu}\w*|\p{Latin}+\d\w*)(?!\w)
      |(?<!\w)\d+(?!(?:[KMGT]B?|[AP]M|[HWV]|[KMGT]?Hz)(?!\w))\p{Lu}\w*
      |(?<!\w)(?=[a-f]*\d)(?=\d*[a-f])[\da-f]{7,40}(?!\w)|(?<![\w&])\#\d+)
    |(?P<quote>[“«„][^“”«»„\n]{2,120}[”»“]|(?<![\w"])"[^"\n]{2,120}"(?!\w))
    |(?P<ordinal>\d{1,3}(?:st|nd|rd|th|º|ª|er|ère|e|ème|\.(?=\s?(?:\p{Ll}|MONTH)))(?!\w))
    |(?P<number>\d{1,3}(?:[,.'’\u00a0\u202f\x20]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)?)
""".replace("PHONE", PHONE)
WORDS = r"""|(?P<half>[APap]\.[Mm]\.?(?!\w))|(?P<word>(?:LETTER[\p{M}]*+)+(?:['’-](?:LETTER[\p{M}]*+)+)*['’]?)|(?P<line>\n)|(?P<sign>\S)"""
SPACED, SIGNS = r"\p{L}", r"[\p{L}--[\p{Han}\p{Hiragana}\p{Katakana}]]"
HONORED = r"|(?P<honored>(?!皆|各)[\p{Han}\p{Katakana}ー]{1,4}(?=さん|様|さま|くん|ちゃん)|\p{Han}(?=先生|老师|老師|女士|小姐))"
# letters: D date in digits, T clock, N number, O ordinal, M month, W weekday, R relative day, P half of the day, S scale, U unit,
# C currency before a number, H word of the clock, K word before it, y m d signs behind a year, month, day, A capital,
# L title, G role, o "of", x word
FACTS = regex.compile(
    r"(?P<named>(?:Ny)?NmNd?|Nm|[NO]o*M(?:[.,]?o?N(?![mHSU]))?|M\.?o?[NO](?:,?N(?![NSUHm.]))?|M(?:o?N)?)"
    r"|(?P<time>P?T[PH]?|PNHN[Um]?|PNH?|KDH?|KNH?N?|DH|NHN[Um]?|N[PH]P?)"
    r"|(?P<number>CDS?|C?D(?:S\.?)?-?[UC]|DS|C?N(?:S\.(?=[UC]))?S?-?[UC]?|O)"
    r"|(?P<iso>I)|(?P<numeric>D)|(?P<weekday>W)|(?P<relative>R)|(?P<opaque>F)"
    r"|(?P<role>A+G)|(?P<name>(?:L\.?)*A(?:(?:o|x(?=&)|-)?A)*)|(?P<fixed>Z)"
)
LETTERS = {
    "plain": "x",
    "iso": "I",
    "numeric": "D",
    "clock": "T",
    "ordinal": "O",
    "number": "N",
    "half": "P",
    "han": "N",
    "symbol": "U",
}
COUNTS = frozenset("NSOTDC")


@dataclass(frozen=True, slots=True)
class Fact:
    kind: str  # "date", "number", "time", "link", "address", "code", "quote", "name", "phone"
    text: str
    start: int  # character of the text
    end: int
    keys: frozenset[Key]  # one for each way to read it: 03/04 has two
    weak: bool = False  # perhaps none: the one of "one of them", a word that begins a sentence
    titled: bool = False  # a name behind a title


@dataclass(slots=True)
class _Token:
    letter: str
    text: str  # case-folded
    start: int
    end: int
    values: tuple[float, ...] = ()
    fact: Fact | None = None
    spelled: bool = False  # in words
    kind: str = ""


@lru_cache(64)
def _pattern(lexicon: Lexicon) -> regex.Pattern[str]:
    # signs count only behind a number; longer words of such scripts stand anywhere
    signs = "".join(
        rf"|(?P<{name}>{before}(?:{'|'.join(map(regex.escape, words))}))"
        for name, before, words in (
            ("after", r"(?<=[\d\p{Nd}]\s?)", (*lexicon.after_digits, *"年月日년월일號号")),
            ("known", "", lexicon.signs),
        )
        if words
    )
    symbols = "|".join(regex.escape(word, literal_spaces=False) for word in lexicon.symbols)
    begins = rf"(?P<symbol>(?<=\d\s?)(?i:{symbols})(?![\p{{L}}\d]))|" if symbols else ""
    months = rf"(?i:{'|'.join(map(regex.escape, lexicon.months))})\b"
    uncased = bool(lexicon.languages & {"ja", "zh"})
    signs += (
        r"|(?P<han>(?:[一二三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九])(?=[点點时時月日年天个個人元円]))"
        if uncased
        else ""
    )
    words = WORDS.replace("LETTER", SIGNS if uncased else SPACED)
    # nothing begins with a blank
    return regex.compile(
        rf"(?=[\S\n])(?:{begins}{OPAQUE.replace('MONTH', months)}{signs}{HONORED if uncased else ''}{words})",
        regex.VERBOSE | regex.V1,
    )


def in_usual_forms(text: str) -> str:
    """Return the text with full-width characters and Arabic marks of numbers in their usual forms, as long as it is."""
    return text.translate(USUAL)


def facts(text: str, lexicon: Lexicon) -> Iterator[Fact]:
    """Yield the facts of a text in their order; names include any word with a capital, also at a sentence's start."""
    usual = in_usual_forms(text)
    tokens = _spelled(list(_tokens(usual, lexicon)), lexicon)
    letters = "".join(token.letter for token in tokens)
    at = 0
    while found := FACTS.search(letters, at):
        at = found.end()
        kind, run = found.lastgroup or "", tokens[found.start() : found.end()]
        if kind == "role":  # the Hiring Manager
            continue
        if kind == "name":
            yield from _names(run, tokens[: found.start()], text, usual, lexicon)
            continue
        if kind in ("opaque", "fixed"):
            yield from _opaque(run[0], text, lexicon)
            continue
        keys = _READERS[kind](run, lexicon)
        if not keys and len(run) > 1:  # no date, no time: what begins it may still be a number
            kind, run, at = "number", run[:1], found.start() + 1
            keys = _number(run, lexicon) if run[0].letter in "NO" else []
        if kind == "number" and _counts_things(tokens[at : at + 1]):
            keys = [(*key[:2], key[2] or THINGS) for key in keys]
        if keys:
            start, end = run[0].start, run[-1].end
            kind = "date" if kind in _DATES else kind
            yield Fact(
                kind,
                text[start:end],
                start,
                end,
                frozenset(keys),
                _is_weak(kind, run, tokens[max(0, found.start() - 2) : found.start()], tokens[at : at + 1]),
            )


def _counts_things(behind: Sequence[_Token]) -> bool:
    """True where a noun follows, as far as can be told without a grammar."""
    return (
        bool(behind) and behind[0].letter in "xA" and len(behind[0].text) > 3 and behind[0].text not in common_words()
    )


def _is_weak(kind: str, run: Sequence[_Token], before: Sequence[_Token], behind: Sequence[_Token]) -> bool:
    """True for a number that counts nothing: a digit alone, a small number in words, an ordinal."""
    if kind != "number":
        return False
    first = next(token for token in run if token.values)
    unit = len(run) > 1
    if first.spelled and [token.letter for token in before] == ["N", "x"]:
        return True  # two or three
    if first.spelled:
        small = first.values[0] < SMALL or first.values[0] in MANY
        return (small and not (unit and first.values[0] > 1)) or (first.letter == "O" and first.values[0] <= SMALL - 1)
    if unit or len(first.text) > 1:
        return False
    return not behind or behind[0].letter not in "xAoUL"


def _tokens(text: str, lexicon: Lexicon) -> Iterator[_Token]:
    """Yield the words and signs of a text, each with its letter."""
    idioms = list(lexicon.idioms.finditer(text)) if lexicon.idioms else []
    place, before = 0, ""
    for match in _pattern(lexicon).finditer(text):
        start, end = match.span()
        while place < len(idioms) and idioms[place].end() <= start:
            place += 1
        if place < len(idioms) and idioms[place].start() <= start:
            if idioms[place].start() == start and (fact := _idiom(idioms[place], lexicon)):
                yield _Token("Z", idioms[place][0], start, idioms[place].end(), fact=fact)
            if idioms[place].start() < start or fact:
                before = "Z"
                continue
        kind = match.lastgroup or ""
        token = _token(kind, match[0], start, end, before, lexicon)
        before = before if (before, token.letter) == ("S", ".") else token.letter  # Mio. Euro
        yield token


def _token(kind: str, written: str, start: int, end: int, before: str, lexicon: Lexicon) -> _Token:
    small = written.casefold()
    if kind in ("link", "address", "code", "quote", "phone", "honored"):
        keys = [("phone", regex.sub(r"\D", "", written), "+" in written)] if kind == "phone" else _word(written)
        kind = "name" if kind == "honored" else kind
        return _Token("F", small, start, end, fact=Fact(kind, written, start, end, frozenset(keys)))
    if kind in ("number", "ordinal", "han") or (kind == "numeric" and "." in written):
        return _Token(LETTERS[kind], written, start, end, _han(written) if kind == "han" else _values(written))
    if kind in ("iso", "numeric", "clock", "half", "symbol"):
        return _Token(LETTERS[kind], {"half": small.replace(".", ""), "symbol": small}.get(kind, written), start, end)
    if kind == "line":
        return _Token("|", "\n", start, end)
    if kind == "sign":
        letter = "C" if SIGN_OF_MONEY.match(written) else "U" if written in "%٪°" and before in COUNTS else written
        return _Token(letter if letter in "CU.,:;!?…-&。！？、，" else "?", small, start, end)
    return _Token(_letter(small, written, before, lexicon, after=kind == "after"), small, start, end)


def _letter(small: str, written: str, before: str, lexicon: Lexicon, after: bool) -> str:
    """Return the letter of a word; what counts does so behind a number only."""
    if (before in COUNTS or after) and (letter := lexicon.counting.get(small)):
        return letter
    letter = lexicon.letters.get(small)
    if lexicon.letters.get(small.removesuffix("s")) == "W":
        letter = "W"
    if letter == "R" and small != written and "de" in lexicon.languages:
        return "x"  # "Morgen" in German is the morning
    if letter and (letter != "o" or small == written):
        return letter
    if len(written) == 3 and written.isupper() and small in lexicon.units:
        return "C"
    return "A" if CAPITAL.match(written) else "x"


def _spelled(tokens: list[_Token], lexicon: Lexicon) -> list[_Token]:
    """Return the tokens with numbers in words as one token each."""
    codes = lexicon.languages & SPELLED
    found = (
        [at for at, token in enumerate(tokens) if token.letter in "xAoS" and is_number(token.text, codes)]
        if codes
        else []
    )
    if not found:
        return tokens
    result: list[_Token] = []
    at = 0
    known = set(found)
    while at < len(tokens):
        if (
            at not in known
            or tokens[at].text in lexicon.of
            or (result and result[-1].letter in "ND" and tokens[at].letter == "S")
        ):
            result.append(tokens[at])
            at += 1
            continue
        end = at + 1
        while end < len(tokens) and (end in known or (end + 1 in known and (tokens[end].text in _JOINS))):
            end += 1
        result += _numbers(tokens[at:end], codes)
        at = end
    for place, token in enumerate(result[1:], start=1):  # what counts does so behind these, too
        if token.letter in "xA" and result[place - 1].spelled:
            token.letter = _letter(token.text, token.text, "N", lexicon, after=False)
    for token, behind in zip(result, [*result[1:], None]):
        if token.spelled and token.values == (1.0,) and (behind is None or behind.letter not in "USHP"):
            token.letter = "x"  # an article
    return result


_JOINS = frozenset({"and", "und", "et", "y", "e", "en", "-"})


def _numbers(run: Sequence[_Token], codes: frozenset[str]) -> Iterator[_Token]:
    """Yield the tokens of a run of words of numbers, read in the language that makes the fewest of it."""
    words = tuple(word for token in run for word in (token.text,))
    readings = [reading for code in sorted(codes) if (reading := spelled_out(words, code))]
    at = 0
    for start, end, value, ordinal in min(
        readings, key=lambda reading: (-sum(b - a for a, b, _, _ in reading), len(reading)), default=[]
    ):
        yield from run[at:start]
        text = " ".join(words[start:end])
        yield _Token("O" if ordinal else "N", text, run[start].start, run[end - 1].end, (value,), spelled=True)
        at = end
    yield from run[at:]


def _idiom(match: regex.Match[str], lexicon: Lexicon) -> Fact | None:
    """Return what a time or a share in words says; None where its number is none."""
    text, keys = match[0], list[Key]()
    if match.lastgroup == "fixed":
        kind, value = lexicon.fixed[text.casefold()]
        if kind == "time":
            keys = [("time", int(value) // 60, int(value) % 60)]
        else:
            keys = [("number", value, frozenset({PERCENT[0]}))] if kind == "share" else [("relative", int(value))]
    else:
        index = next(int(name[1:]) for name, word in match.groupdict().items() if name[0] == "n" and word is not None)
        hour = _hour(match[f"n{index}"].casefold(), lexicon)
        if hour is None:
            return None
        kind, minutes = "time", hour * 60 + lexicon.minutes[index]
        keys = [("time", minutes // 60 % 24, minutes % 60), ("time", (minutes // 60 + 12) % 24, minutes % 60)]
    kind = {"share": "number", "relative": "date"}.get(kind, kind)
    return Fact(kind, text, *match.span(), frozenset(keys))


def _hour(word: str, lexicon: Lexicon) -> int | None:
    if word.isdecimal():
        return int(word) if int(word) <= 24 else None
    values = [value for code in sorted(lexicon.languages & SPELLED) for *_, value, _ in spelled_out((word,), code)]
    return int(values[0]) if values and values[0] <= 24 else None


def _opaque(token: _Token, text: str, lexicon: Lexicon) -> Iterator[Fact]:
    """Yield a fact that is no value; of a quote without blanks what is in it."""
    fact = token.fact
    assert fact is not None
    fact = replace(fact, text=text[fact.start : fact.end])
    if fact.kind == "quote" and regex.search(r"\s", fact.text) is None:  # a link, a path, a name, or set apart
        within = tuple(facts(fact.text[1:-1], lexicon))
        at = fact.start + 1
        yield from (replace(each, start=at + each.start, end=at + each.end) for each in within)
        if within or fact.text[1:-1].isalpha():
            return
    yield fact


def _names(run: Sequence[_Token], before: Sequence[_Token], text: str, usual: str, lexicon: Lexicon) -> Iterator[Fact]:
    """Yield the names of a run of words with capitals: parted where more than a blank is between them, and without titles
    and the first word of a sentence, unless it is a given name."""
    parts: list[list[_Token]] = [[]]
    for token in run:
        if parts[-1] and usual[parts[-1][-1].end : token.start] not in (" ", "", "-") and token.letter != ".":
            parts.append([])
        parts[-1].append(token)
    for number, part in enumerate(parts):
        titled = part[0].letter == "L"
        named = [token for token in part if token.letter in "Ao"]
        while named and named[-1].letter == "o":
            named.pop()
        begins = number == 0 and not titled and _begins(before)
        if begins and len(named) > 1 and not is_given_name(text[named[0].start : named[0].end], lexicon):
            named = named[1:]
            begins = False
        while named and named[0].letter == "o":
            named = named[1:]
        if not named:
            continue
        start, end = named[0].start, named[-1].end
        end = start + len(
            regex.sub(r"['’]\p{Ll}{1,3}$", "", text[start:end].rstrip("'’-"))
        )  # without a possessive's end
        yield Fact("name", text[start:end], start, end, frozenset(_name(text[start:end])), begins, titled)


def _begins(before: Sequence[_Token]) -> bool:
    """True where a sentence or a line begins."""
    return not before or before[-1].letter in "|.:;!?…。！？"


def is_given_name(word: str, lexicon: Lexicon) -> bool:
    """True for a given name that is no ordinary word."""
    word = POSSESSIVE.sub("", word)
    small = word.casefold()
    return len(word) > 2 and word in given_names() and small not in common_words() and small not in lexicon.no_names


def _values(digits: str) -> tuple[float, ...]:
    """Return the ways to read a number: 1.200 is 1200 or 1.2."""
    digits = regex.sub(r"[^\d.,]", "", digits).rstrip(".,")
    plain = regex.sub(r"[.,](?=\d{3}(?!\d))", "", digits)
    found = []
    for spelled in dict.fromkeys((plain, digits)):
        value = "".join(str(int(sign)) if sign.isdecimal() else "." for sign in spelled)
        if value.count(".") <= 1:
            found.append(float(value))
    return tuple(found)


def _han(digits: str) -> tuple[float, ...]:
    """Read a number below a hundred in Chinese characters: 十二, 二十, 三."""
    tens, ten, ones = digits.replace("两", "二").rpartition("十")
    return (10 * (numeric(tens) if tens else 1) * bool(ten) + (numeric(ones) if ones else 0),)


def _iso(run: Sequence[_Token], _: Lexicon) -> list[Key]:
    year, month, day = map(int, run[0].text.split("-"))
    return [_date(year, month, day)] if month <= 12 and day <= DAY else []


def _numeric(run: Sequence[_Token], _: Lexicon) -> list[Key]:
    """Day and month in both orders; 3.5 may be a number as well."""
    text = run[0].text
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
    return [*dates, *([("number", float(text), frozenset())] if plain else [])]


def _named(run: Sequence[_Token], lexicon: Lexicon) -> list[Key]:
    letters = "".join(token.letter for token in run)
    counted = [token.values[0] for token in run if token.values]
    if "m" in letters:
        year = counted.pop(0) if "y" in letters else None
        return [_date(year and int(year), int(counted[0]), int(counted[1]) if len(counted) > 1 else None)]
    word = next(token for token in run if token.letter == "M")
    day = next((int(value) for value in counted if value <= DAY), None)
    year = next((int(value) for value in counted if value > DAY), None)
    if (
        day is None
        and year is None
        and (len(word.text) < 5 or word.text in lexicon.no_names)
        and word.text not in _CLEAR
    ):
        return []
    return [_date(year, lexicon.months[word.text], day)]


_CLEAR = frozenset({"juni", "juli", "june", "july", "août", "mayo", "maio", "juin", "mars"})


def _weekday(run: Sequence[_Token], lexicon: Lexicon) -> list[Key]:
    word = run[0].text
    return [("weekday", lexicon.weekdays.get(word) or lexicon.weekdays[word.removesuffix("s")])]


def _relative(run: Sequence[_Token], lexicon: Lexicon) -> list[Key]:
    return [("relative", lexicon.relative[run[0].text])]


def _time(run: Sequence[_Token], lexicon: Lexicon) -> list[Key]:
    numbers: list[float] = []
    for token in run:
        if token.letter in "TD":
            numbers += map(float, regex.findall(r"\d+", token.text))
        elif token.letter == "N":
            numbers.append(token.values[-1])
    if any(number != int(number) for number in numbers) or numbers[0] > 24 or (*numbers, 0)[1] > 59:
        return []
    hour, minute = (int(number) for number in (*numbers, 0)[:2])
    half = next(
        (lexicon.halves.get(token.text, {"am": 0, "pm": 12}.get(token.text)) for token in run if token.letter == "P"),
        None,
    )
    if half is not None:
        return [("time", hour % 12 + half, minute)]
    keys: list[Key] = [("time", hour % 24, minute), ("time", (hour + 12) % 24, minute)]
    if any(HOUR in lexicon.units.get(token.text, ()) for token in run if token.letter == "H") and len(numbers) < 2:
        keys.append(("number", hour * HOUR[1], frozenset({HOUR[0]})))
    return keys


def _number(run: Sequence[_Token], lexicon: Lexicon) -> list[Key]:
    first = next(token for token in run if token.letter in "NOD")
    scale = next((lexicon.scales[token.text] for token in run if token.letter == "S"), 1)
    units: set[Unit] = {
        unit
        for token in run
        if token.letter in "UC"
        for unit in lexicon.units.get(token.text, ({PERCENT} if token.text in "%٪" else ()))
    }
    if not units:
        return [("number", value * scale, frozenset()) for value in first.values]
    # in its kind's base, so that 14 days are two weeks
    return [
        ("number", round(value * scale * factor, 6), frozenset({kind}))
        for value in first.values
        for kind, factor in sorted(units)
    ]


def _word(text: str) -> list[Key]:
    return [("words", text.strip('`“”«»„"').casefold().rstrip("/"))]


def _name(text: str) -> list[Key]:
    """The words; of "Chapter XIV" the number as well."""
    last = text.split()[-1]
    if len(last) < 2 or not ROMAN.fullmatch(last):
        return _word(text)
    values = [ROMAN_DIGITS[digit] for digit in last]
    number = sum(-value if value < behind else value for value, behind in zip(values, [*values[1:], 0], strict=True))
    return [*_word(text), ("number", float(number), frozenset())]


def _date(year: int | None, month: int, day: int | None) -> Key:
    return ("date", year, month, day)


_READERS: dict[str, Callable[[Sequence[_Token], Lexicon], list[Key]]] = {
    "iso": _iso,
    "numeric": _numeric,
    "named": _named,
    "weekday": _weekday,
    "relative": _relative,
    "time": _time,
    "number": _number,
}
_DATES = frozenset({"iso", "numeric", "named", "weekday", "relative"})


def agrees(stated: Key, given: Key) -> bool:
    """True where the text that has ``given`` says what is ``stated``, at least: a date without a year agrees with one of any
    year, and "at nine" with 9:00 or with 9 March."""
    if stated[0] == given[0] == "date":
        return all(None in parts or parts[0] == parts[1] for parts in zip(stated[1:], given[1:], strict=True))
    if stated[0] == given[0] == "number":
        return stated[1] == given[1] and (not stated[2] or not given[2] or not stated[2].isdisjoint(given[2]))
    if stated[0] == given[0] == "phone":
        return _same_phone(str(stated[1]), str(given[1]))
    kinds = {stated[0], given[0]}
    if kinds == {"number", "time"}:
        number, time = (stated, given) if stated[0] == "number" else (given, stated)
        return not number[2] and time[2] == 0 and number[1] in (time[1], time[1] % 12 or 12)
    if stated[0] == "number" and given[0] == "date":
        return not stated[2] and stated[1] in (given[1], given[3])
    return stated == given


def _same_phone(one: str, other: str) -> bool:
    """True for the same digits, or where one has its country's in place of the first 0."""
    short, long = sorted((one, other), key=len)
    return one == other or (long[0] != "0" and long.endswith(short.lstrip("0")) and len(long) - len(short) <= 3)
