from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from pearl.stats.bootstrap import Bootstrap, Estimate
from pearl.stats.proportions import Interval, wilson

NAMES = ("ann", "ann", "ben", "cid", "cid", "cid")
X = np.array([1.0, 2.0, 4.0, 4.0, 8.0, -3.0])
Y = np.array([2.0, 1.0, 5.0, 3.0, 9.0, 3.0])


def slow(bootstrap: Bootstrap, statistic: Callable[[list[int]], float]) -> list[float]:
    """The statistic of each resample, whose records are written out one by one."""
    users = sorted(set(NAMES))
    values = []
    for times in bootstrap._times:
        drawn = [
            place for user, count in zip(users, times, strict=True) for _ in range(count) for place in members(user)
        ]
        values.append(statistic(drawn))
    return values


def members(user: str) -> list[int]:
    return [place for place, name in enumerate(NAMES) if name == user]


def pearson_or_nan(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(x, y)[0, 1]) if np.ptp(x) and np.ptp(y) else np.nan


@pytest.mark.parametrize(
    ("fast", "statistic"),
    [
        (lambda bootstrap: bootstrap.mean(X), lambda drawn: X[drawn].mean()),
        (lambda bootstrap: bootstrap.median(X), lambda drawn: np.median(X[drawn])),
        (lambda bootstrap: bootstrap.ratio(X, Y), lambda drawn: X[drawn].sum() / Y[drawn].sum()),
        (lambda bootstrap: bootstrap.pearson(X, Y), lambda drawn: pearson_or_nan(X[drawn], Y[drawn])),
        (
            lambda bootstrap: bootstrap.spearman(X, Y),
            lambda drawn: pearson_or_nan(stats.rankdata(X[drawn]), stats.rankdata(Y[drawn])),
        ),
    ],
    ids=["mean", "median", "ratio", "pearson", "spearman"],
)
def test_the_fast_resamples_are_the_slow_ones(fast, statistic):
    bootstrap = Bootstrap(NAMES, resamples=300)
    estimate = fast(bootstrap)
    assert estimate.value == pytest.approx(statistic(list(range(len(NAMES)))))
    assert estimate.resampled.tolist() == pytest.approx(slow(bootstrap, statistic), nan_ok=True)


def test_the_interval_holds_the_middle_95_percent_of_the_resamples():
    estimate = Bootstrap(NAMES, resamples=1000).mean(X)
    low, high = np.percentile(estimate.resampled, (2.5, 97.5))
    assert estimate.interval == Interval(16 / 6, low, high)
    assert estimate.to_json() == {"value": round(16 / 6, 9), "low": round(low, 9), "high": round(high, 9)}


def test_the_interval_holds_the_value_also_where_all_resamples_lie_above_it():
    assert Estimate(0.0, np.array([1.0, 2.0])).interval.low == 0.0


def test_of_two_users_a_half_of_the_resamples_draws_both():
    estimate = Bootstrap(["ann", "ann", "ben"], resamples=4000).mean([0.0, 0.0, 3.0])
    shares = [float((estimate.resampled == value).mean()) for value in (0.0, 1.0, 3.0)]  # ann twice, both, ben twice
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.03)


def test_a_difference_is_paired():
    bootstrap = Bootstrap(NAMES, resamples=200)
    gap = bootstrap.mean(X + 1) - bootstrap.mean(X)
    assert gap.interval == pytest.approx(Interval(1.0, 1.0, 1.0)) or gap.resampled.tolist() == pytest.approx(
        [1.0] * 200
    )
    assert (bootstrap.mean(X) - bootstrap.mean(Y)).resampled.tolist() == pytest.approx(
        bootstrap.mean(X - Y).resampled.tolist()
    )


def test_the_same_seed_draws_the_same():
    first, again, other = (Bootstrap(NAMES, seed=seed).mean(X) for seed in (1, 1, 2))
    assert first.resampled.tolist() == again.resampled.tolist() != other.resampled.tolist()


@pytest.mark.parametrize("constant", [np.zeros(6), np.full(6, 0.1), np.full(6, 1e9)])
def test_a_constant_correlates_with_nothing(constant):
    bootstrap = Bootstrap(NAMES)
    for estimate in (bootstrap.pearson(constant, Y), bootstrap.pearson(X, constant), bootstrap.spearman(X, constant)):
        assert estimate.interval is None
        assert estimate.to_json() is None


def test_large_offsets_take_no_digits():
    found = Bootstrap(NAMES).pearson(X + 1e8, Y - 1e8)
    assert found.value == pytest.approx(np.corrcoef(X, Y)[0, 1])


def test_one_record_has_an_interval_of_no_width():
    assert Bootstrap(["ann"]).mean([2.5]).interval == Interval(2.5, 2.5, 2.5)


def test_the_interval_covers_the_truth_about_19_times_of_20():
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        values = generator.normal(size=60)
        interval = Bootstrap([str(place) for place in range(60)], resamples=400).mean(values).interval
        covered += interval.low <= 0.0 <= interval.high
    assert 0.90 <= covered / 300 <= 0.98


def test_thousands_of_requests_are_resampled():
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(2, 2000))
    bootstrap = Bootstrap([str(place % 300) for place in range(2000)])
    for estimate in (bootstrap.mean(x), bootstrap.median(x), bootstrap.pearson(x, y), bootstrap.spearman(x, y)):
        assert estimate.interval.low < estimate.interval.high


def test_the_interval_of_a_share_that_no_resample_changes_is_wilsons():
    names = ["a", "a", "b", "c", "d", "e"]
    right = Bootstrap(names).share([1, 1, 1, 1, 1, 1])
    assert (right.value, right.interval) == (1, wilson(5, 5))  # five people, not six records
    assert Bootstrap(names).share([0] * 6, [1, 1, 1, 0, 0, 0]).interval == wilson(0, 2)
    assert Bootstrap(names).share([0] * 6, [0] * 6).interval is None
    assert Bootstrap(["a"] * 4).share([1, 0, 1, 1]).interval == wilson(0.75, 1)  # one person, whatever was seen of them
    mixed = Bootstrap(names)
    counted = [1, 0, 1, 0, 1, 1]
    assert mixed.share(counted).interval == mixed.mean(counted).interval
