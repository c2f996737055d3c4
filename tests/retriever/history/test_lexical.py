"""Our BM25 index against rank-bm25, over texts that people wrote."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from pearl.records import Document, Request
from retriever.base import best_first
from retriever.baselines.bm25 import BM25Retriever, OkapiIndex
from retriever.history.lexical import BM25Index, hashed_words, words

ROOT = Path(__file__).parents[3]
PAGES = ("README.md", "CONTRIBUTING.md", "docs/drafting.md", "docs/importing.md", "docs/training.md", "docs/judging.md")


def paragraphs() -> list[str]:
    pages = "\n\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    return [text for text in re.split(r"\n\s*\n", pages) if re.search(r"\w", text)]


def test_it_scores_and_orders_real_texts_as_rank_bm25_does():
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


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("钥匙", "请把会议室的钥匙带来。"),
        ("กุญแจ", "ช่วยเอากุญแจห้องประชุมมาด้วย"),
        ("الكتاب", "قَرَأْتُ الكِتَابَ أمس"),
        ("किताब", "मेरी किताब खो गई"),
        (unicodedata.normalize("NFD", "Größe"), "Die Größe passt."),
        ("istanbul", "İstanbul çok kalabalık."),
    ],
)
def test_words_of_any_script_and_spelling_are_met(asked, written):
    others = ["今天天气很好。", "วันนี้อากาศดี", "الطقس جميل", "कौतुक बहुत", "Das Wetter.", "Ankara güzel."]
    scores = BM25Index(hashed_words([*others, written])).scores(Request(asked))
    assert scores.argmax() == len(others)
    assert scores[-1] > 2 * np.sort(scores)[-2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A_b don't", ["a_b", "don", "t"]),
        ("请把PDF给我看，好", ["请把", "pdf", "给我", "我看", "好"]),
        ("Muß", ["muss"]),
    ],
)
def test_signs_without_spaces_are_read_in_pairs(text, expected):
    assert words(text) == expected
