"""The losses by hand arithmetic, and what must hold whatever the numbers."""

from __future__ import annotations

import math

import torch

from training.fit.head import kl_loss, scale_calibrated_loss

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
