"""The choices of a training: values on which the paper and our measurements differ, and how the training runs.

``--config`` names a TOML file, or an artifact, that gives values by name; ``--choose NAME=VALUE`` overrides it, and the
preset gives all others. ``pearl train`` shows the choices under ``--help``, and ``artifact.json`` keeps them.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any, Literal, TypeAlias, get_type_hints

from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, WithJsonSchema
from typer import Option

from pearl.cli.options import named_values
from pearl.errors import InputError
from pearl.settings import EMBEDDED, MPNET
from pearl.text.history.partition import LATEST, ROLLING

CORRECTED, AS_PUBLISHED = PRESETS = ("corrected", "as_published")
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
MOST_SEED = 2**32 - 1  # of numpy and scikit-learn
HELP_WIDTH = 94  # characters of a line of help

Value = str | float | int | bool
Whole: TypeAlias = Annotated[int, Field(ge=1)]
Count: TypeAlias = Annotated[int, Field(ge=0)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
Positive: TypeAlias = Annotated[float, Field(gt=0)]
Seed: TypeAlias = Annotated[int, Field(ge=0, le=MOST_SEED)]
Sought: TypeAlias = Literal["search"]
CountOrAll: TypeAlias = Annotated[
    int,
    Field(ge=0),
    BeforeValidator(lambda value: ALL if value == "all" else value),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"const": "all"}]}),
]

CONFIG_OPTION = Option(
    None,
    "--config",
    metavar="FILE.toml",
    help="Choices of all steps, or an artifact.json to train as it was; --choose outranks it.",
)
BUDGET_OPTION = Option(
    None, "--budget-minutes", min=0.1, help="Stop after about this many minutes, with what is done by then."
)
CHOOSE_OPTION = Option([], "--choose", metavar="NAME=VALUE", help="Make a choice otherwise, see below; repeatable.")


@dataclass(frozen=True, slots=True)
class Choice:
    """An option of training: its value under each preset, and which values it may have."""

    name: str
    values: tuple[Value, ...]  # under each preset
    why: str  # the presets differ, after what the choice is
    kind: Any  # what pydantic validates a value by

    @property
    def shown(self) -> tuple[str, ...]:
        """Return the choice's value under each preset, as text."""
        return tuple(map(self._in_words, self.values))

    @property
    def allowed(self) -> str:
        """Describe the values that the choice may have; empty if any text is allowed."""
        schema = self._adapter.json_schema()
        return " and ".join(filter(None, map(_said, schema.get("anyOf", [schema]))))

    def parsed(self, value: object, where: str) -> Value:
        """Convert and validate a value from the command line or a file. Raises InputError that names the source,
        ``where``."""
        try:
            found: Value = self._adapter.validate_python(value)
        except ValidationError:
            raise InputError(f"{where}: there are {self.allowed or 'texts'}.") from None
        return found

    @property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.kind, config=ConfigDict(allow_inf_nan=False))

    def _in_words(self, value: Value) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if value == ALL and "all" in self.allowed:
            return "all"
        return f"{value:g}" if isinstance(value, float) else str(value)


def _said(schema: dict[str, Any]) -> str:
    """Describe in words what a JSON schema of one type allows."""
    if words := schema.get("enum", [schema["const"]] if "const" in schema else []):
        return ", ".join(words)
    if schema["type"] in ("boolean", "string"):
        return "yes, no" if schema["type"] == "boolean" else ""
    said = "whole numbers" if schema["type"] == "integer" else "numbers"
    said += " above 0" if "exclusiveMinimum" in schema else f" from {schema['minimum']}" if "minimum" in schema else ""
    return said + (f" to {schema['maximum']}" if "maximum" in schema else "")


def choice(value: Any, *others: Any) -> Any:
    """Make a dataclass field of a choice from its values (one per preset, or one for all) and a description."""
    *published, why = others
    return field(default=value, metadata={"choice": ((value, *published), why)})


