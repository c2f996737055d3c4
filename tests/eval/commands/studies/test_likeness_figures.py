from __future__ import annotations

import numpy as np
import pytest

from eval.commands.studies.likeness import auc, equal_error_rate
from pearl.stats.bootstrap import Bootstrap


def test_auc_and_error_rate_by_hand() -> None:
    scores = np.array([0.9, 0.7, 0.4, 0.4, 0.2, 0.1])
    true = np.array([True, True, False, True, False, False])
    bootstrap = Bootstrap(["a", "b", "a", "b", "a", "b"], resamples=200)
    # of nine pairs eight are in order and one is even
    assert auc(bootstrap, scores, true).value == pytest.approx(8.5 / 9)
    # above .4 nothing false is believed and a third of the true is refused; below it the other way round
    assert equal_error_rate(bootstrap, scores, true).value == pytest.approx((1 / 3 + 0) / 2)
    assert auc(bootstrap, -scores, true).value == pytest.approx(0.5 / 9)


def test_scores_that_say_nothing() -> None:
    true = np.arange(40) % 2 == 0
    bootstrap = Bootstrap([str(index // 4) for index in range(40)], resamples=200)
    interval = auc(bootstrap, np.zeros(40), true).interval
    assert interval is not None
    assert (interval.low, interval.value, interval.high) == (0.5, 0.5, 0.5)
