"""The single choices of a training that the paper makes in one way and measurement in another, and their presets.

A preset is a value for each of them; an option given on the command line overrides it. ``pearl train`` shows them
under ``--help``, and ``artifact.json`` records what was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from pearl.cli.options import known
from pearl.errors import InputError
from pearl.settings import EMBEDDED, MPNET

CORRECTED, AS_PUBLISHED = "corrected", "as_published"
PRESETS = (CORRECTED, AS_PUBLISHED)
SEARCH = "search"  # chosen on dev
QUARTILES = {"q1": 0.25, "median": 0.5, "q3": 0.75}  # of the gains of the positives
ALL = 0  # of what is counted below
EXTENT_CHOICES = ("target_tokens", "document_tokens", "request_tokens", "examples")  # of what the auxiliary model reads
READING_CHOICES = ("max_tokens", "request_words", "own_requests")  # of what the cross-encoder reads
CROSS_ENCODER_CHOICES = ("warm_start", *READING_CHOICES, "frozen_layers", "rate", "epochs", "base")
COUNTED = ("candidates", "request_tokens", "request_words")
MOST_SEED = 2**32 - 1  # of numpy and scikit-learn
HELP_WIDTH = 94  # characters of a line of help

Value = str | float | int | bool


@dataclass(frozen=True, slots=True)
class TrainingChoice:
    """``corrected`` and ``as_published`` are its values under the two presets; ``why`` they differ."""

    name: str
    corrected: Value
    as_published: Value
    why: str

    @property
    def option(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    @property
    def shown(self) -> tuple[str, str]:
        """Both values in words."""
        return _in_words(self, self.corrected), _in_words(self, self.as_published)


CHOICES = (
    TrainingChoice(
        "aux",
        EMBEDDED,
        "google/flan-t5-xl",
        "The paper's has 3 billion parameters; the embedded one needs no GPU and no download.",
    ),
    TrainingChoice(
        "partition",
        "rolling",
        "latest",
        "The paper trains on the latest texts (section 4.1) and evaluates on any (5.1), as a history is used.",
    ),
    TrainingChoice("targets", 3, 8, "Targets of each training user; fewer leave time for more users."),
    TrainingChoice(
        "candidates",
        20,
        ALL,
        "A third by BM25, a third recent and a third random ones cost a fraction of all. Requests to choose by and to "
        "measure with have 20 in either case.",
    ),
    TrainingChoice("target_tokens", 128, 400, "The paper's texts have up to 300 words."),
    TrainingChoice("document_tokens", 160, 400, "The same; scoring takes as much longer."),
    TrainingChoice("request_tokens", 256, ALL, "Of a request, the first ones; the paper cuts none."),
    TrainingChoice(
        "examples",
        2,
        3,
        "Texts in the auxiliary model's prompt without a document. The paper does not say how many; its drafts are "
        "shown three or four.",
    ),
    TrainingChoice(
        "proxies", 30, 0, "Past texts of each user labelled by overlap, which costs no gains; the paper has true ones."
    ),
    TrainingChoice("tau", SEARCH, 5.0, "5, 10 or 20 nats, whichever dev prefers; the paper has 5."),
    TrainingChoice("y0", SEARCH, "median", "A quartile of the positives' gains; the paper takes the median."),
    TrainingChoice(
        "weight",
        SEARCH,
        1.0,
        "Of the cross-encoder's logit in the score: what dev prefers among 0, .25 and .5; at 1 it stands alone.",
    ),
    TrainingChoice("base", EMBEDDED, MPNET, "The paper's has 110 million parameters, the embedded one 22."),
    TrainingChoice(
        "warm_start", True, False, "Learn relevance (RelevanceCE) first, which needs no gains; the paper does not."
    ),
    TrainingChoice(
        "own_requests", True, False, "Read a document with the request that it answered; the paper reads its text."
    ),
    TrainingChoice(
        "frozen_layers", 1, 0, "1 leaves the embeddings as pretrained, half of MiniLM's weights; the paper trains all."
    ),
    TrainingChoice("max_tokens", 128, 512, "Of a request and a document; 512 is what MPNet reads."),
    TrainingChoice(
        "request_words",
        48,
        ALL,
        "The first ones, that the document has its place among 128 tokens; the paper cuts no request.",
    ),
    TrainingChoice("rate", 5e-5, 2e-5, "The paper gives none; 2e-5 is usual where all weights are trained."),
    TrainingChoice("epochs", 1, 3, "The paper gives none; without warm start and proxies one is too short."),
)


def preset_values(preset: str) -> dict[str, Any]:
    """The values of a preset. Raises InputError for an unknown one."""
    known("preset", preset, PRESETS)
    return {choice.name: choice.corrected if preset == CORRECTED else choice.as_published for choice in CHOICES}


def choices_of(preset: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a preset with those given instead, None for one that is not. Raises InputError."""
    values = preset_values(preset) | {name: value for name, value in changes.items() if value is not None}
    values["tau"] = _number("tau", values["tau"], (SEARCH,), least=1e-6)
    values["y0"] = _number("y0", values["y0"], (*QUARTILES, SEARCH))
    values["weight"] = _number("weight", values["weight"], (SEARCH,), least=0.0, most=1.0)
    return values


def _number(name: str, value: Value, words: tuple[str, ...], least: float = -math.inf, most: float = math.inf) -> Value:
    if value in words:
        return value
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and least <= number <= most):
        within = f" from {least:g} to {most:g}" if math.isfinite(most) else " above 0" if least > 0 else ""
        raise InputError(f"--{name} {value}: there are numbers{within} and {', '.join(words)}.", param=name)
    return number


def default_of(name: str) -> str:
    """Both defaults of a choice, for help."""
    corrected, as_published = next(choice.shown for choice in CHOICES if choice.name == name)
    return f"{corrected}; {AS_PUBLISHED} {as_published}"


def choices_help(names: Iterable[str]) -> str:
    """The presets' values of some choices and the reasons, for the end of a command's help."""
    lines = [f"Choices of --preset, {CORRECTED} / {AS_PUBLISHED}, and why they differ:"]
    for choice in CHOICES:
        if choice.name in names:
            line = f"  {choice.option}: {' / '.join(choice.shown)}. {choice.why}"
            lines += wrap(line, HELP_WIDTH, subsequent_indent=" " * 6)
    return "\n".join(("\b", *lines))


def _in_words(choice: TrainingChoice, value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if choice.name in COUNTED and value == ALL:
        return "all"
    return f"{value:g}" if isinstance(value, float) else str(value)
