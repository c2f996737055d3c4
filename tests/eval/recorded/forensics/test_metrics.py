"""Figures of feedback forensics: by hand on small counts, against closed forms and libraries, and the published
identities."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score

from eval.recorded.forensics.measures import (
    MEASURES,
    Resampling,
    closed_form,
    five_counts,
    intervals,
    kappa,
    p_values,
    relevance,
    strength,
)
from eval.recorded.forensics.metrics import (
    ForensicsOptions,
    add_corrected,
    agreement_of,
    metrics_of_file,
    soft_unanimous,
)
from eval.recorded.forensics.pairs import distinct_names, short_id
from eval.recorded.forensics.tables import titles
from eval.recorded.forensics.votes import NO_VOTE, PLACES, VOTES, model_identities, read_votes
from pearl.errors import InputError

FEW = Resampling()
A, B, BOTH, NEITHER, NONE = (PLACES[name] for name in ("a", "b", "both", "neither", "not_applicable"))


def figures(path, reference="human", **more):
    return metrics_of_file(path, ForensicsOptions(reference, resampling=FEW, **more))


def values(row):
    return {measure.name: row[measure.name] and row[measure.name]["value"] for measure in MEASURES}


def test_figures_by_hand(pairs_file):
    #                                     aaaaabbbbb&  the last is a tie of the reference, so n = 10
    found = figures(pairs_file({"human": "aaaaabbbbb&", "is kind": "aaab-bbba0a", "is dry": "-----------"}))
    kind, dry = found["annotators"]
    assert (found["n"], found["pairs"], found["reference"]["votes"]["both"]) == (10, 11, 1)
    # agrees on 3 + 3, disagrees on 1 + 1, chooses nothing on 2; both are a on 3, b on 3
    assert (kind["agreed"], kind["disagreed"], kind["not_applicable"], kind["votes"]) == (6, 2, 2, 11)
    assert values(kind) == pytest.approx(
        {
            "relevance": 8 / 10,
            "agreement": 6 / 8,
            "agreement_of_all": 6 / 10,
            "accuracy": 6 / 8,
            "kappa": (6 / 8 - 1 / 2) / (1 - 1 / 2),  # each chooses a on 4 of 8
            "kappa_randomized": 2 * 6 / 8 - 1,
            "strength": (6 - 2) / 10,
        }
    )
    assert kind["p_value"] == pytest.approx(binomtest(6, 8, 0.5, alternative="greater").pvalue)
    assert kind["p_corrected"] == pytest.approx(2 * kind["p_value"])  # two annotators are tested
    assert all(kind[name]["low"] <= kind[name]["value"] <= kind[name]["high"] for name in values(kind))
    assert values(dry) == {
        **dict.fromkeys(("relevance", "agreement_of_all", "kappa", "kappa_randomized", "strength"), 0.0),
        "agreement": None,
        "accuracy": 0.5,
    }
    assert (dry["p_value"], dry["significant"]) == (1.0, False)
    assert dry["strength"]["low"] < 0 < dry["strength"]["high"]


def test_overall_figures(pairs_file):
    # texts of pair i have i + 1 and i + 2 characters, so b is the longer one
    overall = figures(pairs_file({"human": "abbb", "is kind": "abab"}))["overall"]
    assert overall["text_a_chosen"]["value"] == 0.25
    assert overall["longer_chosen"]["value"] == 0.75
    assert [overall[f"length_{name}"]["value"] for name in ("a", "b", "chosen", "rejected")] == [2.5, 3.5, 3.25, 2.75]


@pytest.fixture(scope="module")
def synthetic():
    """Counts of 60 cells: (60, 5)."""
    generator = np.random.default_rng(3)
    shares = generator.dirichlet([1, 1, 0.5, 0.5, 2], size=60)
    return generator.multinomial(2000, shares).astype(float)


def test_the_published_identities_hold(synthetic):
    """Strength is kappa' times relevance; the bootstrap agrees with s +- 1.96 sqrt((r - s^2) / n)."""
    found = intervals(synthetic, Resampling())
    for place, closed in enumerate(closed_form(synthetic)):
        measured, share, prime = (found[name][place] for name in ("strength", "relevance", "kappa_randomized"))
        assert measured.value == pytest.approx(prime.value * share.value)
        assert (measured.low, measured.high) == pytest.approx((closed.low, closed.high), abs=0.005)
    assert strength(synthetic) == pytest.approx(
        (synthetic[:, 0] + synthetic[:, 1] - synthetic[:, 2] - synthetic[:, 3]) / 2000
    )


