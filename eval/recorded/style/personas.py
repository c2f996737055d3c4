"""Effects of personas: how much F1 depends on whom a text was written for, and whether it depends on whom the judge was
told to be, though that should not matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from eval.recorded.style.breakdowns import NO_CASE
from eval.recorded.style.counts import Columns, mean_of, standard_error
from eval.recorded.style.roles import DEFAULT_PERSONAS, PROTECTED
from pearl.stats import Estimate

NO_DEFAULT = f"the judge was never told to be {' or '.join(DEFAULT_PERSONAS)}"


def sensitivity(columns: Columns) -> Iterator[dict[str, Any]]:
    """The mean over personas of a judge's F1 and its standard error, by scheme, and by task within it; texts of the
    null persona are set aside."""
    for by_task in (False, True):
        found = columns.f1(
            [
                (unit.key.scheme, unit.about.task if by_task else "", unit.key.judge, unit.about.persona)
                if unit.about.persona
                else None
                for unit in columns.units
            ]
        )
        for scheme, task, judge in dict.fromkeys(name[:3] for name in found):
            named = {name[3]: each for name, each in found.items() if name[:3] == (scheme, task, judge)}
            there = {str(persona): each for persona, each in named.items() if np.isfinite(each.value)}
            yield {
                "kind": columns.kind,
                "scheme": scheme,
                "task": task or None,
                "judge": judge,
                "personas": len(there),
                "mean": mean_of(there.values()).to_json(),
                "se": standard_error(there.values()),
                "by_persona": {persona: each.value for persona, each in there.items()},
            }


def irrelevant_attributes(columns: Columns) -> Iterator[dict[str, Any]]:
    """F1 of a judge told to be somebody, relative to its F1 as a human or a typical person; 0.1 is a tenth more."""
    keys = [(unit.key.judge, unit.key.scheme, unit.key.judge_persona or "") for unit in columns.units]
    defaults = columns.f1([key[:2] if key[2] in DEFAULT_PERSONAS else None for key in keys])
    counts = Counter(keys)
    for key, found in columns.f1(keys).items():
        judge, scheme, persona = key
        row = {
            "kind": columns.kind,
            "scheme": scheme,
            "judge": judge,
            "judge_persona": persona,
            "attribute": next((name for name, each in PROTECTED.items() if persona in each), None),
            "n": counts[key],
            "f1": found.to_json(),
        }
        if (judge, scheme) not in defaults:
            yield row | {"relative_change": None, "undefined": NO_DEFAULT}
            continue
        change = _relative(found, defaults[judge, scheme]).to_json()
        yield row | {"relative_change": change} | ({} if change else {"undefined": NO_CASE})


def _relative(one: Estimate, other: Estimate) -> Estimate:
    """The difference of the first from the other, as a part of it; undefined where that is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value, resampled = np.float64(one.value) / other.value - 1, one.resampled / other.resampled - 1
    return Estimate(float(value), np.where(np.isfinite(resampled), resampled, np.nan))
