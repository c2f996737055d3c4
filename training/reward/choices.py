"""The choices of a reward model's training that the paper, its code and measurement make differently.

A preset is a value for each; ``--choose NAME=VALUE`` overrides it. The help of ``pearl train reward`` and the
artifact hold them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pearl.cli.options import known
from pearl.settings import EMBEDDED
from retriever.reward.artifact import COSINE, SCORES
from training.choices import CORRECTED, choice, choices_help, choices_in, given_of

CODE, PAPER = "as_published_code", "as_published_paper"
REWARD_PRESETS = (CORRECTED, CODE, PAPER)
LINEAR, MLP = "linear", "mlp"
HEAD_ALONE, EVERYTHING = "head", "all"
MEAN, KEPT = "mean", "kept"
WHOLE, CUT, BOTH = "whole", "cut", "both"
ITEMS, KINDS = "items", "kinds"
LAST = "last"
CONSTANT, WARMED = "constant", "linear"
MODERN_BERT = "answerdotai/ModernBERT-large"


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardChoices:
    """The choices as a training has them; the defaults are those of ``corrected``."""

    base: str = choice(
        EMBEDDED,
        MODERN_BERT,
        "Encoder: embedded, mpnet, or a transformers model or folder. The paper's has 395 million parameters; the "
        "embedded one comes with a package, and two cores can train on it.",
    )
    fitted: str = choice(
        HEAD_ALONE,
        EVERYTHING,
        "Weights to fit: the head's, or the encoder's too. The encoder stays as it is: a thousand pairs fit a "
        "head in minutes, and two cores no encoder in an hour.",
        (HEAD_ALONE, EVERYTHING),
    )
    layers: str = choice(
        "0,1",
        LAST,
        "Layers after which the mean over the tokens is taken, 0 the embeddings. The upper ones of an encoder of "
        "meanings forget the manner: over three seeds the last one decides 77% of held-back pairs, these 86%.",
    )
    max_tokens: int = choice(
        512,
        8192,
        "Tokens to read of a text, or of a pair together; at most as many as the base can read. The code cuts "
        "nothing, and 8,192 are what ModernBERT can read.",
        least=8,
    )
    pair_rule: str = choice(
        SCORES,
        COSINE,
        "The published rule reads both texts together and calls the first one better if the cosine of their "
        "vectors is above .5, so a verdict can depend on the order; the difference of two scores cannot.",
        (SCORES, COSINE),
    )
    head: str = choice(
        LINEAR,
        MLP,
        "The paper has a linear projection to 1..10, its code two layers, the first half as wide as the encoder, "
        "with dropout and GELU, and ten times a sigmoid.",
        (LINEAR, MLP),
        paper=LINEAR,
    )
    weight: float = choice(
        0.125,
        0.25,
        "Weight of the squared error beside the cross-entropy. The code divides by four, the paper says nothing "
        "of it; scores of different paragraphs are noisier than which of two versions is better.",
        least=0,
        paper=1.0,
    )
    average: str = choice(
        ITEMS,
        KINDS,
        "The loss is a mean over all pairs and paragraphs of a batch; the code adds up the means of both kinds, "
        "so that each item of the rarer kind counts more.",
        (ITEMS, KINDS),
        paper=ITEMS,
    )
    penalty: float = choice(0.03, 0.0, "Times the sum of the head's squared weights, added to the loss.", least=0)
    duplicates: str = choice(
        MEAN,
        KEPT,
        "LAMP has paragraphs twice with different scores: their mean, or each as it stands.",
        (MEAN, KEPT),
    )
    lengths: str = choice(
        WHOLE,
        WHOLE,
        "Texts of a pair as they are; the longer one cut at the sentence that brings it nearest to the other's "
        "length, so that length says nothing; or both.",
        (WHOLE, CUT, BOTH),
    )
    rate: float = choice(
        1e-3,
        1e-5,
        "Learning rate. A head alone takes larger steps than an encoder. The paper says of rate and epochs that "
        "they were chosen by validation loss; the numbers, and those of a batch, are its code's.",
        least=1e-8,
    )
    schedule: str = choice(
        CONSTANT,
        WARMED,
        "The code's rate rises over the first tenth of an epoch and falls in a line to nothing at the end of the "
        "last; the paper says nothing of it.",
        (CONSTANT, WARMED),
        paper=CONSTANT,
    )
    clip: float = choice(
        1.0,
        0.0,
        "Largest norm of a step's gradients, 0 for any. The code's clipping is commented out; the paper says "
        "nothing of it.",
        least=0,
        paper=1.0,
    )
    epochs: int = choice(60, 5, "Epochs at most; training stops earlier once the dev split no longer gains.", least=1)
    batch: int = choice(64, 8, "Pairs and paragraphs of a step together.", least=1)
    dev_steps: int = choice(
        0,
        20,
        "Steps between two looks at the dev split within an epoch, from the second one on; 0 looks only after "
        "each epoch. The weights with the lowest loss there are kept, the code's too, though it saves none above "
        ".6; the paper says nothing of it.",
        least=0,
        paper=0,
    )


REWARD_CHOICES = choices_in(RewardChoices)


def reward_values(preset: str) -> dict[str, Any]:
    """The values of a preset. Raises InputError for an unknown one."""
    place = REWARD_PRESETS.index(known("preset", preset, REWARD_PRESETS))
    return {choice.name: choice.values[place] for choice in REWARD_CHOICES}


def reward_choices_of(preset: str, choose: Iterable[str]) -> dict[str, Any]:
    """The values of a preset with those of NAME=VALUE instead. Raises InputError."""
    return reward_values(preset) | given_of(choose, REWARD_CHOICES)


def reward_choices_help() -> str:
    """The choices for the end of the command's help."""
    return choices_help([choice.name for choice in REWARD_CHOICES], REWARD_CHOICES, REWARD_PRESETS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardOptions(RewardChoices):
    """``test``: files whose paragraphs are not to be trained on; ``other_kind``: files of pairs of
    other kinds, by which a model may ship. ``dev_share``: of the underlying paragraphs, to stop
    by; ``patience``: epochs without a better loss there. ``work``: what an interrupted run is resumed from."""

    data: tuple[Path, ...]
    out: Path
    work: Path
    variant: str
    test: tuple[Path, ...] = ()
    other_kind: tuple[Path, ...] = ()
    preset: str = CORRECTED
    dev_share: float = 0.1
    patience: int = 5
    budget_minutes: float | None = None
    device: str = "cpu"
    seed: int = 0

    @property
    def held_back(self) -> tuple[Path, ...]:
        """The files whose paragraphs are not learned from."""
        return (*self.test, *self.other_kind)

    @property
    def files(self) -> tuple[Path, ...]:
        return (*self.data, *self.held_back)

    @property
    def choices(self) -> dict[str, Any]:
        """Every choice of a preset as it was made, by name."""
        return {choice.name: getattr(self, choice.name) for choice in REWARD_CHOICES}
