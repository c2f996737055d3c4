"""Does a reward model lean on length, and can it be kept from it? Five folds of the training paragraphs.

    python docs/experiments/reward_length.py TRAIN.json PAIRS.json WORK    writes docs/experiments/reward_length.json

Heads on the means that the shipped model reads, fitted to the end by L-BFGS on the loss of ``pearl train reward``, and
measured on the pairs of the fold that was left out; no paragraph of PAIRS is among them. Remedies: ``weighted`` lets
the pairs whose better text is the longer one count as much together as the others, ``projected`` takes out of the
vectors the direction along which they vary with the logarithm of the length, and ``both`` does both.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from torch import Tensor, nn

from pearl.settings import EMBEDDED
from pearl.stats import Bootstrap, Floats
from training.reward.choices import reward_values
from training.reward.material import RewardMaterial, read_material
from training.reward.reading import kept_vectors, layers_of

Folds = NDArray[np.int64]
Mask = NDArray[np.bool_]

OUT = Path(__file__).with_suffix(".json")
FOLDS = 5
EQUAL = 0.1  # lengths differ by at most this share of the longer text
CHOICES = reward_values("corrected")
ROWS = {
    "PR": (1.0, CHOICES["weight"], False, False),
    "P": (1.0, 0.0, False, False),
    "R": (0.0, CHOICES["weight"], False, False),
    "PR, weighted": (1.0, CHOICES["weight"], True, False),
    "PR, projected": (1.0, CHOICES["weight"], False, True),
    "PR, both": (1.0, CHOICES["weight"], True, True),
}
BEFORE = "PR"


def direction(vectors: Floats, lengths: Floats) -> Floats:
    """(N, V), (N,) -> (V,): the unit vector along which texts differ most with their length."""
    along = vectors.T @ (lengths - lengths.mean())
    return np.asarray(along / np.linalg.norm(along))


def fitted(vectors: Tensor, pairs: Tensor, counts: Tensor, texts: Tensor, scores: Tensor, weight: float) -> Tensor:
    """(V,): the worth of a text is its product with these; pairs count as ``counts`` say."""
    outer = torch.zeros(vectors.shape[1], requires_grad=True)
    slope, bias = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.LBFGS([outer, slope, bias], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        worth = vectors @ outer
        gaps = worth[pairs[:, 0]] - worth[pairs[:, 1]]
        logits = worth[texts] * nn.functional.softplus(slope) + bias
        errors = (1 + 9 * torch.sigmoid(logits) - scores) ** 2
        loss = (counts * nn.functional.softplus(-gaps)).sum() + weight * errors.sum()
        loss = loss / (counts.sum() + (len(texts) if weight else 0)) + CHOICES["penalty"] * (outer**2).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)
    learned: Tensor = outer.detach()
    return learned


def folds_of(material: RewardMaterial) -> Folds:
    """(N,): the fold of each text; the versions of a paragraph are in one."""
    names = sorted(set(material.originals))
    fold_of = {name: place % FOLDS for place, name in enumerate(Random(0).sample(names, len(names)))}
    return np.array([fold_of[name] for name in material.originals])


def standardised(vectors: Floats, inside: Mask) -> Floats:
    """(N, V): by the mean and the deviation of the texts inside."""
    return np.asarray((vectors - vectors[inside].mean(axis=0)) / (vectors[inside].std(axis=0) + 1e-6))


def worth_of(
    inputs: Floats, material: RewardMaterial, inside: Mask, pairs: Folds, counts: Floats, weight: float
) -> Floats:
    """(N,): the worth of every text, by a head fitted to these pairs and to the scores of the texts inside."""
    scored = [item for item in material.scored if inside[item.text]]
    head = fitted(
        torch.tensor(inputs, dtype=torch.float32),
        torch.tensor(pairs),
        torch.tensor(counts, dtype=torch.float32),
        torch.tensor([item.text for item in scored]),
        torch.tensor([item.score for item in scored]),
        weight,
    )
    return np.asarray(inputs @ head.numpy())


def held_out(material: RewardMaterial, vectors: Floats, row: str) -> Floats:
    """(P,): the margin of the better text over the worse one of every pair, by a head that saw neither."""
    pairwise, weight, weighted, projected = ROWS[row]
    folds = folds_of(material)
    lengths = np.log([len(text.strip()) for text in material.texts])
    pairs = np.array([(pair.better, pair.worse) for pair in material.pairs])
    margins = np.zeros(len(pairs))
    for fold in range(FOLDS):
        inside = folds != fold
        inputs = standardised(vectors, inside)
        if projected:
            along = direction(inputs[inside], lengths[inside])
            inputs = inputs - np.outer(inputs @ along, along)
        learned = pairs[inside[pairs[:, 0]]]
        longer = lengths[learned[:, 0]] > lengths[learned[:, 1]]
        shares = np.where(longer, 0.5 / longer.mean(), 0.5 / (1 - longer.mean())) if weighted else np.ones(len(learned))
        worth = worth_of(inputs, material, inside, learned, pairwise * shares, weight)
        left_out = folds[pairs[:, 0]] == fold
        margins[left_out] = (worth[pairs[:, 0]] - worth[pairs[:, 1]])[left_out]
    return margins


def figures(material: RewardMaterial, margins: dict[str, Floats]) -> list[dict[str, Any]]:
    """Accuracies by row, and what each has more than the first one on the same pairs."""
    words = np.array([len(text.split()) for text in material.texts])
    lengths = np.array([len(text.strip()) for text in material.texts])
    pairs = np.array([(pair.better, pair.worse) for pair in material.pairs])
    longer = lengths[pairs[:, 0]] > lengths[pairs[:, 1]]
    shorter = lengths[pairs[:, 0]] < lengths[pairs[:, 1]]
    equal = np.abs(words[pairs[:, 0]] - words[pairs[:, 1]]) <= EQUAL * words[pairs].max(axis=1)
    bootstrap = Bootstrap([str(material.originals[better]) for better in pairs[:, 0]], seed=0)
    right = {"shorter": shorter.astype(float)} | {row: (margin > 0).astype(float) for row, margin in margins.items()}
    rows = []
    for row, decided in right.items():
        parts = {"longer": longer, "shorter": shorter, "equal_length": equal}
        accuracies = {name: bootstrap.ratio(decided * part, part) for name, part in parts.items()}
        balanced = bootstrap.sums(_both(decided, longer, shorter), _mean_of_two)
        before = bootstrap.sums(_both(right[BEFORE], longer, shorter), _mean_of_two)
        rows.append(
            {
                "model": row,
                "accuracy": bootstrap.mean(decided).to_json(),
                **{name: estimate.to_json() for name, estimate in accuracies.items()},
                "balanced": balanced.to_json(),
                "accuracy_more": bootstrap.mean(decided - right[BEFORE]).to_json(),
                "balanced_more": (balanced - before).to_json(),
            }
        )
    return [{"pairs": len(pairs), "better_is_longer": int(longer.sum()), "equal_length": int(equal.sum())}, *rows]


def _both(decided: Floats, longer: Floats, shorter: Floats) -> Floats:
    return np.column_stack((decided * longer, longer, decided * shorter, shorter)).astype(float)


def _mean_of_two(sums: Floats) -> Floats:
    return np.asarray((sums[:, 0] / sums[:, 1] + sums[:, 2] / sums[:, 3]) / 2)


def main() -> None:
    train, pairs, work = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    material = read_material((train,), (pairs,), CHOICES["duplicates"])
    layers = layers_of(EMBEDDED, CHOICES["layers"])
    vectors = kept_vectors(EMBEDDED, material.texts, layers, 512, work, Console(stderr=True)).astype(float)
    counts, *rows = figures(material, {row: held_out(material, vectors, row) for row in ROWS})
    made = {"trained_on": train.name, "folds": FOLDS, **counts, "models": rows}
    OUT.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
