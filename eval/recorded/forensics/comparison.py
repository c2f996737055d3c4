"""The figures of ``pearl forensics compare``: annotators measured against several references side by side.

A column is a reference (a person, a model, or an annotator of a data set) on a file or a part of a file. If two columns
share pairs, their difference is a paired difference.

Dimensions in comments: T different pairs in all, K annotators.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from typer import Option

from eval.recorded.forensics import metrics
from eval.recorded.forensics.identity import models_of
from eval.recorded.forensics.measures import Resampling, normal_interval
from eval.recorded.forensics.pairs import MODEL_IDENTITY
from eval.recorded.forensics.votes import Codes, Mask, VoteTable, chooses, read_votes
from eval.report.tables import file_names
from pearl.errors import InputError
from pearl.stats.bootstrap import Floats
from pearl.text.usable import counted

MOST_COLUMNS = 30
JOIN = " · "

PairFiles = Annotated[list[Path], Option(metavar="PAIRS", help="Annotated pairs; repeatable.")]
Against = Annotated[
    list[str], Option(metavar="MODEL", help="Model that a model is compared with; repeatable, all by default.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnOptions:
    """The options that choose the columns to compare. For ``reference`` see
    :class:`~eval.recorded.forensics.metrics.ForensicsOptions`."""

    reference: Annotated[
        list[str], Option(metavar="NAME", help="Annotator by name or id, or 'model: NAME'; repeatable.")
    ] = field(default_factory=list)
    models: Annotated[bool, Option("--models", help="Add a column for each model.")] = False
    against: Against = field(default_factory=list)
    by: Annotated[str | None, Option(metavar="FIELD", help="Split by this field of the metadata.")] = None


@dataclass(frozen=True, slots=True)
class VoteColumn:
    """A column of a comparison: the votes on some pairs (``table``), and the reference's index among the annotators."""

    name: str
    file: str
    group: str | None
    table: VoteTable
    reference: int

    @property
    def votes(self) -> Codes:
        return self.table.codes[:, self.reference]

    @property
    def chosen(self) -> Mask:
        return chooses(self.votes)


def compare_files(paths: Sequence[Path], options: ColumnOptions, resampling: Resampling) -> dict[str, Any]:
    """Compare annotators over the columns of all files. Raises InputError for a file that cannot be read, and for a
    column whose reference chooses no response."""
    columns, left_out = columns_of_files(paths, options)
    return {**compared(columns, resampling), "left_out": left_out}


def columns_of_files(
    paths: Sequence[Path], options: ColumnOptions, least: int = 2
) -> tuple[list[VoteColumn], dict[str, int]]:
    """The files' columns, and the number of pairs left out by reason. Raises InputError as :func:`columns_of` does."""
    tables = [(str(path), read_votes(path)) for path in paths]
    left_out = sum((Counter(table.left_out) for _, table in tables), Counter[str]())
    if options.by:
        groups = np.concatenate([_group_names(table, options.by) for _, table in tables])
        left_out[f"without_{options.by}"] = int((groups == "").sum())
    columns = columns_of(tables, options, least)
    return columns, {reason: count for reason, count in left_out.items() if count}


def columns_of(tables: Sequence[tuple[str, VoteTable]], options: ColumnOptions, least: int = 2) -> list[VoteColumn]:
    """The columns that the options ask for, in the order of files, groups and references. ``tables``: file names with
    votes. Raises InputError for a wrong number of columns, and for a reference that chooses no response."""
    columns = []
    files = [Path(file) for file, _ in tables]
    titles = [file.name.partition(".")[0] for file in files]
    if len(set(titles)) < len(titles):
        titles = file_names(files)
    for title, (file, table) in zip(titles, tables, strict=True):
        for group, part in _groups(file, table, options.by):
            # as references, but one that is the only model to compare with
            names = sorted(models_of(part.models)) if options.models else ()
            models = [f"{metrics.MODEL} {name}" for name in names if [*options.against] != [name]]
            references = [*options.reference, *models]
            if not references:
                raise InputError("name a --reference, or --models.", param="reference")
            for reference in references:
                named = [
                    title if len(tables) > 1 else "",
                    group or "",
                    reference if len(references) > 1 or not (group or len(tables) > 1) else "",
                ]
                try:
                    whole, place = metrics.with_reference(part, reference, options.against)
                except InputError as error:
                    raise InputError(f"{file}: {error.message}") from None
                columns.append(VoteColumn(JOIN.join(filter(None, named)), file, group, whole, place))
    if not least <= len(columns) <= MOST_COLUMNS:
        raise InputError(
            f"{counted(len(columns), 'column')}, where {least} to {MOST_COLUMNS} are needed: choose them by --pairs, "
            "--reference, --models or --by."
        )
    for column in columns:
        if not column.chosen.any():
            raise InputError(f"{column.file}: {column.name}: the reference chooses no response.")
    return columns


