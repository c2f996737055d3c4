from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from eval.commands.studies.calibration import (
    CalibrationOptions,
    calibration_report,
    folds_of,
    left_out_predictions,
    score_fit,
)
from eval.retrieval.choices import Candidates, ChoiceOutcome
from eval.retrieval.gains import GainsRecord
from eval.retrieval.scoring import ModelScores
from eval.stats.slices import equal_bins
from pearl.records import Document, Request
from pearl.stats.bootstrap import Bootstrap

OPTIONS = CalibrationOptions(gains=[], model=[], bins=2, folds=2)


def one_document_each(gains: list[float], users: list[str], **models: list[float]) -> Candidates:
    records = [
        GainsRecord(Request("a"), user, None, None, (Document("0", "b"),), (gain,))
        for gain, user in zip(gains, users, strict=True)
    ]
    return Candidates.of_all(
        records, [ModelScores(name, tuple(np.array([s1]) for s1 in scores)) for name, scores in models.items()]
    )


def test_every_figure_by_hand():
    scores, gains = [0.1, 0.2, 0.6, 0.9], [0.0, 2.0, 3.0, 7.0]
    report = calibration_report(one_document_each(gains, ["a", "b", "c", "d"], mine=scores), [], OPTIONS)
    (row,) = report["models"]
    assert row["pearson_r"]["value"] == pytest.approx(np.corrcoef(scores, gains)[0, 1])
    assert row["spearman_rho"]["value"] == 1.0
    assert row["binned_r"] is None  # a line goes through any two
    low, high = row["reliability"]
    assert (low["n"], low["low"], low["high"], high["n"], high["low"], high["high"]) == (2, 0.1, 0.2, 2, 0.6, 0.9)
    assert low["s1"]["value"] == pytest.approx((0.1 + 0.2) / 2)
    assert (low["gain"]["value"], high["gain"]["value"]) == ((0 + 2) / 2, (3 + 7) / 2)
    assert (report["n"], report["users"], report["bins"]) == (4, 4, 2)


def test_three_bins_by_hand():
    scores, gains = [0.1, 0.2, 0.6, 0.9, 1.4, 1.6], [0.0, 2.0, 3.0, 7.0, 1.0, 0.0]
    options = CalibrationOptions(gains=[], model=[], bins=3, folds=2)
    report = calibration_report(one_document_each(gains, list("abcdef"), mine=scores), [], options)
    (row,) = report["models"]
    assert row["binned_r"]["value"] == pytest.approx(np.corrcoef([0.15, 0.75, 1.5], [1.0, 5.0, 0.5])[0, 1])


def test_the_error_and_what_is_explained_by_hand():
    names = ["a", "a", "b", "b"]
    outcomes = [ChoiceOutcome(s1, gain, 0, 0, 0, 0) for s1, gain in ((0.0, 1.0), (1.0, 3.0), (0.0, 2.0), (1.0, 8.0))]
    found = score_fit(outcomes, names, OPTIONS)
    # the line of b is 2 + 6 s1, that of a 1 + 2 s1; b's mean gain is 5, a's 2
    assert found.predicted.tolist() == pytest.approx([2.0, 8.0, 1.0, 3.0])
    assert found.constant.tolist() == pytest.approx([5.0, 5.0, 2.0, 2.0])
    report = calibration_report(one_document_each([1.0, 3.0, 2.0, 8.0], names, mine=[0.0, 1.0, 0.0, 1.0]), [], OPTIONS)
    (row,) = report["models"]
    # bin of s1 = 0: said (2 + 1) / 2, true (1 + 2) / 2; bin of s1 = 1: said (8 + 3) / 2, true (3 + 8) / 2
    assert row["calibration_error"]["value"] == pytest.approx(0.0)
    # bin of s1 = 0: said (5 + 2) / 2, true 1.5; bin of s1 = 1: said 3.5, true 5.5
    assert row["constant_error"]["value"] == pytest.approx(2 / 4 * 2.0 + 2 / 4 * 2.0)
    of_line = (2 - 1) ** 2 + (8 - 3) ** 2 + (1 - 2) ** 2 + (3 - 8) ** 2
    of_constant = (5 - 1) ** 2 + (5 - 3) ** 2 + (2 - 2) ** 2 + (2 - 8) ** 2
    assert row["variance_explained"]["value"] == pytest.approx(1 - of_line / of_constant)


