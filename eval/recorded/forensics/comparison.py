"""The figures of ``pearl forensics compare``: annotators against several references side by side.

A column is a file, a part of it or both, with a reference: a person, a model, the annotators of a data set. Columns may
share pairs, and their differences are paired where they do.

Dimensions in comments: T different pairs in all, K annotators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.recorded.forensics.measures import Resampling, Z, corrected
from eval.recorded.forensics.metrics import LEVEL, MODEL, annotator_rows, overall_figures, rows_of, with_reference
from eval.recorded.forensics.pairs import MODEL_IDENTITY, Annotator
from eval.recorded.forensics.votes import A, B, Codes, Mask, VoteTable, models_of_table, read_votes
from pearl.errors import InputError
from pearl.stats import Floats, Interval

MOST_COLUMNS = 30
JOIN = " · "


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """``references`` as of :class:`~eval.recorded.forensics.metrics.ForensicsOptions`; ``models``: a column for each
    model, too; ``by``: a column for each value of this field of the pairs' metadata."""

    references: Sequence[str] = ()
    models: bool = False
    against: Sequence[str] = ()
    by: str | None = None
    resampling: Resampling = field(default_factory=Resampling)


@dataclass(frozen=True, slots=True)
class VoteColumn:
    """The votes of a reference on some pairs."""

    name: str
    file: str
    group: str | None
    table: VoteTable
    reference: int

    @property
    def chosen(self) -> Mask:
        codes = self.table.codes[:, self.reference]
        return np.asarray((codes == A) | (codes == B))


def compare_files(paths: Sequence[Path], options: ColumnOptions) -> dict[str, Any]:
    """The figures of the files. Raises InputError where they cannot be read, or a column has nothing to compare."""
    return compared(columns_of([(str(path), read_votes(path)) for path in paths], options), options.resampling)


def columns_of(tables: Sequence[tuple[str, VoteTable]], options: ColumnOptions, least: int = 2) -> list[VoteColumn]:
    """The columns that the options ask for, file by file, group by group, reference by reference.

    Raises InputError for fewer than ``least`` or too many, and for one that has nothing to compare.
    """
    found = []
    for file, table in tables:
        for group, part in _groups(file, table, options.by):
            references = [*options.references, *_models(part, options)]
            if not references:
                raise InputError("name a --reference, or --models.", param="reference", code="missing_option")
            for reference in references:
                named = [
                    Path(file).name.partition(".")[0] if len(tables) > 1 else "",
                    group or "",
                    reference if len(references) > 1 or not (group or len(tables) > 1) else "",
                ]
                whole, place = _referenced(file, part, reference, options.against)
                found.append(VoteColumn(JOIN.join(filter(None, named)), file, group, whole, place))
    if not least <= len(found) <= MOST_COLUMNS:
        raise InputError(
            f"{len(found)} columns, of {least} to {MOST_COLUMNS}: name several --pairs, --reference, --models or --by.",
            code="too_many" if found[1:] else "too_few",
        )
    for column in found:
        if not column.chosen.any():
            raise InputError(f"{column.file}: {column.name}: the reference chooses no response.", code="only_ties")
    return found


def compared(columns: Sequence[VoteColumn], resampling: Resampling) -> dict[str, Any]:
    """Every annotator in every column, and the differences of its strength between columns."""
    annotators = _compared_annotators(columns)
    figures = [_figures(column, list(annotators), resampling) for column in columns]
    rows: list[dict[str, Any]] = [
        {"name": each.name, "id": each.id, "type": each.kind, "columns": [figure.get(each.id) for figure in figures]}
        for each in annotators.values()
    ]
    _correct([cell for row in rows for cell in row["columns"] if cell is not None])
    differences = _differences(columns, rows)
    for row in rows:
        of_row = [each for each in differences if each["id"] == row["id"]]
        row["max_difference"] = max(of_row, key=lambda each: float(each["strength"]["value"]), default=None)
    rows.sort(key=lambda row: -row["max_difference"]["strength"]["value"] if row["max_difference"] else 1.0)
    return {
        "columns": [
            {
                "name": column.name,
                "file": column.file,
                "group": column.group,
                "reference": column.table.annotators[column.reference].name,
                "pairs": len(column.table.ids),
                "n": int(column.chosen.sum()),
                "overall": overall_figures(column.table, column.table.codes[:, column.reference]),
            }
            for column in columns
        ],
        "annotators": rows,
        "differences": differences,
    }


def _groups(file: str, table: VoteTable, by: str | None) -> list[tuple[str | None, VoteTable]]:
    """The parts of a table by a field of the metadata, the largest first."""
    if by is None:
        return [(None, table)]
    values = np.array([str(metadata.get(by, "")) for metadata in table.metadata])
    known, counts = np.unique(values[values != ""], return_counts=True)
    if not len(known):
        fields = ", ".join(dict.fromkeys(name for metadata in table.metadata for name in metadata)) or "none"
        raise InputError(f"{file}: --by {by}: no pair has it in its metadata; there are {fields}.", param="by")
    ordered = known[np.lexsort((known, -counts))]
    return [(str(value), table.of_pairs(values == value)) for value in ordered]


