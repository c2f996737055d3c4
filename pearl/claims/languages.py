"""The words of languages by which claims are found, from ``languages.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import regex

from pearl.errors import PearlError

FIELDS = {
    "months": 12,
    "weekdays": 7,
    "ambiguous": None,
    "ordinals": None,
    "numbers": None,
    "with_capitals": None,
    "commitments": None,
}


@dataclass(frozen=True, slots=True)
class Words:
    """The words of all languages together: texts mix them, and a name of a month is hardly ever another word."""

    months: Mapping[str, int]  # 1 to 12, by the case-folded name
    weekdays: Mapping[str, int]  # 1 is Monday
    ambiguous: frozenset[str]  # months and weekdays that are ordinary words, too
    ordinals: Mapping[str, int]
    numbers: Mapping[str, int]
    with_capitals: frozenset[str]  # frequent words of languages whose nouns all have a capital
    commitments: regex.Pattern[str]


@cache
def words() -> Words:
    """Return the words that ship."""
    name = "pearl/claims/languages.toml"
    return read_words(name, files("pearl.claims").joinpath("languages.toml").read_text(encoding="utf-8"))


def read_words(name: str, text: str) -> Words:
    """Return the words of a TOML file. Raises PearlError with the file, the section and the entry that is wrong."""
    try:
        languages = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PearlError(f"{name}: {error}.") from error
    for language, fields in languages.items():
        _check(f"{name}: [{language}]", fields)
    patterns = [pattern for fields in languages.values() for pattern in fields["commitments"]]
    return Words(
        _numbered(languages, "months"),
        _numbered(languages, "weekdays"),
        frozenset(word for fields in languages.values() for word in fields["ambiguous"]),
        _numbered(languages, "ordinals"),
        {word: number - 1 for word, number in _numbered(languages, "numbers").items()},
        frozenset(word for fields in languages.values() for word in fields["with_capitals"]),
        regex.compile(rf"(?<!\w)(?:{'|'.join(patterns)})", regex.IGNORECASE),
    )


def _numbered(languages: Mapping[str, Mapping[str, Any]], field: str) -> dict[str, int]:
    return {
        word.casefold(): number
        for fields in languages.values()
        for number, spellings in enumerate(fields[field], start=1)
        for word in spellings.split("|")
    }


def _check(where: str, fields: object) -> None:
    if not isinstance(fields, dict) or set(fields) != set(FIELDS):
        raise PearlError(f"{where} must have {', '.join(FIELDS)}, and nothing else.")
    for field, number in FIELDS.items():
        listed = fields[field]
        if not isinstance(listed, list) or not all(isinstance(entry, str) and entry for entry in listed):
            raise PearlError(f"{where}: {field} must be a list of words.")
        if number is not None and len(listed) != number:
            raise PearlError(f"{where}: {field} must have {number} entries, and has {len(listed)}.")
    for pattern in fields["commitments"]:
        try:
            regex.compile(pattern)
        except regex.error as error:
            raise PearlError(f"{where}: commitments: {pattern!r} is no regular expression: {error}.") from error
