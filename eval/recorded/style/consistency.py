"""Agreement of a judge with itself over its draws, people with each other, judges with people and among themselves.

Randolph's kappa (Randolph 2005), which takes chance for 1 / K and so needs no rater to know how common a label is; its
bands are those of Landis and Koch. Over judges the paper's Table 2 is said to be the mean of its Tables 18 to 20 and is
not: email by yes or no has 0.92, the mean of the eight judges is 0.858 (their median 0.90), and all twelve of its
figures are 0.03 to 0.12 above the means, which no choice of judges explains. Table 3 is the mean of Table 26. Here the
figure over judges is the mean, with how many there are and the lowest and highest.

Dimensions in comments: N units, K labels, R resamples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from statsmodels.stats.inter_rater import fleiss_kappa

from eval.recorded.style.choices import StyleChoices
from eval.recorded.style.counts import Places, Texts, grouped, subject_of
from eval.recorded.style.judged import Unit
from eval.recorded.style.labels import LABELS, label_of
from eval.recorded.style.people import People, Subject
from eval.stats.agreement import AgreementOptions, agreement_report
from eval.stats.coefficients import NOTHING_SHARED, ONE_LABEL, landis_koch
from eval.stats.ratings import ratings_of
from pearl.stats import Estimate, Floats

PEOPLE = "people's vote"


def randolph(counts: Floats, group: Places, groups: int, texts: Texts) -> list[dict[str, Any]]:
    """Randolph's kappa by group from label counts, (N, K), over the units with the most common number of ratings, as
    the library needs it; null with a reason when only one label was given, for then nothing was told apart."""
    number = counts.sum(axis=1)
    usable = np.zeros(len(counts), bool)
    rows = []
    for place in range(groups):
        inside, row = _usable(counts, number, group == place)
        usable |= inside
        if "undefined" not in row:
            row["kappa"] = float(fleiss_kappa(counts[inside], method="randolph"))
        rows.append(row)
    same = (counts * (counts - 1)).sum(axis=1) / np.maximum(number * (number - 1), 1)
    found = texts.totals(np.where(usable, group, -1), groups, np.column_stack((same, np.ones_like(same))))
    chance = 1 / counts.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        again = (found.resampled[..., 0] / found.resampled[..., 1] - chance) / (1 - chance)  # (R, G)
    for place, row in enumerate(rows):
        if row["kappa"] is not None:
            row["band"] = landis_koch(row["kappa"])
            row["kappa"] = Estimate(row["kappa"], again[:, place]).to_json()
    return rows


def _usable(counts: Floats, number: Floats, inside: Places) -> tuple[Places, dict[str, Any]]:
    """The units of a group that kappa is over, and what is said of it."""
    row: dict[str, Any] = {"kappa": None, "band": None, "units": 0, "ratings": None, "other_number": 0}
    shared = inside & (number > 1)
    if not shared.any():
        return shared, row | {"undefined": NOTHING_SHARED}
    ratings = max(Counter(number[shared].tolist()).items(), key=lambda pair: (pair[1], pair[0]))[0]
    used = inside & (number == ratings)
    row |= {"units": int(used.sum()), "ratings": int(ratings), "other_number": int((inside & ~used).sum())}
    if (counts[used].sum(axis=0) > 0).sum() < 2:
        return used, row | {"undefined": ONE_LABEL}
    return used, row


def self_consistency(
    kind: str, units: Sequence[Unit], choices: StyleChoices, *, resamples: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield a judge's agreement with itself by scheme and judge, over all tasks and by task."""
    counts = np.array([[unit.votes(choices).get(label, 0) for label in LABELS[kind]] for unit in units], float)
    texts = Texts([unit.key.item for unit in units], resamples=resamples, seed=seed)
    for by_task in (False, True):
        names, group = grouped(
            [(unit.key.scheme, unit.about.task if by_task else "", unit.key.judge) for unit in units]
        )
        for name, row in zip(names, randolph(counts, group, len(names), texts), strict=True):
            scheme, task, judge = name
            yield {"kind": kind, "scheme": scheme, "task": task or None, "judge": judge} | row


