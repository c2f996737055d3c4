"""Lists of phrases that texts are searched for, in TOML files with a section for each language.

An entry is a part of a regular expression. ``{name}`` stands for any entry of the list of that name: within an entry,
in the same section; in a pattern, in any language.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, TypeVar

import regex

from pearl.errors import InputError

SLOT = re.compile(r"\{([a-z_]+)\}")
PatternT = TypeVar("PatternT")


class Phrases:
    """The lists of phrases in one file. Raises InputError that names the file, section and entry it cannot use."""

    def __init__(self, file: Traversable) -> None:
        self._file = file
        try:
            self._sections: dict[str, Any] = tomllib.loads(file.read_text("utf-8"))
        except ValueError as error:
            raise self.fault(f"is not TOML: {error}") from None
        self._lists: dict[str, list[str]] = {}
        for name, _, entry in self._entries():
            self._lists.setdefault(name, []).append(entry)

    @classmethod
    def of(cls, package: str, name: str) -> Phrases:
        """Read a package's file of lists by its name."""
        return cls(files(package) / "phrases" / f"{name}.toml")

    def entries(self, name: str, languages: Container[str] | None = None) -> Sequence[str]:
        """Return the entries of a list in all languages, or in ``languages`` only."""
        if languages is None:
            return self._lists[name]
        return [entry for code in self._sections if code in languages for entry in self._sections[code].get(name, ())]

    def by_language(self, name: str) -> Sequence[Sequence[str]]:
        """Return the entries of a list, one sequence per language."""
        return [lists[name] for lists in self._sections.values() if name in lists]

    def lists(self, section: str) -> Sequence[str]:
        """Return the names of the lists in a section."""
        return list(self._sections[section])

    def fault(self, what: str) -> InputError:
        """Return an error that names the file, for lists that their reader cannot use."""
        return InputError(f"{self._file}: {what}.", code="broken_phrases")

    def compile(self, pattern: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
        """Compile a pattern in which ``{name}`` stands for a list."""
        return self.compile_with(re.compile, pattern, flags)

    def compile_with(self, compiler: Callable[[str, int], PatternT], pattern: str, flags: int) -> PatternT:
        """Compile a pattern as :meth:`compile` does, with another library's ``compiler``."""
        try:
            return compiler(_filled(pattern, self._lists), flags)
        except (re.error, regex.error):
            self.check(compiler, flags)
            raise

    def check(self, compiler: Callable[[str, int], object] = re.compile, flags: int = re.IGNORECASE) -> None:
        """Compile each entry alone, to find a bad one. It takes too long to be done at every start of a program."""
        for _, where, entry in self._entries():
            try:
                compiler(entry, flags)
            except (re.error, regex.error) as error:
                raise self.fault(f"{where} is no regular expression: {error}") from None

    def _entries(self) -> Iterator[tuple[str, str, str]]:
        """Yield each entry with the name of its list and its place in the file."""
        for language, lists in self._sections.items():
            if not isinstance(lists, dict):
                raise self.fault(f"'{language}' must stand in the section of a language, below [en] or its like")
            for name, entries in lists.items():
                if not isinstance(entries, list) or not entries:
                    raise self.fault(f"[{language}] {name} must be a list of phrases")
                for number, entry in enumerate(entries, start=1):
                    where = f"[{language}] {name}, entry {number}"
                    if not isinstance(entry, str) or not entry:
                        raise self.fault(f"{where} must be a phrase in quotes")
                    try:
                        yield name, f"{where}, {entry!r},", _filled(entry, lists)
                    except KeyError as error:
                        raise self.fault(f"{where} names the list {error}, which [{language}] lacks") from None


def _filled(pattern: str, lists: Mapping[str, Sequence[str]]) -> str:
    return SLOT.sub(lambda slot: f"(?:{'|'.join(lists[slot[1]])})", pattern)
