"""What can be read off a history: by hand, and for whatever texts and times there are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pearl.records import Document, Request
from retriever.history.signals import NAMES, SignalIndex
from retriever.history.word_weights import BUCKETS, WordWeights, bucket

EVEN = WordWeights(np.ones(BUCKETS, np.float32))
NOW = 1_000_000.0
DOCUMENTS = [
    Document("a", "true the rear wheel before the ride", NOW - 90_000, "wheel: true it"),
    Document("b", "true the rear wheel after the ride", NOW - 600, "wheel: true it again"),
    Document("c", "mind the tide", NOW - 60, None),
]
REQUEST = Request("wheel: true it once more", NOW)


@pytest.fixture
def signals(word_encoder) -> Any:
    """The signals of documents for a request, by name."""

    def compute(documents: list[Document], request: Request, weights: WordWeights = EVEN) -> dict[str, Any]:
        found = SignalIndex(documents, word_encoder(), weights).signals(request)
        assert (found.shape, found.dtype) == ((len(documents), len(NAMES)), np.float32)
        return dict(zip(NAMES, found.T.tolist(), strict=True))

    return compute


def test_by_hand(signals):
    found = signals(DOCUMENTS, REQUEST)
    # the request's words are wheel, true, it, once, more
    assert found["overlap_text"] == pytest.approx([2 / 5, 2 / 5, 0])
    assert found["overlap_request"] == pytest.approx([3 / 5, 3 / 5, 0])
    assert found["covered_request"] == pytest.approx([3 / 3, 3 / 4, 0])
    assert found["same_area"] == [1, 1, 0]
    assert found["has_request"] == [1, 1, 0]
    assert found["prefix_words"] == pytest.approx([math.log1p(3), math.log1p(3), 0])
    assert found["suffix_words"] == [0, 0, 0]
    assert found["letters_request"][2] == found["trigrams_request"][2] == 0
    assert found["log_gap"] == pytest.approx([math.log1p(90_000), math.log1p(600), math.log1p(60)])
    assert found["log_gap_above_least"] == pytest.approx([math.log(90_001 / 61), math.log(601 / 61), 0], abs=1e-5)
    assert found["within_15_minutes"] == [0, 1, 1]
    assert found["within_a_day"] == [0, 1, 1]
    assert found["log_recency"] == pytest.approx([math.log(3), math.log(2), 0])
    assert found["log_words"] == pytest.approx([math.log1p(7), math.log1p(7), math.log1p(3)])
    assert found["log_request_words"] == pytest.approx([math.log1p(5)] * 3)
    assert found["log_candidates"] == pytest.approx([math.log1p(3)] * 3)
    # shared of the first two: true the, the rear, rear wheel, the ride; true the rear, the rear wheel
    assert found["most_copied"] == pytest.approx([math.log1p(6), math.log1p(6), 0])
    assert found["neighbour_copies"] == pytest.approx([0, math.log1p(6), 0])
    assert found["series"] == pytest.approx([math.log1p(6) / 3] * 3)
    for name in NAMES:
        if name.startswith("best_"):
            assert found[name] == pytest.approx([max(found[name.removeprefix("best_")])] * 3)
        if name.endswith("_below_best"):
            own = found[name.removesuffix("_below_best")]
            assert found[name] == pytest.approx([value - max(own) for value in own], abs=1e-6)


LONG = "how does the wheel turn " * 1000
ODD = {
    "one document": [DOCUMENTS[0]],
    "no words": [Document("a", ""), Document("b", "!?", NOW, "..."), Document("c", "\U0001f600", None, "")],
    "no requests": [Document(each.id, each.text, each.timestamp) for each in DOCUMENTS],
    "no times": [Document(each.id, each.text, None, each.request) for each in DOCUMENTS],
    "some times": [DOCUMENTS[0], Document("b", "true", None, "wheel"), DOCUMENTS[2]],
    "the same": [DOCUMENTS[0]] * 40,
    "later than the request": [Document("a", "true", NOW + 1e6, "wheel"), *DOCUMENTS],
    "long": [Document("a", LONG, NOW, LONG), Document("b", "x" * 50_000, NOW - 1, "y" * 50_000), *DOCUMENTS],
}


@pytest.mark.parametrize("documents", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("asked", ["wheel: true it", "", "?!", ":", "今日は", LONG], ids=lambda text: text[:9])
@pytest.mark.parametrize("when", [NOW, None, 0.0])
def test_every_signal_is_a_finite_number(signals, documents, asked, when):
    found = signals(documents, Request(asked, when))
    assert all(np.isfinite(values).all() for values in found.values())
    for name in ("letters_request", "trigrams_request", "overlap_text", "overlap_request", "copied_share"):
        assert min(found[name]) >= 0
        assert max(found[name]) <= 1 + 1e-6


def test_a_request_without_words_is_like_no_other(signals):
    found = signals(ODD["no words"], Request("?"))
    assert found["letters_request"] == found["trigrams_request"] == [0, 0, 0]


def test_no_time_means_now(signals):
    import time

    found = signals([Document("a", "true", time.time() - 30, "wheel")], Request("wheel"))
    assert found["gap_known"] == found["within_15_minutes"] == [1]


def test_with_times_the_order_does_not_matter_without_them_it_is_the_age(word_encoder):
    def rows(documents: list[Document]) -> dict[str, Any]:
        found = SignalIndex(documents, word_encoder(), EVEN).signals(REQUEST)
        return {document.id: row.tolist() for document, row in zip(documents, found, strict=True)}

    assert rows(DOCUMENTS[::-1]) == rows(DOCUMENTS)
    recency = NAMES.index("log_recency")
    untimed = rows(ODD["no times"][::-1])
    assert [untimed[id][recency] for id in "cba"] == pytest.approx([math.log(3), math.log(2), 0])


def test_one_index_serves_many_requests_alike(word_encoder):
    index = SignalIndex(DOCUMENTS, word_encoder(), EVEN)
    first = index.signals(REQUEST)
    index.signals(Request("mind the tide", NOW))
    assert np.array_equal(index.signals(REQUEST), first)


def test_weights_are_inverse_document_frequencies():
    weights = WordWeights.count(["the wheel", "the the tide", "the spoke"])
    assert weights.of(["the", "wheel", "unseen"]).tolist() == pytest.approx(
        [math.log(4 / 3.5), math.log(4 / 1.5), math.log(4 / 0.5)]
    )
    assert weights.sum(frozenset()) == 0.0
    assert WordWeights.count([]).of(["a"]).tolist() == pytest.approx([math.log(1 / 0.5)])
    assert bucket("wheel") == bucket("wheel") < BUCKETS


def test_words_of_histories_are_those_of_texts_and_of_their_requests():
    histories = [[Document("a", "the wheel", request="a tide")], [Document("b", "the spoke"), Document("c", "the the")]]
    counted = WordWeights.count(["a tide the wheel", "the spoke", "the the"])
    assert WordWeights.of_histories(histories).weights.tolist() == counted.weights.tolist()
