"""The words of many languages and programs that importers know texts by, kept in a table beside the code."""

from __future__ import annotations

import tomllib
from importlib.resources import files


def known_words(package: str) -> dict[str, str]:
    """The lists in a package's ``words.toml`` by name, each as the alternatives of a regular expression."""
    table = tomllib.loads((files(package) / "words.toml").read_text("utf-8"))
    return {name: "|".join(words) for name, words in table.items()}
