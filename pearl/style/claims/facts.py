"""Finds the facts of a text, with keys that are the same for the same fact in another form: "4 March" and "04.03.", "10
€" and "EUR 10", "15h" and "half past three"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import regex

from pearl.style.claims.languages import Lexicon, given_names
from pearl.style.claims.tokens import Token, in_usual_forms, tokens_of
from pearl.style.claims.values import READERS, THINGS, Key, name_keys, word_keys
from pearl.style.manner.reference import common_words

MANY = {100.0, 1000.0, 1_000_000.0}  # in a word, as in "a thousand thanks": no count
SMALL = 3  # from which on a number in a word is a count: "one", "two" are ordinary words
LEAST_NOUN = 4  # letters of what is counted
BEGINS = frozenset("|.:;!?…。！？")  # letters behind which a sentence or a line begins
POSSESSIVE = regex.compile(r"['’]\p{Ll}{1,3}$")
FACTS = regex.compile(
    r"(?P<named>(?:Ny)?NmNd?|Nm|[NO]o{0,2}M(?:[.,]?o?N(?![mHSU]))?|M\.?o?[NO](?:,?N(?![NSUHm.]))?|M(?:o?N)?)"
    r"|(?P<time>P?T[PH]?|PNHN[Um]?|PNH?|K\.?DH?|K\.?NH?N?|DH|NHN[Um]?|N[PH]P?)"
    r"|(?P<number>CDS?|C?D(?:S\.?)?-?[UC]|DS|C?N(?:S\.(?=[UC]))?S?-?[UCd]?|O)"
    r"|(?P<iso>I)|(?P<numeric>D)|(?P<weekday>W)|(?P<relative>R)|(?P<fixed>Z)|(?P<opaque>F)"
    r"|(?P<role>A{1,4}G)|(?P<name>(?:L\.?){0,4}A(?:(?:o|x(?=&)|-)?A)*)"
)
KINDS = dict.fromkeys(("iso", "numeric", "named", "weekday", "relative"), "date") | {"share": "number"}


@dataclass(frozen=True, slots=True)
class Fact:
    kind: str  # "date", "number", "time", "link", "address", "code", "quote", "name", "phone"
    text: str
    start: int  # character of the text
    end: int
    keys: frozenset[Key]  # one for each way to read it: 03/04 has two
    weak: bool = False  # perhaps none: the one of "one of them", a word that begins a sentence
    titled: bool = False  # a name behind a title


def facts(text: str, lexicon: Lexicon) -> Iterator[Fact]:
    """Yield the facts in a text, in order. Words with a capital count as names, even at a sentence's start."""
    usual = in_usual_forms(text)
    tokens = tokens_of(usual, lexicon)
    letters = "".join(token.letter for token in tokens)
    at = 0
    while found := FACTS.search(letters, at):
        start, at = found.span()
        kind, run = found.lastgroup or "", tokens[start:at]
        if kind == "opaque":
            yield from _opaque(run[0], text, lexicon)
        elif kind == "name":
            yield from _names(run, start == 0 or letters[start - 1] in BEGINS, text, lexicon)
        elif kind != "role":  # the Hiring Manager
            keys = READERS[kind](run, lexicon)
            if not keys and len(run) > 1:  # no date, no time: what begins it may still be a number
                kind, run, at = "numeric" if run[0].letter == "D" else "number", run[:1], start + 1
                keys = READERS[kind](run, lexicon) if run[0].letter in "DNO" else []
            behind = tokens[at] if at < len(tokens) else None
            if kind == "number" and behind and _is_counted(behind):
                keys = [(*key[:2], key[2] or THINGS) for key in keys]
            weak = kind == "number" and bool(keys) and _is_weak(run, letters[max(0, start - 2) : start], behind)
            kind = run[0].kind or kind
            span = run[0].start, run[-1].end
            if keys:
                yield Fact(KINDS.get(kind, kind), text[slice(*span)], *span, frozenset(keys), weak)


def _is_counted(behind: Token) -> bool:
    """True for a noun behind a number, as far as can be told without a grammar."""
    return behind.letter in "xA" and len(behind.text) >= LEAST_NOUN and behind.text not in common_words()


def _is_weak(run: Sequence[Token], before: str, behind: Token | None) -> bool:
    """True for a number that counts nothing: a digit alone, a small number in words, an ordinal."""
    first = next(token for token in run if token.values)
    value = first.values[0]
    if first.spelled:
        if before == "Nx" or (first.letter == "O" and value < SMALL):
            return True  # two or three; first
        return (value < SMALL or value in MANY) and (len(run) == 1 or value == 1)
    return len(run) == 1 and len(first.text) == 1 and (behind is None or behind.letter not in "xAoUL")


def _opaque(token: Token, text: str, lexicon: Lexicon) -> Iterator[Fact]:
    """Yield a fact that is no date, time or number; for a quote without blanks, the facts inside the quote."""
    written, at = text[token.start : token.end], token.start + 1
    if token.kind == "quote" and regex.search(r"\s", written) is None:  # a link, a path, a name, or set apart
        within = tuple(facts(written[1:-1], lexicon))
        yield from (replace(each, start=at + each.start, end=at + each.end) for each in within)
        if within or written[1:-1].isalpha():
            return
    keys = [("phone", regex.sub(r"\D", "", token.text))] if token.kind == "phone" else word_keys(token.text)
    yield Fact(token.kind, written, token.start, token.end, frozenset(keys))


def _names(run: Sequence[Token], begins: bool, text: str, lexicon: Lexicon) -> Iterator[Fact]:
    """Yield the names in a run of words with capitals, which is split where more than a blank is between words. Titles
    are left out, and a sentence's first word unless it is a given name."""
    parts: list[list[Token]] = [[run[0]]]
    for before, token in pairwise(run):
        if token.letter != "." and text[before.end : token.start] not in (" ", "", "-"):
            parts.append([])
        parts[-1].append(token)
    for count, part in enumerate(parts):
        titled = part[0].letter == "L"
        weak = begins and count == 0 and not titled
        named = [token for token in part if token.letter in "Ao"]
        if weak and len(named) > 1 and not is_given_name(text[named[0].start : named[0].end], lexicon):
            named, weak = named[1:], False
        capitals = [at for at, token in enumerate(named) if token.letter == "A"]
        if capitals:
            start, end = named[capitals[0]].start, named[capitals[-1]].end
            end = start + len(POSSESSIVE.sub("", text[start:end].rstrip("'’-")))
            yield Fact("name", text[start:end], start, end, frozenset(name_keys(text[start:end])), weak, titled)


def is_given_name(word: str, lexicon: Lexicon) -> bool:
    """True for a given name that is not also an ordinary word."""
    word = POSSESSIVE.sub("", word)
    small = word.casefold()
    return len(word) > 2 and word in given_names() and small not in common_words() and small not in lexicon.no_names
