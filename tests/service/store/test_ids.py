from __future__ import annotations

import re
from itertools import combinations

from service.store.ids import digest, new_id


def test_ids_name_their_kind_and_never_repeat():
    made = [new_id("draft") for _ in range(1000)]
    assert len(set(made)) == 1000
    assert all(re.fullmatch(r"draft_[0-9a-f]{28}", name) for name in made)


def test_ids_sort_by_their_time():
    made = [new_id("x")[:14] for _ in range(1000)]
    assert made == sorted(made)


def test_a_digest_tells_everything_apart():
    parts = [
        (),
        (None,),
        ("",),
        ("a",),
        ("a", None),
        ("a", ""),
        ("", "a"),
        ("ab",),
        ("a", "b"),
        ("b", "a"),
        (None, "a"),
    ]
    for one, other in combinations(parts, 2):
        assert digest(*one) != digest(*other)
    assert len(digest("a")) == 16
    assert digest("é\U0001f600") == digest("é\U0001f600")
