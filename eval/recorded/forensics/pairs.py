"""Pairs of responses and the votes on them, as AnnotatedPairs files hold them.

A pair keeps its JSON object, so that unknown fields survive. The object is always of version 2:
:mod:`~eval.recorded.forensics.pair_files` converts version 1.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from eval.asking.json_lines import check_object
from pearl.errors import InputError
from pearl.text.usable import json_type
from pearl.text.words import composed

TRAIT, HUMAN, MODEL_IDENTITY, NON_PREFERENCE = "principle", "human", "model_identity", "non_preference_principle"
DEFAULT_DESCRIPTION = "Default annotator from original dataset (from column `preferred_text`)"
KEYS = "available_metadata_keys_per_comparison"  # in the metadata of a data set


class Vote(StrEnum):
    """A vote on a pair. ``a`` and ``b`` choose a response; the other values say why no response is chosen."""

    A = "a"
    B = "b"
    BOTH = "both"
    NEITHER = "neither"
    NOT_APPLICABLE = "not_applicable"
    INVALID = "invalid"

    @property
    def chooses(self) -> bool:
        return self is Vote.A or self is Vote.B


# spellings in the files of others; a note that is no preference has its value elsewhere
SPELLINGS = {
    **{vote.value: vote for vote in Vote},
    "text_a": Vote.A,
    "text_b": Vote.B,
    "tie": Vote.BOTH,
    "tie (bothbad)": Vote.NEITHER,
    "non_preference_annotation": Vote.NOT_APPLICABLE,
    "irrelevant": Vote.NOT_APPLICABLE,
    "nan": Vote.NOT_APPLICABLE,
    "": Vote.NOT_APPLICABLE,
}


@dataclass(frozen=True, slots=True)
class Annotator:
    """A source of votes: a person, a trait, or the identity of a model. ``fields``: its object in the file."""

    id: str
    fields: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The annotator's name; its description if it has no name, or its id if it has neither."""
        return str(self.fields.get("name") or self.fields.get("description") or self.id)

    @property
    def kind(self) -> str:
        return str(self.fields.get("type") or "unknown")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two responses to a prompt, with the annotators' votes. ``fields``: the pair's object as in files of version 2."""

    fields: Mapping[str, Any]

    @property
    def id(self) -> str:
        return str(self.fields["id"])

    @property
    def prompt(self) -> str | None:
        prompt = self.fields.get("prompt")
        return None if prompt is None else str(prompt)

    @property
    def texts(self) -> tuple[str, str]:
        """The texts of response a and response b; an empty text if the file has none."""
        return self.fields["response_a"].get("text") or "", self.fields["response_b"].get("text") or ""

    @property
    def models(self) -> tuple[str | None, str | None]:
        return self.fields["response_a"].get("model"), self.fields["response_b"].get("model")

    @property
    def annotations(self) -> Mapping[str, Mapping[str, Any]]:
        return self.fields.get("annotations") or {}

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self.fields.get("metadata") or {}

    @property
    def digest(self) -> bytes:
        """A hash of the prompt and both responses; two copies of a pair have the same."""
        content = [self.fields.get(name) for name in ("prompt", "response_a", "response_b")]
        return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).digest()

    def vote(self, annotator: str) -> Vote | None:
        """The vote of the annotator with this id; None if there is none."""
        annotation = self.annotations.get(annotator)
        return None if annotation is None else vote_of(annotation)

    def with_votes(self, votes: Mapping[str, Vote | None]) -> Pair:
        """The pair with these votes, by annotator id, in place of earlier votes; None removes an earlier vote."""
        made = {**self.annotations, **{annotator: vote and annotation_of(vote) for annotator, vote in votes.items()}}
        kept = {name: vote for name, vote in made.items() if vote is not None or name not in votes}
        return Pair({**self.fields, "annotations": kept})


@dataclass(frozen=True, slots=True)
class AnnotatedPairs:
    """A data set: annotators by id, pairs in the file's order, ``metadata``, and the file's other fields (``more``)."""

    annotators: Mapping[str, Annotator]
    pairs: tuple[Pair, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def with_annotators(self, added: Mapping[str, Annotator], pairs: tuple[Pair, ...]) -> AnnotatedPairs:
        """Return the data set with these annotators added and its pairs replaced by ``pairs``."""
        return replace(self, annotators={**self.annotators, **added}, pairs=pairs)


def short_id(text: str) -> str:
    """The first eight hexadecimal digits of a text's MD5; other programs for these files use such ids, too."""
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:8]


def pair_id(response_a: Mapping[str, Any], response_b: Mapping[str, Any], prompt: str | None) -> str:
    """Compute an id from a pair's content, for a pair that has none."""
    parts = [json.dumps(response, sort_keys=True) for response in (response_a, response_b)]
    return short_id("|".join(parts if prompt is None else [prompt, *parts]))


