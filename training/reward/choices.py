"""The choices of a reward model's training that the paper, its code and measurement make differently.

A preset is a value for each; an option given overrides it. The help of ``pearl train reward`` and the
artifact hold them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from pearl.cli.options import known
from pearl.settings import EMBEDDED
from retriever.reward.artifact import COSINE, SCORES
from training.choices import CORRECTED, HELP_WIDTH, Value

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


@dataclass(frozen=True, slots=True)
class RewardChoice:
    """Its value under the presets, ``why`` they differ, and the ``values`` that it can have, if they are few."""

    name: str
    corrected: Value
    code: Value
    paper: Value
    why: str
    values: tuple[str, ...] = ()

    @property
    def option(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    @property
    def shown(self) -> tuple[str, str, str]:
        """The three values in words."""
        return (_in_words(self.corrected), _in_words(self.code), _in_words(self.paper))


REWARD_CHOICES = (
    RewardChoice(
        "base",
        EMBEDDED,
        MODERN_BERT,
        MODERN_BERT,
        "The paper's has 395 million parameters; the embedded one comes with a package, and two cores can train on it.",
    ),
    RewardChoice(
        "fitted",
        HEAD_ALONE,
        EVERYTHING,
        EVERYTHING,
        "The encoder stays as it is: a thousand pairs fit a head in minutes, and two cores no encoder in an hour.",
        (HEAD_ALONE, EVERYTHING),
    ),
    RewardChoice(
        "layers",
        "0,1",
        LAST,
        LAST,
        "Layers after which the mean over the tokens is taken, 0 the embeddings. The upper ones of an encoder of "
        "meanings forget the manner: over three seeds the last one decides 77% of held-back pairs, these 86%.",
    ),
    RewardChoice(
        "max_tokens",
        512,
        8192,
        8192,
        "Read of a text, or of a pair together; at most as many as the base can read. The code cuts nothing, and 8,192 "
        "are what ModernBERT can read.",
    ),
    RewardChoice(
        "pair_rule",
        SCORES,
        COSINE,
        COSINE,
        "The published rule reads both texts together and calls the first one better if the cosine of their vectors is "
        "above .5, so a verdict can depend on the order; the difference of two scores cannot.",
        (SCORES, COSINE),
    ),
    RewardChoice(
        "head",
        LINEAR,
        MLP,
        LINEAR,
        "The paper has a linear projection to 1..10, its code two layers, the first half as wide as the encoder, with "
        "dropout and GELU, and ten times a sigmoid.",
        (LINEAR, MLP),
    ),
    RewardChoice(
        "weight",
        0.125,
        0.25,
        1.0,
        "Of the squared error beside the cross-entropy. The code divides by four, the paper says nothing of it; scores "
        "of different paragraphs are noisier than which of two versions is better.",
    ),
    RewardChoice(
        "average",
        ITEMS,
        KINDS,
        ITEMS,
        "The loss is a mean over all pairs and paragraphs of a batch; the code adds up the means of both kinds, so "
        "that each item of the rarer kind counts more.",
        (ITEMS, KINDS),
    ),
    RewardChoice("penalty", 0.03, 0.0, 0.0, "Times the sum of the head's squared weights, added to the loss."),
    RewardChoice(
        "duplicates",
        MEAN,
        KEPT,
        KEPT,
        "LAMP has paragraphs twice with different scores: their mean, or each as it stands.",
        (MEAN, KEPT),
    ),
    RewardChoice(
        "lengths",
        WHOLE,
        WHOLE,
        WHOLE,
        "Texts of a pair as they are; the longer one cut at the sentence that brings it nearest to the other's length, "
        "so that length says nothing; or both.",
        (WHOLE, CUT, BOTH),
    ),
    RewardChoice(
        "rate",
        1e-3,
        1e-5,
        1e-5,
        "A head alone takes larger steps than an encoder. The paper says of rate and epochs that they were chosen by "
        "validation loss; the numbers, and those of a batch, are its code's.",
    ),
    RewardChoice(
        "schedule",
        CONSTANT,
        WARMED,
        CONSTANT,
        "The code's rate rises over the first tenth of an epoch and falls in a line to nothing at the end of the last; "
        "the paper says nothing of it.",
        (CONSTANT, WARMED),
    ),
    RewardChoice(
        "clip",
        1.0,
        0.0,
        1.0,
        "Largest norm of a step's gradients, 0 for any. The code's clipping is commented out; the paper says nothing "
        "of it.",
    ),
    RewardChoice("epochs", 60, 5, 5, "At most; training stops earlier once the dev split no longer gains."),
    RewardChoice("batch", 64, 8, 8, "Of pairs and paragraphs together."),
    RewardChoice(
        "dev_steps",
        0,
        20,
        0,
        "Steps between two looks at the dev split within an epoch, from the second one on; 0 looks only after each "
        "epoch. The weights with the lowest loss there are kept, the code's too, though it saves none above .6; the "
        "paper says nothing of it.",
    ),
)


def reward_values(preset: str) -> dict[str, Any]:
    """The values of a preset. Raises InputError for an unknown one."""
    known("preset", preset, REWARD_PRESETS)
    place = REWARD_PRESETS.index(preset)
    return {choice.name: (choice.corrected, choice.code, choice.paper)[place] for choice in REWARD_CHOICES}


def reward_choices_of(preset: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a preset with those given instead, None for one that is not. Raises InputError."""
    values = reward_values(preset) | {name: value for name, value in given.items() if value is not None}
    for choice in REWARD_CHOICES:
        if choice.values:
            known(choice.name.replace("_", "-"), values[choice.name], choice.values)
    return values


def reward_default(name: str) -> str:
    """The defaults of a choice, for help."""
    corrected, code, paper = next(choice.shown for choice in REWARD_CHOICES if choice.name == name)
    published = code if code == paper else f"{code} (code) or {paper} (paper)"
    return f"{corrected}; as published {published}"


def reward_choices_help() -> str:
    """The presets' values and the reasons, for the end of the command's help."""
    lines = [f"Choices of --preset, {' / '.join(REWARD_PRESETS)}, and why they differ:"]
    for choice in REWARD_CHOICES:
        line = f"  {choice.option}: {' / '.join(choice.shown)}. {choice.why}"
        lines += wrap(line, HELP_WIDTH, subsequent_indent=" " * 6)
    return "\n".join(("\b", *lines))


def _in_words(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
