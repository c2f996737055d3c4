"""Masking of personal data in messages, by rule: placeholders replace it, and are replaced back in the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import regex

from pearl.style.claims.facts import Fact, facts
from pearl.style.claims.languages import Lexicon, of_texts
from pearl.style.claims.tokens import NAME, in_usual_forms
from pearl.style.manner.reference import common_words
from pearl.text import language

KINDS = ("NAME", "MAIL", "NUMBER", "LINK")
# as a model may write one: in another case, or with the escape of Markdown; what follows, as a plural's s, stays
PLACEHOLDER = regex.compile(rf"(?i)(?<![\p{{L}}\d])(?:{'|'.join(KINDS)})\\?_\d{{1,6}}(?!\d)")
ADVICE = (
    "Words such as NAME_1, MAIL_1, NUMBER_1 and LINK_1 stand for names, addresses, numbers and links. Write them "
    "exactly as they are here."
)
LEAST_DIGITS = 7  # of a long number
LONG = regex.compile(
    rf"(?<![\w.+])(?:[A-Z]{{2}}\d{{2}}(?:\ ?[A-Z\d]{{1,4}}){{3,8}}"
    rf"|[+(]*\d(?:[ \u00a0\u202f()./-]{{0,3}}\d){{{LEAST_DIGITS - 1},}})(?!\w)"
)
HANDLE = regex.compile(r"(?<![\w./@])@\w[\w.]*\w")
HOST_ALONE = regex.compile(r"(?i)(?:https?://)?[^/?#@]+/?")
WORD = regex.compile(NAME)
# behind which a capital says nothing: a sentence, a line, a quote or a list's item begins
BEGINS = regex.compile(r"(?:^|[.!?:;…。]|[-*+>#•]|\d[.)])[\s\"'“”„«»(\[*_]*\Z|[\"“„«(\[*_]\Z", regex.MULTILINE)
# in German, where all nouns have capitals, names are what follows one of these
GERMAN = regex.compile(
    r"\b(?:[Hh]allo|[Hh]i|[Hh]ey|[Mm]oin|[Ll]iebe[rs]?|[Gg]eehrte[rs]?|Herrn?|Frau|Familie|Dr\.|Prof\.)[ ]"
    rf"(?:(?:Herrn?|Frau|Dr\.|Prof\.)[ ])*(?P<names>{NAME}(?:[ ]{NAME})*)"
)
LINE = regex.compile(rf"^[ \t]*(?P<names>{NAME}(?:[ ]{NAME}){{0,2}})[,.!]?[ \t]*$", regex.MULTILINE)  # a signature


class Mask:
    """Replaces personal data in messages by placeholders, the same for equal texts. ``hidden``: the masked messages."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._lexicon = of_texts(*texts)
        found = {word for text in texts for word in _names(text, self._lexicon)}
        known = sorted(found | {name.upper() for name in found}, key=len, reverse=True)
        names = regex.compile(r"(?<![\p{L}\p{M}\d_])\L<names>(?![\p{L}\p{M}\d_])", names=known)
        self._patterns = (HANDLE, names) if known else (HANDLE,)  # an empty list matches everywhere
        self._found = frozenset(name.casefold() for name in found)
        self._placeholders: dict[str, str] = {}
        self._originals: dict[str, str] = {}
        self._numbers = dict.fromkeys(KINDS, 1)  # the least that may be free
        # a text that looks like one means itself
        self._taken = {_plain(literal[0]) for text in texts for literal in PLACEHOLDER.finditer(text)}
        # the last text, which says what to write, has the lowest numbers: small models count on from those they read
        self.hidden = [self._hide(text) for text in reversed(texts)][::-1]

    def __bool__(self) -> bool:
        return bool(self._originals)

    def original(self, placeholder: str) -> str:
        """Return the text that a placeholder stands for, or the placeholder itself if it is none of the mask's."""
        return self._originals.get(_plain(placeholder), placeholder)

    def _hide(self, text: str) -> str:
        pieces, end = [], 0
        for start, stop, kind in sorted(self._spans(text), key=lambda span: (span[0], -span[1])):
            if start >= end:
                pieces += [text[end:start], self._placeholder(kind, text[start:stop])]
                end = stop
        return "".join([*pieces, text[end:]])

    def _spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        plain = in_usual_forms(text)
        for fact in _flat(text, self._lexicon):
            if fact.kind == "address":
                yield fact.start, fact.end, "MAIL"
            elif fact.kind == "link" and not self._is_public(fact.text):
                yield fact.start, fact.end, "LINK"
            elif fact.kind == "date":  # no long number
                plain = plain[: fact.start] + "\n" * (fact.end - fact.start) + plain[fact.end :]
        for number in LONG.finditer(plain):
            if sum(map(str.isdecimal, number[0])) >= LEAST_DIGITS:
                yield *number.span(), "NUMBER"
        for pattern in self._patterns:
            yield from ((*name.span(), "NAME") for name in pattern.finditer(text))

    def _is_public(self, link: str) -> bool:
        """True for a link to a host without a path, unless it contains a name that is hidden."""
        return HOST_ALONE.fullmatch(link) is not None and not any(
            name in self._found for name in regex.split(r"[\W_]+", link.casefold())
        )

    def _placeholder(self, kind: str, text: str) -> str:
        if text not in self._placeholders:
            while (placeholder := f"{kind}_{self._numbers[kind]}") in self._taken:
                self._numbers[kind] += 1
            self._taken.add(placeholder)
            self._placeholders[text], self._originals[placeholder] = placeholder, text
        return self._placeholders[text]


