from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from pearl.records import Request
from training.choose.measure import measure
from training.data.records import Example
from training.fit.head import (
    HeadOptions,
    balanced,
    calibrated,
    fit_head,
    kl_loss,
    new_head,
    padded,
    plain,
    scale_calibrated_loss,
)

SMALL = HeadOptions(members=2, hidden=8, epochs=12)


def example_of(signals: Any, gains: Any) -> Example:
    return Example("u", "q", Request(""), (), gains.astype(np.float32), signals=signals)


def lists(count: int, seed: int = 0) -> list[Example]:
    """The first of five signals is the gain, in tens of nats, with some noise."""
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        signals = draw.normal(0, 1, (draw.integers(3, 9), 5)).astype(np.float32)
        gains = 10 * signals[:, 0] + draw.normal(0, 1, len(signals))
        found.append(example_of(signals, gains))
    return found


def fitted(found: list[Example], loss: Any, options: HeadOptions = SMALL) -> Any:
    module = new_head(found, options)
    fit_head(module, found, loss, options)
    return module.frozen()


@pytest.mark.parametrize("loss", [calibrated(10.0, 5.0), plain(5.0)], ids=["calibrated", "plain"])
def test_it_learns_which_signal_says_the_gain(loss):
    head, held_back = fitted(lists(200), loss), lists(60, seed=1)
    fit = measure([head.logits(each.signals) for each in held_back], [each.gains for each in held_back])
    assert fit.share > 0.85
    assert fit.pearson_r > 0.7


def test_calibrated_a_score_of_0_stands_for_y0():
    head = fitted(lists(200), calibrated(10.0, 5.0), HeadOptions(members=1, hidden=8, epochs=60))
    signals = np.zeros((3, 5), np.float32)
    signals[:, 0] = 0.5, 1.0, 1.5  # gains of 5, 10 and 15
    below, at, above = head.logits(signals).tolist()
    assert below < -0.4
    assert at == pytest.approx(0.0, abs=0.35)
    assert above > 0.4


def test_the_same_seed_gives_the_same_head():
    one, again = (fitted(lists(20), plain(5.0)) for _ in range(2))
    other = fitted(lists(20), plain(5.0), HeadOptions(members=2, hidden=8, epochs=12, seed=1))
    signals = lists(1)[0].signals
    assert np.array_equal(one.logits(signals), again.logits(signals))
    assert not np.array_equal(one.logits(signals), other.logits(signals))


def test_one_request_is_enough_to_run():
    head = fitted(lists(1), calibrated(10.0, 5.0))
    assert np.isfinite(head.logits(lists(1)[0].signals)).all()


def test_padding_is_no_document():
    found = lists(4)
    signals, gains, mask = padded(found)
    longest = max(len(each.gains) for each in found)
    assert signals.shape == (4, longest, 5)
    assert gains.shape == mask.shape == (4, longest)
    assert mask.sum(dim=1).tolist() == [len(each.gains) for each in found]
    loss = calibrated(10.0, 5.0)
    logits = torch.randn(4, longest)
    together = loss(logits, gains, mask)
    alone = [
        loss(logits[row, :n][None], gains[row, :n][None], mask[row, :n][None]) for row, n in enumerate(mask.sum(1))
    ]
    assert together.item() == pytest.approx(torch.stack(alone).mean().item(), rel=1e-5)


def test_a_constant_signal_is_standardised_to_nothing():
    """Also over many rows, where a sum in float32 would be off."""
    rows = np.full((300_000, 2), 3.0445225, np.float32)
    module = new_head([example_of(rows, np.zeros(len(rows)))], SMALL)
    assert module.mean.tolist() == pytest.approx([3.0445225] * 2, abs=1e-6)
    assert module.scale.tolist() == pytest.approx([1e-3] * 2, rel=1e-3)


def test_a_small_domain_is_heard_beside_a_large_one():
    """Of 16 and 4 examples the first weigh twice as much together, not four times; one domain is not weighed."""
    weights = balanced(["git"] * 16 + ["mail"] * 4)
    assert weights is not None
    assert weights[:16].sum().item() == pytest.approx(4.0)
    assert weights[16:].sum().item() == pytest.approx(2.0)
    assert balanced(["git"] * 3) is None
    two = [replace(each, domain="git" if place else "mail") for place, each in enumerate(lists(20))]
    loss = calibrated(10.0, 5.0)
    one, again, alone = fitted(two, loss), fitted(two, loss), fitted(lists(20), loss)
    signals = two[0].signals
    assert np.array_equal(one.logits(signals), again.logits(signals))
    assert not np.array_equal(one.logits(signals), alone.logits(signals))


