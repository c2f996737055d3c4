"""The words of languages by which claims are found, from ``pearl/phrases/claims.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import regex

from pearl.text.phrases import Phrases

LENGTHS = {"months": 12, "weekdays": 7}


@dataclass(frozen=True, slots=True)
class LanguageWords:
    """The words of all languages together: texts mix them, and a name of a month is hardly ever another word."""

    months: Mapping[str, int]  # 1 to 12, by the case-folded name
    weekdays: Mapping[str, int]  # 1 is Monday
    ambiguous: frozenset[str]  # months that are ordinary words, too
    ordinals: Mapping[str, int]
    numbers: Mapping[str, int]
    with_capitals: frozenset[str]  # frequent words of languages whose nouns all have a capital
    commitments: regex.Pattern[str]

    @classmethod
    def of(cls, phrases: Phrases) -> LanguageWords:
        """Return the words of these lists. Raises InputError that names the file and the list of a wrong length."""
        for name, number in LENGTHS.items():
            for entries in phrases.by_language(name):
                if len(entries) != number:
                    raise phrases.fault(f"{name} must have {number} entries, and {entries[0]}, ... has {len(entries)}")
        return cls(
            _numbered(phrases, "months", 1),
            _numbered(phrases, "weekdays", 1),
            frozenset(phrases.entries("ambiguous")),
            _numbered(phrases, "ordinals", 1),
            _numbered(phrases, "numbers", 0),
            frozenset(phrases.entries("with_capitals")),
            phrases.compile_with(regex.compile, r"(?<!\w){commitments}", regex.IGNORECASE),
        )


@cache
def words() -> LanguageWords:
    """Return the words that ship."""
    return LanguageWords.of(Phrases.of("pearl", "claims"))


def _numbered(phrases: Phrases, name: str, first: int) -> dict[str, int]:
    return {
        word.casefold(): number
        for entries in phrases.by_language(name)
        for number, spellings in enumerate(entries, start=first)
        for word in spellings.split("|")
    }
