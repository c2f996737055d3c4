from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.fixture
def two_people(write_lines: Any) -> Any:
    """Ann writes of boats, ben of bread, ten texts each."""
    lines = [
        {"user_id": user, "id": f"{n}", "timestamp": 10.0 + n, "text": f"The {noun} {n}.", "request": f"{noun} {n}?"}
        for user, noun in (("ann", "boats"), ("ben", "bread"))
        for n in range(10)
    ]
    return write_lines(lines)


def test_own_requests_are_served_and_anothers_end_in_a_question(pearl_eval: Any, two_people: Any) -> None:
    done = pearl_eval("questions", "--history", str(two_people), "--model", "bm25", "--ask-below", "0", "--json", "-")
    assert done.status == 0, done.err
    found = json.loads(done.out)
    (figures,) = found["histories"]
    assert found["ask_below"] == 0
    assert {kind: figures[kind]["requests"] for kind in ("own", "foreign")} == {"own": 2, "foreign": 2}


def test_a_retriever_without_a_second_floor_never_asks(pearl_eval: Any, two_people: Any) -> None:
    done = pearl_eval("questions", "--history", str(two_people), "--model", "bm25", "--json", "-")
    (figures,) = json.loads(done.out)["histories"]
    assert figures["own"]["asked"]["value"] == figures["foreign"]["asked"]["value"] == 0


def test_one_user_is_not_enough(pearl_eval: Any, write_lines: Any) -> None:
    path = write_lines([{"user_id": "ann", "id": "1", "timestamp": 1, "text": "One.", "request": "One?"}])
    failed = pearl_eval("questions", "--history", str(path), "--model", "bm25")
    assert (failed.status, failed.err) == (
        2,
        "pearl: --history: fewer than two users have a request and enough texts before it.\n",
    )