EVERY = torch.ones((1, 2), dtype=torch.bool)


def test_scale_calibrated_loss_by_hand():
    logits, gains = torch.tensor([[1.0, -1.0]]), torch.tensor([[10.0, 0.0]])
    # targets: softmax of (y0, 10, 0) / tau = (5, 10, 0) / 5 = (1, 2, 0); logits with the anchor: (0, 1, -1)
    weights = [math.exp(1), math.exp(2), math.exp(0)]
    targets = [weight / sum(weights) for weight in weights]
    normaliser = math.log(math.exp(0) + math.exp(1) + math.exp(-1))
    expected = -sum(target * (logit - normaliser) for target, logit in zip(targets, (0, 1, -1), strict=True))

    found = scale_calibrated_loss(logits, gains, EVERY, y0=5.0, tau=5.0)

    assert math.isclose(found.item(), expected, rel_tol=1e-6)


def test_equation_3_is_equation_2_written_out():
    logits, gains, y0 = torch.tensor([[0.3, -0.7, 1.1]]), torch.tensor([[2.0, 0.5, -1.0]]), 1.5
    gain_weights, logit_weights = gains.exp(), logits.exp()
    gain_sum, logit_sum = gain_weights.sum() + math.exp(y0), logit_weights.sum() + 1
    documents = -(gain_weights / gain_sum * (logit_weights / logit_sum).log()).sum()
    anchor = math.exp(y0) / gain_sum * logit_sum.log()

    found = scale_calibrated_loss(logits, gains, torch.ones((1, 3), dtype=torch.bool), y0=y0, tau=1.0)

    assert torch.isclose(found, documents + anchor)


def test_only_the_anchor_notices_a_shift_of_all_logits():
    logits, gains = torch.tensor([[1.0, 0.0]]), torch.tensor([[8.0, 2.0]])

    shifted = scale_calibrated_loss(logits + 3, gains, EVERY, y0=5.0, tau=5.0)

    assert torch.isclose(kl_loss(logits, gains, EVERY, tau=5.0), kl_loss(logits + 3, gains, EVERY, tau=5.0))
    assert not torch.isclose(scale_calibrated_loss(logits, gains, EVERY, y0=5.0, tau=5.0), shifted)


def test_the_best_logits_are_the_gains_above_the_anchor():
    gains = torch.tensor([[12.0, 3.0, -4.0]])
    logits = torch.zeros((1, 3), requires_grad=True)
    optimiser = torch.optim.LBFGS([logits], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        loss = scale_calibrated_loss(logits, gains, torch.ones((1, 3), dtype=torch.bool), y0=5.0, tau=5.0)
        loss.backward()
        return loss

    optimiser.step(closure)

    assert torch.allclose(logits.detach(), (gains - 5.0) / 5.0, atol=0.01)  # (y - y0) / tau


def test_padding_changes_nothing_and_gets_no_gradient():
    logits, gains = torch.tensor([[1.0, -1.0, 7.0]], requires_grad=True), torch.tensor([[10.0, 0.0, 99.0]])
    mask = torch.tensor([[True, True, False]])

    padded = scale_calibrated_loss(logits, gains, mask, y0=5.0, tau=5.0)
    padded.backward()  # type: ignore[no-untyped-call]

    assert torch.isclose(padded, scale_calibrated_loss(logits[:, :2], gains[:, :2], EVERY, y0=5.0, tau=5.0))
    assert logits.grad is not None
    assert logits.grad[0, 2] == 0


def test_extreme_gains_and_half_precision_stay_finite():
    logits = torch.tensor([[300.0, -300.0]], dtype=torch.bfloat16, requires_grad=True)

    loss = scale_calibrated_loss(logits, torch.tensor([[1e4, -1e4]]), EVERY, y0=110.0, tau=5.0)
    loss.backward()  # type: ignore[no-untyped-call]

    assert loss.dtype == torch.float32
    assert torch.isfinite(loss)
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