def compared(columns: Sequence[VoteColumn], resampling: Resampling) -> dict[str, Any]:
    """Measure every annotator in every column, and the difference in its strength between every two columns."""
    references = {column.table.annotators[column.reference].id for column in columns}
    annotators = {
        annotator.id: annotator
        for column in columns
        for annotator in (column.table.annotators[place] for place in metrics.rows_of(column.table, column.reference))
        if annotator.id not in references and annotator.kind != MODEL_IDENTITY
    }
    figures = [_figures(column, list(annotators), resampling) for column in columns]
    rows: list[dict[str, Any]] = [
        {"name": annotator.name, "id": id, "type": annotator.kind, "columns": [by_id.get(id) for by_id in figures]}
        for id, annotator in annotators.items()
    ]
    metrics.add_corrected([cell for row in rows for cell in row["columns"] if cell is not None])
    differences = _differences(columns, rows)
    by_id = defaultdict[str, list[dict[str, Any]]](list)
    for difference in differences:
        by_id[difference["id"]].append(difference)
    for row in rows:
        of_row = by_id[row["id"]]
        row["max_difference"] = max(of_row, key=lambda difference: float(difference["strength"]["value"]), default=None)
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
                "overall": metrics.overall_figures(column.table, column.votes),
            }
            for column in columns
        ],
        "annotators": rows,
        "differences": differences,
    }


def _groups(file: str, table: VoteTable, by: str | None) -> list[tuple[str | None, VoteTable]]:
    """Split a table by a field of its metadata (``by``), and return the largest part first."""
    if by is None:
        return [(None, table)]
    values = _group_names(table, by)
    known, counts = np.unique(values[values != ""], return_counts=True)
    if not len(known):
        fields = ", ".join(dict.fromkeys(name for metadata in table.metadata for name in metadata)) or "none"
        raise InputError(f"{file}: --by {by}: no pair has it in its metadata; there are {fields}.")
    ordered = known[np.lexsort((known, -counts))]
    return [(str(value), table.of_pairs(values == value)) for value in ordered]


def _group_names(table: VoteTable, by: str) -> NDArray[np.str_]:
    """The group of each pair, (N,); empty for a pair without a group."""
    return np.array(["" if metadata.get(by) is None else str(metadata[by]) for metadata in table.metadata])


def _figures(column: VoteColumn, ids: Sequence[str], resampling: Resampling) -> dict[str, dict[str, Any]]:
    """The figures of each annotator in a column, by the annotator's id."""
    places = column.table.places
    rows = metrics.annotator_rows(column.table, [places[id] for id in ids if id in places], column.votes, resampling)
    return {row["id"]: {name: value for name, value in row.items() if name not in ("name", "type")} for row in rows}


def _differences(columns: Sequence[VoteColumn], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each annotator, the difference in strength between every two columns, the larger strength first. P-values are
    normal and corrected over all differences. Each column first gets two more votes, as Agresti and Caffo propose."""
    from scipy.stats import norm

    ids = dict.fromkeys(id for column in columns for id in column.table.ids)
    everywhere = {id: number for number, id in enumerate(ids)}
    signed = [_signed(column, [row["id"] for row in rows], everywhere) for column in columns]
    differences: list[dict[str, Any]] = []
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
            differences.append(
                {
                    "name": row["name"],
                    "id": row["id"],
                    "column": columns[larger].name,
                    "against": columns[smaller].name,
                    "strength": normal_interval(abs(gap), error).to_json(),
                    "p_value": float(2 * norm.sf(abs(gap) / error)),
                }
            )
    metrics.add_corrected(differences)
    return differences


def _signed(column: VoteColumn, ids: Sequence[str], everywhere: dict[str, int]) -> tuple[NDArray[np.int8], Mask]:
    """1 where an annotator agrees with the column's reference, -1 where it disagrees, else 0: (T, K). Also a mask of
    the pairs on which the reference chooses, (T,)."""
    table, places = column.table, column.table.places
    where = np.array([everywhere[id] for id in table.ids])
    signed = np.zeros((len(everywhere), len(ids)), np.int8)
    counted = np.zeros(len(everywhere), np.bool_)
    counted[where] = column.chosen
    for number, id in enumerate(ids):
        if id in places:
            codes = table.codes[:, places[id]]
            both = column.chosen & chooses(codes)
            signed[where, number] = np.where(both, np.where(codes == column.votes, 1, -1), 0)
    return signed, counted


def _variance(signed: NDArray[np.int8], centre: Floats) -> Floats:
    """The variance of a strength, after an agreeing and a disagreeing vote are added."""
    squares = ((signed - centre) ** 2).sum(axis=0) + (1 - centre) ** 2 + (1 + centre) ** 2
    return np.asarray(squares / (len(signed) + 2) ** 2)
