"""The single choices of a training that the paper makes in one way and measurement in another, and their presets.

A preset is a value for each of them; ``--choose NAME=VALUE`` overrides one, ``--aux`` that model.
``pearl train`` shows them under ``--help``, and ``artifact.json`` records what was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import partial
from textwrap import wrap
from typing import Any

from pearl.cli.options import known, named_values
from pearl.errors import InputError
from pearl.history.partition import LATEST, ROLLING, WAYS
from pearl.settings import EMBEDDED, MPNET

CORRECTED, AS_PUBLISHED = "corrected", "as_published"
PRESETS = (CORRECTED, AS_PUBLISHED)
SEARCH = "search"  # chosen on dev
QUARTILES = {"q1": 0.25, "median": 0.5, "q3": 0.75}  # of the gains of the positives
ALL = 0  # of what is counted, where "all" is among the words of a choice
EXTENT_CHOICES = ("target_tokens", "document_tokens", "request_tokens", "examples")  # of what the auxiliary model reads
READING_CHOICES = ("max_tokens", "request_words", "own_requests")  # of what the cross-encoder reads
SCORED_CHOICES = ("partition", "targets", "candidates", *EXTENT_CHOICES)
SELECTION_CHOICES = ("normalize", "share", "positives", "negatives")  # Algorithm 1's
KEPT_SHARE = 2 / 3
SUM, MEAN = "sum", "mean"
CALIBRATED, KL, DISTILL, RELEVANCE = LOSSES = ("calibrated", "kl", "distill", "relevance")
WITH_OPTIONS = ("aux",)  # the others are given by --choose
CROSS_ENCODER_CHOICES = ("warm_start", *READING_CHOICES, "frozen_layers", "rate", "epochs", "base")
MOST_SEED = 2**32 - 1  # of numpy and scikit-learn
HELP_WIDTH = 94  # characters of a line of help

Value = str | float | int | bool


@dataclass(frozen=True, slots=True)
class TrainingChoice:
    """A choice, its value under each preset, and what may be given for it."""

    name: str
    values: tuple[Value, ...]  # of CORRECTED, AS_PUBLISHED, and of the paper where its code has another
    why: str  # the presets differ, after what the choice is
    words: tuple[str, ...] = ()  # its values, or those beside numbers
    least: float | None = None  # None: not a number
    most: float = math.inf

    @property
    def shown(self) -> tuple[str, ...]:
        """The values in words."""
        return tuple(map(self._in_words, self.values))

    @property
    def allowed(self) -> str:
        """The values that there are, in words; empty where any text may be one."""
        words = ", ".join(self.words)
        if self.least is None:
            return words
        numbers = "whole numbers" if self._is_whole else "numbers"
        if self._is_whole or self.most < math.inf:
            numbers += f" from {self.least:g}" + (f" to {self.most:g}" if self.most < math.inf else "")
        elif self.least > 0:
            numbers += " above 0"
        return f"{numbers} and {words}" if words else numbers

    def parsed(self, text: str) -> Value:
        """Return the value that a text on the command line stands for. Raises InputError."""
        if text in self.words:
            return {"yes": True, "no": False, "all": ALL}.get(text, text)
        if not self.allowed:
            return text
        if self.least is not None:
            with suppress(ValueError):
                number = int(text) if self._is_whole else float(text)
                if abs(number) < math.inf and self.least <= number <= self.most:
                    return number
        own = self.name in WITH_OPTIONS
        option = f"--{self.name} {text}" if own else f"--choose {self.name}={text}"
        raise InputError(f"{option}: there are {self.allowed}.", param=self.name if own else "choose")

    @property
    def _is_whole(self) -> bool:
        return isinstance(self.values[1], int)

    def _in_words(self, value: Value) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if "all" in self.words and value == ALL:
            return "all"
        return f"{value:g}" if isinstance(value, float) else str(value)


YES_NO = ("yes", "no")


def choice(
    corrected: Value,
    as_published: Value,
    why: str,
    words: tuple[str, ...] = (),
    *,
    least: float | None = None,
    most: float = math.inf,
    paper: Value | None = None,
) -> Any:
    """Make the field of a choice. ``as_published`` is the value of the code where ``paper`` is another."""
    values = corrected, as_published, as_published if paper is None else paper
    made = partial(TrainingChoice, values=values, why=why, words=words, least=least, most=most)
    return field(default=corrected, metadata={"choice": made})


def choices_in(options: type[Any]) -> tuple[TrainingChoice, ...]:
    """Return the choices among the fields of options, in their order."""
    return tuple(each.metadata["choice"](each.name) for each in fields(options) if "choice" in each.metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetChoices:
    """The choices that the presets make, as a training has them; the defaults are those of ``corrected``."""

    aux: str = choice(
        EMBEDDED,
        "google/flan-t5-xl",
        "The paper's has 3 billion parameters; the embedded one needs no GPU and no download.",
    )
    partition: str = choice(
        ROLLING,
        LATEST,
        "How the targets to train on are chosen. The paper trains on the latest texts (section 4.1) and evaluates on "
        "any (5.1), as a history is used.",
        WAYS,
    )
    targets: int = choice(3, 8, "Targets of each training user; fewer leave time for more users.", least=1)
    candidates: int = choice(
        20,
        ALL,
        "Candidates to score per request. A third by BM25, a third recent and a third random ones cost a fraction of "
        "all. Requests to choose by and to measure with have 20 in either case.",
        ("all",),
        least=0,
    )
    target_tokens: int = choice(128, 400, "Tokens of a target that count; the paper's have up to 300 words.", least=1)
    document_tokens: int = choice(160, 400, "Tokens of a document to read; more take as much longer.", least=1)
    request_tokens: int = choice(256, ALL, "First tokens of a request to read; the paper cuts none.", ("all",), least=0)
    examples: int = choice(
        2,
        3,
        "Random texts in the auxiliary model's prompt without a document. The paper does not say how many; its drafts "
        "are shown three or four.",
        least=1,
    )
    proxies: int = choice(
        30,
        0,
        "Past texts of each user to label by overlap and learn from, which costs no gains; the paper has true ones.",
        least=0,
    )
    tau: float | str = choice(
        SEARCH, 5.0, "5, 10 or 20 nats, whichever dev prefers; the paper has 5.", (SEARCH,), least=1e-6
    )
    y0: float | str = choice(
        SEARCH,
        "median",
        "A quartile of the positives' gains; the paper takes the median.",
        (*QUARTILES, SEARCH),
        least=-math.inf,
    )
    weight: float | str = choice(
        SEARCH,
        1.0,
        "Weight of the cross-encoder's logit in the score: what dev prefers among 0, .25 and .5; at 1 it stands alone.",
        (SEARCH,),
        least=0,
        most=1,
    )
    base: str = choice(
        EMBEDDED,
        MPNET,
        "Model the cross-encoder starts from: embedded, mpnet or an encoder model. The paper's has 110 million "
        "parameters, the embedded one 22.",
    )
    warm_start: bool = choice(
        True,
        False,
        "Whether the cross-encoder learns relevance (RelevanceCE) first, which needs no gains; the paper's does not.",
        YES_NO,
    )
    own_requests: bool = choice(
        True,
        False,
        "Whether the cross-encoder reads a document with the request that it answered; the paper's reads its text.",
        YES_NO,
    )
    frozen_layers: int = choice(
        1,
        0,
        "Layers of the cross-encoder left as pretrained: 1 the embeddings of words, half of MiniLM's weights, 2 also "
        "the next; the paper trains all.",
        least=0,
    )
    max_tokens: int = choice(
        128,
        512,
        "Tokens of a request and a document to read, at most what the base reads; MPNet reads 512.",
        least=16,
    )
    request_words: int = choice(
        48,
        ALL,
        "First words of a request that the cross-encoder reads, so that the document has its place among 128 tokens; "
        "the paper cuts no request.",
        ("all",),
        least=0,
    )
    rate: float = choice(
        5e-5,
        2e-5,
        "Highest learning rate of the cross-encoder. The paper gives none; 2e-5 is usual for all weights.",
        least=1e-8,
    )
    epochs: int = choice(
        1,
        3,
        "Epochs of the cross-encoder. The paper gives none; without warm start and proxies one is too short.",
        least=1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingChoices(PresetChoices):
    """With those that are the same under every preset."""

    normalize: str = choice(SUM, SUM, "Gain over the target's tokens.", (SUM, MEAN))
    share: float = choice(KEPT_SHARE, KEPT_SHARE, "Share of the requests to keep; 1 keeps all.", least=0, most=1)
    positives: int = choice(2, 2, "Best candidates of a request to use as positives.", least=1)
    negatives: int = choice(3, 3, "Random negatives of the same user for each positive.", least=1)
    loss: str = choice(CALIBRATED, CALIBRATED, "Loss, or an ablation of it.", LOSSES)


CHOICES, EVERY = choices_in(PresetChoices), choices_in(TrainingChoices)
SHARED_CHOICES = EVERY[len(CHOICES) :]
# what is left is chosen in fitting
FITTED_CHOICES = tuple(
    choice.name for choice in CHOICES if choice.name not in SCORED_CHOICES and choice.name not in WITH_OPTIONS
)


def preset_values(preset: str) -> dict[str, Any]:
    """The values of a preset. Raises InputError for an unknown one."""
    known("preset", preset, PRESETS)
    return {choice.name: choice.values[PRESETS.index(preset)] for choice in CHOICES}


def choices_of(
    preset: str, choose: Iterable[str], among: Collection[str], **options: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of a preset with those given instead, and those given alone, both by name.

    ``choose`` holds NAME=VALUE of the names ``among``; ``options`` are choices with an option, None for one that is not
    given. Of SHARED_CHOICES those ``among`` have a value. Raises InputError.
    """
    shared = {choice.name: choice.values[0] for choice in SHARED_CHOICES if choice.name in among}
    values = preset_values(preset) | shared
    texts = named_values(choose, among) | {name: text for name, text in options.items() if text is not None}
    given = {choice.name: choice.parsed(texts[choice.name]) for choice in EVERY if choice.name in texts}
    return values | given, given


