"""The claims of a draft: what it has from a sample alone, from nowhere, what it promises, and what it leaves out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import regex

from pearl.claims.facts import Fact, Key
from pearl.claims.known_text import WORD, Flags, KnownText, sample_text, words_of
from pearl.claims.languages import words
from pearl.manner.reference import common_words
from pearl.records import Claim
from pearl.text.words import Spot

CARRIED_OVER, UNSUPPORTED, DROPPED, COMMITMENT = "carried_over", "unsupported", "dropped", "commitment"
CLAUSE = 6  # words in a row of a sample that are a statement of it
MANNER = 2  # samples with a name or a clause: the person's world and manner, not a fact of one text
MOST_READ = 100_000  # characters of a sample: no prompt shows more
GLUED = regex.compile(r"_|[./-]\w")  # between two words: they are one identifier
# terms that everybody knows, and Lp, Rn
KNOWN = regex.compile(r"(?:AI|API|CPU|EU|FAQ|GPU|ID|IT|LLM|OK|OS|PC|PDF|SoC|TV|UI|UK|URL|USA?|USB)s?|\p{Lu}\p{Ll}")
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
        more = tuple(said)
        self.relied = KnownText("\n".join((request, *more))) if more else self.request
        self.samples = [(sample.id, sample_text(sample.text[:MOST_READ])) for sample in samples]
        self.all = (self.draft, self.relied, *(source for _, source in self.samples))

    def claims(self) -> list[Claim]:
        clauses = list(self._clauses())
        stated = [*clauses, *self._facts(clauses), *self._commitments(clauses)]
        return [*sorted(stated, key=lambda claim: (claim.start or 0, claim.end or 0)), *self._dropped()]

    def _clauses(self) -> Iterator[Claim]:
        """Yield the longest runs of words that stand (nearly) in one sample, and not in what may be relied on."""
        spoken, parts, keys = self.draft.words, self.draft.sentences, self.draft.windows(CLAUSE)
        given, seen, at = self.draft.shares(self.relied, CLAUSE), set[int](), 0
        shared = [self.draft.shares(source, CLAUSE) for _, source in self.samples]
        while at + CLAUSE <= len(spoken):
            having = [index for index, of_sample in enumerate(shared) if of_sample[at]]
            said = given[at] or not seen.isdisjoint(keys[at].tolist())  # a draft that runs in circles claims it once
            if said or len(having) not in range(1, MANNER) or parts[at] != parts[at + CLAUSE - 1]:
                at += 1
                continue
            end = self._end_of_clause(at, shared[having[0]] & ~given)
            start, stop = spoken[at][1], spoken[end - 1][2]
            yield Claim(CARRIED_OVER, self.draft.text[start:stop], start, stop, self.samples[having[0]][0])
            seen.update(keys[at : max(at, end - CLAUSE) + 1].ravel().tolist())
            at = end

    def _end_of_clause(self, begin: int, shared: Flags) -> int:
        """The index of the word behind a clause of overlapping runs, those that a sample has."""
        end, at = begin + CLAUSE, begin + 1
        while at < min(end, len(shared)):
            end = at + CLAUSE if shared[at] else end
            at += 1
        while end > begin + 1 and GLUED.match(self.draft.text, pos=self.draft.words[end - 1][2]):
            end -= 1  # another identifier, that only begins alike
        return end

    def _facts(self, clauses: Sequence[Claim]) -> Iterator[Claim]:
        """Yield the facts that stand in no clause, each once; of a block of code its identifiers and links."""
        covered = _Spots((claim.start or 0, claim.end or 0) for claim in clauses)
        code = _Spots(match.span() for match in FENCED.finditer(self.draft.text))
        parts = set[str]()  # of the identifiers claimed: after this._next, _next is no other
        for fact in _distinct(self.draft.facts):
            is_word = fact.kind in ("name", "code", "quote") or (
                fact.kind == "number" and fact.text[-1].isupper()
            )  # 18F
            if not self._is_fact(fact, self.draft) or self.relied.has(fact):
                continue
            if fact.start in code and fact.kind not in ("code", "link"):
                continue
            if is_word and KNOWN.fullmatch(fact.text):
                continue
            having = [name for name, source in self.samples if source.has(fact)]
            if having and fact.start in covered:
                continue
            if is_word and len(having) >= MANNER:
                continue
            if fact.kind == "code" and fact.text.strip("`()") in parts:
                continue
            parts.update(fact.text.replace("(", ".").split("."))
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
        if fact.kind == "quote":  # two plain words are only set apart
            return regex.fullmatch(r"\W\p{Ll}+ \p{Ll}+\W", fact.text) is None
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
        several = len(spelled) > 1 and not begins and not within.has_nouns_with_capitals  # the Open Data Portal
        return several or bool(unusual)

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
