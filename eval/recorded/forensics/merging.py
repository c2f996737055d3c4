"""Merging data sets of annotated pairs.

The order is stable: the pairs of the first data set, then the new pairs of the second, and so on. Annotators and
metadata have the same order. A pair that occurs in several data sets gets the votes of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from eval.recorded.forensics.pairs import KEYS, AnnotatedPairs, Annotator, Pair, short_id, vote_of
from pearl.errors import InputError

SHOWN = 5  # ids in a message
NAMES = ("dataset_name", "description")


def merged(datasets: Sequence[tuple[str, AnnotatedPairs]]) -> AnnotatedPairs:
    """Merge data sets into one; each is given with its file's name. Raises InputError if two different pairs or
    annotators have one id, or if an annotator has two different votes on a pair."""
    if len({str(data.metadata.get("version", "1.0"))[0] for _, data in datasets}) > 1:
        datasets = [(name, _respelled(data)) for name, data in datasets]
    (first, whole), *others = datasets
    whole = _without_repeats(first, whole)
    for name, data in others:
        where = f"{first} and {name}"
        whole = _two(where, whole, _without_repeats(name, data))
    return whole


def apart(name: str, data: AnnotatedPairs, taken: Mapping[str, Annotator]) -> AnnotatedPairs:
    """Return the data set with new ids for the annotators whose ids are in ``taken``, so that two people of one name
    stay two. The file's ``name`` is appended to such an annotator's name."""
    new = {
        id: Annotator(short_id(f"{name} {id}"), {**annotator.fields, "name": f"{annotator.name} ({name})"})
        for id, annotator in data.annotators.items()
        if id in taken
    }
    annotators = [new.get(id, annotator) for id, annotator in data.annotators.items()]
    pairs = []
    for pair in data.pairs:
        votes = {new[id].id if id in new else id: vote for id, vote in pair.annotations.items()}
        pairs.append(Pair({**pair.fields, "annotations": votes}))
    return replace(data, annotators={annotator.id: annotator for annotator in annotators}, pairs=tuple(pairs))


def _respelled(data: AnnotatedPairs) -> AnnotatedPairs:
    """Return the data set with its votes in the words of version 2; version 1 has text_a and text_b."""
    pairs = []
    for pair in data.pairs:
        chosen = [(id, vote, vote_of(vote)) for id, vote in pair.annotations.items()]
        votes = {id: {**vote, "pref": choice.value} for id, vote, choice in chosen if choice.chooses}
        pairs.append(Pair({**pair.fields, "annotations": {**pair.annotations, **votes}}))
    return replace(data, pairs=tuple(pairs))


def _two(where: str, first: AnnotatedPairs, second: AnnotatedPairs) -> AnnotatedPairs:
    both = [id for id in second.annotators if id in first.annotators]
    differ = [id for id in both if first.annotators[id].name != second.annotators[id].name]
    _refuse(where, "different annotators have the id", differ)
    pairs = {pair.id: pair for pair in first.pairs}
    _add(where, pairs, second.pairs)
    return AnnotatedPairs(
        {**first.annotators, **{id: new for id, new in second.annotators.items() if id not in first.annotators}},
        tuple(pairs.values()),
        _metadata(first.metadata, second.metadata),
        {**second.more, **first.more},
    )


def _without_repeats(name: str, data: AnnotatedPairs) -> AnnotatedPairs:
    """Return the data set with one pair per id, which has the votes of all pairs with this id."""
    pairs: dict[str, Pair] = {}
    for pair in data.pairs:
        _add(name, pairs, [pair])
    return replace(data, pairs=tuple(pairs.values()))


def _add(where: str, pairs: dict[str, Pair], more: Sequence[Pair]) -> None:
    """Add the pairs ``more`` to ``pairs`` (by id); a pair whose id is already there is merged with its copy."""
    shared = [(pairs[pair.id], pair) for pair in more if pair.id in pairs]
    _refuse(where, "pairs that differ in text, prompt or model have the id", (a.id for a, b in shared if _differ(a, b)))
    _refuse(where, "an annotator votes differently on", (_conflict(a, b) for a, b in shared))
    for pair in more:
        pairs[pair.id] = _united(pairs[pair.id], pair) if pair.id in pairs else pair


def _differ(first: Pair, second: Pair) -> bool:
    """True if two pairs with one id have different prompts, texts or models. A missing value is no difference:
    annotations are also published without texts."""
    contents = ((pair.prompt, *pair.texts, *pair.models) for pair in (first, second))
    return any(one and other and one != other for one, other in zip(*contents, strict=True))


def _united(first: Pair, second: Pair) -> Pair:
    """Merge two copies of a pair: the first, with texts, models, votes and other fields that only the second has."""
    parts = {
        name: {**(second.fields[name] or {}), **(first.fields[name] or {})}
        for name in ("annotations", "metadata")
        if name in second.fields and name in first.fields
    }
    responses = {name: _filled(first.fields[name], second.fields[name]) for name in ("response_a", "response_b")}
    return Pair({**_filled(first.fields, second.fields), **parts, **responses})


def _filled(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The first object, with the second's values for the fields that are missing or empty in the first."""
    return {**first, **{name: value for name, value in second.items() if first.get(name) in (None, "")}}


def _conflict(first: Pair, second: Pair) -> str:
    """The pair's id and the annotators who voted differently on its two copies; empty if there are none."""
    differing = [id for id in second.annotations if id in first.annotations and first.vote(id) != second.vote(id)]
    return f"{first.id} ({', '.join(differing)})" if differing else ""


def _refuse(where: str, what: str, ids: Iterable[str]) -> None:
    """Raises InputError that names the ids, unless all are empty."""
    colliding = list(dict.fromkeys(filter(None, ids)))
    if colliding:
        more = f" and {len(colliding) - SHOWN:,} more" if len(colliding) > SHOWN else ""
        apart = "; --apart keeps annotators of two files apart" if "annotator" in what else ""
        raise InputError(f"{where}: {what} {', '.join(colliding[:SHOWN])}{more}{apart}.")


def _metadata(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two files' metadata; values of the first win. The names of data sets are joined, lists of metadata keys
    merged, and the later version is kept, since it has fields for everything in the earlier."""
    metadata = {**second, **first}
    if "version" in first and "version" in second:
        metadata["version"] = max(first["version"], second["version"], key=str)
    for name in NAMES:
        values = dict.fromkeys(str(part[name]) for part in (first, second) if part.get(name))
        if values:
            metadata[name] = " + ".join(values)
    keys = dict.fromkeys([*(first.get(KEYS) or ()), *(second.get(KEYS) or ())])
    return {**metadata, KEYS: list(keys)} if keys else metadata