def given_of(choose: Iterable[str], among: Sequence[TrainingChoice]) -> dict[str, Any]:
    """Return the values that NAME=VALUE gives of these choices, by name. Raises InputError."""
    texts = named_values(choose, [choice.name for choice in among])
    return {choice.name: choice.parsed(texts[choice.name]) for choice in among if choice.name in texts}


def default_of(name: str) -> str:
    """Both defaults of a choice, for help."""
    corrected, as_published, _ = next(choice.shown for choice in CHOICES if choice.name == name)
    return f"{corrected}; {AS_PUBLISHED} {as_published}"


def choices_help(
    names: Collection[str], among: Iterable[TrainingChoice] = EVERY, presets: Iterable[str] = PRESETS
) -> str:
    """The choices of a command, with the presets' values and the reasons, for the end of its help."""
    as_in = " / ".join(presets)
    lines = [
        f"Choices for --choose NAME=VALUE, by default {f'as in --preset {as_in}' if as_in else 'the first value'}:"
    ]
    for choice in among:
        if choice.name in names:
            allowed = f" ({choice.allowed})" if choice.allowed else ""
            option = "--" if choice.name in WITH_OPTIONS else ""
            line = f"  {option}{choice.name}: {' / '.join(dict.fromkeys(choice.shown))}{allowed}. {choice.why}"
            lines += wrap(line, HELP_WIDTH, subsequent_indent=" " * 6)
    return "\n".join(("\b", *lines))
