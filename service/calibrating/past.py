"""A person's past texts, each with the request that it answered and the ranking of the documents before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

from pearl.records import Document, Request, ScoredDocument
from retriever.base import Retriever, ranked

# why a text is left out
NO_REQUEST, NOTHING_BEFORE, DRAFTED, SET_APART = "no_request", "nothing_before", "drafted", "set_apart"


@dataclass(frozen=True, slots=True)
class PastText:
    """A text and the request that it answered."""

    target: str  # the text
    request: str
    ranking: tuple[ScoredDocument, ...]  # of the documents before it, without copies of it; best first

    @property
    def top_score(self) -> float:
        """The best score, s1."""
        return self.ranking[0].score

    @property
    def texts_before(self) -> tuple[str, ...]:
        """The texts that the person had written before it."""
        return tuple(scored.document.text for scored in self.ranking)


def past_texts(
    documents: Sequence[Document],
    retriever: Retriever,
    most: int,
    drafted: Set[str] = frozenset(),
    apart: Set[str] = frozenset(),
) -> tuple[list[PastText], Counter[str]]:
    """Return at most ``most`` texts, latest first, and the number of those left out by reason; ``documents`` are oldest
    first. Ids of documents: those ``drafted`` by a model are left out, for they would be measured against themselves;
    those set ``apart`` are left out, too, and are in no ranking."""
    past: list[PastText] = []
    left_out: Counter[str] = Counter()
    for index in reversed(range(len(documents))):
        if len(past) == most:
            break
        document = documents[index]
        if document.id in drafted:
            left_out[DRAFTED] += 1
            continue
        if document.id in apart:
            left_out[SET_APART] += 1
            continue
        if not (document.request or "").strip():
            left_out[NO_REQUEST] += 1
            continue
        before = [earlier for earlier in documents[:index] if earlier.text != document.text and earlier.id not in apart]
        if not before:
            left_out[NOTHING_BEFORE] += 1
            continue
        request = Request(document.request or "", document.timestamp)
        ranking = ranked(before, retriever.index(before), request)
        past.append(PastText(document.text, request.text, tuple(ranking)))
    return past, left_out
