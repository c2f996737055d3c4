from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from retriever.calibrated.artifact import SHIPPED


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
    table = pearl_eval("questions", "--history", str(two_people), "--model", "bm25").out
    assert "; floor of s1 none, of relatedness none)" in " ".join(table.split())


def test_a_user_of_one_text_over_and_over_is_left_out(pearl_eval: Any, two_people: Any, write_lines: Any) -> None:
    """Nothing is left of the history once the copies of the text asked for are out of it."""
    robot = [
        {"user_id": "robot", "id": f"{n}", "timestamp": 10.0 + n, "text": "Merge branch.", "request": f"merge {n}?"}
        for n in range(10)
    ]
    lines = [*map(json.loads, two_people.read_text().splitlines()), *robot]
    done = pearl_eval("questions", "--history", write_lines(lines, "three.jsonl"), "--model", "bm25", "--json", "-")
    assert done.status == 0, done.err
    assert done.json["histories"][0]["own"]["requests"] == 2


def test_histories_have_more_to_do_with_their_own_requests(pearl_eval: Any, write_lines: Any, tmp_path: Path) -> None:
    """Four write of boats and bread, and two of the weather: their requests are of another kind."""

    def history(name: str, **nouns: str) -> Path:
        return write_lines(
            [
                {
                    "user_id": user,
                    "id": f"{n}",
                    "timestamp": 10.0 + n,
                    "text": f"The {noun} {n}.",
                    "request": f"{noun} {n}?",
                }
                for user, noun in nouns.items()
                for n in range(10)
            ],
            name,
        )

    first = history("first.jsonl", ann="boats", ben="bread", cid="yachts", dan="loaves")
    second = history("second.jsonl", eve="rain", fay="snow")
    folder, report = tmp_path / "artifact", tmp_path / "questions.json"
    shutil.copytree(SHIPPED, folder)
    words = ["questions", "--history", first, "--history", second, "--model", folder]
    done = pearl_eval(*words, "--json", report)
    assert done.status == 0, done.err
    found = json.loads(report.read_text())["histories"]
    for figures in found:
        assert figures["elsewhere"]["requests"] == figures["own"]["requests"]
        assert figures["own"]["median_relatedness"] > figures["elsewhere"]["median_relatedness"]

    assert "elsewhere" not in pearl_eval(*words).out  # a table, in words
    between = (found[0]["own"]["median_relatedness"] + found[0]["elsewhere"]["median_relatedness"]) / 2
    figures = pearl_eval(*words, "--ask-unrelated", between, "--json", "-").json["histories"][0]
    assert figures["own"]["asked"]["value"] < 0.5 < figures["elsewhere"]["asked"]["value"]


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
