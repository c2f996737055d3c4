"""The head, small networks on the signals of a document (numbers that are cheap to compute), fitted with the
scale-calibrated loss (papers/pearl.txt, equations 2 and 3).

Dimensions in comments: B requests of a batch, G candidates of a request, S signals, M members, H hidden units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from retriever.calibrated.head import CLIP, Floats, SignalHead
from training.data.records import Example

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]  # logits, gains, mask, each (B, G) -> scalar


@dataclass(frozen=True, slots=True)
class Anchor:
    """The scale of scores: a score s stands for a gain of y0 + tau * s nats."""

    y0: float
    tau: float


@dataclass(frozen=True, slots=True)
class HeadOptions:
    """Options of fitting the head, an ensemble of ``members`` networks; ``rate``: the highest learning rate."""

    members: int = 8
    hidden: int = 32
    epochs: int = 15
    rate: float = 3e-3
    batch: int = 64
    decay: float = 1e-3
    dropout: float = 0.1
    seed: int = 0


def scale_calibrated_loss(logits: Tensor, gains: Tensor, mask: Tensor, *, y0: float, tau: float) -> Tensor:
    """Compute the KL divergence (up to a constant) from softmax(gains / tau) to softmax(logits), both with an anchor
    added to the documents: gain y0, logit 0.

    ``logits``, ``gains`` (nats) and ``mask`` (True for a document, False for padding) are (B, G). Returns the mean over
    groups, a scalar in float32.
    """
    anchored_gains = torch.cat((gains.new_full((len(gains), 1), y0), gains), dim=1)  # (B, 1 + G)
    anchored_logits = torch.cat((logits.new_zeros((len(logits), 1)), logits), dim=1)
    anchored_mask = torch.cat((mask.new_ones((len(mask), 1)), mask), dim=1)
    return kl_loss(anchored_logits, anchored_gains, anchored_mask, tau=tau)


def kl_loss(logits: Tensor, gains: Tensor, mask: Tensor, *, tau: float) -> Tensor:
    """Compute the KL loss without an anchor, as an ablation: logits, gains (nats) and mask, (B, G) each -> scalar."""
    targets = (gains.float() / tau).masked_fill(~mask, -torch.inf).softmax(dim=1)
    # padding gets a logit of the lowest finite value: minus infinity times a target of zero would be no number
    padded = logits.float().masked_fill(~mask, torch.finfo(torch.float32).min)
    return -(targets * padded.log_softmax(dim=1)).masked_fill(~mask, 0.0).sum(dim=1).mean()


def calibrated(y0: float, tau: float) -> Loss:
    return lambda logits, gains, mask: scale_calibrated_loss(logits, gains, mask, y0=y0, tau=tau)


def plain(tau: float) -> Loss:
    return lambda logits, gains, mask: kl_loss(logits, gains, mask, tau=tau)


class HeadModule(nn.Module):
    """The trainable form of ``SignalHead``: an ensemble of small networks that score documents by their signals."""

    def __init__(self, mean: Floats, scale: Floats, options: HeadOptions) -> None:
        super().__init__()
        signals, members, hidden = len(mean), options.members, options.hidden
        self.mean: Tensor
        self.scale: Tensor
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32))
        self.register_buffer("scale", torch.tensor(scale, dtype=torch.float32))
        draw = torch.Generator().manual_seed(options.seed)
        self.inner = nn.Parameter(torch.randn((members, signals, hidden), generator=draw) / signals**0.5)
        self.inner_bias = nn.Parameter(torch.zeros(members, hidden))
        self.middle = nn.Parameter(torch.randn((members, hidden, hidden), generator=draw) / hidden**0.5)
        self.middle_bias = nn.Parameter(torch.zeros(members, hidden))
        self.outer = nn.Parameter(torch.randn((members, hidden), generator=draw) / hidden**0.5)
        self.direct = nn.Parameter(torch.zeros(members, signals))
        self.bias = nn.Parameter(torch.zeros(members))
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, signals: Tensor) -> Tensor:
        """Return each member network's logits from the signals: (B, G, S) -> (M, B, G)."""
        inputs = ((signals - self.mean) / self.scale).clamp(-CLIP, CLIP)
        hidden = nn.functional.silu(torch.einsum("bgs,msh->mbgh", inputs, self.inner) + self.inner_bias[:, None, None])
        hidden = torch.einsum("mbgh,mhk->mbgk", self.dropout(hidden), self.middle)
        hidden = nn.functional.silu(hidden + self.middle_bias[:, None, None])
        outer = torch.einsum("mbgh,mh->mbg", hidden, self.outer)
        return outer + torch.einsum("bgs,ms->mbg", inputs, self.direct) + self.bias[:, None, None]

    def frozen(self) -> SignalHead:
        return SignalHead.of({name: value.detach().numpy().copy() for name, value in self.state_dict().items()})


def new_head(examples: Sequence[Example], options: HeadOptions) -> HeadModule:
    """Make an untrained head that standardises signals by their mean and spread in these examples."""
    signals = np.concatenate([example.signals for example in examples])
    # in float64: over hundreds of thousands of rows a sum in float32 is off by more than some signals vary
    mean, spread = signals.mean(axis=0, dtype=np.float64), signals.std(axis=0, dtype=np.float64)
    return HeadModule(mean.astype(np.float32), (spread + 1e-3).astype(np.float32), options)


def fit_head(
    head: HeadModule,
    examples: Sequence[Example],
    loss: Loss,
    options: HeadOptions,
) -> None:
    """Train the head in place. Each domain (kind of text) weighs as much as the square root of its number of
    examples."""
    weights = balanced([example.domain for example in examples])
    signals, gains, mask = padded(examples)
    batches = -(-len(examples) // options.batch)
    optimizer = torch.optim.AdamW(head.parameters(), options.rate, weight_decay=options.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, options.rate, total_steps=options.epochs * batches, pct_start=0.1
    )
    draw = torch.Generator().manual_seed(options.seed)
    torch.manual_seed(options.seed)  # of the dropout
    head.train()
    for _ in range(options.epochs):
        if weights is None:
            order = torch.randperm(len(examples), generator=draw)
        else:
            order = torch.multinomial(weights, len(examples), replacement=True, generator=draw)
        for rows in order.split(options.batch):  # type: ignore[no-untyped-call]
            logits = head(signals[rows])
            # the members share batches, not gradients: the sum trains each as if it were alone
            total = torch.stack([loss(member, gains[rows], mask[rows]) for member in logits]).sum()
            optimizer.zero_grad()
            total.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(head.parameters(), 1.0 * len(logits))
            optimizer.step()
            schedule.step()
    head.eval()


def balanced(domains: Sequence[str]) -> Tensor | None:
    """Return each example's weight, (N,): 1 / sqrt(examples of its domain). None if there is only one domain."""
    counts = Counter(domains)
    if len(counts) == 1:
        return None
    return torch.tensor([counts[domain] ** -0.5 for domain in domains])


def padded(examples: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor]:
    """Stack the examples' signals, (B, G, S), gains and mask, (B, G) each, padded on the right."""
    longest = max(len(example.gains) for example in examples)
    signals = torch.zeros((len(examples), longest, examples[0].signals.shape[1]))
    gains = torch.zeros((len(examples), longest))
    mask = torch.zeros((len(examples), longest), dtype=torch.bool)
    for row, example in enumerate(examples):
        size = len(example.gains)
        signals[row, :size] = torch.from_numpy(example.signals)
        gains[row, :size] = torch.from_numpy(example.gains)
        mask[row, :size] = True
    return signals, gains, mask
