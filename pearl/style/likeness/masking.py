"""Texts as sequences of tokens: words, with rare words masked, or characters.

Masking keeps grammar and habit and removes topic, as in LambdaG (Nini et al. 2025, "Grammar as a behavioral
biometric"). There a tagger finds the content words; here every word outside the register's most frequent ones is
masked, and its capitals stay.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from pearl.text.words import composed, words_of

Tokens = NDArray[np.uint64]

TOKEN = re.compile(r"\n\s*\n|[^\W\d_]+(?:['’][^\W\d_]+)?|\d+|[^\w\s]|_+")
PARAGRAPH, NUMBER = "¶", "<number>"
PARAGRAPH_BREAK = re.compile(r"(?<![ \t])[ \t]*\n[ \t]*\n\s*")  # a run of blanks is read once, not from each of them
VOCABULARY = 10_000
LEAST_TEXTS_OF_A_WORD = 3


@dataclass(frozen=True, slots=True)
class Masking:
    """The set of words that are not masked, lower-cased."""

    vocabulary: frozenset[str]

    @classmethod
    def of(cls, texts: Mapping[str, Sequence[str]], *, least_authors: int = 1, size: int = VOCABULARY) -> Masking:
        """Choose the ``size`` most frequent words, among those that at least ``least_authors`` of the authors use."""
        used, texts_with, authors = Counter[str](), Counter[str](), Counter[str]()
        for written in texts.values():
            words = [_words(text) for text in written]
            used.update(word for of_text in words for word in of_text)
            texts_with.update(word for of_text in words for word in set(of_text))
            authors.update({word for of_text in words for word in of_text})
        known = (
            word
            for word, _ in used.most_common()
            if texts_with[word] >= LEAST_TEXTS_OF_A_WORD and authors[word] >= least_authors
        )
        return cls(frozenset(word for word, _ in zip(known, range(size), strict=False)))

    def tokens(self, text: str) -> Tokens:
        """Return the hash of each word (masked if rare), number, punctuation mark and paragraph break."""
        return np.array([_hashed(self._masked(token)) for token in _tokens(text)], np.uint64)

    def known_share(self, text: str) -> float:
        """Return the share of the text's words that are not masked; 0 for a text without words."""
        words = _words(text)
        return sum(word in self.vocabulary for word in words) / max(len(words), 1)

    def _masked(self, token: str) -> str:
        if token[0] == "\n":
            return PARAGRAPH
        if token[0].isdigit():
            return NUMBER
        if not token[0].isalpha():
            return token
        token = token.replace("’", "'")
        lower = token.lower()
        word = lower if lower in self.vocabulary else "<word>"
        return f"{word} {_capitals(token)}"


def _tokens(text: str) -> list[str]:
    return words_of(TOKEN, composed(text))


def _words(text: str) -> list[str]:
    return [token.lower() for token in _tokens(text) if token[0].isalpha()]


def _capitals(token: str) -> str:
    if token.islower():
        return ""
    if token.isupper() and len(token) > 1:
        return "all"
    return "first" if token[1:].islower() or len(token) == 1 else "some"


@lru_cache(maxsize=100_000)
def _hashed(token: str) -> int:
    return int.from_bytes(blake2b(token.encode(), digest_size=8).digest(), "little")


def characters(text: str) -> Tokens:
    """Return the text's code points. A line break within a paragraph becomes a space: wrapping is no habit of style."""
    joined = PARAGRAPH_BREAK.sub(PARAGRAPH, composed(text)).replace("\n", " ")
    return np.frombuffer(joined.encode("utf-32-le", "replace"), np.uint32).astype(np.uint64)


def distinct(texts: Iterable[str]) -> list[str]:
    """Return the texts without empty ones and duplicates; duplicates may differ in white space."""
    return list({" ".join(text.split()): text for text in texts if text.strip()}.values())
