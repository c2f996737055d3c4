"""``pearl judge items --from ranked``: from ranked responses to pairs that ``pearl eval quality`` reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval.recorded.quality.experts import RANK_OF


def response(instruction, text, origin, *ranks):
    return {"instruction": instruction, "text": text, "origin": origin, "ranks": list(ranks)}


# as in the paper's first set: a story by a person and three by models, ranked by three experts
STORIES = [
    response(name, f"{name} {words}", origin, *ranks)
    for name in ("p1", "p2")
    for words, origin, ranks in (
        ("a gull on the wall", "human", (1, 1, 2)),
        ("a tapestry of gulls", "AI", (2, 2, 1)),
        ("gulls, gulls, gulls", "AI", (3, 4, 4)),
        ("the gull's sweet song", "AI", (4, 3, 3)),
    )
]


@pytest.fixture
def quality_items(run_pearl, write_lines, tmp_path):
    def run(*more, lines=STORIES):
        words = (
            "--from",
            "ranked",
            "--data",
            write_lines(lines, "r.jsonl"),
            "--out",
            tmp_path / "pairs.json",
            "--json",
            "-",
        )
        return run_pearl("judge", "items", *words, *more)

    return run


def test_all_pairs_of_four_are_half_human(quality_items, tmp_path, pearl_eval):
    found = quality_items("--preset", "as_published", "--choose", "set=art-or-artifice").json
    assert (found["instructions"], found["pairs"], found["dropped"]) == (2, 24, {})
    assert {row["origin"]: row["share"] for row in found["origins"]} == {"human-AI": 0.5, "AI-AI": 0.5}
    assert found["published"]["origins"] == {"human-AI": 25, "AI-AI": 75}
    words = ("--scorer", "first", "--json", "-")
    figures = pearl_eval("quality", "--pairs", tmp_path / "pairs.json", *words).json
    assert (figures["n"], figures["accuracy"]) == (24, 0.5)
    assert [part["origin"] for part in figures["origins"]] == ["AI-AI", "human-AI"]


def test_a_pair_counts_once_and_places_are_balanced(quality_items, tmp_path):
    assert quality_items().json["pairs"] == 12
    pairs = json.loads((tmp_path / "pairs.json").read_text(encoding="utf-8"))
    assert [pair["reference_preference"] for pair in pairs].count("1") == 6
    for pair in pairs:
        if pair["origin"] == "human-AI":
            assert pair[f"paragraph{pair['reference_preference']}"].endswith("a gull on the wall")


def test_no_majority_and_equal_texts_are_counted(quality_items):
    lines = [
        *STORIES,
        response("p3", "one", "AI", 1, 2),
        response("p3", "two", "AI", 2, 1),
        response("p3", "one ", "AI", 3, 3),
    ]
    assert quality_items(lines=lines).json["dropped"] == {"no majority": 1, "the same text twice": 1}


def test_published_triplets_are_three_responses(quality_items, tmp_path):
    texts = ("A draft.", "An edit of it.", "A better edit.")
    versions = ("first_draft", "random_cot", "best_cot")
    triplet = {version: {"wqrm_score": 5, "candidate": text} for version, text in zip(versions, texts, strict=True)}
    first, second, third = RANK_OF
    triplet |= {"id": "t1", "genre": "fiction", "llm": "gpt"}
    orders = ((third, second, first), (third, first, second), (second, third, first))
    triplet["annotations"] = [dict(zip(versions, order, strict=True)) for order in orders]
    run = quality_items(lines=[triplet, {**triplet, "annotations": triplet["annotations"][:2]}])
    assert ":2: ranks: has 2 raters, and line 1 has 3." in run.refusal
    found = quality_items("--preset", "as_published", lines=[triplet]).json
    assert (found["instructions"], found["responses"], found["pairs"]) == (1, 3, 6)
    assert [(row["origin"], row["share"]) for row in found["origins"]] == [("AI-AI", 1)]
    pairs = json.loads((tmp_path / "pairs.json").read_text(encoding="utf-8"))
    best = {pair[f"paragraph{pair['reference_preference']}"] for pair in pairs if texts[0] in pair.values()}
    assert best == set(texts[1:])  # two of three experts rank the draft last
    del triplet["best_cot"]["candidate"]
    run = quality_items(lines=[triplet])
    assert "best_cot.candidate: is missing" in run.refusal


PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "writing-quality" / "WQRM_annotations.json.gz"


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published annotations are not here")
def test_published_annotations_make_pairs_in_both_orders(run_pearl, tmp_path):
    words = ("--from", "ranked", "--data", PUBLISHED, "--out", tmp_path / "pairs.json", "--json", "-")
    both, one = (run_pearl("judge", "items", *words, "--choose", f"orders={way}").json for way in ("both", "one"))
    assert (both["instructions"], both["responses"]) == (101, 303)
    undecided = both["dropped"]["no majority"]
    assert both["pairs"] == 2 * one["pairs"] == 2 * (3 * 101 - undecided)
    assert [row["origin"] for row in both["origins"]] == ["AI-AI"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([STORIES[0]], "no pair is left"),
        ([STORIES[0], response("p1", "x", "AI", 1)], ":2: ranks: has 1 raters, and line 1 has 3."),
        ([response("p1", "x", "AI")], ":1: ranks: must be a list"),
        ([response("p1", "x", "AI", "first")], ":1: ranks: must hold numbers"),
        ([response("p1", "", "AI", 1)], ":1: text: 'text' is empty"),
    ],
)
def test_bad_responses_are_named(quality_items, tmp_path, lines, message):
    run = quality_items(lines=lines)
    assert message in run.refusal
    assert not (tmp_path / "pairs.json").exists()
