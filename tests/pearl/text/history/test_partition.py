from __future__ import annotations

from collections import Counter

import pytest

from pearl.errors import InputError
from pearl.records import Document
from pearl.text.history.partition import (
    DEV,
    ROLLING,
    SHARES,
    SPLITS,
    TEST,
    TRAIN,
    HistorySlice,
    partition,
    split_of,
    users_of,
)


def document(number: int, text: str | None = None, *, timed: bool = True, request: str | None = "say it") -> Document:
    return Document(f"d{number:02d}", text or f"text {number}", float(number) if timed else None, request)


def ids(documents: object) -> list[str]:
    return [each.id for each in documents]  # type: ignore[attr-defined]


def test_targets_are_the_most_recent_and_candidates_all_before():
    documents = [document(number) for number in (3, 1, 2, 5, 4)]

    found = partition("ann", documents, targets=2)

    assert found is not None
    assert (ids(found.documents), ids(found.targets)) == (["d01", "d02", "d03"], ["d04", "d05"])
    assert found.before == (3, 3)
    assert found.temporal


def test_no_text_on_both_sides():
    found = partition("ann", [document(1, "the same"), document(2), document(3, "the same")], targets=1)

    assert found is not None
    assert ids(found.documents) == ["d02"]


def test_a_text_without_a_request_is_no_target():
    found = partition("ann", [document(1), document(2), document(3, request=None)], targets=1)

    assert found is not None
    assert (ids(found.documents), ids(found.targets)) == (["d01"], ["d02"])


def test_without_times_the_partition_is_random_and_says_so():
    documents = [document(number, timed=False) for number in range(12)]

    one, again, other = (partition("ann", documents, targets=4, seed=seed) for seed in (1, 1, 2))

    assert one is not None
    assert not one.temporal
    assert one == again != other
    assert sorted(ids(one.documents) + ids(one.targets)) == ids(documents)


def test_rolling_targets_of_the_later_half_have_all_before_them_as_candidates():
    documents = [document(number) for number in range(20)]

    found = partition("ann", documents, way=ROLLING, targets=4)

    assert found is not None
    assert len(found.targets) == 4
    chosen = {target.id for target in found.targets}
    for target, candidates in found.requests():
        number = int(target.id[1:])
        assert number >= 10
        assert ids(candidates) == [f"d{before:02d}" for before in range(number) if f"d{before:02d}" not in chosen]
    assert found.documents == max((candidates for _, candidates in found.requests()), key=len)


def test_rolling_targets_depend_on_the_user_and_the_seed_alone():
    documents = [document(number) for number in range(40)]

    def targets(user: str, seed: int) -> list[str]:
        found = partition(user, documents, way=ROLLING, targets=4, seed=seed)
        assert found is not None
        return ids(found.targets)

    assert targets("ann", 0) == targets("ann", 0) == sorted(targets("ann", 0))
    assert len({tuple(targets(user, seed)) for user in ("ann", "ben") for seed in (0, 1)}) == 4


def test_no_text_on_both_sides_of_a_rolling_partition():
    documents = [document(number, "the same" if number % 2 else None) for number in range(12)]

    found = partition("ann", documents, way=ROLLING, targets=12)

    assert found is not None
    assert not {target.text for target in found.targets} & {each.text for each in found.documents}


@pytest.mark.parametrize("way", ["latest", "rolling"])
def test_a_target_with_fewer_candidates_than_the_least_is_left_out(way):
    documents = [document(number) for number in range(10)]

    found = partition("ann", documents, way=way, targets=3, least=7)

    if way == "latest":
        assert found is not None
        assert found.before == (7, 7, 7)
        assert partition("ann", documents, way=way, targets=3, least=8) is None
    else:
        assert found is None or min(found.before) >= 7
        assert partition("ann", documents, way=way, targets=1, least=9) is not None
    assert partition("ann", documents, way=way, targets=3, least=10) is None


def test_a_partition_that_is_not_there():
    with pytest.raises(InputError, match="no partition 'newest'; there are latest, rolling"):
        partition("ann", [document(1), document(2)], way="newest")


def test_too_few_documents_are_no_partition():
    assert partition("ann", [document(1)]) is None
    assert partition("ann", []) is None
    assert partition("ann", [document(1, request=None), document(2, request=None)]) is None


def test_the_targets_of_a_part_lie_in_it_and_leave_candidates():
    documents = [document(number) for number in range(40)]
    found = partition("ann", documents, way=ROLLING, targets=99, least=5, part=HistorySlice(0.6, 0.8))
    assert found is not None
    places = [int(id[1:]) for id in ids(found.targets)]
    assert len(places) == 4
    assert all(24 <= place < 32 for place in places)
    assert max(int(id[1:]) for id in ids(found.documents)) < max(places)
    first = partition("ann", documents, way=ROLLING, targets=99, least=5, part=HistorySlice(0.0, 0.6))
    assert first is not None
    assert 5 <= min(int(id[1:]) for id in ids(first.targets)) < 12  # a part has no half that is left out
    latest = partition("ann", documents, targets=3, part=HistorySlice(0.6, 0.8))
    assert latest is not None
    assert ids(latest.targets) == ["d29", "d30", "d31"]


def test_parts_without_times_do_not_meet():
    documents = [document(number, timed=False) for number in range(40)]
    targets = [
        set(ids(found.targets))
        for part in (HistorySlice(0.0, 0.6), HistorySlice(0.6, 0.8), HistorySlice(0.8, 1.0))
        if (found := partition("ann", documents, way=ROLLING, targets=99, part=part))
    ]
    assert len(targets) == 3
    assert sum(map(len, targets)) == len(set().union(*targets))


USERS = [f"user{number:04d}" for number in range(2000)]


def test_shares_are_about_what_they_should_be():
    counts = Counter(split_of(user) for user in USERS)

    assert sum(SHARES.values()) == pytest.approx(1)
    for name in SPLITS:
        assert counts[name] / len(USERS) == pytest.approx(SHARES[name], abs=0.04)


def test_a_user_stays_where_they_are_when_others_come():
    few = {user: [Document("a", "text")] for user in USERS[:20]}
    many = {user: [Document("a", "text")] for user in reversed(USERS)}

    for name in SPLITS:
        assert set(users_of(few, name)) == set(users_of(many, name)) & set(few)


def test_every_user_is_in_one_split_and_none_means_all():
    histories = {user: [Document("a", "text")] for user in USERS[:50]}

    assert sorted(user for name in (TRAIN, DEV, TEST) for user in users_of(histories, name)) == sorted(histories)
    assert users_of(histories, None) == histories


def test_a_split_that_is_not_there():
    with pytest.raises(InputError, match="no split 'tset'; there are train, dev, test"):
        users_of({}, "tset")
