from __future__ import annotations

from dataclasses import replace

import pytest

from eval.recorded.style.labels import DrawLabels, draw_label, label_draws, ratings_label, scored_label, winner

DETECTION, RANKING = "detection", "ranking"


@pytest.mark.parametrize(
    ("given", "levels_first", "labels_first"),
    [
        # four say not; 3 + 3 = 6 of ten say that it is there
        ({"not": 4, "somewhat": 3, "very": 3}, "absent", "present"),
        ({"not": 2, "somewhat": 4, "very": 4}, "present", "present"),  # levels tie, their label does not
        ({"not": 5, "somewhat": 5}, None, None),
        ({"not": 6, "cant_tell": 3, "very": 1}, "absent", "absent"),
        ({"cant_tell": 10}, None, None),
        ({}, None, None),
        ({"present": 2, "absent": 1}, "present", "present"),
    ],
)
def test_votes_of_people(corrected, given, levels_first, labels_first):
    assert ratings_label(DETECTION, given, replace(corrected, votes="levels_first")) == levels_first
    assert ratings_label(DETECTION, given, corrected) == labels_first


@pytest.mark.parametrize(
    ("given", "left_out", "absent", "own"),
    [
        ({"not": 2, "very": 3, "cant_tell": 4}, "present", "absent", None),
        ({"not": 2, "very": 3, "cant_tell": 1}, "present", None, "present"),  # 3 against 2 + 1
        ({"present": 3, "cant_tell": 4}, "present", "absent", None),
    ],
)
def test_who_cannot_tell(corrected, given, left_out, absent, own):
    for choice, label in (("left_out", left_out), ("absent", absent), ("own", own)):
        assert ratings_label(DETECTION, given, replace(corrected, cant_tell=choice)) == label


@pytest.mark.parametrize(
    ("given", "levels_first", "labels_first"),
    [
        ({"a_much": 1, "a_slightly": 1, "b_much": 2, "tie": 1}, "b", None),  # 2 + 0 for b, 1 + 1 for a
        ({"a_much": 2, "a_slightly": 1, "b_slightly": 2}, None, "a"),  # a_much and b_slightly tie; 3 against 2
        ({"tie": 3, "a_much": 2}, "tie", "tie"),
        ({"a": 2, "b": 1}, "a", "a"),
    ],
)
def test_votes_on_two_texts(corrected, given, levels_first, labels_first):
    assert ratings_label(RANKING, given, replace(corrected, votes="levels_first")) == levels_first
    assert ratings_label(RANKING, given, corrected) == labels_first


@pytest.mark.parametrize(
    ("kind", "given", "cautious"),
    [(DETECTION, {"present": 2, "absent": 2}, "absent"), (RANKING, {"a": 2, "b": 2, "tie": 1}, "tie")],
)
def test_an_even_vote(corrected, kind, given, cautious):
    assert winner(kind, given, corrected.even) is None
    assert winner(kind, given, "cautious") == cautious


def test_one_draw_of_two_texts():
    assert draw_label({"ab": "a", "ba": "a"}) == "a"
    assert draw_label({"ab": "a", "ba": "b"}) == "tie"
    assert draw_label({"ab": "a"}) is None
    assert [scored_label(*pair) for pair in ((4, 3), (3, 4), (3, 3), (0.1 + 0.2, 0.3))] == ["a", "b", "tie", "tie"]


@pytest.mark.parametrize(
    ("draw", "dropped", "tie"),
    [
        ({"": "present"}, "present", "present"),
        ({"": None}, None, None),
        ({"ab": "a", "ba": None}, None, "tie"),
        ({"ab": None, "ba": None}, None, None),
        ({"a": 4.0, "b": 3.0}, "a", "a"),
        ({"a": 4.0, "b": None}, None, None),
    ],
)
def test_a_draw_of_which_a_part_has_no_answer(draw, dropped, tie):
    assert (draw_label(draw, half="dropped"), draw_label(draw, half="tie")) == (dropped, tie)


def test_draws_with_scores_are_decided_by_their_means():
    draws = [{"a": 5.0, "b": 1.0}, {"a": 1.0, "b": 2.0}, {"a": None, "b": 2.0}]
    votes = {"a": 1, "tie": 0, "b": 1, "no_label": 1}
    assert label_draws(RANKING, draws, "dropped", "no_label") == DrawLabels("a", ("a", "b", None), votes, (3, 5 / 3))
