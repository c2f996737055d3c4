"""Our BM25 index against rank-bm25, over texts that people wrote."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pearl.records import Document, Request
from retriever.base import best_first
from retriever.baselines.bm25 import BM25Retriever, OkapiIndex
from retriever.history.lexical import BM25Index, hashed_words

ROOT = Path(__file__).parents[3]
PAGES = ("README.md", "CONTRIBUTING.md", "docs/drafting.md", "docs/importing.md", "docs/training.md", "docs/judging.md")


def paragraphs() -> list[str]:
    pages = "\n\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    return [text for text in re.split(r"\n\s*\n", pages) if re.search(r"\w", text)]


def test_it_scores_and_orders_real_texts_as_rank_bm25_does() -> None:
    texts = paragraphs()
    documents = [Document(str(place), text) for place, text in enumerate(texts)]
    theirs, ours = BM25Retriever().index(documents), BM25Index(hashed_words(texts))
    # headings and sentences: short requests, and long ones that repeat their words
    requests = [text for text in texts if text.startswith("#")] + [" ".join(texts[:3]), texts[-1] * 2, "no such wörd"]
    assert len(texts) > 150
    assert len(requests) > 30
    for request in map(Request, requests):
        expected, scores = theirs.scores(request), ours.scores(request)
        assert isinstance(theirs, OkapiIndex)
        assert np.allclose(scores, expected, rtol=1e-5, atol=1e-5)
        # an order may differ where two texts differ in the last bit of a float32 alone
        assert np.allclose(expected[best_first(scores)], expected[best_first(expected)], rtol=1e-6, atol=1e-6)
        assert best_first(np.round(scores, 3)).tolist() == best_first(np.round(expected, 3)).tolist()
