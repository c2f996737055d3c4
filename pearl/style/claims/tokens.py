"""Splits a text into tokens, each with a letter for its kind in the given languages; facts are patterns of letters.

D date in digits, I date of ISO, T clock, N number, O ordinal, M month, W weekday, R relative day, P half of the day, S
scale, U unit, C currency before a number, H word of the clock, K word before it, y m d signs behind a year, month and
day, Z a value in words, F what is no value, A capital, L title, G role, o "of", x another word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from unicodedata import numeric

import regex

from pearl.style.claims.languages import MONEY, SPELLED, Lexicon, is_number, spelled_out

# full-width characters, and the Arabic marks of decimals and thousands
USUAL = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x066B: ".", 0x066C: ","}
NAME = r"(?!I['’])\p{Lu}[\p{L}\p{M}'’-]++(?!\w)"  # I'll is none
CAPITAL, SIGN_OF_MONEY = regex.compile(NAME), regex.compile(MONEY)
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
WORDS = (
    r"|(?P<half>[APap]\.[Mm]\.?(?!\w))|(?P<word>(?:LETTER[\p{M}]*+)+(?:['’-](?:LETTER[\p{M}]*+)+)*['’]?)"
    r"|(?P<line>\n)|(?P<sign>\S)"
)
# of scripts without blanks: numbers below a hundred before what they count, names before what honours them
HAN_NUMBER = (
    r"(?P<han>(?:[一二三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九])(?=[点點时時月日年天个個人元円]))"
)
HONORED = (
    r"(?P<honored>(?!皆|各)[\p{Han}\p{Katakana}ー]{1,4}(?=さん|様|さま|くん|ちゃん)"
    r"|\p{Han}(?=先生|老师|老師|女士|小姐))"
)
BEHIND_DIGITS, SCALES = "年月日년월일号號", "百千万億兆亿천만억"
LETTERS = {
    "iso": "I",
    "numeric": "D",
    "clock": "T",
    "ordinal": "O",
    "number": "N",
    "half": "P",
    "han": "N",
    "symbol": "U",
}
COUNTS = frozenset("NSOTDC")  # behind which a unit stands
JOINS = frozenset({"and", "und", "et", "y", "e", "en", "-"})  # between the words of a number


@dataclass(slots=True)
class Token:
    letter: str
    text: str  # case-folded
    start: int
    end: int
    values: tuple[
        float, ...
    ] = ()  # of a number each way to read it; of Z minutes of the day, a percentage, or days from now
    kind: str = ""  # of Z and F
    spelled: bool = False  # a number in words


def in_usual_forms(text: str) -> str:
    """Replace full-width characters and Arabic number marks by their usual forms; the length stays."""
    return text.translate(USUAL)


def tokens_of(text: str, lexicon: Lexicon) -> list[Token]:
    """Return the tokens of a text (in usual forms): words and punctuation. A number or time in words is one token."""
    return _with_spelled(list(_tokens(text, lexicon)), lexicon)


@lru_cache(64)
def _pattern(lexicon: Lexicon) -> regex.Pattern[str]:
    parts = [OPAQUE.replace("MONTH", rf"(?i:{_any(lexicon.months)})\b")]
    if lexicon.symbols:
        parts.insert(0, rf"(?P<symbol>(?<=\d\s?)(?i:{_any(lexicon.symbols)})(?![\p{{L}}\d]))")
    parts.append(rf"(?P<after>(?<=[\d{SCALES}]\s?)(?:{_any((*lexicon.after_digits, *BEHIND_DIGITS))}))")
    if lexicon.signs:
        parts.append(rf"(?P<known>{_any(lexicon.signs)})")
    if uncased := bool(lexicon.languages & {"ja", "zh"}):
        parts += [HAN_NUMBER, HONORED]
    letter = r"[\p{L}--[\p{Han}\p{Hiragana}\p{Katakana}]]" if uncased else r"\p{L}"
    # nothing begins with a blank
    return regex.compile(rf"(?=[\S\n])(?:{'|'.join(parts)}{WORDS.replace('LETTER', letter)})", regex.VERBOSE | regex.V1)


def _any(words: Iterable[str]) -> str:
    return "|".join(regex.escape(word, literal_spaces=False) for word in words)


def _tokens(text: str, lexicon: Lexicon) -> Iterator[Token]:
    idioms = list(lexicon.idioms.finditer(text)) if lexicon.idioms else []
    place, before = 0, ""
    for match in _pattern(lexicon).finditer(text):
        start, end = match.span()
        while place < len(idioms) and idioms[place].end() <= start:
            place += 1
        idiom = idioms[place] if place < len(idioms) and idioms[place].start() <= start else None
        if idiom and idiom.start() < start and before == "Z":
            continue
        token = (_idiom(idiom, lexicon) if idiom and idiom.start() == start else None) or _token(
            match.lastgroup or "", match[0], start, end, before, lexicon
        )
        before = before if (before, token.letter) == ("S", ".") else token.letter  # Mio. Euro
        yield token


def _token(kind: str, written: str, start: int, end: int, before: str, lexicon: Lexicon) -> Token:
    small = written.casefold()
    if kind in ("link", "address", "code", "quote", "phone", "honored"):
        return Token("F", written, start, end, kind="name" if kind == "honored" else kind)
    if kind in LETTERS:
        read = kind in ("number", "ordinal") or (kind == "numeric" and "/" not in written)
        values = _han(written) if kind == "han" else values_of(written) if read else ()
        return Token(LETTERS[kind], small.replace(".", "") if kind == "half" else small, start, end, values)
    if kind == "line":
        return Token("|", "\n", start, end)
    if kind == "sign":
        letter = "C" if SIGN_OF_MONEY.match(written) else "U" if written in "%٪°" and before in COUNTS else written
        return Token(letter if letter in "CU.,:;!?…-&。！？、，" else "?", small, start, end)
    return Token(_letter(small, written, before in COUNTS or kind == "after", lexicon), small, start, end)


def _letter(small: str, written: str, counted: bool, lexicon: Lexicon) -> str:
    """Return the letter of a word; units, scales and the like are recognized only if ``counted``: after a number."""
    if counted and (letter := lexicon.counting.get(small)):
        return letter
    letter = "W" if lexicon.letters.get(small.removesuffix("s")) == "W" else lexicon.letters.get(small)
    if letter == "R" and small != written and "de" in lexicon.languages:
        return "x"  # "Morgen" in German is the morning
    if letter and (letter != "o" or small == written):
        return letter
    if len(written) == 3 and written.isupper() and small in lexicon.units:
        return "C"
    return "A" if CAPITAL.match(written) else "x"


def _idiom(match: regex.Match[str], lexicon: Lexicon) -> Token | None:
    """Return the token of a time or a share in words; None if its number cannot be read."""
    text = match[0].casefold()
    if match.lastgroup == "fixed":
        kind, value = lexicon.fixed[text]
        return Token("Z", text, *match.span(), (value,), kind)
    index, word = next((int(name[1:]), word) for name, word in match.groupdict().items() if name[0] == "n" and word)
    small = word.casefold()
    spelled = (each.value for code in sorted(lexicon.languages & SPELLED) for each in spelled_out((small,), code))
    hours = [float(word)] if word.isdecimal() else list(spelled)
    if not hours or hours[0] > 24:
        return None
    minutes = hours[0] * 60 + lexicon.minutes[index]
    return Token("Z", text, *match.span(), (minutes % 1440, (minutes + 720) % 1440), "time")


def _with_spelled(tokens: list[Token], lexicon: Lexicon) -> list[Token]:
    """Return the tokens, with each number in words joined into one token."""
    codes = lexicon.languages & SPELLED
    known = {at for at, token in enumerate(tokens) if codes and token.letter in "xAoS" and is_number(token.text, codes)}
    if not known:
        return tokens
    result: list[Token] = []
    at = 0
    while at < len(tokens):
        scale = bool(result) and result[-1].letter in "ND" and tokens[at].letter == "S"  # 2 million
        end = at + 1
        if at in known and not scale and tokens[at].text not in lexicon.of:
            while end < len(tokens) and (end in known or (end + 1 in known and tokens[end].text in JOINS)):
                end += 1
            result += _numbers(tokens[at:end], codes)
        else:
            result.append(tokens[at])
        at = end
    for token, behind in pairwise(result):
        if token.spelled and behind.letter in "xA":
            behind.letter = _letter(behind.text, behind.text, True, lexicon)
    for token, behind in zip(result, [*result[1:], tokens[-1]], strict=True):
        if token.spelled and token.values == (1.0,) and behind.letter not in "USHP":
            token.letter = "x"  # an article
    return result


def _numbers(run: Sequence[Token], codes: frozenset[str]) -> Iterator[Token]:
    """Yield the tokens of a run of number words, as read in the language that reads the most of them."""
    words = tuple(token.text for token in run)
    readings = [spelled_out(words, code) for code in sorted(codes)]
    at = 0
    for number in max(readings, key=lambda reading: (sum(each.end - each.start for each in reading), -len(reading))):
        yield from run[at : number.start]
        text, at = " ".join(words[number.start : number.end]), number.end
        start, end = run[number.start].start, run[number.end - 1].end
        yield Token("O" if number.is_ordinal else "N", text, start, end, (number.value,), spelled=True)
    yield from run[at:]


def values_of(digits: str) -> tuple[float, ...]:
    """Return the values that digits may mean: "1.200" is 1200 or 1.2."""
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
