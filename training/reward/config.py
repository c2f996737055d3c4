"""The choices of a reward model's training, on which the paper, its code and our measurements differ."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from pearl.settings import EMBEDDED
from retriever.reward.artifact import COSINE, SCORES
from training.config import CORRECTED, Count, Positive, Seed, Whole, choice, choices_in

CODE, PAPER = "as_published_code", "as_published_paper"
REWARD_PRESETS = (CORRECTED, CODE, PAPER)
LINEAR, MLP = "linear", "mlp"
HEAD_ALONE, EVERYTHING = "head", "all"
MEAN, KEPT = "mean", "kept"
WHOLE, CUT, BOTH = "whole", "cut", "both"
ITEMS, KINDS = "items", "kinds"
LAST = "last"
CONSTANT, WARMED = "constant", "linear"
NotNegative: TypeAlias = Annotated[float, Field(ge=0)]
MODERN_BERT = "answerdotai/ModernBERT-large"


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardConfig:
    """The choices of a reward model's training; the defaults are those of the preset ``corrected``."""

    preset: Literal["corrected", "as_published_code", "as_published_paper"] = choice(
        CORRECTED,
        CODE,
        PAPER,
        "Choices to begin with: those of measurement, of the paper or of its code.",
    )
    base: str = choice(
        EMBEDDED,
        MODERN_BERT,
        "Encoder: embedded, mpnet, or a transformers model or folder. The paper's has 395 million parameters; the "
        "embedded one comes with a package, and two cores can train on it.",
    )
    fitted: Literal["head", "all"] = choice(
        HEAD_ALONE,
        EVERYTHING,
        "Weights to fit: the head's, or the encoder's too. The encoder stays as it is: a thousand pairs fit a "
        "head in minutes, and two cores no encoder in an hour.",
    )
    layers: str = choice(
        "0,1",
        LAST,
        "Layers after which the mean over the tokens is taken, 0 the embeddings. The upper ones of an encoder of "
        "meanings forget the manner: over three seeds the last one decides 77% of held-back pairs, these 86%.",
    )
    max_tokens: Annotated[int, Field(ge=8)] = choice(
        512,
        8192,
        "Tokens to read of a text, or of a pair together; at most as many as the base can read. The code cuts "
        "nothing, and 8,192 are what ModernBERT can read.",
    )
    pair_rule: Literal["scores", "cosine"] = choice(
        SCORES,
        COSINE,
        "The published rule reads both texts together and calls the first one better if the cosine of their "
        "vectors is above .5, so a verdict can depend on the order; the difference of two scores cannot.",
    )
    head: Literal["linear", "mlp"] = choice(
        LINEAR,
        MLP,
        LINEAR,
        "The paper has a linear projection to 1..10, its code two layers, the first half as wide as the encoder, "
        "with dropout and GELU, and ten times a sigmoid.",
    )
    weight: NotNegative = choice(
        0.125,
        0.25,
        1.0,
        "Weight of the squared error beside the cross-entropy. The code divides by four, the paper says nothing "
        "of it; scores of different paragraphs are noisier than which of two versions is better.",
    )
    average: Literal["items", "kinds"] = choice(
        ITEMS,
        KINDS,
        ITEMS,
        "The loss is a mean over all pairs and paragraphs of a batch; the code adds up the means of both kinds, "
        "so that each item of the rarer kind counts more.",
    )
    penalty: NotNegative = choice(0.03, 0.0, "Times the sum of the head's squared weights, added to the loss.")
    duplicates: Literal["mean", "kept"] = choice(
        MEAN,
        KEPT,
        "LAMP has paragraphs twice with different scores: their mean, or each as it stands.",
    )
    lengths: Literal["whole", "cut", "both"] = choice(
        WHOLE,
        WHOLE,
        "Texts of a pair as they are; the longer one cut at the sentence that brings it nearest to the other's "
        "length, so that length says nothing; or both.",
    )
    rate: Positive = choice(
        1e-3,
        1e-5,
        "Learning rate. A head alone takes larger steps than an encoder. The paper says of rate and epochs that "
        "they were chosen by validation loss; the numbers, and those of a batch, are its code's.",
    )
    schedule: Literal["constant", "linear"] = choice(
        CONSTANT,
        WARMED,
        CONSTANT,
        "The code's rate rises over the first tenth of an epoch and falls in a line to nothing at the end of the "
        "last; the paper says nothing of it.",
    )
    clip: NotNegative = choice(
        1.0,
        0.0,
        1.0,
        "Largest norm of a step's gradients, 0 for any. The code's clipping is commented out; the paper says "
        "nothing of it.",
    )
    epochs: Whole = choice(60, 5, "Epochs at most; training stops earlier once the dev split no longer gains.")
    batch: Whole = choice(64, 8, "Pairs and paragraphs of a step together.")
    dev_steps: Count = choice(
        0,
        20,
        0,
        "Steps between two looks at the dev split within an epoch, from the second one on; 0 looks only after "
        "each epoch. The weights with the lowest loss there are kept, the code's too, though it saves none above "
        ".6; the paper says nothing of it.",
    )

    dev_share: Annotated[float, Field(ge=0.01, le=0.5)] = choice(0.1, "Share of the underlying paragraphs to stop by.")
    patience: Whole = choice(5, "Epochs without a better loss on them, after which it stops.")
    device: str = choice("cpu", "Device: cpu or cuda.")
    seed: Seed = choice(0, "Seed of the split, of the order and of the weights.")

    def record(self) -> dict[str, Any]:
        """Return the value of every choice, by name."""
        return {name: getattr(self, name) for name in choices_in(RewardConfig)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardOptions(RewardConfig):
    """The choices of a reward model's training, the files that it reads and writes, and its time limit."""

    data: tuple[Path, ...]
    out: Path
    work: Path  # what an interrupted run is resumed from
    variant: str
    test: tuple[Path, ...] = ()  # whose paragraphs are not to be trained on
    other_kind: tuple[Path, ...] = ()  # pairs of other kinds, by which a model may ship
    budget_minutes: float | None = None

    @property
    def held_back(self) -> tuple[Path, ...]:
        """Return the files with pairs or paragraphs to measure with, which must not be learned from."""
        return (*self.test, *self.other_kind)

    @property
    def files(self) -> tuple[Path, ...]:
        return (*self.data, *self.held_back)
