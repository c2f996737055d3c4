"""``pearl eval quality --annotations``, through the command line."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

from eval.recorded.quality.experts import PAIRWISE, RANK_OF, THREE, VERSIONS, read_triplets
from eval.recorded.quality.gap_calibration import ExpertOptions, experts_report, of_raters

BY_RANK = {rank: words for words, rank in RANK_OF.items()}
PUBLISHED = Path(__file__).parents[5] / "shared" / "data" / "writing-quality" / "WQRM_annotations.json.gz"
RESULT = Path(__file__).parents[4] / "docs" / "results" / "experts.json"


def triplet(name, scores, *rankings, llm="gpt"):
    """Scores and ranks in the order first draft, random edit, best edit."""
    versions = {version: {"wqrm_score": score} for version, score in zip(VERSIONS, scores, strict=True)}
    words = [{version: BY_RANK[rank] for version, rank in zip(VERSIONS, ranks, strict=True)} for ranks in rankings]
    return versions | {"id": name, "genre": "fiction", "llm": llm, "annotations": words}


TRIPLETS = [
    triplet("a", (3, 4, 7), (3, 2, 1), (2, 3, 1), (3, 1, 2)),
    triplet("b", (5, 5, 5.4), (1, 2, 3), (3, 2, 1), llm="llama"),
]


@pytest.fixture
def experts(pearl_eval, tmp_path):
    def run(*more, triplets=TRIPLETS):
        path = tmp_path / "annotations.json"
        path.write_text(json.dumps(triplets), encoding="utf-8")
        return pearl_eval("quality", "--annotations", path, *more)

    return run


def of_gap(rows):
    return {row["gap"]: (row["agree"], row["n"]) for row in rows}


def test_agreement_by_gap_and_ranks(experts, tmp_path):
    page = tmp_path / "e.html"
    run = experts("--json", "-", "--report", page)
    assert (run.status, run.err) == (0, "")
    found = run.json
    assert (found["triplets"], found["rankings"], found["equal_scores"]) == (2, 5, 1)
    assert found["experts_of_a_triplet"] == {"2": 1, "3": 1}
    individual = of_gap(found["individual"])
    # gap 1: random before draft by two of three; gap 3: best before random by two; gap 4: best before draft by all
    assert (individual["0.5-1"], individual["2.5-3"], individual["3+"]) == ((2, 3), (2, 3), (3, 3))
    assert individual["0-0.5"] == (2, 4)  # b: two pairs of unequal scores, one expert for and one against
    assert individual["all"] == (9, 13)
    assert of_gap(found["majority"])["all"] == (3, 3)  # b has two experts
    assert (found["majority_triplets"], found["undecided_pairs"]) == (1, 0)
    best = found["ranks"][2]
    assert (best["version"], best["n"], best["rank_1"]["value"]) == ("best edit", 5, 0.6)
    assert best["mean_rank"]["value"] == pytest.approx((1 + 1 + 2 + 3 + 1) / 5)
    majority = {row["version"]: row["mean_rank"]["value"] for row in found["majority_ranks"]}
    assert majority == {"first draft": 3, "random edit": 2, "best edit": 1}
    assert [(group["llm"], len(group["majority_ranks"])) for group in found["groups"]] == [("gpt", 3), ("llama", 0)]
    assert [(group["llm"], group["triplets"]) for group in found["groups"]] == [("gpt", 1), ("llama", 1)]
    assert found["printed"][3]["figure"] == "majority agreement, gap above 1"
    assert "Figures that the paper prints" in page.read_text(encoding="utf-8")


def test_choices_of_the_majority(experts):
    any_number = experts("--choose", "raters=any", "--json", "-").json
    assert (any_number["majority_triplets"], any_number["undecided_pairs"]) == (2, 2)
    assert experts("--preset", "corrected", "--json", "-").json["majority"] == any_number["majority"]
    # two of three say draft, random, best; the third turns it round: medians 1, 2, 3
    median = [
        triplet("c", (3, 2, 1), (1, 2, 3), (1, 2, 3), (3, 2, 1)),
        triplet("d", (3, 2, 1), *permutations((1, 2, 3))),
    ]
    rows = experts("--choose", "majority=median_rank", "--choose", "raters=any", "--json", "-", triplets=median).json
    assert (of_gap(rows["majority"])["all"], rows["undecided_pairs"]) == ((3, 3), 3)


def with_texts(one, *texts):
    return one | {version: one[version] | {"candidate": text} for version, text in zip(VERSIONS, texts, strict=True)}


def test_a_model_and_trivial_scores_beside_the_recorded_ones(experts, small_reward):
    two = [with_texts(TRIPLETS[0], "A rather long draft.", "A shorter one.", "Short."), with_texts(TRIPLETS[1], *"abc")]
    run = experts("--model", small_reward, "--json", "-", triplets=two)
    assert run.status == 0, run.err
    found = run.json
    recorded, model, shorter, longer = found["rescored"][:4]
    assert [row["scorer"] for row in found["rescored"][:4]] == ["recorded", str(small_reward), "shorter", "longer"]
    assert of_gap(longer["individual"])["all"] == (2, 9)
    assert of_gap(recorded["individual"])["all"] == of_gap(found["individual"])["all"] == (9, 13)
    assert recorded["more_than_recorded"] is None
    # b's texts are of one length, so that only a counts: by length as by the recorded scores
    assert (of_gap(shorter["individual"])["all"], of_gap(shorter["majority"])["all"]) == ((7, 9), (3, 3))
    assert shorter["more_than_recorded"]["value"] == 0
    bins = of_gap(shorter["individual"])
    assert sum(number for name, (_, number) in bins.items() if name != "all") == 9
    assert -1 <= model["spearman"]["value"] <= 1
    assert "The same by gap" in experts("--model", small_reward, triplets=two).out


def test_texts_that_a_model_needs_are_named(experts, small_reward):
    run = experts("--model", small_reward)
    assert "'a' has no texts to score: each version needs a candidate." in run.refusal
    empty = with_texts(TRIPLETS[0], "A.", " ", "B.")
    assert "record 1: random_cot.candidate: " in experts("--model", small_reward, triplets=[empty]).err


def test_tables_for_the_eye(experts):
    out = experts().out
    for words in ("Agreement of experts with the order of scores", "best edit", "within interval"):
        assert words in out


def test_equal_scores_everywhere_leave_no_figure(experts):
    found = experts("--json", "-", triplets=[triplet("a", (3, 3, 3), (1, 2, 3))]).json
    assert (found["individual"], found["majority"], found["equal_scores"]) == ([], [], 3)


@pytest.mark.parametrize(
    ("triplets", "says"),
    [
        ([], "there is no triplet in it."),
        ([TRIPLETS[0], TRIPLETS[0]], "record 2: id: 'a' is there already."),
        ([TRIPLETS[0] | {"annotations": []}], "record 1: annotations: must be a list with a ranking of each expert."),
        ([triplet("a", (1, 2, 3), (1, 1, 2))], "record 1: annotations: each version needs another one of Most"),
        ([TRIPLETS[0] | {"annotations": ["best"]}], "annotations: each version needs another one of Most"),
        ([triplet("a", (1, "2", 3), (1, 3, 2))], "random_cot.wqrm_score: must be a number, not a string."),
        ([{"id": "a"}], "record 1: genre: is missing; the line has id."),
    ],
)
def test_bad_annotations_are_named(experts, triplets, says):
    run = experts(triplets=triplets)
    assert says in run.refusal


@pytest.mark.parametrize("source", ["published file", "committed result"])
def test_the_published_annotations_give_the_known_figures(pearl_eval, source):
    if source == "committed result":
        found = json.loads(RESULT.read_text(encoding="utf-8"))
    elif PUBLISHED.is_file():
        found = pearl_eval("quality", "--annotations", PUBLISHED, "--json", "-").json
    else:
        pytest.skip("the published annotations are not here")
    individual, majority = of_gap(found["individual"]), of_gap(found["majority"])
    assert individual["0-0.5"] == (94, 168)  # 56.0%
    assert individual["3+"] == (19, 24)  # 79.2%
    assert majority["all"] == (142, 216)  # 65.7%
    assert majority["above 1"] == (81, 122)  # 66.4%, where the paper prints 72.2%
    printed = {row["figure"]: row["within_interval"] for row in found["printed"]}
    assert not printed["mean rank, best edit"]
    assert printed["mean rank by majority, best edit"], "the paper's mean ranks are those of majorities"
    assert (found["triplets"], found["rankings"], found["random_edits_below_the_draft"]) == (101, 280, 7)


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published annotations are not here")
def test_without_majorities_in_a_circle_above_1_is_two_thirds():
    options = ExpertOptions(preset="corrected", raters=THREE, majority=PAIRWISE)
    triplets = of_raters(read_triplets(PUBLISHED), THREE)
    ordered = [triplet for triplet in triplets if experts_report([triplet], options)["majority_ranks"]]
    assert (len(triplets), len(ordered)) == (72, 71)
    majority = of_gap(experts_report(ordered, options)["majority"])
    assert (majority["all"], majority["above 1"]) == ((140, 213), (80, 120))
