from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.corpus import (
    DOCUMENTS,
    LARGEST,
    Corpus,
    Line,
    find_corpus,
    first_lines,
    invented_lines,
    one_user,
    write_lines,
)


def line(user: str, number: int, request: str | None) -> Line:
    made: Line = {"user_id": user, "id": str(number), "timestamp": 1000 - number, "text": f"Text {number}."}
    return made if request is None else made | {"request": request}


def test_one_user_is_the_one_with_the_most_documents() -> None:
    lines = [line("a", 1, "own"), line("b", 2, "b1"), line("b", 3, "own"), line("c", 4, None), line("a", 5, "a2")]
    lines.append(line("a", 6, None))
    person = one_user(lines, 2, 10)
    assert person.name == "a"
    assert [each["id"] for each in person.history] == ["6", "5"]  # the oldest two
    assert person.requests == ["b1"]  # of others, and not one of the person's own


def test_requests_are_distinct_and_the_same_every_time() -> None:
    lines = list(invented_lines(2_000))
    first, second = one_user(lines, 50, 300), one_user(lines, 50, 300)
    assert first == second
    assert len(set(first.requests)) == 300


@pytest.mark.slow
def test_without_the_shared_data_a_history_like_the_real_one_is_invented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEARL_SHARED", str(tmp_path / "nowhere"))
    corpus = find_corpus(tmp_path)
    lines = corpus.lines()
    assert "invented" in corpus.source
    assert len({(each["user_id"], each["id"]) for each in lines}) == len(lines) == DOCUMENTS
    assert max(Counter(each["user_id"] for each in lines).values()) >= 590
    assert max(Counter(each["user_id"] for each in lines).values()) <= LARGEST + 10
    assert 400 < sum(len(each["text"]) for each in lines) / len(lines) < 600


def test_the_first_lines(tmp_path: Path) -> None:
    write_lines(tmp_path / "all.gz", [line("a", number, None) for number in range(5)])
    some = first_lines(Corpus(tmp_path / "all.gz", "five"), 2, tmp_path / "some.gz")
    assert [each["id"] for each in some.lines()] == ["0", "1"]
    assert some.source == "five, the first 2"
