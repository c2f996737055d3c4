"""Algorithm 1 on small made-up scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pearl.errors import InputError
from pearl.records import Document, Request
from training.data.records import Example
from training.data.selection import SelectionOptions, select, select_groups, select_requests


def request(name: str, *gains: float, user: str = "ann") -> Example:
    documents = tuple(Document(f"{name}-{position}", "") for position in range(len(gains)))
    return Example(user, name, Request(""), documents, np.array(gains, np.float32))


def ids(group: Example) -> list[str]:
    return [document.id for document in group.documents]


def test_the_top_two_thirds_by_best_candidate_stay_over_all_users():
    requests = [request("a", 1, 9), request("b", 3), request("c", 5, user="ben")]

    assert [kept.request_id for kept in select_requests(requests)] == ["a", "c"]


def test_of_each_domain_its_share_stays():
    commits = [replace(request(name, gain), domain="git") for name, gain in zip("abc", (90, 80, 70), strict=True)]
    chat = [replace(request(name, gain), domain="chat") for name, gain in zip("xyz", (3, 2, 1), strict=True)]

    assert [kept.request_id for kept in select_requests([*commits, *chat])] == ["a", "b", "x", "y"]


def test_the_share_is_rounded_up():
    requests = [request(name, gain) for name, gain in zip("abcd", (4, 3, 2, 1), strict=True)]

    assert len(select_requests(requests)) == 3  # two thirds of 4 are 2.67


@pytest.mark.parametrize(("gains", "said"), [([float("nan")], "'b' of user 'ann'"), ([], "'b' of user 'ann' has no c")])
def test_a_request_without_a_candidate_or_a_gain_is_refused(gains, said):
    with pytest.raises(InputError, match=said):
        select_requests([request("a", 1), request("b", *gains)])


def test_two_positives_with_three_negatives_each():
    groups = select_groups([request("a", 0, 1, 2, 3, 4, 5, 6, 7)])

    assert [ids(group)[0] for group in groups] == ["a-7", "a-6"]
    assert [group.gains[0] for group in groups] == [7, 6]
    negatives = [name for group in groups for name in ids(group)[1:]]
    assert sorted(negatives) == ["a-0", "a-1", "a-2", "a-3", "a-4", "a-5"]  # six others, each once


def test_negatives_are_never_the_positives():
    for seed in range(20):
        for group in select_groups([request("a", 5, 4, 3, 2)], seed=seed):
            assert set(ids(group)[1:]) <= {"a-2", "a-3"}


def test_few_candidates_give_fewer_or_smaller_groups():
    assert [len(group.documents) for group in select_groups([request("a", 3, 2, 1)])] == [2, 2]
    assert select_groups([request("a", 3)]) == []


def test_the_seed_decides_the_negatives():
    requests = [request("a", *range(30))]

    one, again, other = ([ids(group) for group in select_groups(requests, seed=seed)] for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_a_group_has_its_documents_gains():
    for group in select_groups([request("a", 5, -1, 3, 0.5)]):
        assert group.gains.tolist() == [[5, -1, 3, 0.5][int(id.removeprefix("a-"))] for id in ids(group)]


def test_requests_and_groups_as_the_options_say():
    requests = [request(name, gain, gain - 1, gain - 2) for name, gain in zip("abcd", (4, 3, 2, 1), strict=True)]
    chosen = select(requests, SelectionOptions(share=0.5, positives=1, negatives=1))
    assert [kept.request_id for kept in chosen.requests] == ["a", "b"]
    assert [ids(group)[0] for group in chosen.groups] == ["a-0", "b-0"]
    assert chosen.positive_gains == [4.0, 3.0]
    assert {len(group.documents) for group in chosen.groups} == {2}
    for nothing in (SelectionOptions(share=0.0), SelectionOptions(positives=3)):
        assert select(requests, nothing).groups == []
