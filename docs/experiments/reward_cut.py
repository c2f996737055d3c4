"""The scores that a reward model gives less of a text, and whether it can learn that less is no better.

    python docs/experiments/reward_cut.py TRAIN.json PAIRS.json WORK    writes docs/experiments/reward_cut.json

The preferred text of each of PAIRS, which a writer edited, is scored whole and cut: its first words alone, and with
sentences deleted at random. A cut text says less than the writer meant, so a model that scores it higher likes brevity.
The remedy: pairs of a training text and itself with fewer sentences, at several weights beside the others, in the folds
and by the loss of ``reward_length.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from reward_length import BEFORE, CHOICES, FOLDS, figures, fitted, folds_of, standardised
from rich.console import Console

from pearl.editing.steps import SENTENCE_END
from pearl.options import write_json
from pearl.settings import EMBEDDED
from pearl.stats import Bootstrap, Floats
from retriever.reward.model import RewardModel
from retriever.reward.records import read_pairs
from training.reward.material import RewardMaterial, read_material
from training.reward.reading import kept_vectors, layers_of

OUT = Path(__file__).with_suffix(".json")
WORDS = (3, 10, 20, 40, 80, 120)
KEPT = (0.25, 0.5, 0.75, 0.9)  # of a text's sentences
TESTED = 0.75
DRAWS = 10
WEIGHTS = (0.1, 0.25, 0.5)  # of a pair with a cut text
Cut = Callable[[str, Random], str]


def first_words(text: str, dice: Random, number: int) -> str:
    return " ".join(text.split()[:number])


def fewer_sentences(text: str, dice: Random, share: float) -> str:
    sentences = SENTENCE_END.split(text)
    number = max(min(round(share * len(sentences)), len(sentences) - 1), 1)
    places = sorted(dice.sample(range(len(sentences)), number))
    return " ".join(sentences[place] for place in places)


def row(model: RewardModel, texts: list[str], cut: Cut, draws: int) -> dict[str, Any]:
    """The mean score of the cut texts, how much it is above that of the whole ones, and the share that score higher."""
    whole = np.repeat(model.score(texts), draws)
    dice = Random(0)
    scores = model.score([cut(text, dice) for text in texts for _ in range(draws)])
    bootstrap = Bootstrap(np.repeat([str(place) for place in range(len(texts))], draws).tolist())
    return {
        "score": bootstrap.mean(scores).to_json(),
        "more": bootstrap.mean(scores - whole).to_json(),
        "higher": bootstrap.mean(scores > whole).to_json(),
    }


def held_out(material: RewardMaterial, vectors: Floats, texts: Sequence[int], weight: float) -> tuple[Floats, Floats]:
    """The margin of the better text over the worse one of every pair, (P,), and that of each of ``texts``, (C,), with
    fewer sentences over itself whole, by heads that saw neither. ``vectors``: of the material's texts, then of those to
    learn from, cut, then of those to test, cut."""
    folds, number = folds_of(material), len(material.texts)
    fold_of = np.concatenate((folds, folds[texts], folds[texts]))
    pairs = np.array([(pair.better, pair.worse) for pair in material.pairs])
    with_cut = np.array([(text, number + place) for place, text in enumerate(texts)])
    tested = number + len(texts) + np.arange(len(texts))
    margins, of_cut = np.zeros(len(pairs)), np.zeros(len(texts))
    for fold in range(FOLDS):
        inside = fold_of != fold
        inputs = standardised(vectors, inside & (np.arange(len(vectors)) < number))
        learned, cut = pairs[inside[pairs[:, 0]]], with_cut[inside[with_cut[:, 0]]]
        scored = [item for item in material.scored if inside[item.text]]
        head = fitted(
            torch.tensor(inputs, dtype=torch.float32),
            torch.tensor(np.concatenate((learned, cut))),
            torch.tensor(np.repeat((1.0, weight), (len(learned), len(cut))), dtype=torch.float32),
            torch.tensor([item.text for item in scored]),
            torch.tensor([item.score for item in scored]),
            CHOICES["weight"],
        )
        worth = inputs @ head.numpy()
        margins = np.where(fold_of[pairs[:, 0]] == fold, worth[pairs[:, 0]] - worth[pairs[:, 1]], margins)
        of_cut = np.where(fold_of[tested] == fold, worth[tested] - worth[texts], of_cut)
    return margins, of_cut


def remedy(train: Path, pairs: Path, work: Path) -> list[dict[str, Any]]:
    """The figures of ``reward_length.py`` by weight, and the share of cut texts that score higher than whole ones."""
    material = read_material((train,), (pairs,), CHOICES["duplicates"])
    texts = list(dict.fromkeys(pair.better for pair in material.pairs))
    dice = Random(0)
    learned = [fewer_sentences(material.texts[text], dice, dice.choice(KEPT[1:])) for text in texts]
    tested = [fewer_sentences(material.texts[text], dice, TESTED) for text in texts]
    layers = layers_of(EMBEDDED, CHOICES["layers"])
    every = (*material.texts, *learned, *tested)
    vectors = kept_vectors(EMBEDDED, every, layers, 512, work, Console(stderr=True)).astype(float)
    found = {
        BEFORE if not weight else f"{weight:g}": held_out(material, vectors, texts, weight)
        for weight in (0.0, *WEIGHTS)
    }
    _, _, *rows = figures(material, {name: margins for name, (margins, _) in found.items()})
    bootstrap = Bootstrap([str(material.originals[text]) for text in texts])
    return [row | {"higher": bootstrap.mean(found[row["model"]][1] > 0).to_json()} for row in rows]


def main() -> None:
    train, pairs, work = map(Path, sys.argv[1:])
    texts = list(dict.fromkeys(pair.better.strip() for pair in read_pairs(pairs)))
    model = RewardModel.load(EMBEDDED)
    rows = [
        *({"words": number, **row(model, texts, partial(first_words, number=number), 1)} for number in WORDS),
        *({"kept": share, **row(model, texts, partial(fewer_sentences, share=share), DRAWS)} for share in KEPT),
    ]
    whole = Bootstrap([str(place) for place in range(len(texts))]).mean(model.score(texts)).to_json()
    made = {"file": pairs.name, "texts": len(texts), "draws": DRAWS, "whole": whole, "rows": rows}
    write_json(str(OUT), made | {"trained_on": train.name, "folds": FOLDS, "remedy": remedy(train, pairs, work)})


if __name__ == "__main__":
    main()
