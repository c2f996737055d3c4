"""The figures of ``pearl eval personalized``: a judge's answers against people's own, and how far to trust them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.asking.verdict import Given, Invalid
from eval.recorded.personalized.baselines import baselines, preferences
from eval.recorded.personalized.judgements import Recording, read_recording
from eval.recorded.personalized.preflight import CHECKS
from eval.recorded.personalized.presets import HISTOGRAMS, RECORDED, WHOLE_SCALE, WRONG
from eval.recorded.personalized.reading import Read, disagreements, read_verdicts
from eval.report.checks import BROKEN, preflight
from eval.stats.certainty import FIGURES, Certain, bands, histogram, reliability, risk_coverage, sweep
from eval.stats.proportions import wilson_json
from pearl.stats import Bootstrap, Estimate


@dataclass(frozen=True, slots=True)
class PersonalizedOptions:
    """A certainty of at least ``threshold`` is high."""

    threshold: float = 80.0
    preset: str = "recorded"
    reading: str = RECORDED
    unparsed: str = WRONG
    resamples: int = 2000
    seed: int = 0


def personalized_report(paths: Sequence[Path], options: PersonalizedOptions) -> dict[str, Any]:
    """Raises InputError for a file that cannot be read."""
    recordings = [(path, read_recording(path)) for path in paths]
    return {
        "threshold": options.threshold,
        "preset": options.preset,
        "choices": {"reading": options.reading, "unparsed": options.unparsed},
        "checks": [{"check": each.name, "level": each.level, "description": each.description} for each in CHECKS],
        "files": [
            {"file": str(path)} | recording_report(read_verdicts(recording, options.reading, options.unparsed), options)
            for path, recording in recordings
        ],
    }


def recording_report(read: Read, options: PersonalizedOptions, checked: Recording | None = None) -> dict[str, Any]:
    """One file: what the contract names first, then all that says how far to trust it. ``checked``: the records for
    the preflight, if not all."""
    recording = read.recording
    findings = preflight(CHECKS, recording if checked is None else checked)
    asked = recording.asked
    return {
        "n": len(recording.judgements),
        **_judged(read, options),
        "preflight": [finding.to_json() for finding in findings],
        "broken": any(finding.level == BROKEN for finding in findings),
        "asked": {"tie": asked.tie, "certainty": asked.certainty, "persona": recording.has_persona},
        "verdicts": read.tally.kinds,
        "golds": dict(Counter(judgement.gold.value for judgement in recording.judgements)),
        "invalid_reasons": dict(Counter(each.reason for each in read.verdicts if isinstance(each, Invalid))),
        "without_certainty": sum(isinstance(each, Given) and each.certainty is None for each in read.verdicts),
        "reread": disagreements(recording),
        "fields_passed_over": recording.passed_over,
    }


def _judged(read: Read, options: PersonalizedOptions) -> dict[str, Any]:
    tally = read.tally
    accuracies = {
        name: {
            "correct": tally.correct,
            "total": total,
            "accuracy": value,
            "interval": wilson_json(tally.correct, total),
        }
        for name, total, value in (
            ("invalid_wrong", tally.n, tally.invalid_wrong),
            ("invalid_dropped", tally.answered, tally.invalid_dropped),
        )
    }
    if not read.counted:  # no reply of the file could be read, and such are left out
        nothing = {"correct": 0, "total": 0, "accuracy": None}
        empty = {"correct": 0, "accuracy": None, "high": nothing, "low": nothing, "auroc": None}
        return {**empty, "counted": 0, "accuracies": accuracies, "undefined": {"auroc": "no record is counted"}}
    bootstrap = Bootstrap(read.names, resamples=options.resamples, seed=options.seed)
    found = Certain(read.correct, read.certainty, bootstrap)
    high = found.at_least(options.threshold)
    whole, above, below = found.part(high * 0 + 1), found.part(high), found.part(1 - high)
    figures = {name: figure(found) for name, figure in FIGURES.items()}
    return {
        "correct": whole["correct"],
        "accuracy": whole["accuracy"],
        "high": above,
        "low": below,
        "auroc": _value(figures["auroc"]),
        "counted": whole["total"],
        "accuracies": accuracies,
        **{name: _value(estimate) for name, estimate in figures.items() if name != "auroc"},
        "intervals": {
            **{
                name: wilson_json(part["correct"], part["total"])
                for name, part in (("accuracy", whole), ("high", above), ("low", below))
            },
            **{name: estimate.to_json() for name, estimate in figures.items()},
            "accuracy_by_persona": bootstrap.mean(found.correct).to_json(),
            "high_by_persona": bootstrap.ratio(found.correct * high, high).to_json(),
            "low_by_persona": bootstrap.ratio(found.correct * (1 - high), 1 - high).to_json(),
            "high_less_low": (
                bootstrap.ratio(found.correct * high, high) - bootstrap.ratio(found.correct * (1 - high), 1 - high)
            ).to_json(),
        },
        "undefined": undefined(found, figures),
        "clusters": len(set(read.names)),
        "resampled": "personas" if len(set(read.names)) < len(read.names) else "records",
        "preferences": preferences(read),
        "baselines": baselines(read, bootstrap),
        "bands": bands(found) if found.said.any() else [],
        "reliability": reliability(found),
        "sweep": sweep(found, options.threshold) if found.said.any() else [],
        "risk_coverage": risk_coverage(found),
        "histogram": histogram(found, HISTOGRAMS.get(options.preset, WHOLE_SCALE)) if found.said.any() else [],
    }


def _value(estimate: Estimate) -> float | None:
    interval = estimate.to_json()
    return None if interval is None else interval["value"]


def undefined(found: Certain, figures: dict[str, Estimate]) -> dict[str, str]:
    """Why a figure is null."""
    said = found.said > 0
    if not said.any():
        why = "no record has a certainty"
    elif len(set(found.correct[said])) < 2:
        why = "the records with a certainty are all right, or all wrong"
    else:
        why = "every record has the same certainty"
    return {name: why for name, estimate in figures.items() if estimate.interval is None}
