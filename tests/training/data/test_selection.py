"""Algorithm 1 on small made-up scores."""

from __future__ import annotations

import pytest

from pearl.errors import InputError
from training.data.selection import ScoredRequest, select_groups, select_requests


def request(name: str, *gains: float, user: str = "ann") -> ScoredRequest:
    return ScoredRequest(user, name, {f"{name}-{position}": gain for position, gain in enumerate(gains)})


def test_the_top_two_thirds_by_best_candidate_stay_over_all_users() -> None:
    requests = [request("a", 1, 9), request("b", 3), request("c", 5, user="ben")]

    assert [kept.request_id for kept in select_requests(requests)] == ["a", "c"]


def test_the_share_is_rounded_up() -> None:
    requests = [request(name, gain) for name, gain in zip("abcd", (4, 3, 2, 1), strict=True)]

    assert len(select_requests(requests)) == 3  # two thirds of 4 are 2.67


def test_a_gain_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(InputError, match="'b' of user 'ann'"):
        select_requests([request("a", 1), request("b", float("nan"))])


def test_two_positives_with_three_negatives_each() -> None:
    groups = select_groups([request("a", 0, 1, 2, 3, 4, 5, 6, 7)])

    assert [group.documents[0] for group in groups] == ["a-7", "a-6"]
    assert [group.gains[0] for group in groups] == [7, 6]
    negatives = [name for group in groups for name in group.documents[1:]]
    assert sorted(negatives) == ["a-0", "a-1", "a-2", "a-3", "a-4", "a-5"]  # six others, each once


def test_negatives_are_never_the_positives() -> None:
    for seed in range(20):
        for group in select_groups([request("a", 5, 4, 3, 2)], seed=seed):
            assert set(group.documents[1:]) <= {"a-2", "a-3"}


def test_few_candidates_give_fewer_or_smaller_groups() -> None:
    assert [len(group.documents) for group in select_groups([request("a", 3, 2, 1)])] == [2, 2]
    assert select_groups([request("a", 3)]) == []


def test_the_seed_decides_the_negatives() -> None:
    requests = [request("a", *range(30))]

    assert select_groups(requests, seed=1) == select_groups(requests, seed=1)
    assert select_groups(requests, seed=1) != select_groups(requests, seed=2)
