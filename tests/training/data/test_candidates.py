from __future__ import annotations

from pearl.records import Document
from training.gains.units import sample_candidates


def document(number: int, text: str | None = None) -> Document:
    return Document(f"d{number:02d}", text or f"text {number}", float(number), "say it")


def ids(documents: object) -> list[str]:
    return [each.id for each in documents]  # type: ignore[attr-defined]


def test_a_sample_holds_the_best_the_latest_and_others():
    candidates = [document(number, "spoke wheel" if number == 3 else None) for number in range(30)]

    found = sample_candidates("the spoke of a wheel", candidates, 9, seed="a")

    assert len(found) == 9
    assert {"d03", "d27", "d28", "d29"} <= set(ids(found))
    assert ids(found) == sorted(ids(found))
    assert found == sample_candidates("the spoke of a wheel", candidates, 9, seed="a")


def test_few_candidates_are_all_taken():
    candidates = [document(number) for number in range(5)]

    assert sample_candidates("x", candidates, 9, seed="a") == candidates
    assert sample_candidates("x", candidates * 4, None, seed="a") == candidates * 4
