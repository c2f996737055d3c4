"""The figures of ``pearl eval style``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.recorded.style import analysis, checks, consistency
from eval.recorded.style.ability import Abilities, contrasts, correlations
from eval.recorded.style.breakdowns import RULES, breakdowns, irrelevant_attributes, reflections, sensitivity
from eval.recorded.style.choices import StyleOptions
from eval.recorded.style.counts import columns_of
from eval.recorded.style.judged import StyleJudgements, Unit, read_judged
from eval.recorded.style.labels import DETECTION, LABELS
from eval.recorded.style.people import NOBODY, People, Subject, read_people
from eval.recorded.style.three_labels import three_labels

Rows = list[dict[str, Any]]
Labels = Mapping[Subject, str | None]


def style_report(
    judgements: Sequence[Path], human: Path | None, abilities: Abilities, options: StyleOptions
) -> dict[str, Any]:
    """Raises InputError for a file that cannot be read."""
    judged = read_judged(judgements)
    people = read_people(human) if human else NOBODY
    labels = people.labels(options)
    findings = [*checks.check_judged(judged, options), *checks.check_absent(judged)]
    if human:
        findings += [*checks.check_people(people, labels), *checks.check_matched(judged, people, options)]
    if abilities:
        findings += checks.check_abilities(judged, abilities)
    return {
        "preset": options.preset,
        "choices": options.to_json(),
        "judgements": _judgements(judged, labels),
        "people": _people(people, labels, judged),
        "preflight": [finding.to_json() for finding in findings],
        "rules": dict(RULES),
        **_agreement(judged, people, labels, options),
        **_compared(judged, labels, abilities, options),
        "three_labels": list(three_labels(_plain(judged, DETECTION), people.levels(options), options)),
        **_analysed(judged, people, options),
    }


def _plain(judged: StyleJudgements, kind: str) -> list[Unit]:
    """The units without those in which the judge was told to be somebody: a separate table has them."""
    return [unit for unit in judged.units if unit.key.kind == kind and unit.key.judge_persona is None]


def _judgements(judged: StyleJudgements, labels: Labels) -> dict[str, Any]:
    """Account for every line: units, rated or not, verdicts, and fields passed over."""
    rated = sum(unit.subject in labels for unit in judged.units)
    return {
        "lines": judged.lines,
        "lines_without_label": sum(unit.unused for unit in judged.units),
        "units": len(judged.units),
        "units_rated_by_people": rated,
        "units_not_rated": len(judged.units) - rated,
        "units_without_vote_of_people": sum(labels.get(unit.subject, "") is None for unit in judged.units),
        "units_of_a_judge_told_to_be_somebody": sum(unit.key.judge_persona is not None for unit in judged.units),
        "verdicts": [
            {"kind": kind, "judge": judge, "scheme": scheme, "verdicts": dict(sorted(counts.items()))}
            for (kind, judge, scheme), counts in sorted(judged.verdicts.items())
        ],
        "fields_passed_over": dict(judged.passed_over),
    }


def _people(people: People, labels: Labels, judged: StyleJudgements) -> dict[str, Any]:
    seen = {unit.subject for unit in judged.units}
    counts = Counter((subject.kind, label or "no_label") for subject, label in labels.items())
    return {
        "lines": people.lines,
        "raters": people.raters,
        "subjects": len(labels),
        "subjects_not_judged": sum(subject not in seen for subject in labels),
        "labels": {
            kind: {label: counts[kind, label] for label in (*LABELS[kind], "no_label")} for kind in people.scales
        },
        "fields_passed_over": dict(people.passed_over),
    }


def _agreement(judged: StyleJudgements, people: People, labels: Labels, options: StyleOptions) -> dict[str, Rows]:
    plain = {kind: units for kind in LABELS if (units := _plain(judged, kind))}
    own = [row for kind, units in plain.items() for row in consistency.self_consistency(kind, units, options)]
    seen = {unit.subject: unit for unit in judged.units}
    return {
        "self_consistency": own,
        "self_consistency_over_judges": list(consistency.over_judges(own)),
        "people_agreement": list(consistency.among_people(people, seen, options)),
        "agreement": [
            row for kind, units in plain.items() for row in consistency.with_each_other(kind, units, labels, options)
        ],
    }


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
        told = [unit for unit in judged.units if unit.key.kind == kind and unit.key.judge_persona]
        if as_somebody := columns_of(kind, told, labels, options):
            rows["irrelevant_attributes"] += irrelevant_attributes(as_somebody)
    return rows


def _analysed(judged: StyleJudgements, people: People, options: StyleOptions) -> dict[str, Any]:
    detected = _plain(judged, DETECTION)
    raters = list(analysis.levels_of_raters(detected, people, options))
    personas = {unit.subject: unit.about.persona for unit in detected}
    return {
        "style_correlations": [row for rated in raters for row in analysis.correlations(rated, options)],
        "labels_by_persona": [row for rated in raters for row in analysis.by_persona(rated, personas, options)],
        "trigrams": [*analysis.of_people(people.justifications), *analysis.of_judges(judged.justifications)],
    }
