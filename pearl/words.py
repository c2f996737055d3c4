"""Words and characters as readers of any script see them: a letter with its combining marks is one, and where a script
has no spaces each sign is a word of its own (as in Unicode Standard Annex 29, whose dictionaries nobody ships)."""

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
    """The words that :func:`word_spots` places."""
    if text.isascii() or not _UNUSUAL.search(text):
        return pattern.findall(text)
    return [text[start:end] for start, end in word_spots(pattern, text)]


def word_spots(pattern: re.Pattern[str], text: str) -> Iterator[Spot]:
    """The places of what a pattern of words finds, where combining marks count as letters. What holds signs of a script
    without spaces is taken apart."""
    if text.isascii() or not _UNUSUAL.search(text):
        yield from (match.span() for match in pattern.finditer(text))
        return
    for match in pattern.finditer(MARK.sub("x", text)):
        if SIGN.search(text, *match.span()):
            yield from (part.span() for part in _SIGN_OR_WORD.finditer(text, *match.span()))
        else:
            yield match.span()


def folded(text: str) -> str:
    """The text in small letters, composed (NFC), without what is written or left out at will: vowel signs of Arabic and
    Hebrew, Greek accents, dots on a Turkish i."""
    text = text.lower()
    if text.isascii():
        return text
    if not _RESPELT.search(text):
        return unicodedata.normalize("NFC", text)
    text = _WIDE_OR_HALF.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
    apart = _UNWRITTEN.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", apart).translate(_ONE_LETTER)


def count_words(text: str) -> int:
    """The number of words between spaces; where a script has none, two signs of Han or kana, or four of Thai."""
    pieces = len(text.split())
    if text.isascii():
        return pieces
    return pieces + len(HAN_AND_KANA.findall(text)) // 2 + len(THAI_AND_KHMER.findall(text)) // 4


def whole_characters(text: str, most: int) -> str:
    """The beginning of at most so many code points that cuts no character: no letter from its accents, no emoji."""
    if len(text) <= most or text.isascii():
        return text[:most]
    end = 0
    for character in regex.finditer(r"\X", text):
        if character.end() > most:
            break
        end = character.end()
    return text[:end]
