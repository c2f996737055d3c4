"""Fitting a reward model: cross-entropy over pairs and squared error over scores, with early stopping on dev."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import Tensor, nn

from pearl.text.files.whole import replaced_file
from retriever.models.files import system_errors
from retriever.reward.artifact import COSINE
from training.progress import progress_of
from training.reward.config import CONSTANT, ITEMS, RewardOptions
from training.reward.material import RewardMaterial, ScoredText
from training.reward.network import HeadNetwork, cosine_losses
from training.reward.reading import ParagraphReader


@dataclass(frozen=True, slots=True)
class ShownPair:
    """Two texts of a pair, by index, in the order in which the model reads them."""

    first: int
    second: int
    first_is_better: bool


Item = ScoredText | ShownPair


def items_of(material: RewardMaterial, pair_rule: str) -> list[Item]:
    """Return the items to learn from: scored texts, and pairs; for the cosine rule each pair in both orders."""
    both = (True, False) if pair_rule == COSINE else (True,)
    shown = [
        ShownPair(*((pair.better, pair.worse) if better_first else (pair.worse, pair.better)), better_first)
        for pair in material.pairs
        for better_first in both
    ]
    return [*material.scored, *shown]


class RewardNetwork(nn.Module):
    """The network to train: a reader, which makes vectors of texts, and a head on the vectors."""

    def __init__(self, reader: ParagraphReader, head: HeadNetwork, options: RewardOptions) -> None:
        super().__init__()
        self.reader = reader
        self.head = head
        self._weight, self._penalty, self._rule = options.weight, options.penalty, options.pair_rule
        self._average = options.average

    @property
    def device(self) -> torch.device:
        return self.head.bias.device

    def loss(self, items: Sequence[Item]) -> Tensor:
        """Return the loss of items: the mean over all items, or the mean over scores plus the mean over pairs."""
        return self.mean(self.sums(items), items)

    def sums(self, items: Sequence[Item]) -> Tensor:
        """Return the sum of the scores' weighted squared errors and the sum of the pairs' cross-entropies: (2,)."""
        scored = [item for item in items if isinstance(item, ScoredText)]
        pairs = [item for item in items if isinstance(item, ShownPair)]
        squared = crossed = torch.zeros((), device=self.device)
        if scored:
            scores = torch.tensor([item.score for item in scored], device=self.device)
            vectors = self.reader.vectors([item.text for item in scored])
            squared = self._weight * self.head.squared_errors(vectors, scores).sum()
        if pairs:
            crossed = self._of_pairs(pairs).sum()
        return torch.stack((squared, crossed))

    def mean(self, sums: Tensor, items: Sequence[Item]) -> Tensor:
        """Return the loss of the items, given the ``sums`` of their losses by kind."""
        if self._average == ITEMS:
            return sums.sum() / len(items)
        scored = sum(isinstance(item, ScoredText) for item in items)
        counts = torch.tensor([scored, len(items) - scored], device=sums.device)
        return (sums / counts.clamp(min=1)).sum()

    def penalised(self, items: Sequence[Item]) -> Tensor:
        return self.loss(items) + self._penalty * self.head.penalty()

    def _of_pairs(self, pairs: Sequence[ShownPair]) -> Tensor:
        first_is_better = torch.tensor([pair.first_is_better for pair in pairs], device=self.device)
        if self._rule == COSINE:
            read = self.reader.pair_vectors([(pair.first, pair.second) for pair in pairs])
            return cosine_losses(read, first_is_better)
        vectors = self.reader.vectors([text for pair in pairs for text in (pair.first, pair.second)])
        return self.head.preference_losses(vectors[0::2], vectors[1::2], first_is_better)


@dataclass(slots=True)
class Progress:
    """The state of a training between two epochs. ``losses``: dev's loss before, then the lowest of each epoch."""

    epoch: int
    steps: int
    losses: list[float]
    best: dict[str, Any]
    state: dict[str, Any]
    optimizer: dict[str, Any]

    def is_over(self, options: RewardOptions) -> bool:
        waited = len(self.losses) - 1 - min(range(len(self.losses)), key=self.losses.__getitem__)
        return self.epoch >= options.epochs or waited >= options.patience


