"""F1 by task, judge, persona, generator and style, for each scheme: pooled over judgements, and as the mean over judges
with its standard error, as in the paper's tables. Also how much F1 depends on the persona that a text was written for,
and on the persona that the judge was told to be, which should not matter."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from eval.recorded.style import counts
from eval.recorded.style.counts import UNDEFINED, Columns, Sums, mean_of, standard_error
from eval.recorded.style.judged import JudgedUnit
from eval.recorded.style.labels import PRESENT, TIE
from eval.recorded.style.lines import REFLECTED
from eval.recorded.style.styles import DEFAULT_PERSONAS, PROTECTED
from eval.stats.proportions import ratio
from pearl.stats.bootstrap import Estimate, Floats

NULL, STYLED = "null persona", "styled"
GROUPINGS: Mapping[str, Callable[[JudgedUnit], Hashable | None]] = {
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
RULES = {
    "majority": "always the label that people give most",
    "always_present": "always present",
    "always_tie": "always a tie",
    "random": "every label as likely as the others",
    "random_as_people": "labels as likely as people give them",
}
NO_CASE = "neither people nor the judge say so of any"
NO_DEFAULT = f"the judge was never told to be {' or '.join(DEFAULT_PERSONAS)}"


def breakdowns(columns: Columns, groupings: Sequence[tuple[str, ...]] = BY) -> Iterator[dict[str, Any]]:
    """Yield the figures of each group of units, by each of ``groupings``, within each scheme."""
    for scheme in columns.schemes:
        for by in groupings:
            groups: list[tuple[Hashable, ...] | None] = []
            for unit in columns.units:
                names = tuple(GROUPINGS[name](unit) for name in by)
                groups.append(names if unit.key.scheme == scheme and None not in names else None)
            within = zip(groups, columns.units, strict=True)
            judges = [None if group is None else (group, unit.key.judge) for group, unit in within]
            of_judges = {} if "judge" in by else columns.f1(judges)
            for group, sums in columns.confusions(groups).items():
                row: dict[str, Any] = {"kind": columns.kind, "scheme": scheme, "by": list(by)}
                row |= {"group": dict(zip(by, group, strict=True))} | measured(columns, sums)
                if of_judges:
                    f1s = [f1 for (of, _), f1 in of_judges.items() if of == group and np.isfinite(f1.value)]
                    row["over_judges"] = {"n": len(f1s), "mean": mean_of(f1s).to_json(), "se": standard_error(f1s)}
                yield row


def measured(columns: Columns, sums: Sums) -> dict[str, Any]:
    """The figures of one group's confusion (``sums``); if F1 is undefined it is null, with a reason."""
    average, labels = columns.average, columns.labels
    estimate = sums.estimate(partial(counts.f1, average=average))
    people = counts.people_counts(sums.value)
    row = {
        "n": int(people.sum()),
        "no_label": int(counts.unlabelled(sums.value)),
        "average": average,
        "f1": estimate.to_json(),
        "f1_no_label_wrong": sums.estimate(partial(counts.f1, average=average, unlabelled_wrong=True)).to_json(),
        "f1_by_label": dict(zip(labels, map(_or_none, counts.class_f1(sums.value)), strict=True)),
        "accuracy": sums.estimate(counts.accuracy).to_json(),
        "confusion": counts.confusion_of(labels, sums.value),
        "labels": {label: _frequency(sums, index) for index, label in enumerate(labels)},
    }
    if row["f1"] is None:
        return row | {"undefined": NO_CASE, "baselines": {}, "less_baseline": None}
    rules = {
        name: sums.estimate(partial(counts.f1_of_guesses, chance=chance, average=average))
        for name, chance in _chances(labels, people).items()
    }
    best = max(rules, key=lambda name: rules[name].value if np.isfinite(rules[name].value) else -1.0)
    difference = (estimate - rules[best]).to_json()
    return row | {
        "baselines": {name: _or_none(rule.value) for name, rule in rules.items()},
        "less_baseline": None if difference is None else difference | {"against": best},
    }


def _chances(labels: Sequence[str], people: Floats) -> dict[str, Floats]:
    """The probability of each label, (K,), under each of the RULES. ``people``: how often people gave each label."""
    certain = np.eye(len(people))
    always = {"always_present": PRESENT, "always_tie": TIE}
    return {
        "majority": certain[int(people.argmax())],
        **{name: certain[labels.index(label)] for name, label in always.items() if label in labels},
        "random": np.full(len(people), 1 / len(people)),
        "random_as_people": people / people.sum(),
    }


