"""Finds the claims of a draft: facts that come from only one of the samples (texts shown to the model) or from nowhere,
promises, and facts of the request that the draft leaves out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import regex

from pearl.records import Claim
from pearl.style.claims.facts import Fact, is_given_name
from pearl.style.claims.known_text import WORD, Flags, KnownText, sample_text, words_of
from pearl.style.claims.languages import commitments, of_texts
from pearl.style.claims.strength import SENTENCE, Strength
from pearl.style.claims.values import Key
from pearl.style.manner.reference import common_words
from pearl.text.words import Spot

CARRIED_OVER, UNSUPPORTED, DROPPED, COMMITMENT = "carried_over", "unsupported", "dropped", "commitment"
CLAUSE = 6  # words in a row of a sample that are a statement of it
MANNER = 2  # samples with a name or a clause: the person's world and manner, not a fact of one text
LEAST_CONTENT = 3  # letters: a promise whose longer words the request has is the request's
MOST_READ = 100_000  # characters of a sample: no prompt shows more
GLUED = regex.compile(r"_|[./-]\w")  # between two words: they are one identifier
# terms that everybody knows, and Lp, Rn
KNOWN = regex.compile(r"(?:AI|API|CPU|EU|FAQ|GPU|ID|IT|LLM|OK|OS|PC|PDF|SoC|TV|UI|UK|URL|USA?|USB)s?|\p{Lu}\p{Ll}")
FENCED = regex.compile(r"^[ \t]*```.*?(?:^[ \t]*```|\Z)", regex.MULTILINE | regex.DOTALL)


@dataclass(frozen=True, slots=True)
class Sample:
    id: str
    text: str


def claims(
    draft: str, request: str, samples: Sequence[Sample], said: Iterable[str] = (), edges: Iterable[str] = ()
) -> list[Claim]:
    """Return the claims of a draft in the order of its text, then claims for facts that the draft leaves out.

    ``said``: more texts that facts may come from, such as the conversation or the instructions; ``edges``: the writer's
    usual greeting, opening, sign-off and name, in which nothing counts as a claim.
    """
    return _Check(draft, request, samples, said, edges).claims()


class _Check:
    """A draft beside the texts that its facts may come from."""

    def __init__(
        self, draft: str, request: str, samples: Sequence[Sample], said: Iterable[str], edges: Iterable[str]
    ) -> None:
        # all are read by the same words, so that what is misread agrees with itself
        lexicon = of_texts(draft, request)
        self.draft, self.request = KnownText(draft, lexicon), KnownText(request, lexicon)
        more = tuple(said)
        self.relied = KnownText("\n".join((request, *more)), lexicon) if more else self.request
        self.samples = [(sample.id, sample_text(sample.text[:MOST_READ], lexicon)) for sample in samples]
        self.all = (self.draft, self.relied, *(source for _, source in self.samples))
        found = ((draft.find(edge), len(edge)) for edge in edges if edge)
        self.edges = _Spots((start, start + length) for start, length in found if start >= 0)

    def claims(self) -> list[Claim]:
        clauses = list(self._clauses())
        strength = [*Strength(self.draft, self.request, self.relied, [source for _, source in self.samples]).claims()]
        promises = (claim for claim in self._commitments(clauses) if not any(_within(claim, each) for each in strength))
        stated = [*clauses, *self._facts(clauses), *promises, *strength]
        stated = [claim for claim in stated if (claim.start or 0) not in self.edges]
        return [*sorted(stated, key=lambda claim: (claim.start or 0, claim.end or 0)), *self._dropped()]

    def _clauses(self) -> Iterator[Claim]:
        """Yield the longest runs of words that occur, nearly verbatim, in one sample and in no text relied on."""
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
        """The index of the word after a clause, which extends over the overlapping runs that the sample has, too."""
        end, at = begin + CLAUSE, begin + 1
        while at < min(end, len(shared)):
            end = at + CLAUSE if shared[at] else end
            at += 1
        while end > begin + 1 and GLUED.match(self.draft.text, pos=self.draft.words[end - 1][2]):
            end -= 1  # another identifier, that only begins alike
        return end

    def _facts(self, clauses: Sequence[Claim]) -> Iterator[Claim]:
        """Yield the facts outside of clauses, without duplicates; in a block of code only identifiers and links."""
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
        """Yield the promises that the writer makes: not those of a sample or a quote, nor what the request asks for."""
        promised, asked = commitments()
        if asked.search(self.request.text):
            return
        quoted = [fact for fact in self.draft.facts if fact.kind == "quote"]
        spots = [(claim.start or 0, claim.end or 0) for claim in clauses]
        others = _Spots([*spots, *((quote.start, quote.end) for quote in quoted)])
        for sentence in SENTENCE.finditer(self.draft.text):
            match = promised.search(sentence[0])
            if match is None:
                continue
            start = sentence.start() + match.start()
            text = self.draft.text[start : sentence.end()].rstrip(" \n.!?。！？")
            content = [word for word in words_of(text) if len(word) > LEAST_CONTENT]
            given = sum(map(self.relied.has_name, content))
            if start not in others and 2 * given < len(content or "x"):
                yield Claim(COMMITMENT, text, start, start + len(text), None)

    def _dropped(self) -> Iterator[Claim]:
        for fact in _distinct(self.request.facts):
            channel = fact.text[0] == "#" and fact.text[1:].isalpha()  # where it is said, not what
            if not channel and self._is_fact(fact, self.request) and not self.draft.mentions(fact):
                yield Claim(DROPPED, fact.text, None, None, None)

    def _is_fact(self, fact: Fact, within: KnownText) -> bool:
        """False for numbers that count nothing, and for words that only have a capital because a sentence begins."""
        text = within.text
        line = text.rfind("\n", 0, fact.start) + 1
        before = text[line : fact.start].strip(" \t*_#>-•\"'“(@")
        if fact.kind == "number":
            listed = not before and regex.match(r"[.)]\s", text, pos=fact.end - fact.text.endswith("."))
            return not fact.weak and not listed
        if fact.kind == "quote":  # two plain words are only set apart
            return regex.fullmatch(r"\W\p{Ll}+ \p{Ll}+\W", fact.text) is None
        if fact.kind == "code":
            return not (text[fact.start - 1 : fact.start] == ":" == text[fact.end : fact.end + 1])  # :an_emoji:
        if fact.kind != "name":
            return True
        headed = not before and text[fact.end : fact.end + 1] == ":"
        if text[line : fact.start].startswith("#") or text[max(0, fact.start - 2) : fact.start] == "**":
            return False  # a heading, often in title case
        return not headed and fact.start not in within.signed and self._is_name(fact, within)

    def _is_name(self, fact: Fact, within: KnownText) -> bool:
        spelled = WORD.findall(fact.text)
        given = any(is_given_name(word, within.lexicon) for word in spelled)
        if fact.weak and not given:  # a sentence begins: a name where a text has it within one
            return not self._is_ordinary(spelled[0]) and any(
                spelled[0] in source.capitals_within for source in self.all
            )
        if within.has_nouns_with_capitals:
            return given or fact.titled
        unusual = [word for word in spelled if not self._is_ordinary(word)]
        return given or len(spelled) > 1 or bool(unusual)

    def _is_ordinary(self, word: str) -> bool:
        """True for a word that is common, or that a text writes without a capital."""
        small = word.casefold()
        return small in common_words() or any(small in source.spelled for source in self.all)


class _Spots:
    """Spots of a text, (start, end), that do not overlap; ``in`` tells if any of them contains a character's index."""

    def __init__(self, spots: Iterable[Spot]) -> None:
        self._spots = sorted(spots)

    def __contains__(self, at: int) -> bool:
        before = bisect_right(self._spots, (at, at))
        candidates = self._spots[max(0, before - 1) : before + 1]
        return any(start <= at < end for start, end in candidates)


def _within(claim: Claim, other: Claim) -> bool:
    return (other.start or 0) <= (claim.start or 0) and (claim.end or 0) <= (other.end or 0)


def _distinct(found: Iterable[Fact]) -> Iterator[Fact]:
    seen: set[frozenset[Key]] = set()
    for fact in found:
        if fact.keys not in seen:
            seen.add(fact.keys)
            yield fact
