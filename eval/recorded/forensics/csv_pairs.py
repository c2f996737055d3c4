"""Reading the CSV files of Inverse Constitutional AI. The columns are ``text_a``, ``text_b``, ``preferred_text``, and
optionally ``prompt`` (or ``input``), ``model_a`` and ``model_b``. Any other column with the value ``text_a`` or
``text_b`` in some row is an annotator's; the remaining columns are metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.recorded.forensics.pairs import (
    HUMAN,
    KEYS,
    Annotator,
    annotation_of,
    default_annotator,
    pair_id,
    short_id,
    spelled_vote,
)
from pearl.text.files.csv_rows import csv_rows
from pearl.text.history.files import located

PREFERRED = "preferred_text"
NEEDED = ("text_a", "text_b", PREFERRED)
STANDARD = (*NEEDED, "prompt", "input", "model_a", "model_b")
CHOICES = ("text_a", "text_b")


def csv_members(path: Path) -> Iterator[tuple[int, str, Any]]:
    """Yield each part of the data set in a CSV, as line, name and value: its metadata, its annotators, then its pairs.
    Raises InputError that names the file, the line and the column."""
    rows = list(csv_rows(path, NEEDED, every=True))  # what a column is can be told only when all of it was seen
    others = [name for name in (rows[0][1] if rows else ()) if name not in STANDARD]
    voting = [name for name in others if any(row[name].strip() in CHOICES for _, row in rows)]
    annotators = {PREFERRED: default_annotator(), **{name: column_annotator(name) for name in voting}}
    rest = [name for name in others if name not in annotators]
    metadata: dict[str, Any] = {"version": "2.0", "default_annotator": default_annotator().id}
    yield 1, "metadata", metadata | ({KEYS: rest} if rest else {})
    yield 1, "annotators", {annotator.id: dict(annotator.fields) for annotator in annotators.values()}
    prompts: dict[str, str | None] = {}  # by the id of the pair
    for line, row in rows:
        with located(f"{path}:{line}"):
            fields = _fields(row, annotators, rest)
        identity = _identity(fields, bool(row.get("input")))
        if prompts.setdefault(identity, fields["prompt"]) != fields["prompt"]:  # the same responses to another prompt
            identity = _identity(fields, True)
        yield line, "comparisons", {"id": identity, **fields}


def column_annotator(column: str) -> Annotator:
    """The annotator for a CSV's column of votes."""
    fields = {
        "name": column,
        "description": f"Column from original dataset: {column}",
        "type": HUMAN if "human" in column.casefold() else "unknown",
    }
    return Annotator(short_id(f"column_{column}"), fields)


def _fields(row: Mapping[str, str], annotators: Mapping[str, Annotator], rest: Sequence[str]) -> dict[str, Any]:
    """Convert a row to a pair's object without an id. ``annotators``: by column; ``rest``: the columns of metadata."""
    responses = {
        f"response_{side}": {"text": row[f"text_{side}"]}
        | ({"model": row[f"model_{side}"]} if row.get(f"model_{side}") else {})
        for side in "ab"
    }
    votes = {
        annotator.id: annotation_of(spelled_vote(row[name], name))
        for name, annotator in annotators.items()
        if row[name].strip()
    }
    metadata = {"metadata": {name: row[name] for name in rest}} if rest else {}
    return {"prompt": row.get("prompt") or row.get("input") or None, **responses, "annotations": votes, **metadata}


def _identity(fields: Mapping[str, Any], with_prompt: bool) -> str:
    """The public tool's id of a row. It includes the prompt only if the prompt's column is called ``input``."""
    return pair_id(fields["response_a"], fields["response_b"], fields.get("prompt") if with_prompt else None)
