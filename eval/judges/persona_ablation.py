"""Ablations of a judge's persona: the same questions with some of a persona's fields, or none, against those with all.

The paper's table 8 holds one judge with personas against another without; here it is one judge on both sides, asked the
same items in the same orders and runs. Dimensions in comments: N trials, I items.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eval.judges.persona_columns import Columns, Heard, personas
from eval.judges.persona_trials import PersonaTrials
from eval.recorded.personalized.report import PersonalizedOptions, undefined
from eval.stats.certainty import Certain, auroc
from eval.stats.proportions import add_holm, mcnemar, wilson_json
from pearl.stats import Bootstrap, Estimate, Floats


def ablation_report(modes: Sequence[Heard], options: PersonalizedOptions) -> dict[str, Any]:
    """The first mode, and each of the others less it. Intervals are by bootstrap over personas, for all modes on the
    same resamples; McNemar's test is over items, of which each is better or worse by most of its judgements."""
    first, *others = modes
    names = personas(first.trials)
    bootstrap = Bootstrap(names, resamples=options.resamples, seed=options.seed)
    threshold = options.threshold
    return {
        "less": first.trials.mode.told,
        "items": len(first.trials.items),
        "personas": len(set(names)),
        "modes": [_row(each, bootstrap, threshold) for each in modes],
        "differences": add_holm([_difference(each, first, bootstrap, threshold) for each in others]),
    }


def _row(heard: Heard, bootstrap: Bootstrap, threshold: float) -> dict[str, Any]:
    mode, columns = heard.trials.mode, heard.columns
    found = _certain(columns, bootstrap)
    counted = columns.counted
    high = found.at_least(threshold)
    area = auroc(found)
    return {
        "told": mode.told,
        "n": int(columns.there.sum()),
        "failed": dict(heard.told.failed),
        "items_without_a_field": sum(mode.persona and not item.profile(mode.fields) for item in heard.trials.items),
        "accuracy": _share(columns.correct, counted, bootstrap),
        "accuracies": {
            "invalid_wrong": _share(columns.correct, columns.there, bootstrap),
            "invalid_dropped": _share(columns.correct, columns.answered, bootstrap),
        },
        "high_share": _share(high, counted, bootstrap) if mode.certainty else None,
        "high": _share(columns.correct, high, bootstrap) if mode.certainty else None,
        "auroc": area.to_json(),
        "undefined": undefined(found, {"auroc": area}),
    }


def _certain(columns: Columns, bootstrap: Bootstrap) -> Certain:
    """Correctness and certainty of the trials; NaN for a trial that is not counted."""
    return Certain(columns.correct, np.where(columns.counted > 0, columns.certainty, np.nan), bootstrap)


def _share(part: Floats, among: Floats, bootstrap: Bootstrap) -> dict[str, Any]:
    inside = part * among
    counts = int(inside.sum()), int(among.sum())
    interval = bootstrap.ratio(inside, among).to_json()
    return {"part": counts[0], "of": counts[1], "interval": interval, "wilson": wilson_json(*counts)}


def _difference(one: Heard, first: Heard, bootstrap: Bootstrap, threshold: float) -> dict[str, Any]:
    """Compare a mode with the first on the trials that count in both."""
    trials, less, full = one.trials, one.columns, first.columns
    both = less.counted * full.counted

    def mean(values: Floats) -> Estimate:
        return bootstrap.ratio(values * both, both)

    high, high_full = (_certain(each, bootstrap).at_least(threshold) for each in (less, full))
    by_item = _by_item(trials, (less.correct - full.correct) * both)
    better, worse = int((by_item > 0).sum()), int((by_item < 0).sum())
    return {
        "told": trials.mode.told,
        "n": int(both.sum()),
        "accuracy": (mean(less.correct) - mean(full.correct)).to_json(),
        "high_share": (mean(high) - mean(high_full)).to_json() if trials.mode.certainty else None,
        "items_better": better,
        "items_worse": worse,
        "p_value": mcnemar(better, worse),
    }


def _by_item(trials: PersonaTrials, values: Floats) -> Floats:
    """(N,) -> (I,)"""
    places = {item.id: place for place, item in enumerate(trials.items)}
    each = [places[item.id] for item, _run, _swapped in trials]
    return np.asarray(np.bincount(each, weights=values, minlength=len(places)), float)
