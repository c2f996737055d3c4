"""The file of equation 1's scores: its rows, the description of how they were made, and the examples made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pearl.errors import InputError
from pearl.records import Document, Request
from pearl.text.files.whole import replaced_file
from retriever.base import oldest_first
from training.config import MEAN, SUM
from training.data.histories import times_of_all_or_none
from training.data.records import Example
from training.gains.units import ScoringUnit

SCHEMA = pa.schema(
    [
        ("user_id", pa.string()),
        ("request_id", pa.string()),
        ("document_id", pa.string()),
        ("log_p_with", pa.float64()),
        ("log_p_without", pa.float64()),
        ("target_tokens", pa.int32()),
    ]
)
METADATA = b"pearl"
MAGIC = b"PAR1"  # the first bytes of a Parquet file
LIBRARIES = ("torch", "transformers", "openvino", "pyarrow")


def merge_scores(units: Sequence[ScoringUnit], folder: Path, out: Path, description: dict[str, object]) -> int:
    """Merge the scored units in ``folder`` into one file, with the description as metadata; return its number of rows.

    Values are rounded to thousandths of a nat. Raises InputError for a damaged part.
    """
    metadata = description | {"versions": {name: version(name) for name in LIBRARIES}}
    schema = SCHEMA.with_metadata({METADATA: json.dumps(metadata, sort_keys=True).encode()})
    parts = [read_table(folder / f"{unit.name}.parquet").cast(SCHEMA) for unit in units]
    table = pa.concat_tables([SCHEMA.empty_table(), *parts]).cast(schema)
    for place, name in enumerate(SCHEMA.names):
        if name.startswith("log_p"):
            table = table.set_column(place, schema.field(name), pc.round(table[name], 3))
    with replaced_file(out) as partial:
        pq.write_table(table.combine_chunks(), partial, compression="zstd")
    return int(table.num_rows)


def read_scores(path: Path) -> tuple[pa.Table, dict[str, object]]:
    """Read the rows and the description of a file of scores. Raises InputError if the file is damaged or of another
    kind, or a row lacks a number or an id."""
    table = read_table(path)
    metadata = (table.schema.metadata or {}).get(METADATA)
    if metadata is None or table.schema.remove_metadata() != SCHEMA:
        raise InputError(f"{path}: is not a scores file of 'pearl train score'.")
    _check_rows(table, path)
    return table, json.loads(metadata)


def _check_rows(table: pa.Table, path: Path) -> None:
    faults = [pc.is_null(table[name]) for name in SCHEMA.names]
    faults += [pc.invert(pc.is_finite(table[name])) for name in SCHEMA.names if name.startswith("log_p")]
    faulty = np.any([pc.fill_null(fault, True).to_numpy() for fault in faults], axis=0)
    if faulty.any():
        row = table.slice(int(faulty.argmax()), 1).to_pylist()[0]
        raise InputError(
            f"{path}: request '{row['request_id']}' of user '{row['user_id']}' has a row without a likelihood that is "
            f"a number, or without an id ({int(faulty.sum()):,} of {table.num_rows:,} rows); score it again."
        )


def other_model(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Compare the auxiliary models of two scores files, by the files' descriptions. Return what differs, or "" if gains
    by the two can be compared."""
    first, second = (dict(description.get("fingerprint") or {}) for description in (before, now))
    precisions = {fingerprint.pop("dtype", None) for fingerprint in (first, second)}
    renamed = before.get("model") != now.get("model")
    if first != second or (renamed and not first.get("content")):
        return "model" if renamed else "model version"
    return "precision (--choose dtype)" if len(precisions) > 1 else ""


def read_table(path: Path) -> pa.Table:
    """Read a Parquet file whole. Raises InputError if it is damaged, of another kind or missing."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file; name the one that was made, or make it.")
    if path.is_dir():  # of which all files would be read as one
        raise InputError(f"{path}: is a folder; name a file in it.")
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise InputError(f"{path}: is not a Parquet file, as 'pearl train' writes scores and groups.")
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}: is damaged ({error}); delete it and run the command that made it again.") from error


def scored_requests(table: pa.Table, normalize: str = SUM) -> list[Example]:
    """Make examples from the rows of a scores file, without texts: documents have only ids. Gains are in nats, or in
    nats per token if ``normalize`` is ``mean``."""
    gains_of: dict[tuple[str, str], dict[str, float]] = {}
    tokens: dict[tuple[str, str], int] = {}
    for row in table.to_pylist():
        gain = row["log_p_with"] - row["log_p_without"]
        if normalize == MEAN:
            if row["target_tokens"] < 1:
                raise InputError(
                    f"Request '{row['request_id']}' of user '{row['user_id']}' has a target without tokens, so there "
                    "is no mean over them; take --choose normalize=sum, or score it again."
                )
            gain /= row["target_tokens"]
        request = row["user_id"], row["request_id"]
        gains_of.setdefault(request, {})[row["document_id"]] = gain
        tokens[request] = row["target_tokens"]
    return [
        Example(
            *key,
            request=Request(""),
            documents=tuple(Document(id, "") for id in gains),
            gains=np.array(list(gains.values()), np.float64),
            target_tokens=tokens[key],
        )
        for key, gains in gains_of.items()
    ]


def scored_examples(
    histories: Mapping[str, Sequence[Document]], scores: pa.Table, normalize: str = SUM
) -> list[Example]:
    """Make examples from a scores file's rows, with the histories' texts. Raises InputError if one is missing."""
    requests = scored_requests(scores, normalize)
    by_id = {
        user: {document.id: document for document in times_of_all_or_none(histories.get(user, ()))}
        for user in {request.user_id for request in requests}
    }
    examples = []
    for scored in requests:
        known = by_id[scored.user_id]
        ids = [document.id for document in scored.documents]
        missing = [id for id in (scored.request_id, *ids) if id not in known]
        if missing:
            raise InputError(
                f"The scores name the document '{missing[0]}' of user '{scored.user_id}', which the history does not "
                "have; give the history that was scored."
            )
        target, documents = known[scored.request_id], [known[id] for id in ids]
        order = list(oldest_first(documents))
        examples.append(
            replace(
                scored,
                request=Request(target.request or "", target.timestamp),
                target=target.text,
                documents=tuple(documents[place] for place in order),
                gains=scored.gains[order].astype(np.float32),
            )
        )
    return examples
