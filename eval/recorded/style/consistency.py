"""Agreement of a judge with itself over its draws, people with each other, judges with people and among themselves.

Randolph's kappa (Randolph 2005), which takes chance for 1 / K and so needs no rater to know how common a label is; its
bands are those of Landis and Koch. Over judges the paper's Table 2 is said to be the mean of its Tables 18 to 20 and is
not: email by yes or no has 0.92, the mean of the eight judges is 0.858 (their median 0.90), and all twelve of its
figures are 0.03 to 0.12 above the means, which no choice of judges explains. Table 3 is the mean of Table 26. Here the
figure over judges is the mean, with how many there are and the lowest and highest.

Dimensions in comments: N units, K labels.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from statsmodels.stats.inter_rater import fleiss_kappa

from eval.recorded.style.choices import StyleOptions
from eval.recorded.style.counts import Texts, subject_of
from eval.recorded.style.f1 import ratio
from eval.recorded.style.judged import Unit
from eval.recorded.style.labels import LABELS, label_of
from eval.recorded.style.people import People, Subject
from eval.stats.agreement import AgreementOptions, agreement_report
from eval.stats.coefficients import NOTHING_SHARED, ONE_LABEL, landis_koch
from eval.stats.ratings import ratings_of
from pearl.stats import Estimate, Floats

PEOPLE = "people's vote"
NameT = TypeVar("NameT", bound=Hashable)


def randolph(counts: Floats, keys: Sequence[NameT | None], texts: Texts) -> dict[NameT, dict[str, Any]]:
    """Randolph's kappa of the units of each key from label counts, (N, K), over those with the most common number of
    ratings, as the library needs it; null with a reason when only one label was given, for then nothing was told
    apart."""
    names = sorted({key for key in keys if key is not None}, key=str)
    group = np.array([-1 if key is None else names.index(key) for key in keys])
    number = counts.sum(axis=1)
    found = {name: _usable(counts, number, group == place) for place, name in enumerate(names)}
    used = np.any([among for among, _ in found.values()], axis=0) if found else np.zeros(len(keys), bool)
    same = (counts * (counts - 1)).sum(axis=1) / np.maximum(number * (number - 1), 1)
    features = np.column_stack((same, np.ones_like(same)))
    sums = texts.sums([key if inside else None for key, inside in zip(keys, used, strict=True)], features)
    chance = 1 / counts.shape[1]
    for name, (among, row) in found.items():
        if "undefined" not in row:
            value = float(fleiss_kappa(counts[among], method="randolph"))
            again = sums[name].resampled
            agreed = ratio(again[:, 0], again[:, 1])
            row |= {"kappa": Estimate(value, (agreed - chance) / (1 - chance)).to_json(), "band": landis_koch(value)}
    return {name: row for name, (_, row) in found.items()}


def _usable(counts: Floats, number: Floats, inside: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], dict[str, Any]]:
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


def self_consistency(kind: str, units: Sequence[Unit], options: StyleOptions) -> Iterator[dict[str, Any]]:
    """Yield a judge's agreement with itself by scheme and judge, over all tasks and by task."""
    counts = np.array([[unit.votes(options).get(label, 0) for label in LABELS[kind]] for unit in units], float)
    texts = Texts([unit.key.item for unit in units], options)
    for by_task in (False, True):
        keys = [(unit.key.scheme, unit.about.task if by_task else "", unit.key.judge) for unit in units]
        for (scheme, task, judge), row in randolph(counts, keys, texts).items():
            yield {"kind": kind, "scheme": scheme, "task": task or None, "judge": judge} | row


def over_judges(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The mean of the judges' kappas, by scheme and task."""
    kappas: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        kappas[row["kind"], row["scheme"], row["task"]] += [row["kappa"]["value"]] if row["kappa"] else []
    for (kind, scheme, task), values in kappas.items():
        if values:
            figures = {"judges": len(values), "mean": float(np.mean(values)), "lowest": min(values)}
            yield {"kind": kind, "scheme": scheme, "task": task} | figures | {"highest": max(values)}


def among_people(people: People, tasks: Mapping[Subject, str], options: StyleOptions) -> Iterator[dict[str, Any]]:
    """Yield the agreement on people's levels, and on the labels these stand for: overall, by task, by style, by both.
    The task is that of the judgements; an item without one counts only in the rows over all tasks."""
    for kind in people.scales:
        subjects = [subject for subject in people.ratings if subject.kind == kind]
        scale = people.scale(kind, options)
        levels = people.votes(subjects, scale, options)
        stands = np.array([[label_of(kind, level) == label for label in LABELS[kind]] for level in scale], float)
        texts = Texts([subject.item for subject in subjects], options)
        for by in ((), ("task",), ("style",), ("style", "task")):
            parts = [{"style": subject.style, "task": tasks.get(subject)} for subject in subjects]
            keys = [None if None in (key := tuple(part[name] for name in by)) else key for part in parts]
            labels = randolph(levels @ stands, keys, texts)
            for key, row in randolph(levels, keys, texts).items():
                named = {"kind": kind, "style": None, "task": None} | dict(zip(by, key, strict=True))
                yield named | {"scale": list(scale)} | row | {"labels": labels[key]}


def with_each_other(
    kind: str, units: Sequence[Unit], people: Mapping[Subject, str | None], options: StyleOptions
) -> Iterator[dict[str, Any]]:
    """All coefficients of the judges' labels and people's, by scheme, and every two of them."""
    for scheme in sorted({unit.key.scheme for unit in units}):
        judged = sorted((unit for unit in units if unit.key.scheme == scheme), key=lambda unit: unit.key.judge)
        said = [(unit, label) for unit in judged if (label := unit.label(options)) is not None]
        given = {(_name(unit), PEOPLE): gold for unit, _ in said if (gold := people.get(subject_of(unit))) is not None}
        given |= {(_name(unit), unit.key.judge): label for unit, label in said}
        if not given:
            continue
        ratings = ratings_of(given, LABELS[kind])
        clusters = [name.partition("\n")[0] for name in ratings.items]
        report = agreement_report(ratings, AgreementOptions(options.resamples, options.seed), clusters)
        chance = 1 / len(LABELS[kind])
        for pair in report["pairs"]:  # of two raters the kappa is their agreement on another scale
            kappa = pair["agreement"] and {
                name: (value - chance) / (1 - chance) for name, value in pair["agreement"].items()
            }
            pair["randolph_kappa"], pair["randolph_band"] = kappa, kappa and landis_koch(kappa["value"])
        yield {"kind": kind, "scheme": scheme} | report


def _name(unit: Unit) -> str:
    return f"{unit.key.item}\n{unit.key.style}"  # no id has a line break