def over_judges(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The mean of the judges' kappas, by scheme and task."""
    for key in dict.fromkeys((row["kind"], row["scheme"], row["task"]) for row in rows):
        values = [
            row["kappa"]["value"]
            for row in rows
            if (row["kind"], row["scheme"], row["task"]) == key and row["kappa"] is not None
        ]
        named = dict(zip(("kind", "scheme", "task"), key, strict=True))
        if values:
            yield named | {
                "judges": len(values),
                "mean": float(np.mean(values)),
                "lowest": min(values),
                "highest": max(values),
            }


def among_people(
    people: People, tasks: Mapping[Subject, str], choices: StyleChoices, *, resamples: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the agreement on people's levels, and on the labels these stand for: overall, by task, by style, by both.
    The task is that of the judgements; an item without one counts only in the rows over all tasks."""
    for kind in people.scales:
        subjects = [subject for subject in people.ratings if subject.kind == kind]
        scale = people.scale(kind, choices)
        counted = [people.counted(subject, choices) for subject in subjects]
        levels = np.array([[each.get(level, 0) for level in scale] for each in counted], float)
        stands = np.array([[label_of(kind, level) == label for label in LABELS[kind]] for level in scale], float)
        texts = Texts([subject.item for subject in subjects], resamples=resamples, seed=seed)
        for by in ((), ("task",), ("style",), ("style", "task")):
            parts = [{"style": subject.style, "task": tasks.get(subject)} for subject in subjects]
            names, group = grouped(
                [None if None in (key := tuple(part[name] for name in by)) else key for part in parts]
            )
            found = randolph(levels, group, len(names), texts)
            labels = randolph(levels @ stands, group, len(names), texts)
            for name, row, of_labels in zip(names, found, labels, strict=True):
                named = {"kind": kind, "style": None, "task": None} | dict(zip(by, name, strict=True))
                yield named | {"scale": list(scale)} | row | {"labels": of_labels}


def with_each_other(
    kind: str,
    units: Sequence[Unit],
    people: Mapping[Subject, str | None],
    choices: StyleChoices,
    *,
    resamples: int,
    seed: int,
) -> Iterator[dict[str, Any]]:
    """All coefficients of the judges' labels and people's, by scheme, and every two of them."""
    for scheme in sorted({unit.key.scheme for unit in units}):
        said = [
            (subject_of(unit), unit.key.judge, label)
            for unit in sorted(units, key=lambda unit: unit.key.judge)
            if unit.key.scheme == scheme and (label := unit.label(choices)) is not None
        ]
        golds = {subject: gold for subject, _, _ in said if (gold := people.get(subject)) is not None}
        given = {(_name(subject), PEOPLE): gold for subject, gold in golds.items()}
        given |= {(_name(subject), judge): label for subject, judge, label in said}
        if not given:
            continue
        ratings = ratings_of(given, LABELS[kind])
        clusters = [name.partition("\n")[0] for name in ratings.items]
        report = agreement_report(ratings, AgreementOptions(resamples, seed), clusters)
        for pair in report["pairs"]:
            pair["randolph_kappa"] = _randolph_of_two(pair["agreement"], len(LABELS[kind]))
            pair["randolph_band"] = pair["randolph_kappa"] and landis_koch(pair["randolph_kappa"]["value"])
        yield {"kind": kind, "scheme": scheme} | report


def _name(subject: Subject) -> str:
    return f"{subject.item}\n{subject.style}"  # no id has a line break


def _randolph_of_two(agreement: dict[str, float] | None, labels: int) -> dict[str, float] | None:
    """Randolph's kappa of two raters, which is their agreement on another scale."""
    if agreement is None:
        return None
    return {name: (value - 1 / labels) / (1 - 1 / labels) for name, value in agreement.items()}
