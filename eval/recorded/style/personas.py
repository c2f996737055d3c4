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
        keys = [
            (unit.key.scheme, unit.about.task if by_task else "", unit.key.judge, unit.about.persona)
            if unit.about.persona
            else None
            for unit in columns.units
        ]
        by_judge: dict[tuple[str, str, str], dict[str, Estimate]] = {}
        for (scheme, task, judge, persona), f1 in columns.f1(keys).items():
            defined = by_judge.setdefault((scheme, task, judge), {})
            if np.isfinite(f1.value):
                defined[str(persona)] = f1
        for (scheme, task, judge), by_persona in by_judge.items():
            yield {
                "kind": columns.kind,
                "scheme": scheme,
                "task": task or None,
                "judge": judge,
                "personas": len(by_persona),
                "mean": mean_of(by_persona.values()).to_json(),
                "se": standard_error(by_persona.values()),
                "by_persona": {persona: f1.value for persona, f1 in by_persona.items()},
            }


def irrelevant_attributes(columns: Columns) -> Iterator[dict[str, Any]]:
    """F1 of a judge told to be somebody, relative to its F1 as a human or a typical person; 0.1 is a tenth more."""
    keys = [(unit.key.judge, unit.key.scheme, unit.key.judge_persona or "") for unit in columns.units]
    defaults = columns.f1([key[:2] if key[2] in DEFAULT_PERSONAS else None for key in keys])
    counts = Counter(keys)
    for key, f1 in columns.f1(keys).items():
        judge, scheme, persona = key
        row = {
            "kind": columns.kind,
            "scheme": scheme,
            "judge": judge,
            "judge_persona": persona,
            "attribute": next((name for name, group in PROTECTED.items() if persona in group), None),
            "n": counts[key],
            "f1": f1.to_json(),
        }
        if (judge, scheme) not in defaults:
            yield row | {"relative_change": None, "undefined": NO_DEFAULT}
            continue
        change = _relative(f1, defaults[judge, scheme]).to_json()
        yield row | {"relative_change": change} | ({} if change else {"undefined": NO_CASE})


def _relative(told: Estimate, default: Estimate) -> Estimate:
    """The difference of the first from the default, as a part of it; undefined where that is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value, resampled = np.float64(told.value) / default.value - 1, told.resampled / default.resampled - 1
    return Estimate(float(value), np.where(np.isfinite(resampled), resampled, np.nan))
