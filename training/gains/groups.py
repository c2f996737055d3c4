"""The file of groups that ``pearl train select`` makes from scores and ``pearl train fit`` learns from."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pearl.errors import InputError
from pearl.records import Document, Request
from pearl.text.files.whole import replaced_file
from training.config import MEAN, SUM
from training.data.records import Example
from training.data.selection import Selection, SelectionOptions, select
from training.gains.scores import METADATA, other_model, read_scores, read_table, scored_requests

SCHEMA = pa.schema(
    [
        ("user_id", pa.string()),
        ("request_id", pa.string()),
        ("documents", pa.list_(pa.string())),
        ("gains", pa.list_(pa.float64())),
    ]
)
KIND = "groups"
CLOSE = 1e-3  # nats: gains of examples are in float32


@dataclass(frozen=True, slots=True)
class GroupFile:
    """Groups to learn from, whose documents have only ids, and a description (JSON) of how they were selected."""

    groups: list[Example]
    description: dict[str, Any]

    @property
    def options(self) -> SelectionOptions:
        return SelectionOptions(**{name: self.description[name] for name in asdict(SelectionOptions())})


def select_from(paths: Sequence[Path], options: SelectionOptions) -> GroupFile:
    """Select training groups (Algorithm 1) from files of scores.

    ``y0`` in the description is the median gain of the positives, ``y0_quartiles`` are the first and the third. Raises
    InputError for unusable scores, and for scores by different models or, in one history, different templates.
    """
    tables, descriptions = zip(*(read_scores(path) for path in paths), strict=True)
    _check_alike(paths, descriptions)
    scored = [
        [
            replace(example, domain=description.get("history_sha256", ""))
            for example in scored_requests(table, options.normalize)
        ]
        for table, description in zip(tables, descriptions, strict=True)
    ]
    histories = _by_history(paths, scored)
    selections = [select(requests, options) for requests in histories]
    groups = [group for selection in selections for group in selection.groups]
    if not groups:
        raise InputError(
            f"{paths[0]}: no request that is kept has {options.positives} candidates and another one to learn from; "
            "score more candidates, keep a larger share, or take fewer positives."
        )
    positive_gains = [gain for selection in selections for gain in selection.positive_gains]
    first, y0, third = (float(value) for value in np.quantile(positive_gains, (0.25, 0.5, 0.75)))
    return GroupFile(
        groups,
        {
            "kind": KIND,
            **asdict(options),
            "y0": y0,
            "y0_quartiles": [first, third],
            "users": sum(len({group.user_id for group in selection.groups}) for selection in selections),
            "requests": sum(map(len, histories)),
            "requests_kept": sum(len(selection.requests) for selection in selections),
            "groups": len(groups),
            "scores": list(descriptions),
        },
    )


def _check_alike(paths: Sequence[Path], descriptions: Sequence[dict[str, Any]]) -> None:
    first: dict[Any, tuple[Path, dict[str, Any]]] = {}  # the first file of each history: templates go with the texts
    for path, description in zip(paths, descriptions, strict=True):
        other, before = paths[0], descriptions[0]
        name = other_model(before, description)
        if not name:
            other, before = first.setdefault(description.get("history_sha256"), (path, description))
            name = "template" if description.get("template") != before.get("template") else ""
        if name:
            raise InputError(f"{path}: was scored with another {name} than {other}; score both with the same.")


def _by_history(paths: Sequence[Path], of_files: Sequence[list[Example]]) -> list[list[Example]]:
    """Return the requests of each history. Raises InputError if two files of one history have the same user."""
    seen: dict[tuple[str, str], Path] = {}
    histories: dict[str, list[Example]] = {}
    for path, requests in zip(paths, of_files, strict=True):
        for domain, user in sorted({(request.domain, request.user_id) for request in requests}):
            if (domain, user) in seen:
                raise InputError(
                    f"{path}: holds user '{user}', and so does {seen[domain, user]}, which is of the same history; "
                    "leave one of them out."
                )
            seen[domain, user] = path
        for request in requests:
            histories.setdefault(request.domain, []).append(request)
    return list(histories.values())


def write_groups(made: GroupFile, out: Path) -> None:
    """Write the training groups atomically to a Parquet file, with their description as metadata."""
    columns = {
        "user_id": [group.user_id for group in made.groups],
        "request_id": [group.request_id for group in made.groups],
        "documents": [[document.id for document in group.documents] for group in made.groups],
        "gains": [group.gains.tolist() for group in made.groups],
    }
    schema = SCHEMA.with_metadata({METADATA: json.dumps(made.description, sort_keys=True).encode()})
    with replaced_file(out) as partial:
        pq.write_table(pa.Table.from_pydict(columns, schema=schema), partial)


def read_groups(path: Path) -> GroupFile:
    """Read a file of training groups. Raises InputError if it is damaged or another file, or a gain is not a number."""
    table = read_table(path)
    description = json.loads((table.schema.metadata or {}).get(METADATA, b"{}"))
    if description.get("kind") != KIND or table.schema.remove_metadata() != SCHEMA:
        raise InputError(f"{path}: is not a file of groups of 'pearl train select'.")
    groups = [
        Example(
            row["user_id"],
            row["request_id"],
            Request(""),
            tuple(Document(id, "") for id in row["documents"]),
            np.array(row["gains"], np.float64),
        )
        for row in table.to_pylist()
    ]
    if not all(np.isfinite(group.gains).all() for group in groups):
        raise InputError(f"{path}: holds a gain that is not a number; select again.")
    made = GroupFile(groups, description)
    if (normalize := made.options.normalize) not in (SUM, MEAN):
        raise InputError(f"{path}: normalize={normalize}: there are {SUM} and {MEAN}.")
    return made


def selection_among(made: GroupFile, examples: Sequence[Example], path: Path) -> Selection:
    """Find the training groups of a file among ``examples``, which have texts; return groups with texts, and their
    examples.

    Raises InputError if the examples lack a group's request or documents, or have other gains.
    """
    # users of several corpora may have one id: documents and gains tell them apart
    known: dict[tuple[str, str], list[Example]] = defaultdict(list)
    for example in examples:
        known[example.user_id.removeprefix(f"{example.domain}:"), example.request_id].append(example)
    groups, keys = [], set()
    for group in made.groups:
        found = [_regrouped(group, example) for example in known[group.user_id, group.request_id]]
        with_texts = [each for each in found if each is not None]
        if not with_texts:
            raise _other_scores(path, group, "is not among the requests to train on")
        same = [each for each in with_texts if np.allclose(each.gains, group.gains, rtol=0.0, atol=CLOSE)]
        if not same:
            raise _other_scores(path, group, "has other gains")
        chosen = same[0]
        groups.append(chosen)
        keys.add((chosen.user_id, chosen.request_id))
    return Selection([example for example in examples if example.key in keys], groups)


def _regrouped(group: Example, example: Example) -> Example | None:
    """Return the group with the example's texts; None if the example lacks one of its documents."""
    places = {document.id: place for place, document in enumerate(example.documents)}
    if not all(document.id in places for document in group.documents):
        return None
    return example.group([places[document.id] for document in group.documents])


def _other_scores(path: Path, group: Example, problem: str) -> InputError:
    return InputError(
        f"--groups {path}: request '{group.request_id}' of user '{group.user_id}' {problem} in --work; select from its "
        "scores to train on."
    )
