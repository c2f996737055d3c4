"""General ability: ``{"model": {"score"?: 0.7, "family"?: "..."}}`` of judges and of those that wrote; whether the
better model judges better, and what a judge makes of its own, its family's and weaker models' texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from scipy.stats import pearsonr

from eval.recorded.style.breakdowns import schemes
from eval.recorded.style.counts import Columns, Places, Totals, grouped
from eval.recorded.style.f1 import AVERAGES, estimate, f1
from eval.recorded.style.judged import Unit
from pearl.errors import InputError
from pearl.stats import Estimate
from pearl.texts import json_type

FIELDS = ("score", "family")
FEWEST = 3  # judges; two points always lie on a line


@dataclass(frozen=True, slots=True)
class Ability:
    score: float | None
    family: str | None


Abilities = Mapping[str, Ability]


def read_abilities(path: Path) -> Abilities:
    """Raises InputError that names file and field."""
    try:
        value = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}", code="unreadable_file") from error
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: is not JSON: {error.msg}.", code="invalid_json") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: must be a JSON object, not {json_type(value)}.", code="wrong_type")
    return {name: _ability(path, name, each) for name, each in value.items()}


def _ability(path: Path, name: str, value: Any) -> Ability:
    if not isinstance(value, dict) or not value or set(value) - set(FIELDS):
        raise InputError(f"{path}: {name}: must be an object with {' and '.join(FIELDS)}.", code="wrong_type")
    score, family = value.get("score"), value.get("family")
    if score is not None and (isinstance(score, bool) or not isinstance(score, (int, float)) or not isfinite(score)):
        raise InputError(f"{path}: {name}.score: must be a number, not {json_type(score)}.", code="wrong_type")
    if family is not None and not isinstance(family, str):
        raise InputError(f"{path}: {name}.family: must be a string, not {json_type(family)}.", code="wrong_type")
    return Ability(None if score is None else float(score), family)


def correlations(columns: Columns, abilities: Abilities) -> Iterator[dict[str, Any]]:
    """Pearson's r of the judges' F1 with their score: overall, by task and by scheme, and both.

    A judge's F1 is the mean over the cells of task and scheme that it has, so that none counts more for having more
    texts. The interval is Fisher's, over judges.
    """
    cells = _cells(columns)
    tasks = sorted({task for _, task, _ in cells})
    names = sorted({scheme for _, _, scheme in cells})
    for scheme in (None, *names):
        for task in (None, *tasks):
            within = {
                cell: value
                for cell, value in cells.items()
                if (task is None or cell[1] == task) and (scheme is None or cell[2] == scheme)
            }
            yield {"kind": columns.kind, "scheme": scheme, "task": task} | _correlation(within, abilities)


def _cells(columns: Columns) -> dict[tuple[str, str, str], float]:
    """F1 of each judge, task and scheme, where it has one."""
    names, group = grouped([(unit.key.judge, unit.about.task, unit.key.scheme) for unit in columns.units])
    found = f1(columns.confusion(group, len(names)).value, AVERAGES[columns.kind])
    return {name: float(value) for name, value in zip(names, found, strict=True) if np.isfinite(value)}


def _correlation(cells: Mapping[tuple[str, str, str], float], abilities: Abilities) -> dict[str, Any]:
    judges = sorted({judge for judge, _, _ in cells if judge in abilities and abilities[judge].score is not None})
    means = [np.mean([value for cell, value in cells.items() if cell[0] == judge]) for judge in judges]
    scores = [abilities[judge].score for judge in judges]
    row: dict[str, Any] = {"judges": len(judges), "pearson_r": None, "p_value": None}
    if len(judges) < FEWEST:
        return row | {"undefined": f"fewer than {FEWEST} judges have a score"}
    if np.ptp(means) < 1e-12 or len(set(scores)) < 2:
        return row | {"undefined": "all judges have the same F1, or the same score"}
    found = pearsonr(means, scores)
    interval = found.confidence_interval()
    value = {"value": float(found.statistic), "low": float(interval.low), "high": float(interval.high)}
    return row | {"pearson_r": value, "p_value": float(found.pvalue)}


def _own(unit: Unit, abilities: Abilities) -> bool | None:
    return None if unit.about.generator is None else unit.about.generator == unit.key.judge


def _family(unit: Unit, abilities: Abilities) -> bool | None:
    """True when judge and writer are of one family, as a judge is with itself; None if either is unknown."""
    judge, writer = _two(unit, abilities)
    return judge.family == writer.family if judge and writer and judge.family and writer.family else None


def _stronger(unit: Unit, abilities: Abilities) -> bool | None:
    """True when the judge scores higher than the writer; None for equals, itself included, and unknown scores."""
    judge, writer = _two(unit, abilities)
    if not judge or not writer or judge.score is None or writer.score is None or judge.score == writer.score:
        return None
    return judge.score > writer.score


def _two(unit: Unit, abilities: Abilities) -> tuple[Ability | None, Ability | None]:
    return abilities.get(unit.key.judge), abilities.get(unit.about.generator or "")


CONTRASTS: Mapping[str, tuple[str, str, Callable[[Unit, Abilities], bool | None]]] = {
    "self_less_other": ("self", "other", _own),
    "same_less_different_family": ("same family", "different family", _family),
    "stronger_less_weaker": ("stronger judge", "weaker judge", _stronger),
}


def contrasts(columns: Columns, abilities: Abilities) -> Iterator[dict[str, Any]]:
    """F1 on one side less F1 on the other, by scheme, in all tasks and in each.

    The paper's difference is of all judgements of a side, so a good judge that stands on one side only moves it;
    ``within_judges`` is the mean difference of the judges that stand on both.
    """
    tasks, task = grouped([unit.about.task for unit in columns.units])
    for name, (first, second, side_of) in CONTRASTS.items():
        sides = [side_of(unit, abilities) for unit in columns.units]
        side = np.array([-1 if each is None else int(not each) for each in sides])
        for scheme, among in schemes(columns):
            for place, title in enumerate([None, *tasks]):
                inside = among & ((task == place - 1) | (place == 0))
                row = {"kind": columns.kind, "scheme": scheme, "task": title, "contrast": name}
                yield row | _contrast(columns, np.where(inside, side, -1), (first, second))


def _contrast(columns: Columns, side: Places, names: tuple[str, str]) -> dict[str, Any]:
    average = AVERAGES[columns.kind]
    totals = columns.confusion(side, 2)
    found = [estimate(totals.of(place), lambda each: f1(each, average)) for place in (0, 1)]
    difference = (found[0] - found[1]).to_json()
    return {
        "sides": [
            {"side": name, "n": int((side == place).sum()), "f1": each.to_json()}
            for place, (name, each) in enumerate(zip(names, found, strict=True))
        ],
        "difference": difference,
        "within_judges": _within_judges(columns, side),
        **({} if difference else {"undefined": _why(side, names)}),
    }


def _within_judges(columns: Columns, side: Places) -> dict[str, Any]:
    average = AVERAGES[columns.kind]
    names, judge = grouped([unit.key.judge for unit in columns.units])
    totals = columns.confusion(np.where(side >= 0, 2 * judge + side, -1), 2 * len(names))
    differences = []
    for place in range(len(names)):
        one, other = (_estimate(totals, 2 * place + each, average) for each in (0, 1))
        if np.isfinite(one.value - other.value):
            differences.append(one - other)
    if not differences:
        return {"judges": 0, "difference": None}
    value = float(np.mean([each.value for each in differences]))
    mean = Estimate(value, np.mean([each.resampled for each in differences], axis=0))
    return {"judges": len(differences), "difference": mean.to_json()}


def _estimate(totals: Totals, group: int, average: str) -> Estimate:
    return estimate(totals.of(group), lambda each: f1(each, average))


def _why(side: Places, names: tuple[str, str]) -> str:
    missing = [name for place, name in enumerate(names) if not (side == place).any()]
    return f"no judgement is of {' or of '.join(missing)}" if missing else "F1 is undefined on one side"
