"""The CSV of Inverse Constitutional AI: ``text_a``, ``text_b``, ``preferred_text``, and optionally ``prompt`` (or
``input``), ``model_a``, ``model_b``. Another column in which somebody chose ``text_a`` or ``text_b`` is an annotator;
the rest is metadata.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.recorded.forensics.pairs import (
    HUMAN,
    AnnotatedPairs,
    Annotator,
    annotation_of,
    default_annotator,
    pair_id,
    short_id,
    spelled_vote,
)
from pearl.csv_rows import csv_rows
from pearl.errors import InputError

PREFERRED = "preferred_text"
NEEDED = ("text_a", "text_b", PREFERRED)
STANDARD = (*NEEDED, "prompt", "input", "model_a", "model_b")
CHOICES = ("text_a", "text_b")


def csv_members(path: Path) -> Iterator[tuple[int, str, Any]]:
    """Yield the line, the name and the value of each part of the data set that a CSV holds.

    Raises InputError that names the file, the line and the column.
    """
    rows = list(csv_rows(path, NEEDED, every=True))  # what a column is can be told only when all of it was seen
    others = [name for name in (rows[0][1] if rows else ()) if name not in STANDARD]
    has_votes = {name: any(row[name].strip() in CHOICES for _, row in rows) for name in others}
    voting = [name for name in others if has_votes[name]]
    rest = [name for name in others if not has_votes[name]]
    metadata: dict[str, Any] = {"version": "2.0", "default_annotator": default_annotator().id}
    if rest:
        metadata["available_metadata_keys_per_comparison"] = rest
    yield 1, "metadata", metadata
    annotators = [default_annotator(), *map(column_annotator, voting)]
    yield 1, "annotators", {annotator.id: dict(annotator.fields) for annotator in annotators}
    taken: dict[str, str | None] = {}
    for line, row in rows:
        yield line, "comparisons", _pair(path, line, row, (voting, rest), taken)


def column_annotator(column: str) -> Annotator:
    """The annotator of a column of votes."""
    fields = {
        "name": column,
        "description": f"Column from original dataset: {column}",
        "type": HUMAN if "human" in column.casefold() else "unknown",
    }
    return Annotator(short_id(f"column_{column}"), fields)


def csv_text(data: AnnotatedPairs) -> Iterator[str]:
    """The lines of a CSV. Raises InputError that names the first field for which a CSV has no place."""
    _check_fits(data)
    metadata = list(dict.fromkeys(name for pair in data.pairs for name in pair.metadata))
    columns = [annotator for annotator in data.annotators.values() if annotator.id != default_annotator().id]
    named = any(model for pair in data.pairs for model in pair.models)
    counted = any(pair.prompt for pair in data.pairs) and all(
        pair.id == _identity(pair.fields, True) for pair in data.pairs
    )
    prompt = "input" if counted else "prompt"
    models = ("model_a", "model_b") if named else ()
    yield _line(*NEEDED, prompt, *models, *(annotator.name for annotator in columns), *metadata)
    for pair in data.pairs:
        votes = [pair.vote(annotator.id) for annotator in (default_annotator(), *columns)]
        preferred, *words = ["" if vote is None else f"text_{vote}" if vote.chooses else str(vote) for vote in votes]
        named_models = [model or "" for model in pair.models] if named else []
        rest = (pair.metadata.get(key, "") for key in metadata)
        yield _line(*pair.texts, preferred, pair.prompt or "", *named_models, *words, *rest)


def _line(*cells: str) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue()


def _check_fits(data: AnnotatedPairs) -> None:
    for annotator in data.annotators.values():
        if annotator not in (default_annotator(), column_annotator(annotator.name)):
            raise InputError(
                f"a CSV has no place for the annotator {annotator.id} ({annotator.name}); write .json or .jsonl.",
                code="no_place",
            )
    for pair in data.pairs:
        extra = [] if pair.id in (_identity(pair.fields, True), _identity(pair.fields, False)) else ["id"]
        extra += [name for name in pair.fields if name not in KNOWN]
        extra += [
            f"response_{side}.{key}"
            for side in "ab"
            for key in pair.fields[f"response_{side}"]
            if key not in ("text", "model")
        ]
        extra += [f"metadata.{key}" for key, value in pair.metadata.items() if not isinstance(value, str)]
        extra += [
            f"annotations.{key}" for key, value in pair.annotations.items() if set(value) - {"pref", "no_pref_reason"}
        ]
        if extra:
            raise InputError(
                f"a CSV has no place for {extra[0]} of pair {pair.id}; write .json or .jsonl.", code="no_place"
            )


KNOWN = ("id", "prompt", "response_a", "response_b", "annotations", "metadata")


def _pair(
    path: Path,
    line: int,
    row: Mapping[str, str],
    columns: tuple[Sequence[str], Sequence[str]],
    taken: dict[str, str | None],
) -> dict[str, Any]:
    """The object of a row: ``columns`` are those of annotators and those of metadata, ``taken`` the prompt of every id
    so far."""
    voting, rest = columns
    responses = [
        {"text": row[f"text_{side}"], **({"model": row[f"model_{side}"]} if row.get(f"model_{side}") else {})}
        for side in "ab"
    ]
    prompt = row.get("prompt") or row.get("input") or None
    annotators = {PREFERRED: default_annotator(), **{name: column_annotator(name) for name in voting}}
    fields = {
        "prompt": prompt,
        "response_a": responses[0],
        "response_b": responses[1],
        "annotations": {
            annotator.id: annotation_of(_vote(path, line, row, name))
            for name, annotator in annotators.items()
            if row[name].strip()
        },
        **({"metadata": {name: row[name] for name in rest}} if rest else {}),
    }
    identity = _identity(fields, bool(row.get("input")))
    if taken.setdefault(identity, prompt) != prompt:  # the same responses to another prompt
        identity = _identity(fields, True)
    return {"id": identity, **fields}


def _identity(fields: Mapping[str, Any], with_prompt: bool) -> str:
    """The id that the public tool gives a row: it counts the prompt in if the column is called ``input``."""
    return pair_id(fields["response_a"], fields["response_b"], fields.get("prompt") if with_prompt else None)


def _vote(path: Path, line: int, row: Mapping[str, str], column: str) -> Any:
    try:
        return spelled_vote(row[column], column)
    except InputError as error:
        raise InputError(f"{path}:{line}: {column}: {error.message}", code=error.code) from None
