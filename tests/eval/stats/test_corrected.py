"""Rates corrected for a judge's errors: by hand, and over simulated judges."""

from __future__ import annotations

import numpy as np
import pytest

from eval.stats.corrected import LabelledShares, confusion, obstacle, prediction_powered, raw_rates, resampled


def of_counts(joint, others, labels=("yes", "no", "tie")):
    """``joint[people][judge]`` labelled items, and ``others[judge]`` without a label."""
    size = len(others)
    cells = [(i, j) for i in range(size) for j in range(size) for _ in range(joint[i][j])]
    said = [j for _, j in cells] + [j for j in range(size) for _ in range(others[j])]
    gold = [i for i, _ in cells] + [-1] * sum(others)
    return LabelledShares(labels[:size], np.eye(size)[said], np.array(gold))


def test_rogan_and_gladen_by_hand():
    data = of_counts([[45, 5], [10, 40]], [345, 555])  # sensitivity 0.9, specificity 0.8; the judge says yes to 400
    assert confusion(data).tolist() == [[0.9, 0.1], [0.2, 0.8]]
    assert raw_rates(data)[0] == 0.4
    found = resampled(data)
    yes, no = found.corrected
    assert yes.value == pytest.approx((0.4 + 0.8 - 1) / (0.9 + 0.8 - 1))
    assert no.value == pytest.approx(1 - yes.value)
    assert yes.low < yes.value < yes.high
    # both samples' uncertainty: wider than what the judge's own rate has
    assert yes.high - yes.low > 2 * (found.raw[0].high - found.raw[0].low)


def test_three_labels_by_inversion():
    joint = [[30, 5, 5], [4, 32, 4], [2, 6, 32]]
    rates = np.array([0.2, 0.5, 0.3])
    says = rates @ (np.array(joint) / 40)  # what a judge of that confusion says of such items
    others = (1000 * says * 1200 / 1000).round().astype(int) - np.array(joint).sum(axis=0)
    data = of_counts(joint, others.tolist())
    assert [each.value for each in resampled(data).corrected] == pytest.approx(rates, abs=0.002)


def test_several_judgements_of_an_item_are_a_share():
    whole = of_counts([[4, 1], [1, 4]], [6, 4])
    half = LabelledShares(whole.labels, 0.5 * whole.shares + 0.25, whole.gold)
    assert confusion(half).tolist() == [[0.65, 0.35], [0.35, 0.65]]
    assert resampled(half).corrected[0].value == pytest.approx(resampled(whole).corrected[0].value)


@pytest.mark.parametrize(
    ("joint", "others", "why"),
    [
        ([[4, 6], [5, 5]], [9, 9], "sensitivity 0.40 and specificity 0.50 add up to 0.90"),
        ([[5, 5], [5, 5]], [9, 9], "no correction is possible"),
        ([[9, 1, 0], [1, 9, 0], [0, 0, 0]], [5, 5, 3], "no item is labelled tie, which the judge says"),
        ([[9, 1, 0], [1, 9, 0], [3, 3, 0]], [5, 5, 0], "the judge says tie for 0% of the items"),
        ([[8, 2, 0], [2, 8, 0], [4, 4, 2]], [5, 5, 1], None),
    ],
)
def test_what_stands_in_the_way(joint, others, why):
    data = of_counts(joint, others)
    if why is None:
        assert obstacle(data) is None
        return
    assert why in obstacle(data)
    assert resampled(data).corrected is None
    assert len(prediction_powered(data)) == len(others)  # these need no confusion


def test_prediction_powered_by_hand():
    data = of_counts([[45, 5], [10, 40]], [345, 555])
    people, judge = np.repeat([1, 1, 0, 0], [45, 5, 10, 40]), np.repeat([1, 0, 1, 0], [45, 5, 10, 40])
    spread = np.var(np.r_[judge, np.repeat([1, 0], [345, 555])], ddof=1)
    weight = np.cov(people, judge)[0, 1] / ((1 + 100 / 900) * spread)
    yes, no = prediction_powered(data)
    assert yes.value == pytest.approx(0.5 + weight * (345 / 900 - 0.55))
    assert no.value == pytest.approx(1 - yes.value)


def test_a_judge_that_says_nothing_leaves_the_labels_alone():
    data = of_counts([[15, 15], [35, 35]], [400, 400])
    assert prediction_powered(data)[0].value == pytest.approx(0.3)


def test_when_everything_is_labelled_the_labels_count():
    data = of_counts([[45, 5], [10, 40]], [0, 0])
    assert prediction_powered(data)[0].value == pytest.approx(0.5)
    assert resampled(data).corrected[0].value == pytest.approx(0.5)


def test_intervals_hold_the_true_rate_where_the_raw_ones_do_not():
    """The thousands are in docs/results/corrected.json; a judge of another confusion would fail here already."""
    generator, rates, rows = np.random.default_rng(3), np.array([0.3, 0.7]), np.array([[0.85, 0.15], [0.25, 0.75]])
    held = np.zeros(3)
    for seed in range(200):
        people = generator.choice(2, 500, p=rates)
        said = (generator.random(500) > rows[people, 0]).astype(int)
        data = LabelledShares(("a", "b"), np.eye(2)[said], np.where(np.arange(500) < 100, people, -1))
        found = resampled(data, resamples=300, seed=seed)
        for index, each in enumerate((found.raw[0], found.corrected[0], prediction_powered(data)[0])):
            held[index] += each.low <= 0.3 <= each.high
    assert held[0] < 20
    assert min(held[1:]) >= 180
