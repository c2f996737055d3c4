"""The figures of ``pearl eval style``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.recorded.style.ability import Abilities, contrasts, correlations
from eval.recorded.style.analysis import by_persona, said_by_all
from eval.recorded.style.analysis import correlations as style_correlations
from eval.recorded.style.breakdowns import breakdowns, reflections
from eval.recorded.style.checks import check_abilities, check_judged, check_matched, check_people
from eval.recorded.style.choices import StyleChoices
from eval.recorded.style.consistency import among_people, over_judges, self_consistency, with_each_other
from eval.recorded.style.counts import columns_of, subject_of
from eval.recorded.style.f1 import RULES
from eval.recorded.style.judged import Judged, Unit, read_judged
from eval.recorded.style.labels import DETECTION, LABELS
from eval.recorded.style.people import NOBODY, People, Subject, read_people
from eval.recorded.style.personas import irrelevant_attributes, sensitivity
from eval.recorded.style.trigrams import of_judges, of_people

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class StyleOptions:
    choices: StyleChoices
    resamples: int = 2000
    seed: int = 0

    @property
    def drawn(self) -> dict[str, int]:
        return {"resamples": self.resamples, "seed": self.seed}


def style_report(
    judgements: Sequence[Path], human: Path | None, abilities: Abilities, options: StyleOptions
) -> dict[str, Any]:
    """Raises InputError for a file that cannot be read."""
    judged = read_judged(judgements)
    people = read_people(human) if human else NOBODY
    labels = people.labels(options.choices)
    findings = [*check_judged(judged, options.choices)]
    if human:
        findings += [*check_people(people, labels), *check_matched(judged, people)]
    if abilities:
        findings += check_abilities(judged, abilities)
    return {
        "preset": options.choices.name,
        "choices": options.choices.to_json(),
        "judgements": _counted(judged, labels),
        "people": _people(people, labels, judged),
        "preflight": [finding.to_json() for finding in findings],
        "rules": dict(RULES),
        **_agreement(judged, people, labels, options),
        **_compared(judged, labels, abilities, options),
        **_analysed(judged, people, options),
    }


def _plain(judged: Judged, kind: str) -> list[Unit]:
    """The units without those in which the judge was told to be somebody: a separate table has them."""
    return [unit for unit in judged.units if unit.key.kind == kind and unit.key.judge_persona is None]


def _counted(judged: Judged, labels: Mapping[Subject, str | None]) -> dict[str, Any]:
    """Account for every line: units, rated or not, verdicts, and fields passed over."""
    rated = [subject_of(unit) in labels for unit in judged.units]
    return {
        "lines": judged.lines,
        "lines_without_label": sum(unit.unused for unit in judged.units),
        "units": len(judged.units),
        "units_rated_by_people": sum(rated),
        "units_not_rated": len(rated) - sum(rated),
        "units_without_vote_of_people": sum(labels.get(subject_of(unit), "") is None for unit in judged.units),
        "units_of_a_judge_told_to_be_somebody": sum(unit.key.judge_persona is not None for unit in judged.units),
        "verdicts": [
            {"kind": kind, "judge": judge, "scheme": scheme, "verdicts": dict(sorted(counts.items()))}
            for (kind, judge, scheme), counts in sorted(judged.verdicts.items())
        ],
        "fields_passed_over": dict(judged.passed_over),
    }


def _people(people: People, labels: Mapping[Subject, str | None], judged: Judged) -> dict[str, Any]:
    seen = {subject_of(unit) for unit in judged.units}
    counts = {
        kind: Counter(label or "no_label" for subject, label in labels.items() if subject.kind == kind)
        for kind in people.scales
    }
    return {
        "lines": people.lines,
        "raters": people.raters,
        "subjects": len(labels),
        "subjects_not_judged": sum(subject not in seen for subject in labels),
        "labels": {
            kind: {label: found[label] for label in (*LABELS[kind], "no_label")} for kind, found in counts.items()
        },
        "fields_passed_over": dict(people.passed_over),
    }


def _agreement(
    judged: Judged, people: People, labels: Mapping[Subject, str | None], options: StyleOptions
) -> dict[str, Rows]:
    own: Rows = []
    between: Rows = []
    for kind in LABELS:
        if units := _plain(judged, kind):
            own += self_consistency(kind, units, options.choices, **options.drawn)
            between += with_each_other(kind, units, labels, options.choices, **options.drawn)
    tasks = {subject_of(unit): unit.about.task for unit in judged.units}
    return {
        "self_consistency": own,
        "self_consistency_over_judges": list(over_judges(own)),
        "people_agreement": list(among_people(people, tasks, options.choices, **options.drawn)),
        "agreement": between,
    }


def _compared(
    judged: Judged, labels: Mapping[Subject, str | None], abilities: Abilities, options: StyleOptions
) -> dict[str, Rows]:
    found: dict[str, Rows] = {
        name: []
        for name in ("f1", "reflection", "persona_sensitivity", "correlations", "contrasts", "irrelevant_attributes")
    }
    for kind in LABELS:
        columns = columns_of(kind, _plain(judged, kind), labels, options.choices, **options.drawn)
        if columns:
            found["f1"] += breakdowns(columns)
            found["reflection"] += reflections(columns)
            found["persona_sensitivity"] += sensitivity(columns)
            found["contrasts"] += contrasts(columns, abilities)
            if abilities:
                found["correlations"] += correlations(columns, abilities)
        told = [unit for unit in judged.units if unit.key.kind == kind and unit.key.judge_persona]
        if as_somebody := columns_of(kind, told, labels, options.choices, **options.drawn):
            found["irrelevant_attributes"] += irrelevant_attributes(as_somebody)
    return found


def _analysed(judged: Judged, people: People, options: StyleOptions) -> dict[str, Any]:
    units = _plain(judged, DETECTION)
    said = said_by_all(units, people, options.choices)
    personas = {subject_of(unit): unit.about.persona for unit in judged.units}
    return {
        "style_correlations": [row for each in said for row in style_correlations(each, **options.drawn)],
        "labels_by_persona": [row for each in said for row in by_persona(each, personas, **options.drawn)],
        "trigrams": [*of_people(people.justifications), *of_judges(judged.justifications)],
    }