def choices_in(record: type[Any]) -> dict[str, Choice]:
    """Return the choices of a dataclass by name, in the order of its fields."""
    kinds = get_type_hints(record, include_extras=True)
    made = ((each.name, *each.metadata["choice"]) for each in fields(record) if "choice" in each.metadata)
    return {name: Choice(name, values, why, kinds[name]) for name, values, why in made}


def values_of(record: type[Any], preset: str) -> dict[str, Any]:
    """Return the value of every choice in a dataclass under a preset, by name."""
    choices = choices_in(record)
    place = choices["preset"].values.index(preset) if "preset" in choices else 0
    return {name: each.values[min(place, len(each.values) - 1)] for name, each in choices.items()}


def read_config(
    record: type[Any], file: Path | None, choose: Iterable[str], among: Collection[str] = (), **options: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of all choices of ``record``, and only the values that the user gave, both by name.

    The user gives values in ``file``, by ``choose`` as NAME=VALUE (only names in ``among``, if there are any), and by
    ``options`` of the command line, None if not given. Raises InputError that names the file or option, and the choice.
    """
    choices = choices_in(record)
    given: dict[str, Any] = {}
    for name, value in () if file is None else _choices_of(file).items():
        if name not in choices:
            raise InputError(f"{file}: {name}: is no choice; there are {', '.join(choices)}.")
        given[name] = choices[name].parsed(value, f"{file}: {name} = {value!r}")
    for name, text in named_values(choose, among or choices).items():
        given[name] = choices[name].parsed(text, f"--choose {name}={text}")
    given |= {
        name: choices[name].parsed(text, f"--{name} {text}") for name, text in options.items() if text is not None
    }
    return values_of(record, given.get("preset", CORRECTED)) | given, given


def _choices_of(file: Path) -> dict[str, Any]:
    """Read the choices of a TOML file, or those that an artifact was trained with."""
    try:
        text = file.read_text(encoding="utf-8")
        if file.suffix != ".json":
            return tomllib.loads(text)
        training = json.loads(text)["training"]
        before = ("preset", "loss", "keep_cross_encoder", "seed")  # where older artifacts have the rest of the record
        older = {name: training[name] for name in before if name in training} | training.get("selection", {})
        return dict(training.get("config") or older | training["choices"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"--config {file}: cannot be read: {error}.") from None


def choices_help(record: type[Any], among: Collection[str] = ()) -> str:
    """Describe a command's choices, with the presets' values and reasons, for the end of its help."""
    choices = choices_in(record)
    presets = choices["preset"].allowed.replace(", ", " / ") if "preset" in choices else ""
    lines = [
        "Choices for --choose and --config"
        + (f"; where there are several values, under {presets}:" if presets else ":")
    ]
    for name, each in choices.items():
        if not among or name in among:
            allowed = f" ({each.allowed})" if each.allowed else ""
            line = f"  {name}: {' / '.join(dict.fromkeys(each.shown))}{allowed}. {each.why}"
            lines += wrap(line, HELP_WIDTH, subsequent_indent=" " * 6)
    return "\n".join(("\b", *lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """The choices of a retriever's training; the defaults are those of the preset ``corrected``."""

    preset: Literal["corrected", "as_published"] = choice(
        CORRECTED, AS_PUBLISHED, "Choices to begin with: what measurement made of them, or the paper's."
    )
    aux: str = choice(
        EMBEDDED,
        "google/flan-t5-xl",
        "The paper's has 3 billion parameters; the embedded one needs no GPU and no download.",
    )
    partition: Literal["latest", "rolling"] = choice(
        ROLLING,
        LATEST,
        "How the targets to train on are chosen. The paper trains on the latest texts (section 4.1) and evaluates on "
        "any (5.1), as a history is used.",
    )
    targets: Whole = choice(3, 8, "Targets of each training user; fewer leave time for more users.")
    candidates: CountOrAll = choice(
        20,
        ALL,
        "Candidates to score per request. A third by BM25, a third recent and a third random ones cost a fraction of "
        "all. Requests to choose by and to measure with have 20 in either case.",
    )
    target_tokens: Whole = choice(128, 400, "Tokens of a target that count; the paper's have up to 300 words.")
    document_tokens: Whole = choice(160, 400, "Tokens of a document to read; more take as much longer.")
    request_tokens: CountOrAll = choice(256, ALL, "First tokens of a request to read; the paper cuts none.")
    examples: Whole = choice(
        2,
        3,
        "Random texts in the auxiliary model's prompt without a document. The paper does not say how many; its drafts "
        "are shown three or four.",
    )
    proxies: Count = choice(
        30,
        0,
        "Past texts of each user to label by overlap and learn from, which costs no gains; the paper has true ones.",
    )
    tau: Positive | Sought = choice(SEARCH, 5.0, "5, 10 or 20 nats, whichever dev prefers; the paper has 5.")
    y0: float | Literal["q1", "median", "q3", "search"] = choice(
        SEARCH,
        "median",
        "A quartile of the positives' gains; the paper takes the median.",
    )
    weight: Share | Sought = choice(
        SEARCH,
        1.0,
        "Weight of the cross-encoder's logit in the score: what dev prefers among 0, .25 and .5; at 1 it stands alone.",
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
    )
    own_requests: bool = choice(
        True,
        False,
        "Whether the cross-encoder reads a document with the request that it answered; the paper's reads its text.",
    )
    frozen_layers: Count = choice(
        1,
        0,
        "Layers of the cross-encoder left as pretrained: 1 the embeddings of words, half of MiniLM's weights, 2 also "
        "the next; the paper trains all.",
    )
    max_tokens: Annotated[int, Field(ge=16)] = choice(
        128,
        512,
        "Tokens of a request and a document to read, at most what the base reads; MPNet reads 512.",
    )
    request_words: CountOrAll = choice(
        48,
        ALL,
        "First words of a request that the cross-encoder reads, so that the document has its place among 128 tokens; "
        "the paper cuts no request.",
    )
    rate: Positive = choice(
        5e-5,
        2e-5,
        "Highest learning rate of the cross-encoder. The paper gives none; 2e-5 is usual for all weights.",
    )
    epochs: Whole = choice(
        1,
        3,
        "Epochs of the cross-encoder. The paper gives none; without warm start and proxies one is too short.",
    )
    normalize: Literal["sum", "mean"] = choice(SUM, "Gain over the target's tokens.")
    share: Share = choice(KEPT_SHARE, "Share of the requests to keep; 1 keeps all.")
    positives: Whole = choice(2, "Best candidates of a request to use as positives.")
    negatives: Whole = choice(3, "Random negatives of the same user for each positive.")
    loss: Literal["calibrated", "kl", "distill", "relevance"] = choice(CALIBRATED, "Loss, or an ablation of it.")
    encoder: str = choice(EMBEDDED, "Dense encoder: embedded, mpnet, or a sentence-transformers model.")
    first_stage_only: bool = choice(False, "Whether to train on signals alone, without a cross-encoder.")
    keep_cross_encoder: bool = choice(False, "Whether to keep the cross-encoder even if dev is no better for it.")
    template: str = choice("post", "Prompts of the auxiliary model: comment, commit, post, or a TOML file.")
    dtype: str = choice("auto", "Precision of the auxiliary model: auto, the faster one, bfloat16 or float32.")
    least_candidates: Whole = choice(1, "Leave out a request with fewer candidates before it.")
    users: CountOrAll = choice(ALL, "Users to score.")
    metric: str = choice("rouge2", "Metric of drafts that margin and theta are to raise: rouge1, bertscore, macro_f1.")
    device: str = choice("cpu", "Device: cpu or cuda.")
    seed: Seed = choice(0, "Seed of every random choice.")

    def record(self) -> dict[str, Any]:
        """Return the value of every choice, by name."""
        return {name: getattr(self, name) for name in choices_in(type(self))}


NOT_FITTED = ("aux", *SCORED_CHOICES, "preset")
FITTED_CHOICES = tuple(  # of those that the presets make, what is chosen in fitting
    name for name, each in choices_in(TrainingConfig).items() if len(each.values) > 1 and name not in NOT_FITTED
)
