"""Values against the libraries and by hand; the fast resampled path against the libraries on resampled ratings."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from eval.stats.agreement import agreement_report
from eval.stats.coefficients import NOT_NUMBERS, NOTHING_SHARED, ONE_LABEL, ONE_RATER, TOO_MANY, Agreement, landis_koch
from eval.stats.ratings import ratings_of
from pearl.stats.proportions import wilson

RESAMPLES = 30


def rated(codes, labels=()):
    """From a row an item, a column a rater; None is no rating."""
    given = {
        (f"item {i:03}", f"rater {j}"): str(label)
        for i, row in enumerate(codes)
        for j, label in enumerate(row)
        if label is not None
    }
    return ratings_of(given, labels)


def noisy(items, raters, missing=0.0, labels=4, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.integers(1, labels + 1, items)
    return [
        [
            None if rng.random() < missing else int(t if rng.random() < 0.6 else rng.integers(1, labels + 1))
            for _ in range(raters)
        ]
        for t in true
    ]


def drawn(items):
    """The items of each resample, as Bootstrap draws them."""
    times = np.random.default_rng(0).multinomial(items, np.full(items, 1 / items), size=RESAMPLES)
    order = np.argsort([str(i) for i in range(items)])  # clusters are sorted by name
    for row in times:
        yield [int(order[index]) for index in range(items) for _ in range(row[index])]


def test_two_raters_by_hand():
    # 6 of 10 the same; both say 1 half of the time
    codes = [[1, 1]] * 3 + [[2, 2]] * 3 + [[1, 2]] * 2 + [[2, 1]] * 2
    found = agreement_report(rated(codes))["coefficients"]
    assert found["raw_agreement"]["value"] == 0.6
    for name in ("randolph_kappa", "fleiss_kappa", "cohen_kappa"):
        assert found[name]["value"] == pytest.approx((0.6 - 0.5) / (1 - 0.5)), name
    # 20 ratings, ten of each label: expected disagreement 2 * 10 * 10 / (20 * 19)
    assert found["krippendorff_alpha_nominal"]["value"] == pytest.approx(1 - 0.4 / (200 / 380))


def test_randolph_depends_on_the_labels_that_were_offered():
    codes = [[1, 1]] * 3 + [[2, 2]] * 3 + [[1, 2]] * 4
    agreement = Agreement(rated(codes, ("1", "2", "3", "4")), resamples=100, seed=0)
    assert agreement.randolph().estimate.value == pytest.approx((0.6 - 1 / 4) / (1 - 1 / 4))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_resampled_alphas_are_those_of_the_library(level):
    codes = noisy(25, 4, missing=0.3)
    ratings = rated(codes)
    found = Agreement(ratings, resamples=RESAMPLES, seed=0).alpha(level)
    counts, domain = ratings.counts, list(ratings.numbers)
    assert found.estimate.value == krippendorff.alpha(
        value_counts=counts, value_domain=domain, level_of_measurement=level
    )
    for items, value in zip(drawn(len(ratings.items)), found.estimate.resampled, strict=True):
        expected = krippendorff.alpha(value_counts=counts[items], value_domain=domain, level_of_measurement=level)
        assert value == pytest.approx(expected)


@pytest.mark.parametrize("method", ["fleiss", "randolph"])
def test_resampled_kappas_are_those_of_the_library(method):
    from statsmodels.stats.inter_rater import fleiss_kappa

    ratings = rated(noisy(25, 3))
    found = getattr(Agreement(ratings, resamples=RESAMPLES, seed=0), method)()
    for items, value in zip(drawn(25), found.estimate.resampled, strict=True):
        assert value == pytest.approx(fleiss_kappa(ratings.counts[items], method=method))


def test_resampled_cohen_is_that_of_the_library():
    codes = np.array(noisy(25, 2))
    (pair,) = Agreement(rated(codes), resamples=RESAMPLES, seed=0).pairs()
    assert pair.kappa.estimate.value == cohen_kappa_score(codes[:, 0], codes[:, 1])
    for items, value in zip(drawn(25), pair.kappa.estimate.resampled, strict=True):
        assert value == pytest.approx(cohen_kappa_score(codes[items, 0], codes[items, 1]))


def test_missing_ratings():
    result = agreement_report(rated([[1, 1, None], [2, 2, None], [1, 2, 2], [1, None, None]]))
    assert (result["n"], result["items"], result["items_rated_once"]) == (8, 4, 1)
    used = result["items_used"]
    assert (used["raw_agreement"], used["krippendorff_alpha_nominal"]) == (3, 3)
    assert used["fleiss_kappa"] == 2  # the items with the most common number of ratings
    assert [pair["items"] for pair in result["pairs"]] == [3, 1, 1]
    assert result["pairs"][1]["cohen_kappa"]["value"] == 0.0
    assert result["pairs"][2] == {
        "rater": "rater 1",
        "against": "rater 2",
        "items": 1,
        "agreement": wilson(1, 1).to_json(),
        "cohen_kappa": None,
        "band": None,
        "reason": ONE_LABEL,
    }


def undefined(codes, labels=()):
    result = agreement_report(rated(codes, labels))
    assert all(result["coefficients"][name] is None for name in result["undefined"])
    return result["undefined"]


def test_one_rater_has_no_agreement():
    assert set(undefined([[1], [2]]).values()) == {ONE_RATER}
    assert len(undefined([[1], [2]])) == 7


@pytest.mark.parametrize("labels", [(), ("1", "2")])
def test_one_label_has_raw_agreement_alone(labels):
    found = undefined([[1, 1], [1, 1]], labels)
    assert "raw_agreement" not in found
    # of two labels that could be given all take one: to Randolph's kappa that is agreement, to the others chance
    assert ("randolph_kappa" in found) == (labels == ())
    assert len(found) == (6 if labels == () else 5)
    assert set(found.values()) == {ONE_LABEL}


def test_raters_that_share_no_item():
    assert set(undefined([[1, None], [None, 2]]).values()) == {NOTHING_SHARED}


def test_a_second_label_only_where_nobody_else_rated():
    found = undefined([[1, 1], [2, None]])
    assert set(found.values()) == {ONE_LABEL}
    assert "randolph_kappa" not in found


@pytest.mark.parametrize("seed", range(100))
def test_randolph_is_that_of_statsmodels(seed):
    from statsmodels.stats.inter_rater import fleiss_kappa

    """Random tables with the same number of ratings everywhere, some with a single label."""
    random = np.random.default_rng(seed)
    offered, raters = int(random.integers(2, 6)), int(random.integers(2, 8))
    used = int(random.integers(1, offered + 1))
    codes = random.integers(1, used + 1, (int(random.integers(1, 30)), raters))
    labels = [str(label) for label in range(1, offered + 1)]
    ratings = rated(codes.tolist(), labels)
    found = Agreement(ratings, resamples=10, seed=0).randolph().estimate
    assert found.value == pytest.approx(fleiss_kappa(ratings.counts, method="randolph"))
    assert found.interval.low <= found.value <= found.interval.high


def test_randolph_takes_each_item_with_its_own_number_of_ratings():
    # 1 of three, 1/3 of three, 1 of two; the item with one rating has no pair: of two labels chance is a half
    ratings = rated([[1, 1, 1], [1, 2, 2], [2, 2, None], [1, None, None]])
    found = Agreement(ratings, resamples=100, seed=0).randolph()
    assert found.items == 3
    assert found.estimate.value == pytest.approx(2 * ((1 + 1 / 3 + 1) / 3 - 1 / 2))


def test_labels_that_are_no_numbers_have_no_ordinal_alpha():
    assert undefined([["A", "A"], ["B", "A"]]) == {
        "krippendorff_alpha_ordinal": NOT_NUMBERS,
        "krippendorff_alpha_interval": NOT_NUMBERS,
    }


def test_too_many_labels_for_the_ordinal_alpha():
    found = undefined([[i, i + 1] for i in range(60)])
    assert found == {"krippendorff_alpha_ordinal": TOO_MANY}


@pytest.mark.parametrize(("rows", "share"), [([["A", "A"]] * 4, 1.0), ([["A", "B"]] * 4, 0.0)])
def test_a_few_items_that_all_agree_are_not_certain(rows, share):
    result = agreement_report(rated(rows, labels=("A", "B")))
    shares, kappa = (result["coefficients"][name] for name in ("raw_agreement", "randolph_kappa"))
    assert shares == result["pairs"][0]["agreement"] == wilson(4 * share, 4).to_json()
    assert shares["low"] < shares["high"]
    assert kappa == pytest.approx({name: 2 * value - 1 for name, value in shares.items()})


def test_raters_who_always_disagree():
    result = agreement_report(rated([["A", "B"]] * 4))
    assert result["coefficients"]["cohen_kappa"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    assert result["coefficients"]["fleiss_kappa"]["value"] == -1.0
    assert result["bands"]["fleiss_kappa"] == "poor"


@pytest.mark.parametrize(
    ("value", "band"),
    [
        (-0.1, "poor"),
        (0.0, "slight"),
        (0.2, "slight"),
        (0.21, "fair"),
        (0.4, "fair"),
        (0.5, "moderate"),
        (0.61, "substantial"),
        (0.8, "substantial"),
        (1.0, "almost perfect"),
    ],
)
def test_bands(value, band):
    assert landis_koch(value) == band