def _models(table: VoteTable, options: ColumnOptions) -> Iterator[str]:
    """The models as references, but one that is the only model to compare with."""
    if options.models:
        yield from (f"{MODEL} {model}" for model in models_of_table(table) if list(options.against) != [model])


def _referenced(file: str, table: VoteTable, reference: str, against: Sequence[str]) -> tuple[VoteTable, int]:
    try:
        return with_reference(table, reference, against)
    except InputError as error:
        raise InputError(f"{file}: {error.message}", param=error.param, code=error.code) from None


def _compared_annotators(columns: Sequence[VoteColumn]) -> dict[str, Annotator]:
    """The annotators that are compared, by id: no column's reference, and no identity of a model."""
    references = {column.table.annotators[column.reference].id for column in columns}
    found = (column.table.annotators[place] for column in columns for place in rows_of(column.table, column.reference))
    return {each.id: each for each in found if each.id not in references and each.kind != MODEL_IDENTITY}


def _figures(column: VoteColumn, ids: Sequence[str], resampling: Resampling) -> dict[str, dict[str, Any]]:
    """The row of each annotator in a column, by id; its p-value is corrected later, over all columns."""
    places = {each.id: place for place, each in enumerate(column.table.annotators)}
    rows = [places[id] for id in ids if id in places]
    reference = column.table.codes[:, column.reference]
    made = annotator_rows(column.table, rows, reference, resampling)
    return {row["id"]: {name: value for name, value in row.items() if name not in ("name", "type")} for row in made}


def _correct(rows: Sequence[dict[str, Any]]) -> None:
    """Put p-values into the rows that are corrected over all of them."""
    p = np.array([row["p_value"] for row in rows])
    for name, method in (("p_corrected", "bonferroni"), ("p_holm", "holm")):
        for row, value in zip(rows, corrected(p, method), strict=True):
            row[name] = float(value)
    for row in rows:
        row["significant"] = row["p_corrected"] < LEVEL


def _differences(columns: Sequence[VoteColumn], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The difference of every two columns in the strength of each annotator, the larger first, p-values corrected over
    all of them. Normal, after an agreeing and a disagreeing vote is added to each column, as Agresti and Caffo do."""
    everywhere = {
        id: number for number, id in enumerate(dict.fromkeys(id for each in columns for id in each.table.ids))
    }
    signed = [_signed(column, [row["id"] for row in rows], everywhere) for column in columns]
    found = []
    for (i, (first, in_first)), (j, (second, in_second)) in combinations(enumerate(signed), 2):
        n, m = int(in_first.sum()), int(in_second.sum())
        centre, other = first.sum(axis=0) / (n + 2), second.sum(axis=0) / (m + 2)
        shared = in_first & in_second
        together = ((first[shared] - centre) * (second[shared] - other)).sum(axis=0) / ((n + 2) * (m + 2))
        spread = np.sqrt(
            np.maximum(_variance(first[in_first], centre) + _variance(second[in_second], other) - 2 * together, 1e-12)
        )
        gaps = first.sum(axis=0) / n - second.sum(axis=0) / m
        for row, gap, error in zip(rows, gaps, spread, strict=True):
            if row["columns"][i] is None or row["columns"][j] is None:
                continue
            larger, smaller = (i, j) if gap >= 0 else (j, i)
            size = abs(float(gap))
            found.append(
                {
                    "name": row["name"],
                    "id": row["id"],
                    "column": columns[larger].name,
                    "against": columns[smaller].name,
                    "strength": Interval(size, size - Z * float(error), size + Z * float(error)).to_json(),
                    "p_value": _two_sided(size / float(error)),
                }
            )
    _correct(found)
    return found


def _signed(column: VoteColumn, ids: Sequence[str], everywhere: dict[str, int]) -> tuple[NDArray[np.int8], Mask]:
    """1 where an annotator agrees with the reference, -1 where it disagrees, 0 elsewhere (T, K); and the pairs that
    count in the column (T,)."""
    table, chosen = column.table, column.chosen
    places = {each.id: place for place, each in enumerate(table.annotators)}
    where = np.array([everywhere[id] for id in table.ids])
    signed = np.zeros((len(everywhere), len(ids)), np.int8)
    counted = np.zeros(len(everywhere), np.bool_)
    counted[where] = chosen
    reference: Codes = table.codes[:, column.reference]
    for number, id in enumerate(ids):
        if id in places:
            codes = table.codes[:, places[id]]
            votes = chosen & ((codes == A) | (codes == B))
            signed[where, number] = np.where(votes, np.where(codes == reference, 1, -1), 0)
    return signed, counted


def _variance(signed: NDArray[np.int8], centre: Floats) -> Floats:
    """The variance of a strength, with the two votes that are added."""
    squares = ((signed - centre) ** 2).sum(axis=0) + (1 - centre) ** 2 + (1 + centre) ** 2
    return np.asarray(squares / (len(signed) + 2) ** 2)


def _two_sided(z: float) -> float:
    from scipy.stats import norm

    return float(2 * norm.sf(z))
