from __future__ import annotations

from dataclasses import replace

import pytest

from pearl.records import Document, ScoredDocument
from retriever.base import MARGIN_FROM, RELATED_FROM, UNCALIBRATED, Calibration, choose

SCORES = (3.0, 2.5, 1.0, -1.0, -2.0, -3.0, -4.0, -5.0)
RANKING = [ScoredDocument(Document(str(score), f"text {score}"), score) for score in SCORES]


@pytest.mark.parametrize(
    ("calibration", "k", "chosen"),
    [
        (UNCALIBRATED, 3, [3.0, 2.5, 1.0]),
        (Calibration(floor=0.0), 4, [3.0, 2.5, 1.0]),
        (Calibration(floor=4.0), 4, []),
        (Calibration(margin=0.5), 4, [3.0, 2.5]),
        (Calibration(margin=0.4), 4, [3.0]),
        (Calibration(margin=9.0), 2, [3.0, 2.5]),
        (Calibration(margin=9.0, floor=0.0), 4, [3.0, 2.5, 1.0]),
        (Calibration(margin=0.5, floor=2.7), 4, [3.0]),
    ],
)
def test_what_is_worth_a_place(calibration, k, chosen):
    assert [found.score for found in choose(RANKING, k, calibration)] == chosen


def test_k_documents_are_shown_where_a_request_names_k_whatever_the_margin():
    calibration = Calibration(margin=0.5, floor=0.0)
    assert [found.score for found in choose(RANKING, 4, calibration, exactly=True)] == [3.0, 2.5, 1.0]


def test_a_short_history_is_shown_whatever_the_margin():
    assert [found.score for found in choose(RANKING[:7], 4, Calibration(margin=0.5))] == [3.0, 2.5, 1.0, -1.0]


@pytest.mark.parametrize(
    ("relatedness", "k", "chosen"),
    [
        ((0.5, 0.5, 0.5), 2, [3.0, 2.5]),
        ((RELATED_FROM - 0.01, 0.5, 0.5), 3, [2.5, 1.0]),
        ((RELATED_FROM - 0.01, 0.5, 0.5), 2, [2.5, 1.0]),  # the next one takes the place
        ((RELATED_FROM, None, 0.1), 3, [3.0, 2.5]),  # what is not known counts for nothing
        ((-0.1, 0.0, 0.1), 3, []),
    ],
)
def test_in_a_short_history_what_is_unrelated_is_not_shown(relatedness, k, chosen):
    ranking = [replace(found, relatedness=value) for found, value in zip(RANKING, relatedness, strict=False)]
    assert [found.score for found in choose(ranking, k, Calibration(margin=0.5))] == chosen
    assert [found.score for found in choose(ranking, k, Calibration(), exactly=True)] == [3.0, 2.5, 1.0][:k]


def test_in_a_longer_history_what_is_unrelated_is_shown():
    ranking = [replace(found, relatedness=0.0) for found in RANKING]
    assert len(ranking) >= MARGIN_FROM
    assert [found.score for found in choose(ranking, 2, Calibration())] == [3.0, 2.5]


@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize("calibration", [UNCALIBRATED, Calibration(margin=9.0, floor=-9.0)])
@pytest.mark.parametrize("copy", ["Gate's shut.\nBea", " gate's shut. \t BEA\n"])
def test_a_copy_takes_no_place(copy, calibration, exactly):
    texts = ["Gate's shut.\nBea", copy, "Kettle's on.", copy, "Gate's shut, Bea", "Swap with Bea.", "Yes.", "No."]
    ranking = [replace(found, document=Document(text, text)) for found, text in zip(RANKING, texts, strict=True)]
    chosen = choose(ranking, 3, calibration, exactly=exactly)
    assert [found.score for found in chosen] == [3.0, 1.0, -2.0]  # what is only like it, and not the same, stays


@pytest.mark.parametrize(
    ("texts", "relatedness", "asks"),
    [
        # one related text and its copies are one text: the mean of the three most related ones is .2
        ("aaabcdefghi", (0.4, 0.4, 0.4, *(0.1,) * 8), True),
        ("aaabcdefghi", (0.2, 0.6, 0.3, *(0.25,) * 8), False),  # the copy counts that has most to do with the request
        ("a" * 9, (0.2,) * 9, False),  # a short history: one text
        ("a" * 9, (0.1,) * 9, True),
    ],
)
def test_copies_count_once_where_the_user_may_be_asked(texts, relatedness, asks):
    ranking = [
        ScoredDocument(Document(str(place), f" {text}\n"), 1.0, related)
        for place, (text, related) in enumerate(zip(texts, relatedness, strict=True))
    ]
    assert Calibration(ask_unrelated=0.3).asks(ranking) is asks


def test_a_short_history_is_one_of_few_different_texts():
    texts = ["Gate's shut.", *["Kettle's on."] * 8]
    ranking = [
        ScoredDocument(Document(str(place), text), -float(place), 0.05 if place else 0.5)
        for place, text in enumerate(texts)
    ]
    assert [found.document.text for found in choose(ranking, 3, Calibration(margin=0.5))] == ["Gate's shut."]
    related = [replace(found, relatedness=0.5) for found in ranking]
    assert len(choose(related, 3, Calibration(margin=0.5))) == 2  # whatever the margin


def test_nothing_to_choose_from():
    assert choose([], 4, Calibration(margin=0.5)) == []


@pytest.mark.parametrize(
    ("calibration", "relatedness", "asks"),
    [
        (UNCALIBRATED, (0.0, 0.0), False),
        (Calibration(ask_below=3.0), (None, None), False),  # s1 is 3.0
        (Calibration(ask_below=3.1), (None, None), True),
        (Calibration(ask_below=3.1), (0.5, 0.5), True),
        (Calibration(ask_below=-9.0), (0.0, RELATED_FROM), False),
        (Calibration(ask_below=-9.0), (0.0, None), False),  # not known yet
        (Calibration(ask_below=-9.0), (0.0, 0.1), True),
        (Calibration(ask_below=3.1), (), False),
        (Calibration(ask_unrelated=0.3), (0.0, 0.1), True),  # a short history: no document has to do with it
        (Calibration(ask_unrelated=0.3), (0.2, 0.2), False),
        (Calibration(ask_unrelated=0.3), (0.1,) * 5 + (0.2, 0.3, 0.3), True),  # the mean of three is below
        (Calibration(ask_unrelated=0.3), (0.1,) * 5 + (0.31, 0.3, 0.3), False),
        (Calibration(ask_unrelated=0.3, ask_below=3.1), (0.4,) * 8, False),  # s1 does not count beside it
        (Calibration(ask_unrelated=0.3, ask_below=3.1), (0.4,) * 7 + (None,), True),  # but where it is not known
        (Calibration(ask_unrelated=0.3), (0.1,) * 7 + (None,), False),
    ],
)
def test_when_the_user_is_asked(calibration, relatedness, asks):
    ranking = [replace(found, relatedness=value) for found, value in zip(RANKING, relatedness, strict=False)]
    assert calibration.asks(ranking) is asks
