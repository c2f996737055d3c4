"""The figures of ``pearl eval style``: agreement of style judges with people, and with themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np

from eval.recorded.style import analysis, checks, consistency
from eval.recorded.style.ability import Abilities, contrasts, correlations
from eval.recorded.style.breakdowns import RULES, breakdowns, irrelevant_attributes, reflections, sensitivity
from eval.recorded.style.choices import LEARNED, PRESETS, StyleOptions
from eval.recorded.style.counts import MACRO, columns_of, columns_with, f1
from eval.recorded.style.judged import JudgedUnit, StyleJudgements, read_judged
from eval.recorded.style.labels import DETECTION, LABELS, THREE, majority
from eval.recorded.style.people import NOBODY, Subject, read_people
from pearl.stats.bootstrap import Floats

Rows = list[dict[str, Any]]
Labels = Mapping[Subject, str | None]


def style_report(
    judgements: Sequence[Path], human: Path | None, abilities: Abilities, options: StyleOptions
) -> dict[str, Any]:
    """Make the result of ``pearl eval style``: all figures, and counts of lines, units, verdicts and unknown fields.
    Raises InputError for a file that cannot be read."""
    judged = read_judged(judgements)
    people = read_people(human) if human else NOBODY
    labels = people.labels(options)
    findings = [*checks.check_judged(judged, options), *checks.check_absent(judged)]
    if human:
        findings += [*checks.check_people(people, labels), *checks.check_matched(judged, people, options)]
    if abilities:
        findings += checks.check_abilities(judged, abilities)
    by_subject = {unit.subject: unit for unit in judged.units}
    counts = Counter((subject.kind, label or "no_label") for subject, label in labels.items())
    plain = {kind: units for kind in LABELS if (units := _plain(judged, kind))}
    detected = plain.get(DETECTION, [])
    consistencies = [row for kind, units in plain.items() for row in consistency.self_consistency(kind, units, options)]
    raters = list(analysis.levels_of_raters(detected, people, options))
    personas = {unit.subject: unit.about.persona for unit in detected}
    return {
        "preset": options.preset,
        "choices": PRESETS.values_in(options),
        "judgements": {
            "lines": judged.lines,
            "lines_without_label": sum(unit.unused for unit in judged.units),
            "units": len(judged.units),
            "units_rated_by_people": sum(unit.subject in labels for unit in judged.units),
            "units_not_rated": sum(unit.subject not in labels for unit in judged.units),
            "units_without_vote_of_people": sum(labels.get(unit.subject, "") is None for unit in judged.units),
            "units_of_a_judge_told_to_be_somebody": sum(unit.key.judge_persona is not None for unit in judged.units),
            "verdicts": [
                {"kind": kind, "judge": judge, "scheme": scheme, "verdicts": dict(sorted(counts.items()))}
                for (kind, judge, scheme), counts in sorted(judged.verdicts.items())
            ],
            "fields_passed_over": dict(judged.passed_over),
        },
        "people": {
            "lines": people.lines,
            "missing": people.missing,
            "raters": people.raters,
            "subjects": len(labels),
            "subjects_not_judged": len(labels.keys() - by_subject.keys()),
            "labels": {
                kind: {label: counts[kind, label] for label in (*LABELS[kind], "no_label")} for kind in people.scales
            },
            "fields_passed_over": dict(people.passed_over),
        },
        "preflight": [finding.to_json() for finding in findings],
        "rules": dict(RULES),
        "self_consistency": consistencies,
        "self_consistency_over_judges": list(consistency.over_judges(consistencies)),
        "people_agreement": list(consistency.among_people(people, by_subject, options)),
        "agreement": [
            row for kind, units in plain.items() for row in consistency.with_each_other(kind, units, labels, options)
        ],
        **_compared(judged, labels, abilities, options),
        "three_labels": list(three_labels(detected, people.levels(options), options)),
        "style_correlations": [row for rated in raters for row in analysis.correlations(rated)],
        "labels_by_persona": [row for rated in raters for row in analysis.by_persona(rated, personas)],
        "trigrams": [*analysis.of_people(people.justifications), *analysis.of_judges(judged.justifications)],
    }


def _plain(judged: StyleJudgements, kind: str) -> list[JudgedUnit]:
    """The units of a kind whose judge was not told to be a persona; the other units have a table of their own."""
    return [unit for unit in judged.units if unit.key.kind == kind and unit.key.judge_persona is None]


def _compared(judged: StyleJudgements, labels: Labels, abilities: Abilities, options: StyleOptions) -> dict[str, Rows]:
    rows: dict[str, Rows] = {
        name: []
        for name in ("f1", "reflection", "persona_sensitivity", "correlations", "contrasts", "irrelevant_attributes")
    }
    for kind in LABELS:
        if columns := columns_of(kind, _plain(judged, kind), labels, options):
            rows["f1"] += breakdowns(columns)
            rows["reflection"] += reflections(columns)
            rows["persona_sensitivity"] += sensitivity(columns)
            rows["contrasts"] += contrasts(columns, abilities)
            rows["correlations"] += correlations(columns, abilities) if abilities else ()
        with_persona = [unit for unit in judged.units if unit.key.kind == kind and unit.key.judge_persona]
        if as_somebody := columns_of(kind, with_persona, labels, options):
            rows["irrelevant_attributes"] += irrelevant_attributes(as_somebody)
    return rows


PARTS = 5  # of the texts: the bounds for one are learned on the others
MOST_BOUNDS = 30
Bounds: TypeAlias = tuple[float, float]  # the highest score of "not" and of "somewhat"
Golds: TypeAlias = Mapping[Subject, str | None]


def three_labels(units: Sequence[JudgedUnit], people: Golds, options: StyleOptions) -> Iterator[dict[str, Any]]:
    """Yield breakdowns by the three labels not, somewhat and very. The judge's labels are those recorded or, if the
    options say that bounds are learned, computed from recorded scores."""
    rated = [unit for unit in units if people.get(unit.subject) is not None]
    learned = options.bins == LEARNED
    known = sorted((unit for unit in rated if (unit.scores if learned else unit.levels)), key=_judge)
    votes: list[Mapping[str, int]] = [unit.levels for unit in known]
    if learned:
        votes = [counts for _, group in groupby(known, key=_judge) for counts in learned_votes(list(group), people)]
    if not known:
        return
    said = [majority(counts, options.even, THREE) for counts in votes]
    columns = columns_with(DETECTION, THREE, MACRO, known, said, people, options)
    yield from breakdowns(columns, ((), ("task",), ("judge",), ("judge", "task")))


def _judge(unit: JudgedUnit) -> tuple[str, str]:
    return unit.key.scheme, unit.key.judge


def learned_votes(units: Sequence[JudgedUnit], people: Golds) -> Iterator[Mapping[str, int]]:
    """Yield the labels of each unit's draws, from their scores. The bounds between labels are learned on the texts of
    the other parts; no labels if there are no other texts. All units have one judge and scheme."""
    parts = [crc32(unit.key.item.encode()) % PARTS for unit in units]
    bounds: dict[int, Bounds] = {}
    for part in set(parts):
        if others := [unit for unit, of in zip(units, parts, strict=True) if of != part]:
            bounds[part] = best_bounds(others, people)
    for unit, part in zip(units, parts, strict=True):
        scores = unit.scores if part in bounds else ()
        yield Counter(THREE[int(np.searchsorted(bounds[part], score))] for score in scores)


def best_bounds(units: Sequence[JudgedUnit], people: Golds) -> Bounds:
    """The two bounds between labels that give the highest macro F1; the lowest of equally good bounds."""
    scores = np.array([score for unit in units for score in unit.scores])  # (N,)
    golds = [THREE.index(people[unit.subject] or "") for unit in units for _ in unit.scores]
    bounds = np.unique(np.quantile(scores, np.linspace(0, 1, MOST_BOUNDS), method="nearest"))  # (B,)
    of_gold = np.eye(len(THREE))[golds]  # (N, K)
    below = (scores[:, None] <= bounds).astype(float).T @ of_gold  # (B, K)
    least, middle = np.triu_indices(len(bounds))
    labelled = np.stack((below[least], below[middle] - below[least], of_gold.sum(axis=0) - below[middle]), axis=-1)
    unlabelled = np.zeros((*labelled.shape[:-1], 1))
    confusions: Floats = np.concatenate((labelled, unlabelled), axis=-1).reshape(len(least), -1)
    best = int(np.argmax(np.nan_to_num(f1(confusions, MACRO), nan=-1.0)))
    return float(bounds[least[best]]), float(bounds[middle[best]])
