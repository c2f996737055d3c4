"""Telling authors apart by their cards."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from eval.commands.studies.manner import Author, authors_of, likeness_of_manner, manner_figures, split_of
from pearl.manner.reference import shipped
from pearl.manner.traits import TRAITS

STYLES = (
    "We met - late - and until then it rained; nothing moved. Number {n}.",
    "hi all! is it done??? i think it's fine, maybe {n}...",
    "1. First, the rota.\n2. Then, the shed ({n}).\n\nRegards,\nBea",
    "One should, perhaps, consider whether {n} is, in fact, the right number of wheels for such a shed.",
)


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Authors who write in one of four ways, enough of each half."""
    lines = [
        {"user_id": f"a{author}", "id": f"{author}-{n}", "timestamp": 1000 + n, "text": STYLES[author % 4].format(n=n)}
        for author in range(16)
        for n in range(21)
    ]
    path = tmp_path / "h.jsonl"
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return path


def test_the_last_ten_texts_are_held_back_and_halves_share_nobody(history: Path) -> None:
    halves = {split: authors_of(history, split, 60, 0) for split in ("dev", "test")}
    assert sum(map(len, halves.values())) == 16
    author = halves["test"][0]
    assert split_of(author.name) == "test"
    assert (len(author.card), len(author.held_back)) == (11, 10)
    assert "20" in author.held_back[-1]


def test_ways_of_writing_are_told_apart(run_pearl: Any, history: Path, tmp_path: Path) -> None:
    out = tmp_path / "reference.json"
    run = run_pearl("eval", "manner", "--history", history, "--split", "dev", "--reference-out", out, "--json", "-")
    made = run.json
    (figures,) = made["histories"]
    assert figures["authors"] * (figures["authors"] - 1) == figures["pairs"]
    assert figures["card"]["value"] > 0.85  # authors of one style are a coin's toss
    assert set(figures) >= {"card", "traits", "words", "length", "chance"}
    assert set(json.loads(out.read_text())["any"]["traits"]) == {trait.name for trait in TRAITS}


def told_apart_by_length(card: str, held_back: str) -> dict[str, float]:
    """The share of pairs told apart by length alone, of authors of so many words a text, a digit each."""
    authors = [
        Author(f"a{index}", (" ".join(["word"] * int(before)),), (" ".join(["word"] * int(later)),))
        for index, (before, later) in enumerate(zip(card, held_back, strict=True))
    ]
    share: dict[str, float] = manner_figures("h", authors, shipped("any"))["length"]
    return share


def test_authors_who_are_all_told_apart_have_an_interval_with_a_width() -> None:
    # Wilson's lower end of n of n is n / (n + z^2), with z^2 = 3.841459
    assert told_apart_by_length("1248", "1248") == {"value": 1.0, "low": pytest.approx(4 / 7.841459), "high": 1.0}


def test_the_interval_of_told_pairs_is_by_authors_with_their_texts_and_their_cards() -> None:
    # texts of 3, 3, 6 and 1 words; the cards of 1, 3, 6 and 9 words are at other distances in the logarithm
    lengths = np.log(np.array([1, 3, 6, 9]) + 1.0)
    distances = np.abs(lengths[:, None] - np.log(np.array([3, 3, 6, 1]) + 1.0)).T  # of texts from cards
    right = (distances > np.diag(distances)[:, None]) + 0.5 * (distances == np.diag(distances)[:, None])
    shares = []
    for chosen in product(range(4), repeat=4):  # every resample there is
        pairs = [right[one, other] for one in chosen for other in chosen if one != other]
        shares += [np.mean(pairs)] if pairs else []
    low, high = np.percentile(shares, (2.5, 97.5))
    value = right[~np.eye(4, dtype=bool)].mean()
    assert told_apart_by_length("1369", "3361") == pytest.approx({"value": value, "low": low, "high": high}, abs=1e-6)


def test_shipped_figures_have_every_trait_and_no_capitals() -> None:
    for kind in ("any", "commit", "message"):
        reference = shipped(kind)
        assert set(reference.traits) == {trait.name for trait in TRAITS}
        assert reference.authors > 50
        assert all(word == word.lower() for word in reference.words)
        rates = reference.standardised(["We met at the shed; it rained."])
        assert likeness_of_manner(rates, rates) == pytest.approx(1)
        assert likeness_of_manner(rates, -rates) == pytest.approx(-1)
        assert likeness_of_manner(rates, 0 * rates) == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--kind", "poem"], "--kind"),
        (["--kind", "any", "--kind", "any"], "--kind"),
        (["--split", "train"], "--split must be one of dev, test"),
    ],
)
def test_bad_options(run_pearl: Any, history: Path, options: list[str], says: str) -> None:
    run = run_pearl("eval", "manner", "--history", history, *options)
    assert (run.status, says in run.err) == (2, True)


def test_too_few_authors(run_pearl: Any, tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_text('{"user_id": "a", "id": "1", "timestamp": 1, "text": "x"}\n')
    run = run_pearl("eval", "manner", "--history", path)
    assert (run.status, "fewer than two authors of the test half have 20 texts" in run.err) == (2, True)
