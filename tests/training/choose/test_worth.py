from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from training.choose.measure import LEAST_REQUESTS, LeadOverBaseline, worth_on

GOOD = LeadOverBaseline(LEAST_REQUESTS, 23.3, "bm25", 18.2, 0.99, own=True)


@pytest.mark.parametrize(
    ("changed", "doubts"),
    [
        ({}, ()),
        ({"own": False}, ("nothing was left to choose by but what it was trained on",)),
        ({"requests": 29}, ("29 scored requests to choose by, fewer than 30",)),
        ({"requests": 1}, ("1 scored request to choose by, fewer than 30",)),
        (
            {"better_in": 0.9495, "top1_gain": 19.5},  # which is not 95%
            ("not surely better than bm25 on dev: 19.5 nats and 18.2, better in 94.95% of resamples",),
        ),
        (
            {"better_in": 0.81, "top1_gain": 18.5},
            ("not surely better than bm25 on dev: 18.5 nats and 18.2, better in 81% of resamples",),
        ),
        (
            {"better_in": 0.81, "top1_gain": 0.213, "baseline_top1_gain": 0.1984},  # means over the target's tokens
            ("not surely better than bm25 on dev: 0.213 nats and 0.198, better in 81% of resamples",),
        ),
    ],
)
def test_what_speaks_against_it(changed, doubts):
    assert replace(GOOD, **changed).doubts == doubts


def test_it_is_compared_with_the_best_baseline_on_the_same_requests(make_examples, word_encoder):
    """The gains are 10 and -1; a request names the topic, so BM25 finds it, and nothing can be surely better."""
    dev = make_examples(36)
    known = [example.gains for example in dev]
    best = worth_on(known, dev, word_encoder(), own=True, seed=0)
    assert (best.requests, best.top1_gain) == (36, 10.0)
    assert best.baseline_top1_gain == 10.0
    assert best.better_in == 0.0
    assert "not surely better than" in best.doubts[0]


def test_what_no_baseline_sees_is_surely_better(make_examples, word_encoder):
    dev = [replace(example, gains=np.roll(example.gains, 1)) for example in make_examples(36)]
    found = worth_on([example.gains for example in dev], dev, word_encoder(), own=True, seed=0)
    assert found.better_in == 1.0
    assert found.doubts == ()
