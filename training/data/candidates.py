"""The choice of a user's candidates to score for a request, when scoring all of them costs too much."""

from __future__ import annotations

import random
from collections.abc import Sequence

from pearl.records import Document, Request
from retriever.history.lexical import BM25Index, hashed_words


def sample_candidates(request: str, candidates: Sequence[Document], count: int | None, *, seed: str) -> list[Document]:
    """All of them for ``count`` None; else a third by BM25, a third the most recent, the rest at random.

    The order of the candidates is kept; one seed for all requests of a user keeps their samples alike, so that few
    documents serve many requests. What is likely to help is among them, and so is what is not: a loss over
    scores needs both.
    """
    if count is None or len(candidates) <= count:
        return list(candidates)
    third = count // 3
    scores = BM25Index(hashed_words([document.text for document in candidates])).scores(Request(request))
    best = sorted(range(len(candidates)), key=lambda position: -scores[position])[:third]
    chosen = {*best, *range(len(candidates) - third, len(candidates))}
    rest = [position for position in range(len(candidates)) if position not in chosen]
    chosen.update(random.Random(seed).sample(rest, count - len(chosen)))
    return [candidates[position] for position in sorted(chosen)]
