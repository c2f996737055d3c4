"""Words and characters as readers of any script see them: a letter with its combining marks is one character, and in a
script without spaces each character is a word (as in Unicode Standard Annex 29, but without dictionaries)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import TypeAlias

import regex

Spot: TypeAlias = tuple[int, int]  # where something begins and ends in the text

# not those of symbols: an emoji's variation selector is no part of a word
_MARK = r"[[\p{Mn}\p{Mc}]--[\ufe00-\ufe0f\u20d0-\u20ff\U000e0100-\U000e01ef]]"
# scripts without spaces between words; a run of katakana is mostly one word
_SIGN = r"[\p{Han}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}&&\p{L}]"
MARK = regex.compile(rf"(?V1)(?<=[\p{{L}}\p{{N}}\p{{M}}])(?:{_MARK}|\u200d(?=\p{{L}}))")
SIGN = regex.compile(rf"(?V1){_SIGN}")
_SIGN_OR_WORD = regex.compile(rf"(?V1)(?={_SIGN})\X|(?:(?!{_SIGN})\X)+")
_UNUSUAL = regex.compile(rf"(?V1){_MARK}|{_SIGN}")

LATIN = re.compile("[a-z0-9]+")
_RUN = re.compile(r"[^\W_]+")
_CHARACTER = regex.compile(r"\X")
LONGEST_CHARACTER = 64  # code points that are looked at
GREEK = "\u0370-\u03ff\u1f00-\u1fff"
# for character classes: marks that end a sentence without a blank behind them, and what closes behind any such mark
FULL_STOPS, CLOSERS = "。！？।॥؟۔։።။៕", r"\"'”’»)\]」』）】》*_"
CLOSING_SIGNS = CLOSERS.replace("\\", "")
_QUESTION = re.compile(rf"(?:[?？؟\u037e]|(?<=[{GREEK}]{{2}});)\Z")  # a Greek one is mostly typed as a semicolon

HAN_AND_KANA = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
THAI_AND_KHMER = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")

_WIDE_OR_HALF = re.compile("[\uff01-\uffee]+")
# vowel signs and hamzas, which Arabic and Hebrew mostly leave out, the dot of a Turkish capital, and Greek accents,
# which capitals lack
_UNWRITTEN = regex.compile(
    r"[\u064b-\u065f\u0670\u0640\u0591-\u05bd\u05bf-\u05c7]|(?<=i)\u0307|(?<=\p{Greek}\u0308?)\u0301"
)
_ONE_LETTER = str.maketrans({"ß": "ss", "ı": "i", "ё": "е", "ς": "σ", "ى": "ي"})
_RESPELT = regex.compile(r"[ßı\u0307\u0301\p{Greek}\p{Cyrillic}\p{Arabic}\p{Hebrew}\uff01-\uffee]")


def words_of(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return the words at the spans that :func:`word_spots` yields."""
    if text.isascii() or not _UNUSUAL.search(text):
        return pattern.findall(text)
    return [text[start:end] for start, end in word_spots(pattern, text)]


def word_spots(pattern: re.Pattern[str], text: str) -> Iterator[Spot]:
    """Yield the spans of a word pattern's matches, in which combining marks count as letters. A match in a script
    without spaces is split into single characters."""
    if text.isascii() or not _UNUSUAL.search(text):
        yield from (match.span() for match in pattern.finditer(text))
        return
    for match in pattern.finditer(MARK.sub("x", text)):
        if SIGN.search(text, *match.span()):
            yield from (part.span() for part in _SIGN_OR_WORD.finditer(text, *match.span()))
        else:
            yield match.span()


def composed(text: str) -> str:
    """Compose letters and their marks to one code point where there is one (NFC)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def folded(text: str) -> str:
    """Return the text in small letters, composed (NFC), without marks that writers may leave out: vowel signs of Arabic
    and Hebrew, Greek accents, dots on a Turkish i."""
    text = text.lower()
    if text.isascii() or not _RESPELT.search(text):
        return composed(text)
    text = _WIDE_OR_HALF.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
    apart = _UNWRITTEN.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", apart).translate(_ONE_LETTER)


def count_words(text: str) -> int:
    """Count words between spaces; in scripts without spaces, two characters of Han or kana, or four of Thai, are
    one."""
    pieces = len(text.split())
    if text.isascii():
        return pieces
    return pieces + len(HAN_AND_KANA.findall(text)) // 2 + len(THAI_AND_KHMER.findall(text)) // 4


def characters(text: str, start: int = 0, end: int | None = None) -> Iterator[Spot]:
    """Yield the places of visible characters: a letter with its accents, or a family of emoji, is one."""
    return (match.span() for match in _CHARACTER.finditer(text, start, len(text) if end is None else end))


def character_start(text: str, place: int) -> int:
    """Return the start of the visible character that ``place`` is in; between two characters, the place itself."""
    if not 0 < place < len(text):
        return place
    around = characters(text, max(0, place - LONGEST_CHARACTER), place + LONGEST_CHARACTER)
    return next(start for start, end in around if end > place)


def is_question(sentence: str) -> bool:
    """True if the sentence ends with a question mark of any script."""
    return _QUESTION.search(sentence) is not None


def rouge_words(text: str) -> list[str]:
    """Return the words that ROUGE counts: lower-cased runs of a-z and 0-9, as in the library ``rouge-score`` without
    stemming. In a text of mostly other letters they are the words of its own script."""
    lower = text.lower()
    latin = LATIN.findall(lower)
    letters = sum(map(len, latin))
    if text.isascii() or 2 * letters >= sum(map(str.isalnum, text)):
        return latin
    return words_of(_RUN, folded(text))
