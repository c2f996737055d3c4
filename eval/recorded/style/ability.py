"""Measures of judges and writers: how good they are in general, whether better models judge better, and how well a
judge judges texts by itself, by its family, and by weaker models.

Abilities are ``{"model": {"score"?: 0.7, "family"?: "..."}}``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from scipy.stats import pearsonr

from eval.asking.json_lines import optional_number, optional_string
from eval.recorded.style.counts import UNDEFINED, Columns, mean_of
from eval.recorded.style.judged import JudgedUnit
from pearl.errors import InputError
from pearl.text.history.files import decompressed, reading
from pearl.text.usable import json_type

FIELDS = ("score", "family")
FEWEST = 3  # judges; two points always lie on a line


@dataclass(frozen=True, slots=True)
class Ability:
    score: float | None
    family: str | None


Abilities = Mapping[str, Ability]
UNKNOWN = Ability(None, None)


def read_abilities(path: Path) -> Abilities:
    """Read a file of abilities. Raises InputError that names file and field."""
    try:
        with reading(path) as raw, decompressed(raw) as file:
            value = orjson.loads(file.read())
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: is not JSON: {error.msg}.") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: must be a JSON object, not {json_type(value)}.")
    abilities = {}
    for name, fields in value.items():
        if not isinstance(fields, dict) or not fields or set(fields) - set(FIELDS):
            raise InputError(f"{path}: {name}: must be an object with {' and '.join(FIELDS)}.")
        try:
            abilities[name] = Ability(optional_number(fields, "score"), optional_string(fields, "family"))
        except InputError as error:
            raise InputError(f"{path}: {name}.{error.param}: {error.message}") from None
    return abilities


def correlations(columns: Columns, abilities: Abilities) -> Iterator[dict[str, Any]]:
    """Pearson's r between the judges' F1 and their ability score: overall, by task, by scheme, and by both. A judge's
    F1 is the mean over tasks and schemes, so that a task with more texts does not count more."""
    f1 = columns.f1([(unit.key.judge, unit.about.task, unit.key.scheme) for unit in columns.units])
    cells = {cell: estimate.value for cell, estimate in f1.items() if np.isfinite(estimate.value)}
    for scheme in (None, *sorted({scheme for _, _, scheme in cells})):
        for task in (None, *sorted({task for _, task, _ in cells})):
            inside = [cell for cell in cells if task in (None, cell[1]) and scheme in (None, cell[2])]
            judges = sorted({judge for judge, _, _ in inside if abilities.get(judge, UNKNOWN).score is not None})
            means = [np.mean([cells[cell] for cell in inside if cell[0] == judge]) for judge in judges]
            scores = [abilities[judge].score for judge in judges]
            row = {"kind": columns.kind, "scheme": scheme, "task": task, "judges": len(means)}
            row |= {"pearson_r": None, "p_value": None}
            if len(means) < FEWEST:
                yield row | {"undefined": f"fewer than {FEWEST} judges have a score"}
            elif np.ptp(means) < 1e-12 or len(set(scores)) < 2:
                yield row | {"undefined": "all judges have the same F1, or the same score"}
            else:
                r = pearsonr(means, scores)
                low, high = map(float, r.confidence_interval())
                value = {"value": float(r.statistic), "low": low, "high": high}
                yield row | {"pearson_r": value, "p_value": float(r.pvalue)}


def _own(unit: JudgedUnit, judge: Ability, writer: Ability) -> bool | None:
    return None if unit.about.generator is None else unit.about.generator == unit.key.judge


def _family(unit: JudgedUnit, judge: Ability, writer: Ability) -> bool | None:
    """True if judge and writer are of one family, also if they are the same model; None if a family is unknown."""
    return judge.family == writer.family if judge.family and writer.family else None


def _stronger(unit: JudgedUnit, judge: Ability, writer: Ability) -> bool | None:
    """True if the judge's score is above the writer's; None if the scores are equal or unknown."""
    if judge.score is None or writer.score is None or judge.score == writer.score:
        return None
    return judge.score > writer.score


CONTRASTS: Mapping[str, tuple[str, str, Callable[[JudgedUnit, Ability, Ability], bool | None]]] = {
    "self_less_other": ("self", "other", _own),
    "same_less_different_family": ("same family", "different family", _family),
    "stronger_less_weaker": ("stronger judge", "weaker judge", _stronger),
}


def contrasts(columns: Columns, abilities: Abilities) -> Iterator[dict[str, Any]]:
    """The difference in F1 between the two sides of each of CONTRASTS, such as own and other texts, by scheme and task.
    The paper pools all judgements of a side, so judges that are on one side only change the difference;
    ``within_judges`` is the mean difference of the judges that are on both sides."""
    tasks = sorted({unit.about.task for unit in columns.units}, key=str)
    models = [(unit.key.judge, unit.about.generator or "") for unit in columns.units]
    known = [(abilities.get(judge, UNKNOWN), abilities.get(writer, UNKNOWN)) for judge, writer in models]
    for name, (first, second, side_of) in CONTRASTS.items():
        every = [(unit, side_of(unit, *able)) for unit, able in zip(columns.units, known, strict=True)]
        for scheme in columns.schemes:
            for task in (None, *tasks):
                sides = [
                    side if unit.key.scheme == scheme and task in (None, unit.about.task) else None
                    for unit, side in every
                ]
                row = {"kind": columns.kind, "scheme": scheme, "task": task, "contrast": name}
                yield row | _contrast(columns, sides, {True: first, False: second})


def _contrast(columns: Columns, sides: Sequence[bool | None], names: Mapping[bool, str]) -> dict[str, Any]:
    counts, f1 = Counter(sides), {True: UNDEFINED, False: UNDEFINED} | columns.f1(sides)
    difference = (f1[True] - f1[False]).to_json()
    row: dict[str, Any] = {
        "sides": [{"side": name, "n": counts[side], "f1": f1[side].to_json()} for side, name in names.items()],
        "difference": difference,
        "within_judges": _within_judges(columns, sides),
    }
    if difference is None:
        missing = [name for side, name in names.items() if not counts[side]]
        row["undefined"] = f"no judgement is of {' or of '.join(missing)}" if missing else "F1 is undefined on one side"
    return row


def _within_judges(columns: Columns, sides: Sequence[bool | None]) -> dict[str, Any]:
    judges = [unit.key.judge for unit in columns.units]
    f1 = columns.f1([None if side is None else (judge, side) for judge, side in zip(judges, sides, strict=True)])
    differences = [
        f1.get((judge, True), UNDEFINED) - f1.get((judge, False), UNDEFINED)
        for judge in sorted({judge for judge, _ in f1})
    ]
    defined = sum(bool(np.isfinite(difference.value)) for difference in differences)
    return {"judges": defined, "difference": mean_of(differences).to_json()}
