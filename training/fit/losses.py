"""The scale-calibrated loss (papers/pearl.txt, equations 2 and 3) and its ablations.

Dimensions in comments: B groups of a batch, G documents of a group.
"""

from __future__ import annotations

import torch
from torch import Tensor


def scale_calibrated_loss(logits: Tensor, gains: Tensor, mask: Tensor, *, y0: float, tau: float) -> Tensor:
    """KL, up to a constant, from softmax(gains / tau) to softmax(logits) with an anchor of gain y0 and logit 0.

    ``logits``, ``gains`` (nats) and ``mask`` (True for a document, False for padding) are (B, G). The mean over
    groups, a scalar in float32.
    """
    anchored_gains = torch.cat((gains.new_full((len(gains), 1), y0), gains), dim=1)  # (B, 1 + G)
    anchored_logits = torch.cat((logits.new_zeros((len(logits), 1)), logits), dim=1)
    anchored_mask = torch.cat((mask.new_ones((len(mask), 1)), mask), dim=1)
    return kl_loss(anchored_logits, anchored_gains, anchored_mask, tau=tau)


def kl_loss(logits: Tensor, gains: Tensor, mask: Tensor, *, tau: float) -> Tensor:
    """The ablation without the anchor: cross-entropy of softmax(logits) under softmax(gains / tau); shapes as above."""
    targets = (gains.float() / tau).masked_fill(~mask, -torch.inf).softmax(dim=1)
    # padding gets a logit of the lowest finite value: minus infinity times a target of zero would be no number
    padded = logits.float().masked_fill(~mask, torch.finfo(torch.float32).min)
    return -(targets * padded.log_softmax(dim=1)).masked_fill(~mask, 0.0).sum(dim=1).mean()