def test_kappa_is_that_of_the_library_and_p_values_are_binomial(synthetic):
    from statsmodels.stats.multitest import multipletests

    for counts in synthetic[:20]:
        times = counts.astype(int)[:4]
        annotator, reference = np.repeat(list("abab"), times), np.repeat(list("abba"), times)
        assert kappa(counts[None])[0] == pytest.approx(cohen_kappa_score(annotator, reference))
        agreeing, both = times[:2].sum(), times.sum()
        side = "greater" if agreeing > both - agreeing else "less"
        assert p_values(counts[None])[0] == pytest.approx(binomtest(agreeing, both, 0.5, alternative=side).pvalue)
    p = p_values(synthetic)
    rows = [{"p_value": float(value)} for value in p]
    add_corrected(rows)
    for name, method in (("p_corrected", "bonferroni"), ("p_holm", "holm")):
        assert [row[name] for row in rows] == pytest.approx(multipletests(p, method=method)[1])
    assert [row["significant"] for row in rows] == (p * 60 < 0.05).tolist()


def test_resamples_are_those_of_a_loop_over_pairs():
    """The vectorised bootstrap against one that draws pairs, the slow way."""
    counts = np.array([[40.0, 30.0, 20.0, 5.0, 25.0]])
    fast = intervals(counts, Resampling(prior=0))
    pairs = np.repeat(np.arange(5), counts[0].astype(int))
    generator = np.random.default_rng(1)
    drawn = np.array([np.bincount(generator.choice(pairs, len(pairs)), minlength=5) for _ in range(4000)], dtype=float)
    for measure in MEASURES:
        low, high = np.percentile(measure.of(drawn), (2.5, 97.5))
        assert (fast[measure.name][0].low, fast[measure.name][0].high) == pytest.approx((low, high), abs=0.02)


def test_all_ties_are_refused(pairs_file):
    path = pairs_file({"human": "&&0-", "is kind": "abab"})
    with pytest.raises(InputError, match=r"pairs.json: --reference human: none of its 4 votes chooses a response"):
        figures(path)
    with pytest.raises(InputError, match=r"--reference Eve.*none of its 0 votes"):
        figures(pairs_file({"human": "ab", "Eve": "  "}), "Eve")


def test_annotators_of_one_name_stay_apart(pairs_file):
    path = pairs_file({"human": "abab", "person": "aaab", "is kind": "abab"})
    path.write_text(path.read_text().replace('"person"', '"human"'))
    ids = [short_id("human"), short_id("person")]
    with pytest.raises(InputError, match=f"2 annotators are named 'human'; give the id of one: {ids[0]}, {ids[1]}"):
        figures(path)
    found = figures(path, ids[1])
    assert (found["annotators"][0]["name"], found["annotators"][0]["id"]) == ("human", ids[0])
    names = distinct_names({annotator.id: annotator.name for annotator in read_votes(path).annotators})
    assert [*names.values()][:2] == [f"human ({ids[0]})", f"human ({ids[1]})"]


def test_names_that_are_one_in_short_stay_apart():
    rows = [{"id": "1", "name": "Select the response that is kind"}, {"id": "2", "name": "is kind"}]
    assert titles([*rows, {"id": "3", "name": "is bold"}]) == {"1": "is kind (1)", "2": "is kind (2)", "3": "is bold"}


def test_a_repeated_pair_counts_once_and_colliding_ids_are_named(pairs_file):
    path = pairs_file({"human": "abab", "is kind": "abab"})
    value = json.loads(path.read_text())
    value["comparisons"].append(value["comparisons"][0])
    value["comparisons"][3]["response_a"]["text"] = ""
    path.write_text(json.dumps(value))
    found = figures(path)
    assert (found["n"], found["left_out"]) == (3, {"without_text": 1, "repeated": 1})
    value["comparisons"][4] = {**value["comparisons"][4], "prompt": "Another?"}
    path.write_text(json.dumps(value))
    with pytest.raises(InputError, match=r"pairs.json: two pairs with different texts have the id 00000000"):
        figures(path)


def test_a_file_without_any_text_is_named(pairs_file):
    path = pairs_file({"human": "ab", "is kind": "ab"})
    value = json.loads(path.read_text())
    for pair in value["comparisons"]:
        del pair["response_b"]["text"]
    path.write_text(json.dumps(value))
    with pytest.raises(InputError, match=r"pairs.json: none of its 2 pairs has both texts; put it together with"):
        figures(path)