def test_a_line_is_never_fitted_on_the_user_it_predicts():
    names = [f"user {index // 5}" for index in range(50)]
    folds = folds_of(names, 5)
    assert all(len(set(folds[start : start + 5])) == 1 for start in range(0, 50, 5))
    assert np.bincount(folds).tolist() == [10] * 5
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(2, 50))
    predicted = left_out_predictions(x, y, folds)
    for fold in range(5):  # the slow way
        others = stats.linregress(x[folds != fold], y[folds != fold])
        held_out = folds == fold
        assert predicted[held_out] == pytest.approx(others.intercept + others.slope * x[held_out])
    y[folds == 0] += 100.0
    assert left_out_predictions(x, y, folds)[folds == 0] == pytest.approx(predicted[folds == 0])


def test_a_constant_score():
    gains = [0.0, 2.0, 3.0, 7.0]
    (row,) = calibration_report(one_document_each(gains, list("abcd"), same=[1.0] * 4), [], OPTIONS)["models"]
    assert row["pearson_r"] is row["spearman_rho"] is row["binned_r"] is None
    assert row["calibration_error"] == row["constant_error"]
    assert row["variance_explained"]["value"] == 0.0
    assert len(row["reliability"]) == 1


def test_one_record_says_little_and_breaks_nothing():
    (row,) = calibration_report(one_document_each([2.0], ["a"], mine=[1.0]), [], OPTIONS)["models"]
    assert [row[name] for name in row if name not in ("model", "reliability")] == [None] * 6
    assert row["reliability"][0]["gain"] == {"value": 2.0, "low": 2.0, "high": 2.0}


def test_differences_from_the_best_baseline():
    gains, users = [0.0, 2.0, 3.0, 7.0, 8.0, 1.0], list("abcdef")
    shuffled, reverse = [0.3, 0.2, 0.5, 0.4, 0.9, 0.1], [-gain for gain in gains]
    choices = one_document_each(gains, users, mine=gains, some=shuffled, worst=reverse)
    rows = {row["model"]: row for row in calibration_report(choices, ["some", "worst"], OPTIONS)["differences"]}
    expected = 1 - np.corrcoef(shuffled, gains)[0, 1]
    assert rows["mine"]["pearson_r"]["against"] == "some"
    assert rows["mine"]["pearson_r"]["value"] == pytest.approx(expected)
    assert rows["some"]["pearson_r"]["against"] == "worst"
    assert "calibration_error" not in rows["mine"]


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        ([5.0, 1.0, 3.0, 2.0], [1, 0, 1, 0]),
        ([1.0, 1.0, 1.0, 9.0], [0, 0, 0, 1]),
        ([1.0, 9.0, 9.0, 9.0], [0, 1, 1, 1]),
        ([4.0, 4.0], [1, 1]),
    ],
)
def test_bins_of_equally_many_where_equal_scores_stay_together(values, bins):
    assert equal_bins(np.array(values), 2).tolist() == bins


def test_a_score_that_is_the_gain_is_calibrated_and_noise_is_not():
    generator = np.random.default_rng(0)
    gains = generator.normal(size=400)
    names = [str(index % 40) for index in range(400)]
    choices = one_document_each(gains.tolist(), names, true=(gains * 3).tolist(), noise=generator.random(400).tolist())
    true, noise = calibration_report(choices, [], CalibrationOptions(gains=[], model=[]))["models"]
    assert true["calibration_error"]["value"] < 0.01 < noise["calibration_error"]["value"]
    assert true["variance_explained"]["value"] == pytest.approx(1.0)
    assert noise["variance_explained"]["value"] < 0.05
    assert true["binned_r"]["value"] > 0.99
    assert true["constant_error"]["value"] > 0.5 > noise["constant_error"]["value"]
    assert len(true["reliability"]) == 10


def test_the_reliability_intervals_are_those_of_the_bin_alone():
    gains = np.random.default_rng(0).normal(size=40)
    names = [str(index) for index in range(40)]
    report = calibration_report(one_document_each(gains.tolist(), names, mine=list(range(40))), [], OPTIONS)
    inside = np.arange(40) < 20
    (low, _) = report["models"][0]["reliability"]
    bootstrap = Bootstrap([f"user {name}" for name in names])
    times = bootstrap._times[:, np.argsort([f"user {name}" for name in names]).argsort()]
    means = [(gains * inside) @ row / (inside @ row) for row in times.astype(float)]
    assert low["gain"]["low"] == pytest.approx(np.percentile(means, 2.5))
