"""Reading files of ratings: CSV with the columns item, rater and label, or JSON Lines with these fields, as rating
pages write them. Other fields are ignored, except the style of an item."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pearl.errors import InputError
from pearl.text.files.csv_rows import csv_rows
from pearl.text.history.files import parse_numbered_lines
from pearl.text.usable import check_id
from pearl.text.words import composed

COLUMNS = ("item", "rater", "label")
NOT_RATED = -1
# what R, pandas, spreadsheets, databases and SPSS write where there is no rating, case-folded
MISSING = frozenset({"", ".", "na", "n/a", "n.a.", "#n/a", "<na>", "nan", "null"})


def is_missing(label: object) -> bool:
    """True if there is no rating: for null, and for labels such as NA."""
    return label is None or (isinstance(label, str) and label.strip().casefold() in MISSING)


@dataclass(frozen=True, slots=True)
class Ratings:
    """The labels that raters gave to items."""

    items: tuple[str, ...]
    raters: tuple[str, ...]
    labels: tuple[str, ...]  # sorted, as numbers where all of them are
    codes: NDArray[np.intp]  # index of each rating among the labels, or NOT_RATED: (items, raters)
    missing: int = 0  # rows that say that there is no rating

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The labels as numbers; None if any label is not a number."""
        return numbers(self.labels)

    @property
    def counts(self) -> NDArray[np.intp]:
        """The number of raters who gave each label: (items, labels)."""
        return np.asarray((self.codes[:, :, None] == np.arange(len(self.labels))).sum(axis=1))

    @property
    def used(self) -> dict[str, int]:
        """The number of times that each label was given."""
        return dict(zip(self.labels, map(int, self.counts.sum(axis=0)), strict=True))


def read_ratings(path: Path, labels: Sequence[str] = (), raters: Sequence[str] = ()) -> Ratings:
    """Read a file of ratings. ``labels``: all possible labels, if more than were used; ``raters``: everybody who was
    asked. A label such as NA is a missing rating, unless it is among ``labels``. Names are compared in Unicode's
    composed form. Raises InputError that names file, line and column."""
    rated: dict[tuple[str, str], tuple[int, str]] = {}
    labels, raters = [*map(composed, labels)], [*map(composed, raters)]
    missing = 0
    for line, *cells in _json_lines(path) if ".jsonl" in path.suffixes else _rows(path):
        item, rater, label = map(composed, cells)
        if is_missing(label) and label not in labels:
            missing += 1
            continue
        if (item, rater) in rated:
            raise InputError(
                f"{path}:{line}: rater: '{rater}' rated '{item}' already on line {rated[item, rater][0]}; "
                "an item has one label from each rater."
            )
        check_rater(rater, raters, f"{path}:{line}: rater: ")
        if labels and label not in labels:
            raise InputError(f"{path}:{line}: label: '{label}' is none of {', '.join(labels)}.")
        rated[item, rater] = line, label
    if not rated:
        every = f"; all {missing} are missing" if missing else ""
        raise InputError(f"{path}: there is no rating in it{every}.")
    return replace(ratings_of({key: label for key, (_, label) in rated.items()}, labels), missing=missing)


def check_rater(rater: str, raters: Sequence[str], where: str = "") -> None:
    """Raises InputError if the rater is not among ``raters``; an empty ``raters`` allows all."""
    if raters and rater not in raters:
        raise InputError(f"{where}'{rater}' is none of {', '.join(raters)}.", param="rater")


def ratings_of(rated: dict[tuple[str, str], str], labels: Sequence[str] = ()) -> Ratings:
    """Make ratings from labels by (item, rater). ``labels``: all possible labels, if more than were used."""
    items = tuple(dict.fromkeys(item for item, _ in rated))
    raters = tuple(dict.fromkeys(rater for _, rater in rated))
    known = tuple(sorted({*rated.values(), *labels}))
    if numbers(known) is not None:
        known = tuple(sorted(known, key=lambda label: (float(label), label)))
    indices = [{name: i for i, name in enumerate(names)} for names in (items, raters, known)]
    codes = np.full((len(items), len(raters)), NOT_RATED)
    for (item, rater), label in rated.items():
        codes[indices[0][item], indices[1][rater]] = indices[2][label]
    return Ratings(items, raters, known, codes)


def numbers(labels: Sequence[str]) -> tuple[float, ...] | None:
    try:
        values = tuple(map(float, labels))
    except ValueError:
        return None
    return values if all(map(math.isfinite, values)) else None


def _json_lines(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """Yield line, item, rater and label of each object. An item rated for several styles becomes several items."""

    def parse(value: dict[str, Any], number: int) -> tuple[int, str, str, str]:
        for name in COLUMNS:
            if name not in value:
                raise InputError("is missing.", param=name)
        item, rater = (check_id(value[name], param=name) for name in COLUMNS[:2])
        label = "" if is_missing(value["label"]) and not value["label"] else check_id(value["label"], param="label")
        style = value.get("style")
        return number, f"{item} ({style})" if style else item, rater, label

    yield from parse_numbered_lines(path, parse)


def _rows(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """Yield line, item, rater and label of each row."""
    for line, row in csv_rows(path, COLUMNS):
        item, rater, label = (row[name].strip() for name in COLUMNS)
        for name, cell in (("item", item), ("rater", rater)):
            if not cell:
                raise InputError(f"{path}:{line}: {name}: is empty; name what was rated and by whom.")
        yield line, item, rater, label