def test_a_model_is_a_reference_against_others(pairs_file):
    path = pairs_file({"human": "abab", "is kind": "aab-"})  # the first model wrote every text a
    assert figures(path, "model: first")["reference"]["votes"]["a"] == 4
    found = figures(path, "model:second", against=["first"])
    assert found["annotators"][1]["strength"]["value"] == (1 - 2) / 4
    with pytest.raises(InputError, match="there is no model 'third'; there are first, second"):
        figures(path, "model: third")


def test_models_against_all_or_some_references(pairs_file):
    path = pairs_file({"human": "aaa"})
    value = json.loads(path.read_text())
    for pair, models in zip(value["comparisons"], (("x", "y"), ("z", "x"), ("y", "y")), strict=True):
        for side, model in zip("ab", models, strict=True):
            pair[f"response_{side}"]["model"] = model
    path.write_text(json.dumps(value))
    table = model_identities(read_votes(path))
    codes = {annotator.name: table.codes[:, place] for place, annotator in enumerate(table.annotators) if place}
    assert {model: list(column) for model, column in codes.items()} == {
        "x": [A, B, NEITHER],
        "y": [B, NEITHER, BOTH],
        "z": [NEITHER, A, NEITHER],
    }
    assert list(model_identities(read_votes(path), ["x"], ["z"]).codes[:, 1]) == [NONE, B, NEITHER]


def test_traits_against_each_other(pairs_file):
    found = figures(pairs_file({"human": "ababa", "is kind": "ab-ab", "is dry": "aba-a"}), pairwise=True)
    (pair,) = found["trait_pairs"]
    # both choose on pairs 0, 1 and 4, and agree on the first two of them: p_o = 2/3, p_e = (1 * 2 + 2 * 1) / 9
    assert (pair["both"], pair["either"], pair["overlap"]["value"]) == (3, 5, 0.6)
    assert pair["kappa"]["value"] == pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9))


def test_a_judge_against_people(pairs_file):
    people = {"Ann": "ab-a ", "Ben": "abba-"}
    path = pairs_file({"human": "aaaaa", "is kind": "aabb-", **people})
    value = json.loads(path.read_text())
    for person in people:
        described = f"Human ({person}): Select the response that is kind"
        value["annotators"][short_id(person)] = {"description": described, "type": "human"}
    path.write_text(json.dumps(value))
    (row,) = figures(path)["people"]
    # their common opinion: a, b, b (one finds it irrelevant), a, irrelevant
    assert (row["people"], row["judged"], row["both_relevant"]) == (2, 5, 4)
    assert (row["relevance_agreement"]["value"], row["choice_agreement"]["value"]) == (1.0, 0.5)
    assert [each["judged"] for each in row["each"]] == [4, 5]
    assert row["among_people"][0]["relevance_agreement"]["value"] == 3 / 4


def test_the_common_opinion_of_people():
    votes = np.array([[A, A], [A, B], [A, NONE], [NONE, NONE], [NO_VOTE, B], [NO_VOTE, NO_VOTE]], np.int8)
    assert list(soft_unanimous(votes)) == [A, NONE, A, NONE, B, NO_VOTE]
    assert agreement_of(votes[:, 0], votes[:, 1])["choice_agreement"]["value"] == 0.5


def test_counts_of_votes(pairs_file):
    table = read_votes(pairs_file({"human": "ab&0-!", "is kind": "aabbab"}))
    assert [VOTES[code].value for code in table.codes[:, 0]] == [
        "a",
        "b",
        "both",
        "neither",
        "not_applicable",
        "invalid",
    ]
    assert five_counts(table.codes[:, [1]], table.codes[:, 0]).tolist() == [[1, 0, 1, 0, 0]]
    assert relevance(np.array([[1.0, 0, 1, 0, 2]])) == [0.5]


def test_an_annotator_without_votes_has_a_row_that_says_so(pairs_file):
    found = figures(pairs_file({"human": "abab", "is kind": "abab", "is dry": "    "}))
    dry = found["annotators"][1]
    assert (dry["votes"], dry["relevance"]["value"], dry["agreement"], dry["p_corrected"]) == (0, 0.0, None, 1.0)
    assert dry["strength"]["low"] < 0 < dry["strength"]["high"]