def _frequency(sums: Sums, index: int) -> dict[str, Any]:
    """Shares in which the judge and people give a label, over the units with labels of both."""

    def share(labels: Floats) -> Floats:
        return ratio(labels[..., index], labels.sum(axis=-1))

    judge = sums.estimate(lambda confusion: share(counts.judge_counts(confusion)))
    people = sums.estimate(lambda confusion: share(counts.people_counts(confusion)))
    return {
        "judge": _or_none(judge.value),
        "people": _or_none(people.value),
        "difference": (judge - people).to_json(),
    }


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def reflections(columns: Columns) -> Iterator[dict[str, Any]]:
    """For each judge, overall and by task: the change in F1 if the judge sees its first answer and answers again."""
    reflected = {scheme.removesuffix(REFLECTED) for scheme in columns.schemes if scheme.endswith(REFLECTED)}
    schemes = [unit.key.scheme.removesuffix(REFLECTED) for unit in columns.units]
    again = [unit.key.scheme.endswith(REFLECTED) for unit in columns.units]
    for by_task in (False, True):
        keys = [
            (scheme, unit.about.task if by_task else "", unit.key.judge) if scheme in reflected else None
            for scheme, unit in zip(schemes, columns.units, strict=True)
        ]
        estimates = columns.f1([key and (key, second) for key, second in zip(keys, again, strict=True)])
        for key in sorted({key for key in keys if key}, key=str):
            first, second = (estimates.get((key, reflects), UNDEFINED) for reflects in (False, True))
            scheme, task, judge = key
            yield {
                "kind": columns.kind,
                "scheme": scheme,
                "task": task or None,
                "judge": judge,
                "f1": first.to_json(),
                "f1_reflected": second.to_json(),
                "difference": (second - first).to_json(),
            }


def sensitivity(columns: Columns) -> Iterator[dict[str, Any]]:
    """The mean and standard error of a judge's F1 over personas, by scheme and by task; without the null persona."""
    for by_task in (False, True):
        keys = [
            (unit.key.scheme, unit.about.task if by_task else "", unit.key.judge, unit.about.persona)
            if unit.about.persona
            else None
            for unit in columns.units
        ]
        by_judge: dict[tuple[str, str, str], dict[str, Estimate]] = defaultdict(dict)
        for (scheme, task, judge, persona), estimate in columns.f1(keys).items():
            by_judge[scheme, task, judge] |= {str(persona): estimate} if np.isfinite(estimate.value) else {}
        for (scheme, task, judge), by_persona in by_judge.items():
            yield {
                "kind": columns.kind,
                "scheme": scheme,
                "task": task or None,
                "judge": judge,
                "personas": len(by_persona),
                "mean": mean_of(by_persona.values()).to_json(),
                "se": standard_error(by_persona.values()),
                "by_persona": {persona: estimate.value for persona, estimate in by_persona.items()},
            }


def irrelevant_attributes(columns: Columns) -> Iterator[dict[str, Any]]:
    """The relative change of a judge's F1 if it is told to be some persona, compared with a default persona."""
    keys = [(unit.key.judge, unit.key.scheme, unit.key.judge_persona or "") for unit in columns.units]
    defaults = columns.f1([key[:2] if key[2] in DEFAULT_PERSONAS else None for key in keys])
    number = Counter(keys)
    for key, estimate in columns.f1(keys).items():
        judge, scheme, persona = key
        row = {
            "kind": columns.kind,
            "scheme": scheme,
            "judge": judge,
            "judge_persona": persona,
            "attribute": next((name for name, group in PROTECTED.items() if persona in group), None),
            "n": number[key],
            "f1": estimate.to_json(),
        }
        if (judge, scheme) not in defaults:
            yield row | {"relative_change": None, "undefined": NO_DEFAULT}
            continue
        default = defaults[judge, scheme]
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.float64(estimate.value) / default.value - 1
            resampled = estimate.resampled / default.resampled - 1
        change = Estimate(float(value), np.where(np.isfinite(resampled), resampled, np.nan)).to_json()
        yield row | {"relative_change": change} | ({} if change else {"undefined": NO_CASE})