def coin(*parts: object) -> bool:
    """A pseudorandom True or False with equal chances, always the same for the same ``parts``."""
    content = "\0".join(map(str, parts))
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).digest()[0] % 2 == 1


def trait_annotator(description: str) -> Annotator:
    """Make the annotator of a trait; its id is computed from the description."""
    return Annotator(short_id(description), {"description": description, "type": TRAIT})


def default_annotator() -> Annotator:
    """Make the annotator for the votes in the column ``preferred_text``."""
    fields = {"name": "preferred_text", "description": DEFAULT_DESCRIPTION, "type": "unknown"}
    return Annotator(short_id(DEFAULT_DESCRIPTION), fields)


def annotation_of(vote: Vote) -> dict[str, str | None]:
    """Convert a vote to the object that a file has for it."""
    return {"pref": vote.value} if vote.chooses else {"pref": None, "no_pref_reason": vote.value}


def vote_of(annotation: Mapping[str, Any]) -> Vote:
    """The vote in a file's annotation object. Raises InputError for an unknown word."""
    param, word = "pref", annotation.get("pref")
    if word is None:
        param, word = "no_pref_reason", annotation.get("no_pref_reason") or Vote.NOT_APPLICABLE
    return spelled_vote(word, param)


def spelled_vote(word: Any, param: str) -> Vote:
    """The vote that a word in a file stands for. Raises InputError for an unknown word."""
    vote = (SPELLINGS.get(word) or SPELLINGS.get(word.strip().casefold())) if isinstance(word, str) else None
    if vote is None:
        shown = f"'{word[:40]}'" if isinstance(word, str) else json_type(word)
        raise InputError(f"is {shown}; a vote is one of {', '.join(Vote)}.", param=param)
    return vote


def checked_pair(fields: dict[str, Any]) -> Pair:
    """Check an object of version 2 and return the pair; an object without an id gets one computed from its content.
    Raises InputError with ``param`` set to the field."""
    for name in ("response_a", "response_b"):
        response = fields.get(name)
        if not isinstance(response, dict):
            kind = "is missing" if response is None else f"must be an object, not {json_type(response)}"
            raise InputError(f"{kind}.", param=name)
        for part in ("text", "model"):  # published annotations come without either
            value, param = response.get(part), f"{name}.{part}"
            if not isinstance(value, str | None):
                raise InputError(f"must be a string, not {json_type(value)}.", param=param)
    expected: dict[str, type] = {"prompt": str, "annotations": dict, "metadata": dict}
    for name, wanted in expected.items():
        value = fields.get(name)
        if value is not None and not isinstance(value, wanted):
            raise InputError(f"must not be {json_type(value)}.", param=name)
    for annotator, annotation in (fields.get("annotations") or {}).items():
        try:
            vote_of(check_object(annotation, ""))
        except InputError as error:
            param = f"annotations.{annotator}.{error.param}".rstrip(".")
            raise InputError(error.message, param=param) from None
    if fields.get("id") is None:
        fields = {**fields, "id": pair_id(fields["response_a"], fields["response_b"], fields.get("prompt"))}
    return Pair(fields)


def checked_annotators(value: Any) -> dict[str, Annotator]:
    """The annotators of a file. Raises InputError with ``param`` set to the field."""
    annotators = check_object(value, "annotators")
    return {name: Annotator(name, check_object(annotators[name], f"annotators.{name}")) for name in annotators}


def distinct_names(names: Mapping[str, str]) -> dict[str, str]:
    """Make names unique: a name that several ids have gets its id appended. ``names``: names by id."""
    times = Counter(names.values())
    return {id: name if times[name] == 1 else f"{name} ({id})" for id, name in names.items()}


def named(annotators: Mapping[str, Annotator], name: str, where: str = "") -> Annotator:
    """The annotator with this name or id. Raises InputError for none, or several with the name."""
    if name in annotators:
        return annotators[name]
    namesakes = [annotator for annotator in annotators.values() if composed(annotator.name) == composed(name)]
    if len(namesakes) == 1:
        return namesakes[0]
    if namesakes:
        ids = ", ".join(annotator.id for annotator in namesakes)
        raise InputError(f"{where}{len(namesakes)} annotators are named '{name}'; give the id of one: {ids}.")
    ordered = sorted(annotators.values(), key=lambda annotator: annotator.kind == TRAIT)  # a reference is rarely one
    known = ", ".join(annotator.name for annotator in ordered[:20])
    raise InputError(f"{where}there is no annotator '{name}'; there are {known or 'none'}.")
