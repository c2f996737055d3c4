"""The figures of ``pearl eval personalized``: how often a judge chooses as people do, and if its certainty can be
trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.asking.verdict import Given, Invalid, is_correct
from eval.recorded.personalized.baselines import baselines, preferences
from eval.recorded.personalized.judgements import Recording, read_recording
from eval.recorded.personalized.preflight import CHECKS
from eval.recorded.personalized.presets import HISTOGRAMS, RECORDED, WHOLE_SCALE, WRONG
from eval.recorded.personalized.reading import RecordingVerdicts, disagreements, read_verdicts
from eval.report.checks import BROKEN, preflight
from eval.stats.certainty import FIGURES, CertainAnswers, bands, histogram, reliability, risk_coverage, sweep
from eval.stats.proportions import share, wilson_json
from pearl.stats.bootstrap import Bootstrap, Estimate


@dataclass(frozen=True, slots=True)
class PersonalizedOptions:
    """The options of ``pearl eval personalized``."""

    threshold: float = 80.0  # a certainty of at least this is high
    preset: str = "recorded"
    reading: str = RECORDED
    unparsed: str = WRONG


def personalized_report(paths: Sequence[Path], options: PersonalizedOptions) -> dict[str, Any]:
    """Accuracy, certainty and faults of the judge in each file. Raises InputError for a file that cannot be read."""
    recordings = [(path, read_recording(path)) for path in paths]
    return {
        "threshold": options.threshold,
        "preset": options.preset,
        "choices": {"reading": options.reading, "unparsed": options.unparsed},
        "checks": [{"check": check.name, "level": check.level, "description": check.description} for check in CHECKS],
        "files": [
            {"file": str(path)} | recording_report(read_verdicts(recording, options.reading, options.unparsed), options)
            for path, recording in recordings
        ],
    }


def recording_report(
    read: RecordingVerdicts, options: PersonalizedOptions, checked: Recording | None = None
) -> dict[str, Any]:
    """The figures of one file. ``checked``: the records to check for faults, if not the recording's own."""
    recording = read.recording
    findings = preflight(CHECKS, recording if checked is None else checked)
    form = recording.form
    return {
        "n": len(recording.judgements),
        **_judged(read, options),
        "preflight": [finding.to_json() for finding in findings],
        "broken": any(finding.level == BROKEN for finding in findings),
        "asked": {"tie": form.tie, "certainty": form.certainty, "persona": recording.has_persona},
        "verdicts": read.kinds,
        "golds": dict(Counter(judgement.gold.value for judgement in recording.judgements)),
        "invalid_reasons": dict(Counter(verdict.reason for verdict in read.verdicts if isinstance(verdict, Invalid))),
        "without_certainty": sum(isinstance(verdict, Given) and verdict.certainty is None for verdict in read.verdicts),
        "reread": disagreements(recording),
        "fields_passed_over": recording.passed_over,
    }


def _judged(read: RecordingVerdicts, options: PersonalizedOptions) -> dict[str, Any]:
    records = zip(read.verdicts, read.recording.judgements, strict=True)
    correct = sum(is_correct(verdict, judgement.gold) for verdict, judgement in records)
    answered = sum(isinstance(verdict, Given) for verdict in read.verdicts)
    accuracies = {
        name: {
            "correct": correct,
            "total": total,
            "accuracy": share(correct, total),
            "interval": wilson_json(correct, total),
        }
        for name, total in (("invalid_wrong", len(read.verdicts)), ("invalid_dropped", answered))
    }
    if not read.counted:  # no reply of the file could be read, and such are left out
        nothing = {"correct": 0, "total": 0, "accuracy": None}
        empty = {"correct": 0, "accuracy": None, "high": nothing, "low": nothing, "auroc": None}
        return {**empty, "counted": 0, "accuracies": accuracies, "undefined": {"auroc": "no record is counted"}}
    bootstrap = Bootstrap(read.names)
    certain = CertainAnswers(read.correct, read.certainty, bootstrap)
    high = certain.at_least(options.threshold)
    whole, above, below = certain.part(high * 0 + 1), certain.part(high), certain.part(1 - high)
    figures = {name: figure(certain) for name, figure in FIGURES.items()}
    intervals = {name: estimate.to_json() for name, estimate in figures.items()}
    values = {name: interval and interval["value"] for name, interval in intervals.items()}
    high_right = bootstrap.share(certain.correct, high)
    low_right = bootstrap.share(certain.correct, 1 - high)
    said = certain.said.any()
    return {
        "correct": whole["correct"],
        "accuracy": whole["accuracy"],
        "high": above,
        "low": below,
        "auroc": values.pop("auroc"),
        "counted": whole["total"],
        "accuracies": accuracies,
        **values,
        "intervals": {
            **{
                name: wilson_json(part["correct"], part["total"])
                for name, part in (("accuracy", whole), ("high", above), ("low", below))
            },
            **intervals,
            "accuracy_by_persona": bootstrap.share(certain.correct).to_json(),
            "high_by_persona": high_right.to_json(),
            "low_by_persona": low_right.to_json(),
            "high_less_low": (high_right - low_right).to_json(),
        },
        "undefined": undefined(certain, figures),
        "clusters": len(set(read.names)),
        "resampled": read.resampled,
        "preferences": preferences(read),
        "baselines": baselines(read, bootstrap),
        "bands": bands(certain) if said else [],
        "reliability": reliability(certain),
        "sweep": sweep(certain, options.threshold) if said else [],
        "risk_coverage": risk_coverage(certain),
        "histogram": histogram(certain, HISTOGRAMS.get(options.preset, WHOLE_SCALE)) if said else [],
    }


def undefined(certain: CertainAnswers, figures: dict[str, Estimate]) -> dict[str, str]:
    """For each undefined figure, the reason why it is undefined."""
    said = certain.said > 0
    if not said.any():
        why = "no record has a certainty"
    elif len(set(certain.correct[said])) < 2:
        why = "the records with a certainty are all right, or all wrong"
    else:
        why = "every record has the same certainty"
    return {name: why for name, estimate in figures.items() if estimate.interval is None}
