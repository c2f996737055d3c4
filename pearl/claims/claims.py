"""The claims of a draft: what it has from a sample alone, from nowhere, what it promises, and what it leaves out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import regex

from pearl.claims.facts import Fact, Key
from pearl.claims.known_text import WORD, KnownText, Run, words_of
from pearl.claims.languages import words
from pearl.manner.reference import common_words
from pearl.records import Claim
from pearl.text.words import Spot

CARRIED_OVER, UNSUPPORTED, DROPPED, COMMITMENT = "carried_over", "unsupported", "dropped", "commitment"
CLAUSE = 6  # words in a row of a sample that are a statement of it
REJOINED = 5  # words that a sample goes on with behind one that differs
MANNER = 2  # samples with a name or a clause: the person's world and manner, not a fact of one text
MOST_READ = 100_000  # characters of a sample: no prompt shows more
ACRONYM = regex.compile(r"\p{Lu}[\p{Lu}o]{1,2}s?|\p{Lu}\p{Ll}")  # CPU, SoC, Lp: terms that everybody knows
FENCED = regex.compile(r"^[ \t]*```.*?(?:^[ \t]*```|\Z)", regex.MULTILINE | regex.DOTALL)
SENTENCE = regex.compile(r"[^.!?\n。！？]+(?:[.!?。！？]+(?=\s|\Z)|(?:[.!?]+(?=\S)[^.!?\n。！？]+)*[.!?。！？]*)")


@dataclass(frozen=True, slots=True)
class Sample:
    id: str
    text: str


def claims(draft: str, request: str, samples: Sequence[Sample], said: Iterable[str] = ()) -> list[Claim]:
    """Return the claims of a draft in the order of its characters, those it dropped last.

    ``said`` are more texts that may be relied on: the conversation, instructions, the voice's standing facts.
    """
    return _Check(draft, request, samples, said).claims()


class _Check:
    """A draft beside the texts that its facts may come from."""

    def __init__(self, draft: str, request: str, samples: Sequence[Sample], said: Iterable[str]) -> None:
        self.draft, self.request = KnownText(draft), KnownText(request)
        self.relied = KnownText("\n".join((request, *said)))
        self.samples = [(sample.id, KnownText(sample.text[:MOST_READ])) for sample in samples]
        self.all = (self.draft, self.relied, *(source for _, source in self.samples))

    def claims(self) -> list[Claim]:
        clauses = list(self._clauses())
        stated = [*clauses, *self._facts(clauses), *self._commitments(clauses)]
        return [*sorted(stated, key=lambda claim: (claim.start or 0, claim.end or 0)), *self._dropped()]

    def _clauses(self) -> Iterator[Claim]:
        """Yield the longest runs of words that stand (nearly) in one sample, and not in what may be relied on."""
        spoken, given, seen, at = self.draft.words, self.relied.runs(CLAUSE), set[Run](), 0
        while at + CLAUSE <= len(spoken):
            run = self._run(at, CLAUSE)
            having = [(name, source) for name, source in self.samples if run in source.runs(CLAUSE)]
            if not having or run in given or len(having) >= MANNER:
                at += 1
                continue
            name, source = having[0]
            end = self._end_of_clause(at + CLAUSE, source)
            start, stop, clause = spoken[at][1], spoken[end - 1][2], self._run(at, end - at)
            if clause not in seen:  # a draft that runs in circles claims it once
                yield Claim(CARRIED_OVER, self.draft.text[start:stop], start, stop, name)
            seen.add(clause)
            at = end

    def _end_of_clause(self, end: int, source: KnownText) -> int:
        while end < len(self.draft.words):
            if self._run(end - CLAUSE + 1, CLAUSE) in source.runs(CLAUSE):
                end += 1
            elif self._run(end + 1, REJOINED) in source.runs(REJOINED):
                end += REJOINED + 1
            else:
                break
        return end

    def _run(self, at: int, size: int) -> Run:
        return tuple(word for word, _, _ in self.draft.words[at : at + size])

    def _facts(self, clauses: Sequence[Claim]) -> Iterator[Claim]:
        """Yield the facts that stand in no clause, each once; of a block of code its identifiers and links."""
        covered = _Spots((claim.start or 0, claim.end or 0) for claim in clauses)
        code = _Spots(match.span() for match in FENCED.finditer(self.draft.text))
        for fact in _distinct(self.draft.facts):
            is_word = fact.kind in ("name", "code")
            if fact.start in covered or not self._is_fact(fact, self.draft) or self.relied.has(fact):
                continue
            if fact.start in code and fact.kind not in ("code", "link"):
                continue
            if is_word and ACRONYM.fullmatch(fact.text):
                continue
            having = [name for name, source in self.samples if source.has(fact)]
            if is_word and len(having) >= MANNER:
                continue
            kind, name = (CARRIED_OVER, having[0]) if having else (UNSUPPORTED, None)
            yield Claim(kind, fact.text, fact.start, fact.end, name)

    def _commitments(self, clauses: Sequence[Claim]) -> Iterator[Claim]:
        """Yield the promises that the writer makes: not those of a sample, and not what is quoted."""
        quoted = [fact for fact in self.draft.facts if fact.kind == "quote"]
        spots = [(claim.start or 0, claim.end or 0) for claim in clauses]
        others = _Spots([*spots, *((quote.start, quote.end) for quote in quoted)])
        for sentence in SENTENCE.finditer(self.draft.text):
            match = words().commitments.search(sentence[0])
            if match is None:
                continue
            start = sentence.start() + match.start()
            text = self.draft.text[start : sentence.end()].rstrip(" \n.!?。！？")
            begins = tuple(words_of(text)[:CLAUSE])
            if start not in others and begins not in self.relied.runs(len(begins)):
                yield Claim(COMMITMENT, text, start, start + len(text), None)

    def _dropped(self) -> Iterator[Claim]:
        for fact in _distinct(self.request.facts):
            if self._is_fact(fact, self.request) and not self.draft.mentions(fact):
                yield Claim(DROPPED, fact.text, None, None, None)

    def _is_fact(self, fact: Fact, within: KnownText) -> bool:
        """False for numbers that count nothing, and for words that only have a capital because a sentence begins."""
        text = within.text
        line = text.rfind("\n", 0, fact.start) + 1
        before = text[line : fact.start].strip(" \t*_#>-•\"'“(@")
        begins = not before or before[-1] in ".!?:;…"
        if fact.kind == "number":
            if not before and regex.match(r"[.)]\s", text, pos=fact.end):
                return False  # of a list
            return len(fact.text) > 1 or regex.match(r"\s\p{L}", text, pos=fact.end) is not None
        if fact.kind == "code":
            return not (text[fact.start - 1 : fact.start] == ":" == text[fact.end : fact.end + 1])  # :an_emoji:
        if fact.kind != "name":
            return True
        headed = not before and text[fact.end : fact.end + 1] == ":"
        if headed or text[line : fact.start].startswith("#") or text[max(0, fact.start - 2) : fact.start] == "**":
            return False  # a heading, often in title case
        spelled = WORD.findall(fact.text)
        if len(spelled) == 1 and within.has_nouns_with_capitals:
            return False
        unusual = [word for word in spelled if not self._is_ordinary(word)]
        if begins and unusual == spelled[:1]:  # a name where a text has it within a sentence
            return any(unusual[0] in source.capitals_within for source in self.all)
        return bool(unusual)

    def _is_ordinary(self, word: str) -> bool:
        """True for a word that is common, or that a text writes without a capital."""
        small = word.casefold()
        return small in common_words() or any(small in source.spelled for source in self.all)


class _Spots:
    """Spots of a text that do not overlap, to be asked for a character."""

    def __init__(self, spots: Iterable[Spot]) -> None:
        self._spots = sorted(spots)

    def __contains__(self, at: int) -> bool:
        before = bisect_right(self._spots, (at, at))
        candidates = self._spots[max(0, before - 1) : before + 1]
        return any(start <= at < end for start, end in candidates)


def _distinct(found: Iterable[Fact]) -> Iterator[Fact]:
    seen: set[frozenset[Key]] = set()
    for fact in found:
        if fact.keys not in seen:
            seen.add(fact.keys)
            yield fact