def fit_network(
    network: RewardNetwork,
    train: Sequence[Item],
    dev: Sequence[Item],
    options: RewardOptions,
    checkpoint: Path,
    console: Console,
) -> dict[str, Any]:
    """Train in place, keep the weights with the lowest loss on dev, and return a report.

    An interrupted training is resumed from the file ``checkpoint``, which the caller deletes.
    """
    started = time.monotonic()
    optimizer = torch.optim.AdamW(network.parameters(), options.rate, weight_decay=0.0)
    progress = _resumed(checkpoint) or Progress(0, 0, [_dev_loss(network, dev, options)], _copied(network), {}, {})
    if progress.state:
        network.load_state_dict(progress.state)
        optimizer.load_state_dict(progress.optimizer)
    before = progress.epoch
    whole = True
    ends = math.inf if options.budget_minutes is None else started + 60 * options.budget_minutes
    with progress_of("fitting", options.epochs, console) as advance:
        advance(before, False)
        while whole and not progress.is_over(options):
            losses: dict[int, float] = {}  # on dev, by steps done
            lowest = min(progress.losses)
            for steps in _epoch(network, train, optimizer, progress.epoch, options, ends):
                losses[steps] = _dev_loss(network, dev, options)
                if losses[steps] < lowest:
                    lowest, progress.best = losses[steps], _copied(network)
            if not losses:
                whole = False
                break
            whole = max(losses) == math.ceil(len(train) / options.batch)
            progress.losses.append(min(losses.values()))
            progress.steps += max(losses)
            progress.epoch += whole
            progress.state, progress.optimizer = _copied(network), optimizer.state_dict()
            _keep(checkpoint, progress)
            advance(int(whole), True)
    network.load_state_dict(progress.best)
    network.eval()
    return {
        "epochs": progress.epoch,
        "steps": progress.steps,
        "best_epoch": min(range(len(progress.losses)), key=progress.losses.__getitem__),
        "dev_losses": [round(loss, 6) for loss in progress.losses],
        "whole": whole,
        "resumed_from": before,
        "seconds": round(time.monotonic() - started, 1),
    }


def _epoch(
    network: RewardNetwork,
    items: Sequence[Item],
    optimizer: torch.optim.Optimizer,
    epoch: int,
    options: RewardOptions,
    ends: float,
) -> Iterator[int]:
    """Train for an epoch. Yield the number of steps done whenever dev is to be measured: every ``dev_steps`` from the
    second epoch on, and at the end of the epoch or of the time."""
    network.train()
    torch.manual_seed(options.seed * 10_007 + epoch)  # of dropout, so that a resumed run goes on as it would have
    shuffled = random.Random(f"{options.seed}:{epoch}").sample(items, len(items))
    starts = range(0, len(shuffled), options.batch)
    done = 0
    for start in starts:
        if time.monotonic() > ends:
            break
        for group in optimizer.param_groups:
            group["lr"] = options.rate * rate_share(options, epoch * len(starts) + done, len(starts))
        optimizer.zero_grad()
        network.penalised(shuffled[start : start + options.batch]).backward()  # type: ignore[no-untyped-call]
        if options.clip:
            nn.utils.clip_grad_norm_(network.parameters(), options.clip)
        optimizer.step()
        done += 1
        if epoch and options.dev_steps and done % options.dev_steps == 0 and done < len(starts):
            yield done
            network.train()
    if done:
        yield done


def rate_share(options: RewardOptions, step: int, of_epoch: int) -> float:
    """Return the share of the learning rate at a step, counted from 0: always 1, or as published a rise over the first
    tenth of an epoch, then a linear fall to 0."""
    if options.schedule == CONSTANT:
        return 1.0
    risen = of_epoch // 10
    steps = of_epoch * options.epochs
    return step / risen if step < risen else (steps - step) / (steps - risen)


def _dev_loss(network: RewardNetwork, items: Sequence[Item], options: RewardOptions) -> float:
    network.eval()
    with torch.inference_mode():
        batches = (items[start : start + options.batch] for start in range(0, len(items), options.batch))
        sums = torch.zeros(2, dtype=torch.float64)
        for batch in batches:
            sums += network.sums(batch).cpu()
        return float(network.mean(sums, items))


def _copied(network: nn.Module) -> dict[str, Any]:
    return {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}


def _keep(file: Path, progress: Progress) -> None:
    with replaced_file(file) as partial, system_errors(file.parent):
        torch.save({name: getattr(progress, name) for name in Progress.__slots__}, partial)


def _resumed(file: Path) -> Progress | None:
    return Progress(**torch.load(file, weights_only=True, map_location="cpu")) if file.exists() else None
