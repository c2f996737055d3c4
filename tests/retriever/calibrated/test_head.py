from __future__ import annotations

import numpy as np
import pytest
import torch

from pearl.records import Request
from retriever.calibrated.head import CLIP, LEADING, Level, SignalHead, level_inputs, silent, silu
from retriever.history.signals import NAMES
from tests.conftest import head_of
from training.data.records import Example
from training.fit.head import HeadOptions, new_head

SIZE = 7


def lists(count: int, seed: int = 0) -> list[Example]:
    draw = np.random.default_rng(seed)
    return [
        Example("u", "q", Request(""), (), gains=np.zeros(size), signals=signals.astype(np.float32))
        for size in draw.integers(1, 9, count)
        for signals in (draw.normal(3, 50, (size, SIZE)),)
    ]


@pytest.mark.parametrize(("members", "hidden"), [(1, 2), (4, 32)])
def test_numpy_and_torch_agree(members, hidden):
    found = lists(6)
    module = new_head(found, HeadOptions(members=members, hidden=hidden)).eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0, 0.5)
    head = module.frozen()
    for each in found:
        with torch.inference_mode():
            expected = module(torch.from_numpy(each.signals)[None]).mean(dim=0)[0].numpy()
        assert head.logits(each.signals) == pytest.approx(expected, abs=1e-5)
        assert head.logits(each.signals).dtype == np.float32


def by_hand() -> SignalHead:
    """One member, two signals, one hidden unit."""
    return SignalHead(
        *(
            np.array(values, np.float32)
            for values in (
                [1.0, 0.0],  # mean
                [2.0, 1.0],  # scale
                [[[1.0], [0.0]]],
                [[0.0]],
                [[[1.0]]],
                [[0.0]],
                [[3.0]],  # outer
                [[0.0, 10.0]],  # direct
                [0.5],
            )
        )
    )


def test_by_hand():
    inner = 1 / (1 + np.exp(-1.0))  # silu of (3 - 1) / 2
    expected = 3 * inner / (1 + np.exp(-inner)) + 10 * 2 + 0.5
    assert by_hand().logits(np.array([[3.0, 2.0]], np.float32)).tolist() == pytest.approx([expected], rel=1e-6)


def test_far_outside_a_signal_says_no_more_than_at_its_edge():
    signals = np.array([[1.0, CLIP], [1.0, 1e30], [1.0, -1e30]], np.float32)
    edge, beyond, below = by_hand().logits(signals).tolist()
    assert edge == beyond == pytest.approx(10 * CLIP + 0.5)
    assert below == pytest.approx(-10 * CLIP + 0.5)


def test_a_score_does_not_depend_on_its_company():
    head = new_head(lists(3), HeadOptions()).frozen()
    signals = lists(1, seed=1)[0].signals
    alone = [head.logits(row[None])[0] for row in signals]
    assert head.logits(signals).tolist() == pytest.approx(alone, abs=1e-6)


def test_weights_by_name_and_back():
    head = new_head(lists(3), HeadOptions()).frozen()
    again = SignalHead.of(head.tensors() | {"words": np.zeros(3, np.float32)})
    signals = lists(1)[0].signals
    assert np.array_equal(head.logits(signals), again.logits(signals))


def test_a_silent_head_says_nothing():
    assert silent(by_hand()).logits(np.array([[3.0, 2.0]], np.float32)).tolist() == [0.0]


def test_silu_has_no_overflow():
    assert silu(np.array([-1e4, 0.0, 1e4], np.float32)).tolist() == pytest.approx([0.0, 0.0, 1e4], abs=1e-6)


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
