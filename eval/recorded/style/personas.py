"""Effects of personas: how much F1 depends on whom a text was written for, and whether it depends on whom the judge was
told to be, though that should not matter.

Dimensions in comments: G groups, R resamples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from eval.recorded.style.breakdowns import standard_error
from eval.recorded.style.counts import Columns, grouped
from eval.recorded.style.f1 import AVERAGES, NO_CASE, f1
from eval.recorded.style.roles import DEFAULT_PERSONAS, PROTECTED
from pearl.stats import Estimate, Floats

NO_DEFAULT = f"the judge was never told to be {' or '.join(DEFAULT_PERSONAS)}"


def sensitivity(columns: Columns) -> Iterator[dict[str, Any]]:
    """The mean over personas of a judge's F1 and its standard error, by scheme, and by task within it; texts of the
    null persona are set aside."""
    for by_task in (False, True):
        names, group = grouped(
            [
                (unit.key.scheme, unit.about.task if by_task else "", unit.key.judge, unit.about.persona)
                if unit.about.persona
                else None
                for unit in columns.units
            ]
        )
        if not names:
            return
        totals = columns.confusion(group, len(names))
        average = AVERAGES[columns.kind]
        found, again = f1(totals.value, average), f1(totals.resampled, average)  # (G,), (R, G)
        for scheme, task, judge in dict.fromkeys(name[:3] for name in names):
            places = [place for place, name in enumerate(names) if name[:3] == (scheme, task, judge)]
            there = [place for place in places if np.isfinite(found[place])]
            named = {"kind": columns.kind, "scheme": scheme, "task": task or None, "judge": judge}
            yield named | {
                "personas": len(there),
                "mean": _mean(found[there], again[:, there]),
                "se": standard_error(found[there]),
                "by_persona": {str(names[place][3]): float(found[place]) for place in there},
            }


def _mean(value: Floats, resampled: Floats) -> dict[str, float] | None:
    return Estimate(float(value.mean()), resampled.mean(axis=1)).to_json() if len(value) else None


def irrelevant_attributes(columns: Columns) -> Iterator[dict[str, Any]]:
    """F1 of a judge told to be somebody, relative to its F1 as a human or a typical person; 0.1 is a tenth more."""
    keys = [(unit.key.judge, unit.key.scheme, unit.key.judge_persona or "") for unit in columns.units]
    names, group = grouped(keys)
    bases, base = grouped([key[:2] if key[2] in DEFAULT_PERSONAS else None for key in keys])
    average = AVERAGES[columns.kind]
    totals = columns.confusion(group, len(names))
    found, again = f1(totals.value, average), f1(totals.resampled, average)
    defaults = columns.confusion(base, len(bases)) if bases else None
    for place, (judge, scheme, persona) in enumerate(names):
        row = {
            "kind": columns.kind,
            "scheme": scheme,
            "judge": judge,
            "judge_persona": persona,
            "attribute": next((name for name, each in PROTECTED.items() if persona in each), None),
            "n": int((group == place).sum()),
            "f1": Estimate(float(found[place]), again[:, place]).to_json(),
        }
        if defaults is None or (judge, scheme) not in bases:
            yield row | {"relative_change": None, "undefined": NO_DEFAULT}
            continue
        of = bases.index((judge, scheme))
        with np.errstate(divide="ignore", invalid="ignore"):
            value = found[place] / f1(defaults.value[of], average) - 1
            resampled = again[:, place] / f1(defaults.resampled[:, of], average) - 1
        resampled = np.where(np.isfinite(resampled), resampled, np.nan)
        change = Estimate(float(value), resampled).to_json()
        yield row | {"relative_change": change} | ({} if change else {"undefined": NO_CASE})
