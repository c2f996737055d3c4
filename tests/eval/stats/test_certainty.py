from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from eval.stats.certainty import (
    FIGURES,
    CertainAnswers,
    auroc,
    bands,
    brier,
    calibration_error,
    correlation,
    histogram,
    reliability,
    risk_area,
    risk_coverage,
    sweep,
)
from eval.stats.proportions import wilson
from pearl.stats.bootstrap import Bootstrap

CORRECT = [1, 1, 0, 1, 0, 0]
CERTAINTY = [90, 80, 80, 60, 60, 5]


def certain(correct=CORRECT, certainty=CERTAINTY, names=None):
    drawn = Bootstrap(names or [str(i) for i in range(len(correct))], resamples=200)
    return CertainAnswers(np.array(correct, float), np.array(certainty, float), drawn)


def test_wilsons_interval_has_a_width_where_all_are_right():
    interval = wilson(4, 4)
    assert (interval.value, interval.high) == (1.0, 1.0)
    # Wilson 1927: the lower end of k = n is n / (n + z^2)
    assert interval.low == pytest.approx(4 / (4 + 1.959964**2))
    assert wilson(0, 0) is None


def test_figures_by_hand():
    found = certain()
    # pairs right above wrong: 90 over 80, 60, 5; 80 over (half) 80, 60, 5; 60 over (half) 60, 5
    assert auroc(found).value == pytest.approx((3 + 2.5 + 1.5) / 9)
    assert brier(found).value == pytest.approx((0.1**2 + 0.2**2 + 0.8**2 + 0.4**2 + 0.6**2 + 0.05**2) / 6)
    # bins of 90; of 80, 80; of 60, 60; of 5
    assert calibration_error(found).value == pytest.approx((0.1 + abs(1.6 - 1) + abs(1.2 - 1) + 0.05) / 6)
    # the risk at each level, weighed by the records that come with it
    assert risk_area(found).value == pytest.approx((0 + 2 * 1 / 3 + 2 * 2 / 5 + 3 / 6) / 6)
    assert correlation(found).value == pytest.approx(np.corrcoef(CORRECT, CERTAINTY)[0, 1])


def test_the_resampled_auroc_is_that_of_the_resampled_records():
    rng = np.random.default_rng(0)
    correct, certainty = rng.integers(0, 2, 30), rng.integers(1, 8, 30) * 10
    names = [str(i % 9) for i in range(30)]
    drawn = np.random.default_rng(0).multinomial(9, np.full(9, 1 / 9), size=200)
    resampled = auroc(certain(correct, certainty, names)).resampled
    order = {name: i for i, name in enumerate(sorted(set(names)))}
    for times, value in zip(drawn[:20], resampled[:20], strict=True):
        places = [i for i, name in enumerate(names) for _ in range(times[order[name]])]
        assert value == pytest.approx(roc_auc_score(correct[places], certainty[places]))


def test_records_without_a_certainty_are_in_no_figure_of_it():
    with_nothing = certain([*CORRECT, 1, 0], [*CERTAINTY, np.nan, np.nan])
    for name, figure in FIGURES.items():
        if name != "certainty_correlation":
            assert figure(with_nothing).value == pytest.approx(figure(certain()).value), name
    assert with_nothing.part(with_nothing.at_least(1))["total"] == 6


@pytest.mark.parametrize("correct", [[1, 1, 1], [0, 0, 0]])
def test_without_right_and_wrong_there_is_no_auroc(correct):
    found = certain(correct, [80, 90, 70])
    assert auroc(found).interval is None
    assert brier(found).interval is not None


def test_without_certainty_there_is_no_figure():
    found = certain([1, 0], [np.nan, np.nan])
    assert all(figure(found).interval is None for figure in FIGURES.values())


def test_one_certainty_for_all_has_no_correlation():
    found = certain([1, 0, 1], [80, 80, 80])
    assert correlation(found).interval is None
    assert auroc(found).value == 0.5


def test_every_record_is_in_one_bin():
    edges = certain([1] * 6, [1, 10, 11, 90, 91, 100])
    assert [(row["low"], row["high"], row["total"]) for row in reliability(edges)] == [
        (1, 10, 2),
        (11, 20, 1),
        (81, 90, 1),
        (91, 100, 2),
    ]
    assert [row["total"] for row in bands(edges)] == [3, 0, 0, 0, 3]
    assert sum(row["total"] for row in histogram(edges, (1, 100))) == 6


def test_the_published_histogram_ends_at_40_and_90():
    rows = histogram(certain(), (40, 90))
    assert {row["low"]: row["total"] for row in rows if row["total"]} == {40: 1, 60: 2, 80: 2, 90: 1}
    assert (rows[0]["low"], rows[-1]["low"]) == (40, 90)


def test_the_sweep_abstains_below_each_threshold():
    rows = {row["threshold"]: row for row in sweep(certain(), 77.5)}
    assert 77.5 in rows
    assert (rows[80]["correct"], rows[80]["total"], rows[80]["abstained"]) == (2, 3, 3)
    assert rows[5]["coverage"] == 1
    assert (rows[95]["accuracy"], rows[95]["interval"]) == (None, None)


def test_risk_over_coverage():
    points = risk_coverage(certain())
    assert [point["certainty"] for point in points] == [90, 80, 60, 5]
    assert [point["risk"] for point in points] == pytest.approx([0, 1 / 3, 2 / 5, 3 / 6])
