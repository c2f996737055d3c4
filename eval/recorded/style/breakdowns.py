"""F1 by task, judge, persona, generator and style, within each scheme; pooled over the judgements, and as the mean over
judges with its standard error, which is what the paper's tables print.

Dimensions in comments: G groups, J judges, R resamples, F cells of a confusion.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

import numpy as np

from eval.recorded.style.counts import Columns, Places, Totals, grouped
from eval.recorded.style.f1 import AVERAGES, estimate, f1, measured
from eval.recorded.style.judged import Unit
from eval.recorded.style.lines import REFLECTED
from pearl.stats import Estimate, Floats

NULL, STYLED = "null persona", "styled"
GROUPINGS: Mapping[str, Callable[[Unit], Hashable | None]] = {
    "task": lambda unit: unit.about.task,
    "judge": lambda unit: unit.key.judge,
    "persona": lambda unit: unit.about.persona or NULL,
    "conditioning": lambda unit: STYLED if unit.about.persona else NULL,
    "generator": lambda unit: unit.about.generator,
    "style": lambda unit: unit.key.style or None,
}
BY = (
    (),
    ("task",),
    ("judge",),
    ("judge", "task"),
    ("persona",),
    ("conditioning",),
    ("judge", "conditioning"),
    ("generator",),
    ("style",),
)


def breakdowns(columns: Columns) -> Iterator[dict[str, Any]]:
    """A row for each group of each scheme."""
    names, judge = grouped([unit.key.judge for unit in columns.units])
    for scheme, among in schemes(columns):
        for by in BY:
            parts = (1, np.zeros_like(judge)) if "judge" in by else (len(names), judge)
            yield from _rows(columns, scheme, by, among, parts)


def schemes(columns: Columns) -> Iterator[tuple[str, Places]]:
    """Each with which units are judged by it."""
    names = np.array([unit.key.scheme for unit in columns.units], dtype=object)
    for scheme in sorted(set(names)):
        yield str(scheme), names == scheme


def _group(unit: Unit, by: tuple[str, ...]) -> tuple[Hashable, ...] | None:
    names = tuple(GROUPINGS[name](unit) for name in by)
    return None if None in names else names


def _rows(
    columns: Columns,
    scheme: str,
    by: tuple[str, ...],
    among: Places,
    parts: tuple[int, Places],
) -> Iterator[dict[str, Any]]:
    """``parts``: how many judges are told apart, and which of them each unit is of."""
    number, judge = parts
    names, group = grouped(
        [_group(unit, by) if inside else None for unit, inside in zip(columns.units, among, strict=True)]
    )
    if not names:
        return
    apart = columns.confusion(np.where(group >= 0, group * number + judge, -1), len(names) * number)
    value = apart.value.reshape(len(names), number, -1)  # (G, J, F)
    resampled = apart.resampled.reshape(-1, len(names), number, value.shape[-1])  # (R, G, J, F)
    for place, name in enumerate(names):
        pooled = Totals(value[place].sum(axis=0)[None], resampled[:, place].sum(axis=1)[:, None])
        row = {"kind": columns.kind, "scheme": scheme, "by": list(by), "group": dict(zip(by, name, strict=True))}
        row |= measured(columns.kind, pooled)
        if "judge" not in by:
            row["over_judges"] = over_judges(columns.kind, value[place], resampled[:, place])
        yield row


def over_judges(kind: str, value: Floats, resampled: Floats) -> dict[str, Any]:
    """The mean of the judges' F1, (J, F) and (R, J, F), with the interval over texts, and its standard error, which is
    over the judges."""
    each = f1(value, AVERAGES[kind])
    there = np.isfinite(each)
    if not there.any():
        return {"n": 0, "mean": None, "se": None}
    again = f1(resampled[:, there], AVERAGES[kind])
    mean = Estimate(float(each[there].mean()), again.mean(axis=1))
    return {"n": int(there.sum()), "mean": mean.to_json(), "se": standard_error(each[there])}


def standard_error(values: Floats) -> float | None:
    """The standard error of the mean; None for a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def reflections(columns: Columns) -> Iterator[dict[str, Any]]:
    """F1 of what a judge says once it was shown its own answer, less that of the answer; by judge, in all tasks and in
    each."""
    reflected = {unit.key.scheme for unit in columns.units if unit.key.scheme.endswith(REFLECTED)}
    base = [unit.key.scheme.removesuffix(REFLECTED) for unit in columns.units]
    average = AVERAGES[columns.kind]
    for by_task in (False, True):
        names, group = grouped(
            [
                (scheme, unit.about.task if by_task else "", unit.key.judge)
                if scheme + REFLECTED in reflected
                else None
                for scheme, unit in zip(base, columns.units, strict=True)
            ]
        )
        again = np.array([unit.key.scheme in reflected for unit in columns.units], np.intp)
        totals = columns.confusion(np.where(group >= 0, 2 * group + again, -1), 2 * len(names)) if names else None
        for place, (scheme, task, judge) in enumerate(names):
            assert totals is not None
            first, second = (estimate(totals.of(2 * place + each), lambda sums: f1(sums, average)) for each in (0, 1))
            yield {
                "kind": columns.kind,
                "scheme": scheme,
                "task": task or None,
                "judge": judge,
                "f1": first.to_json(),
                "f1_reflected": second.to_json(),
                "difference": (second - first).to_json(),
            }