def _plain(placeholder: str) -> str:
    return placeholder.replace("\\", "").upper()


class Restorer:
    """Replaces placeholders by their texts in an answer that comes in pieces; the end of a piece is held back while it
    may be the beginning of a placeholder."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._before = ""  # the last character that was given out
        self._held = ""

    def feed(self, piece: str, *, last: bool = False) -> str:
        """Take a piece of the answer; return the text that is certain by now, or all of it after the ``last`` piece."""
        text = self._before + self._held + piece
        start = len(self._before)
        pieces, end = [], start
        while found := PLACEHOLDER.search(text, end, partial=not last):
            if not last and (found.partial or found.end() == len(text)):
                break
            pieces += [text[end : found.start()], self._mask.original(found[0])]
            end = found.end()
        held = len(text) if found is None else found.start()
        pieces.append(text[end:held])
        self._held = text[held:]
        self._before = text[held - 1 : held] if held else ""
        return "".join(pieces)


def _flat(text: str, lexicon: Lexicon) -> Iterator[Fact]:
    """Yield the facts of a text; the facts inside a quote take the place of the quote."""
    for fact in facts(text, lexicon):
        if fact.kind == "quote":
            at = fact.start + 1
            within = _flat(text[at : fact.end - 1], lexicon)
            yield from (replace(each, start=at + each.start, end=at + each.end) for each in within)
        else:
            yield fact


def _names(text: str, lexicon: Lexicon) -> Iterator[str]:
    """Yield the words of names: with a capital where no sentence begins, alone in a line, or behind a greeting."""
    runs = [(line["names"], True) for line in LINE.finditer(text)]
    if language.detect(text) == "de":
        runs += [(greeting["names"], True) for greeting in GERMAN.finditer(text)]
    else:
        for fact in _flat(text, lexicon):
            if fact.kind == "name":
                runs.append((fact.text, BEGINS.search(text[max(0, fact.start - 20) : fact.start]) is None))
    for run, within in runs:
        words = [word[0].rstrip("'’-") for word in WORD.finditer(run)]
        words = [regex.sub(r"['’]s$", "", word) for word in words]
        named = [word for word in words if _may_be_name(word)]
        # at a sentence's start a single word may have its capital from there
        if within or named != words[:1]:
            yield from named


def _may_be_name(word: str) -> bool:
    return len(word) > 1 and not word.isupper() and word.casefold() not in common_words() and word not in _kept()


@cache
def _kept() -> frozenset[str]:
    """Words of our own prompts, which are never hidden as names."""
    return frozenset({*language.names().values(), "Markdown"})
