"""Comparison of how firmly a draft and its request speak: hedges dropped or added, apologies, firm words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import regex

from pearl.records import Claim
from pearl.style.claims.facts import is_given_name
from pearl.style.claims.known_text import SPACELESS, WORD, KnownText, composed, folded
from pearl.style.claims.languages import strength_words
from pearl.style.manner.ends import GREETING
from pearl.style.manner.reference import common_words
from pearl.text.words import Spot, is_question

STRONGER, WEAKER = "stronger", "weaker"
LEAST_LETTERS, STEM = 4, 5  # of a word that says something; the letters that its other forms share
ORDINARY = 0.5  # weight of a common word, and of two signs of a script without blanks; of all others 1
STATES, WEAKENS = 1.0, 2.0  # least weight of the request's words in a sentence that states it, or that weakens it
NEAR = 0.5  # share of the highest weight at which another sentence states it, too
MANNER = 2  # samples with firm words: they are the person's manner
LONGEST_ORDER = 40  # words of a request that says what to write; a longer one is a message to answer, or a text
SENTENCE = regex.compile(r"[^.!?\n。！？]+(?:[.!?。！？]+(?=\s|\Z)|(?:[.!?]+(?=\S)[^.!?\n。！？]+)*[.!?。！？]*)")
CLAUSE_END = regex.compile(r"[,;:.!?\n，；：。！？]")


class Strength:
    """A comparison of how firmly a draft and its request speak. ``relied``: request, instructions, conversation."""

    def __init__(self, draft: KnownText, request: KnownText, relied: KnownText, samples: Sequence[KnownText]) -> None:
        self._draft, self._request, self._relied, self._samples = draft.text, request.text.strip(), relied.text, samples
        self._lexicon = draft.lexicon
        self._words = strength_words(draft.lexicon.languages)
        greeted = GREETING.match(draft.text)
        self._sentences = [
            (start, start + len(said))
            for sentence in SENTENCE.finditer(draft.text, greeted.end() if greeted else 0)
            if (said := sentence[0].strip()) and not is_question(said)
            for start in [sentence.start() + sentence[0].index(said)]
        ]

    def claims(self) -> Iterator[Claim]:
        """Yield a claim for each sentence that is stronger or weaker than the request."""
        hedged = self._hedged()
        if hedged:
            yield hedged
        for spot in self._sentences:
            if hedged and spot[0] == hedged.start:
                continue
            if self._has("sorry", spot) and not self._words["excused"].search(self._relied):
                yield self._claim(STRONGER, spot)
            elif (firm := self._has("firm", spot)) and not self._is_manner():
                yield self._claim(STRONGER, firm.span())

    def _hedged(self) -> Claim | None:
        """Return a claim for the sentence that drops the request's hedge, or adds a hedge; None if there is none."""
        is_order = "\n" not in self._request and len(WORD.findall(self._request)) <= LONGEST_ORDER
        if not is_order or self._words["asked"].search(self._request):  # a question is open anyway
            return None
        hedge = self._words["hedges"].search(self._request)
        matter = self._matter(hedge)
        shared = [
            sum(matter.get(stem, 0.0) for stem in set(_stems(self._draft[slice(*spot)]))) for spot in self._sentences
        ]
        most = max(shared, default=0.0)
        stating = [
            spot for spot, weight in zip(self._sentences, shared, strict=True) if weight >= max(ORDINARY, NEAR * most)
        ]
        if hedge:
            is_open = any(self._has(name, spot) for name in ("hedges", "soft", "unsure") for spot in stating)
            return None if is_open or most < STATES else self._claim(STRONGER, self._sentences[shared.index(most)])
        if any(self._words[name].search(self._relied) for name in ("hedges", "unsure")):
            return None
        if self._words["answers"].search(self._request):
            unsure = next((spot for spot in self._sentences if self._has("unsure", spot)), None)
            if unsure:
                return self._claim(WEAKER, unsure)
        if (
            most >= WEAKENS
            and self._words["orders"].search(self._request)
            and all(self._has("hedges", spot) for spot in stating)
        ):
            return self._claim(WEAKER, stating[0])
        return None

    def _matter(self, hedge: regex.Match[str] | None) -> Mapping[str, float]:
        """Return the stems, with weights, of the words in the hedge's clause; without them, of the whole request."""
        order, hedged = self._request, ""
        if hedge:
            before, behind = order[: hedge.start()], order[hedge.end() :]
            order = f"{before} {behind}"
            hedged = f"{CLAUSE_END.split(before)[-1]} {CLAUSE_END.split(behind)[0]}"
        names = {stem for word in WORD.findall(order) if is_given_name(word, self._lexicon) for stem in _stems(word)}
        found = (_stems(text) for text in (hedged, order))
        stems = next(filter(None, found), {})
        return {stem: weight for stem, weight in stems.items() if stem not in names}

    def _is_manner(self) -> bool:
        """True if firm words are the person's manner in the samples, or occur in the texts relied on."""
        firm = self._words["firm"]
        firmly = sum(firm.search(sample.text) is not None for sample in self._samples)
        return firmly >= MANNER or firm.search(self._relied) is not None

    def _has(self, name: str, spot: Spot) -> regex.Match[str] | None:
        return self._words[name].search(self._draft, *spot)

    def _claim(self, kind: str, spot: Spot) -> Claim:
        start, end = spot
        text = self._draft[start:end].rstrip(" \n.!。！")
        return Claim(kind, text, start, start + len(text), None)


def _stems(text: str) -> dict[str, float]:
    """Return the stems of the words that carry content, with their weights."""
    stems: dict[str, float] = {}
    for word in map(folded, WORD.findall(text)):
        if SPACELESS.match(word):
            stems |= {word[at : at + 2]: ORDINARY for at in range(len(word) - 1)}
        elif len(word) >= LEAST_LETTERS:
            stems[composed(word)[:STEM]] = ORDINARY if word in common_words() else 1.0
    return stems
