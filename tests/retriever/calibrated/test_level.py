"""The level moves all scores together, by what its trees say of the best document."""

from __future__ import annotations

import numpy as np
import pytest

from retriever.calibrated.level import LEADING, Level, level_inputs
from retriever.history.signals import NAMES
from tests.conftest import head_of

# two trees: the first asks for input 0, up to 0.5, then on the right for input 1; the second is a leaf
LEVEL = Level(
    roots=np.array([0, 5], np.int32),
    asked=np.array([0, -1, 1, -1, -1, -1], np.int8),
    most=np.array([0.5, 0, 2.0, 0, 0, 0], np.float32),
    right=np.array([2, 0, 4, 0, 0, 0], np.int32),
    value=np.array([0, 1.0, 0, 3.0, 5.0, 7.0], np.float32),
)


@pytest.mark.parametrize(
    ("inputs", "leaf"), [((0.5, 9.0), 1.0), ((0.6, 2.0), 3.0), ((0.6, 2.1), 5.0), ((-3.0, -3.0), 1.0)]
)
def test_the_mean_over_the_trees_leaves(inputs, leaf):
    assert LEVEL.score(np.array(inputs, np.float32)) == pytest.approx((leaf + 7.0) / 2)


def test_scores_move_together_until_the_best_has_its_level():
    head = head_of({}, 0.0)
    signals = np.zeros((3, len(NAMES)), np.float32)
    signals[1, :2] = 0.6, 2.1
    scores = np.array([-1.0, 4.0, 2.5], np.float32)
    moved = LEVEL.moved(head, signals, scores)
    assert moved.dtype == np.float32
    assert moved.tolist() == [1.0, 6.0, 4.5]  # (5 + 7) / 2 for the second document


def test_the_inputs_are_the_best_documents_signals_and_how_the_scores_lie():
    signals = np.arange(4 * len(NAMES), dtype=np.float32).reshape(4, -1) / 100
    signals[2, 5] = np.nan  # not known yet: the mean in training, which is 0 here
    inputs = level_inputs(head_of({}, 0.0), signals, np.array([1.0, 0.0, 5.0, 3.0], np.float32))
    known = np.where(np.isnan(signals[2]), 0.0, signals[2]).clip(-5, 5)
    assert inputs[: len(NAMES)].tolist() == pytest.approx(known.tolist())
    spread = np.std([1.0, 0.0, 5.0, 3.0])
    assert inputs[len(NAMES) :].tolist() == pytest.approx([5.0, (5 + 3 + 1) / LEADING, 9 / 4, spread, 2.0])


def test_one_document_leads_over_nothing():
    inputs = level_inputs(head_of({}, 0.0), np.zeros((1, len(NAMES)), np.float32), np.array([2.0], np.float32))
    assert inputs[-5:].tolist() == [2.0, 2.0, 2.0, 0.0, 0.0]


def test_it_is_saved_by_name():
    again = Level.of({"words": np.zeros(1), **LEVEL.tensors()})
    assert again is not None
    assert all((getattr(again, name) == getattr(LEVEL, name)).all() for name in Level.__slots__)
    assert Level.of({"words": np.zeros(1)}) is None
