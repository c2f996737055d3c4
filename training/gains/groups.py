"""Groups to train the retriever on, made from a file of scores, and the file that keeps them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pearl.errors import InputError
from training.data.selection import (
    ScoredRequest,
    SelectionOptions,
    TrainingGroup,
    select_groups,
    select_requests,
)
from training.files import replaced_file
from training.gains.scores import METADATA, read_scores, read_table, scored_requests

SCHEMA = pa.schema(
    [
        ("user_id", pa.string()),
        ("request_id", pa.string()),
        ("documents", pa.list_(pa.string())),
        ("gains", pa.list_(pa.float64())),
    ]
)
KIND = "groups"
ALIKE = ("model", "fingerprint", "template")  # without which gains of two files cannot be compared


@dataclass(frozen=True, slots=True)
class Selection:
    """The groups, and what they were selected from and how: JSON, for the metadata of their file."""

    groups: list[TrainingGroup]
    description: dict[str, Any]


def select(paths: Sequence[Path], options: SelectionOptions) -> Selection:
    """Algorithm 1 over files of scores that one model made with one template.

    ``y0`` in the description is the median gain of the positives, ``y0_quartiles`` are the first and the third.
    Raises InputError for scores that cannot be used, or not together.
    """
    tables, descriptions = zip(*(read_scores(path) for path in paths), strict=True)
    _check_alike(paths, descriptions)
    requests = _all_requests(paths, [scored_requests(table, options.normalize) for table in tables])
    kept = select_requests(requests, options.share)
    groups = select_groups(kept, positives=options.positives, negatives=options.negatives, seed=options.seed)
    if not groups:
        raise InputError(
            f"{paths[0]}: no request has {options.positives} candidates and another one to learn from; score more "
            "candidates.",
            code="nothing_selected",
        )
    first, y0, third = (float(value) for value in np.quantile([group.gains[0] for group in groups], (0.25, 0.5, 0.75)))
    return Selection(
        groups,
        {
            "kind": KIND,
            **asdict(options),
            "y0": y0,
            "y0_quartiles": [first, third],
            "users": len({group.user_id for group in groups}),
            "requests": len(requests),
            "requests_kept": len(kept),
            "groups": len(groups),
            "scores": list(descriptions),
        },
    )


def _check_alike(paths: Sequence[Path], descriptions: Sequence[dict[str, Any]]) -> None:
    for path, description in zip(paths, descriptions, strict=True):
        for name in ALIKE:
            if description.get(name) != descriptions[0].get(name):
                raise InputError(
                    f"{path}: was scored with another {name} than {paths[0]}; score both with the same.",
                    param="scores",
                    code="other_scores",
                )


def _all_requests(paths: Sequence[Path], found: Sequence[list[ScoredRequest]]) -> list[ScoredRequest]:
    """The requests of all files. Ids tell one user's documents apart within one file only, so a user has one file."""
    seen: dict[str, Path] = {}
    for path, requests in zip(paths, found, strict=True):
        for user in {request.user_id for request in requests}:
            if user in seen:
                raise InputError(f"{path}: holds user '{user}', and so does {seen[user]}.", code="user_twice")
            seen[user] = path
    return [request for requests in found for request in requests]


def write_groups(selection: Selection, out: Path) -> None:
    """The groups, with the description in the file's metadata; there whole or not at all."""
    columns = {
        "user_id": [group.user_id for group in selection.groups],
        "request_id": [group.request_id for group in selection.groups],
        "documents": [list(group.documents) for group in selection.groups],
        "gains": [list(group.gains) for group in selection.groups],
    }
    schema = SCHEMA.with_metadata({METADATA: json.dumps(selection.description, sort_keys=True).encode()})
    with replaced_file(out) as partial:
        pq.write_table(pa.Table.from_pydict(columns, schema=schema), partial)


def read_groups(path: Path) -> tuple[list[TrainingGroup], dict[str, Any]]:
    """The groups and their description. Raises InputError for a file that is damaged, not ours, or holds no numbers."""
    table = read_table(path)
    description = json.loads((table.schema.metadata or {}).get(METADATA, b"{}"))
    if description.get("kind") != KIND or table.schema.remove_metadata() != SCHEMA:
        raise InputError(f"{path}: is not a file of groups of 'pearl train select'.", code="not_groups")
    groups = [
        TrainingGroup(row["user_id"], row["request_id"], tuple(row["documents"]), tuple(row["gains"]))
        for row in table.to_pylist()
    ]
    if not all(math.isfinite(gain) for group in groups for gain in group.gains):
        raise InputError(f"{path}: holds a gain that is not a number; select again.", code="not_finite")
    return groups, description
