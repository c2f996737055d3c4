"""Agreement of a judge's draws (repeated judgements) with each other, of people with each other, of judges with people,
and of judges with each other.

The measure is Randolph's kappa (Randolph 2005) with chance agreement 1 / K and the bands of Landis and Koch. The
paper's Table 2, over judges, is said to be the mean of its Tables 18 to 20 and is not: email by yes or no has 0.92, the
mean of the eight judges is 0.858 (their median 0.90), and all twelve figures are 0.03 to 0.12 above the means. Table 3
is the mean of Table 26. Our figure over judges is the mean, with the number of judges, the lowest and the highest.

Dimensions in comments: N units, K labels.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from eval.recorded.style.choices import StyleOptions
from eval.recorded.style.counts import Texts
from eval.recorded.style.judged import JudgedUnit
from eval.recorded.style.labels import LABELS, label_of
from eval.recorded.style.people import People, Subject
from eval.stats.agreement import agreement_report
from eval.stats.coefficients import NOTHING_SHARED, landis_koch, pair_agreement, randolph_kappa
from eval.stats.proportions import ratio
from eval.stats.ratings import ratings_of
from pearl.stats.bootstrap import Floats, drawn

PEOPLE = "people's vote"
NameT = TypeVar("NameT", bound=Hashable)


def randolph(counts: Floats, keys: Sequence[NameT | None], texts: Texts) -> dict[NameT, dict[str, Any]]:
    """Randolph's kappa for the units of each key, from counts of labels, (N, K), pooled over pairs of ratings of a
    unit. ``ratings``: the most common number of ratings per unit; ``other_number``: how many units have another
    number."""
    number = counts.sum(axis=1)
    agreement = np.column_stack((pair_agreement(counts), np.ones_like(number)))
    shared = texts.sums([key if several else None for key, several in zip(keys, number > 1, strict=True)], agreement)
    counted: dict[NameT | None, Counter[int]] = defaultdict(Counter)
    for key, ratings in zip(keys, number.tolist(), strict=True):
        counted[key][int(ratings)] += 1

    def kappa_of(sums: Floats) -> Floats:
        return randolph_kappa(ratio(sums[..., 0], sums[..., 1]), counts.shape[1])

    rows = {}
    for name in sorted((key for key in counted if key is not None), key=str):
        numbers = counted[name]
        if name not in shared:
            row: dict[str, Any] = {"kappa": None, "band": None, "units": 0, "ratings": None, "other_number": 0}
            rows[name] = row | {"undefined": NOTHING_SHARED}
            continue
        ratings = max((size for size in numbers if size > 1), key=lambda size: (numbers[size], size))
        kappa = shared[name].estimate(kappa_of)
        rows[name] = {
            "kappa": kappa.to_json(),
            "band": landis_koch(kappa.value),
            "units": int(shared[name].value[1]),
            "ratings": ratings,
            "other_number": numbers.total() - numbers[ratings],
        }
    return rows


def self_consistency(kind: str, units: Sequence[JudgedUnit], options: StyleOptions) -> Iterator[dict[str, Any]]:
    """Yield the agreement of each judge's draws with each other, by scheme and judge, over all tasks and by task."""
    counts = np.array([[unit.votes(options).get(label, 0) for label in LABELS[kind]] for unit in units], float)
    texts = Texts.of(units)
    for by_task in (False, True):
        keys = [(unit.key.scheme, unit.about.task if by_task else "", unit.key.judge) for unit in units]
        for (scheme, task, judge), row in randolph(counts, keys, texts).items():
            yield {"kind": kind, "scheme": scheme, "task": task or None, "judge": judge} | row


def over_judges(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the mean, the lowest and the highest of the judges' kappas, by scheme and task. ``rows``: of the judges."""
    kappas: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        kappas[row["kind"], row["scheme"], row["task"]] += [row["kappa"]["value"]] if row["kappa"] else []
    for (kind, scheme, task), values in kappas.items():
        if values:
            figures = {"judges": len(values), "mean": float(np.mean(values)), "lowest": min(values)}
            yield {"kind": kind, "scheme": scheme, "task": task} | figures | {"highest": max(values)}


def among_people(
    people: People, judged: Mapping[Subject, JudgedUnit], options: StyleOptions
) -> Iterator[dict[str, Any]]:
    """Yield people's agreement on levels, and on the labels that levels stand for: overall, by task, by style, and by
    both. Tasks are known from ``judged``; an item without a judgement counts only in the rows over all tasks."""
    for kind in people.scales:
        subjects = [subject for subject in people.ratings if subject.kind == kind]
        scale = people.scale(kind, options)
        levels = people.votes(subjects, scale, options)
        stands = np.array([[label_of(kind, level) == label for label in LABELS[kind]] for level in scale], float)
        units = [judged.get(subject) for subject in subjects]
        clusters = [unit.cluster if unit else subject.item for subject, unit in zip(subjects, units, strict=True)]
        texts = Texts(drawn(clusters, [subject.item for subject in subjects], list(map(str, subjects))))
        pairs = zip(subjects, units, strict=True)
        parts = [{"style": subject.style, "task": unit and unit.about.task} for subject, unit in pairs]
        for by in ((), ("task",), ("style",), ("style", "task")):
            keys = [None if None in (key := tuple(part[name] for name in by)) else key for part in parts]
            labels = randolph(levels @ stands, keys, texts)
            for key, row in randolph(levels, keys, texts).items():
                named = {"kind": kind, "style": None, "task": None} | dict(zip(by, key, strict=True))
                yield named | {"scale": list(scale)} | row | {"labels": labels[key]}


def with_each_other(
    kind: str, units: Sequence[JudgedUnit], people: Mapping[Subject, str | None], options: StyleOptions
) -> Iterator[dict[str, Any]]:
    """Yield, for each scheme, all coefficients of agreement among judges and people, and for every two of them."""
    for scheme in sorted({unit.key.scheme for unit in units}):
        judged = sorted((unit for unit in units if unit.key.scheme == scheme), key=lambda unit: unit.key.judge)
        labelled = [
            (f"{unit.key.item}\n{unit.key.style}", unit, label)  # no id has a line break
            for unit in judged
            if (label := unit.label(options)) is not None
        ]
        labels = {(name, PEOPLE): gold for name, unit, _ in labelled if (gold := people.get(unit.subject)) is not None}
        labels |= {(name, unit.key.judge): label for name, unit, label in labelled}
        if not labels:
            continue
        ratings = ratings_of(labels, LABELS[kind])
        cluster_of = {name: unit.cluster for name, unit, _ in labelled}
        clusters = drawn([cluster_of[name] for name in ratings.items], ratings.items)
        report = agreement_report(ratings, clusters=clusters)
        for pair in report["pairs"]:
            kappa = pair["agreement"] and {
                name: randolph_kappa(value, len(LABELS[kind])) for name, value in pair["agreement"].items()
            }
            pair["randolph_kappa"], pair["randolph_band"] = kappa, kappa and landis_koch(kappa["value"])
        yield {"kind": kind, "scheme": scheme} | report
