"""A text in which facts of other texts are looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from unicodedata import combining, normalize

import numpy as np
import regex
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from pearl.style.claims.facts import Fact, facts
from pearl.style.claims.languages import INFLECTED, Lexicon
from pearl.style.claims.tokens import in_usual_forms
from pearl.style.claims.values import Key, agrees
from pearl.style.manner.ends import FAREWELL, SIGNED, sign_off
from pearl.style.manner.writing import Writing
from pearl.text import language

WORD = regex.compile(r"[\p{L}\p{N}\p{M}]+(?:['’][\p{L}\p{M}]+)?")
# a word with a capital behind a word or a comma: no sentence begins there
_WITHIN = regex.compile(r"(?<=[\p{Ll},][ \n])\p{Lu}[\p{L}\p{M}'’-]*")
# between two words, where a sentence, a paragraph or a list item ends
_ENDS = regex.compile(r"[.!?。！？][\"'”’»)\]*_]*+\s|\n[ \t]*+(?:\n|[-*+•>#])")
_WEIGHTS = np.random.default_rng(0).integers(1, 2**63, 16, dtype=np.uint64) * 2 + 1

SPACELESS = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]+\Z")
SHORT, KEPT = 2_000, 256  # characters of samples kept for the next drafts, and their number: 26 MB at most
# what cases of names end in, in languages that have them: Kowalska and Kowalskiej, Marek and Marku
CASE = regex.compile(r"(?<=\p{L}{3})[aeiouyаеиоуыэюяёь]{1,2}(?:[wvmjhgвмйхг][aeiouyаеиоуыэюяё]?)?$")
FLEETING = regex.compile(r"(?<=\p{L}{2})[eеоo](?=\p{L}$)")
LONGEST_END = 60  # characters of a line's sign-off and name
LONGEST_CASE = 3  # letters behind a name that stays whole

Run = tuple[str, ...]
Keys = NDArray[np.uint64]
Flags = NDArray[np.bool_]


def folded(text: str) -> str:
    return in_usual_forms(text).casefold().replace("’", "'")


def words_of(text: str) -> list[str]:
    return [folded(word) for word in WORD.findall(text)]


def _singular(word: str) -> str:
    """The word without what may be a plural's or a possessive's end."""
    return word.removesuffix("s").removesuffix("'")


def composed(word: str) -> str:
    """Return the word without its accents."""
    return "".join(sign for sign in normalize("NFD", word) if not combining(sign))


def _cases(word: str) -> frozenset[str]:
    """Return forms of a name that its other cases share: without accents, without its end."""
    bare = composed(word)
    stem = CASE.sub("", bare)
    return frozenset((bare, stem, FLEETING.sub("", bare), FLEETING.sub("", stem)))


def _same_name(forms: frozenset[str], others: frozenset[str]) -> bool:
    """True for two cases of a name: a form of both, or one whole within the other but for its end."""
    return not forms.isdisjoint(others) or any(
        len(short) > LONGEST_CASE and len(long) - len(short) <= LONGEST_CASE and long.startswith(short)
        for form in forms
        for other in others
        for short, long in [sorted((form, other), key=len)]
    )


class KnownText:
    """Tells whether a text states a fact in any form. ``words`` are (case-folded word, start, end), in characters."""

    def __init__(self, text: str, lexicon: Lexicon) -> None:
        self.text, self.lexicon = text, lexicon
        self.words = [(folded(match[0]), *match.span()) for match in WORD.finditer(text)]
        self._runs: dict[int, frozenset[Run]] = {}
        self._windows: dict[int, Keys] = {}
        self._sorted: dict[int, Keys] = {}

    @cached_property
    def facts(self) -> Sequence[Fact]:
        """Return the facts of the text, in their order."""
        return tuple(facts(self.text, self.lexicon))

    def runs(self, size: int) -> frozenset[Run]:
        """Return all runs of ``size`` words in the text."""
        if size not in self._runs:
            spelled = [word for word, _, _ in self.words]
            self._runs[size] = frozenset(tuple(spelled[at : at + size]) for at in range(len(spelled) - size + 1))
        return self._runs[size]

    @cached_property
    def sentences(self) -> Sequence[int]:
        """Return for each word the number of the sentence or list item that it is in."""
        ends = np.array([match.end() for match in _ENDS.finditer(self.text)], np.int64)
        return tuple(map(int, np.searchsorted(ends, [start for _, start, _ in self.words], side="right")))

    def windows(self, size: int) -> Keys:
        """Return hashes of each run of ``size`` words, (N, size - 1): of the whole, and without one inner word each."""
        if size not in self._windows:
            known = np.array([hash(word) for word, _, _ in self.words], np.int64).view(np.uint64)
            weighed = sliding_window_view(np.pad(known, (0, max(0, size - len(known)))), size) * _WEIGHTS[:size]
            whole = weighed.sum(axis=1, keepdims=True)
            self._windows[size] = np.hstack((whole, whole - weighed[:, 1:-1]))
        return self._windows[size]

    def shares(self, other: KnownText, size: int) -> Flags:
        """Return True for each run of ``size`` words, (N,), that ``other`` has, with at most one inner word changed."""
        keys, known = self.windows(size), other._sorted_windows(size)
        behind = np.searchsorted(known, keys)
        behind[behind == len(known)] = 0
        return np.asarray((known[behind] == keys).any(axis=1))

    def _sorted_windows(self, size: int) -> Keys:
        """All keys of ``windows``, sorted, (N * (size - 1),), and kept for repeated look-ups."""
        if size not in self._sorted:
            self._sorted[size] = np.sort(self.windows(size), axis=None)
        return self._sorted[size]

    @cached_property
    def capitals_within(self) -> frozenset[str]:
        """Return the words that have a capital within a sentence, not at its start."""
        return frozenset(_WITHIN.findall(self.text))

    @cached_property
    def spelled(self) -> frozenset[str]:
        """Return the words as they are written, with their capitals."""
        return frozenset(self.text[start:end] for _, start, end in self.words)

    @cached_property
    def signed(self) -> range:
        """Return the range of characters of a sign-off with a name; empty if there is none."""
        start = max(0, len(self.text) - LONGEST_END)
        inline = (
            end.end()
            for end in FAREWELL.finditer(self.text, start)
            if SIGNED.fullmatch(self.text[end.end() :].strip(" .\n"))
        )
        return next(
            (range(*spot) for spot in sign_off(Writing(self.text))), range(next(inline, len(self.text)), len(self.text))
        )

    @cached_property
    def has_nouns_with_capitals(self) -> bool:
        """True for a text in German, where every noun has a capital."""
        return "de" in self.lexicon.languages and language.detect(self.text) in (None, "de")

    def has(self, fact: Fact) -> bool:
        """True if the text states the fact, in the same or another form."""
        return any(
            self._has_words(fact.kind, folded(str(key[1])))
            if key[0] == "words"
            else any(agrees(key, other) for other in self._keys)
            for key in fact.keys
        )

    def mentions(self, fact: Fact) -> bool:
        """True if the text states the fact, part of a person's name, or all words of an identifier in any order."""
        if self.has(fact) or any(agrees(own, key) for key in fact.keys for own in self._keys):
            return True
        parts = [part for part in words_of(fact.text.replace("_", " ")) if len(part) > 1]
        if fact.kind == "name":
            return any(self._has_words("name", part) for part in parts)
        return fact.kind == "code" and bool(parts) and self._vocabulary.issuperset(parts)

    def _has_words(self, kind: str, said: str) -> bool:
        if kind == "name":
            return said in self._folded if SPACELESS.match(said) else all(map(self.has_name, words_of(said)))
        # of words in backquotes each, for they may be a command with its arguments
        return said.removesuffix("()") in self._folded or (" " in said and self._vocabulary.issuperset(words_of(said)))

    def has_name(self, word: str) -> bool:
        """True if the text has the word, also with an ending of grammatical case in languages with cases."""
        if not self._vocabulary.isdisjoint((word, _singular(word))) or word in self.lexicon.of:
            return True
        if self.lexicon.languages.isdisjoint(INFLECTED) or len(word) <= LONGEST_CASE - 1:
            return False
        forms = _cases(word)
        return any(_same_name(forms, other) for other in self._by_begin.get(composed(word)[:2], ()))

    @cached_property
    def _by_begin(self) -> Mapping[str, Sequence[frozenset[str]]]:
        """The forms of the words by their first two letters."""
        found: dict[str, list[frozenset[str]]] = {}
        for word in self._vocabulary:
            found.setdefault(composed(word)[:2], []).append(_cases(word))
        return found

    @cached_property
    def _folded(self) -> str:
        return folded(self.text)

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        return frozenset(form for word, _, _ in self.words for form in (word, _singular(word), word.partition("'")[0]))

    @cached_property
    def _keys(self) -> Sequence[Key]:
        """The distinct keys of dates, times and numbers."""
        return list(dict.fromkeys(key for fact in self.facts for key in fact.keys if key[0] != "words"))


def sample_text(text: str, lexicon: Lexicon) -> KnownText:
    """Return a sample's text for look-ups. Short texts are cached, since the next drafts often need them."""
    return _kept(text, lexicon) if len(text) <= SHORT else KnownText(text, lexicon)


@lru_cache(KEPT)
def _kept(text: str, lexicon: Lexicon) -> KnownText:
    return KnownText(text, lexicon)


def forget_samples() -> None:
    """Empty the cache of samples: one of them may have been deleted."""
    _kept.cache_clear()
