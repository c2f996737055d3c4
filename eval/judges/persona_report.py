"""The figures of ``pearl judge personalized``: those of its records, then what only the trials tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eval.judges.persona_ablation import ablation_report
from eval.judges.persona_columns import Heard, golds, personas
from eval.judges.persona_trials import PersonaTrials, Told, flips, once, recording_of
from eval.judges.self_preference import Itself, SideChoices, self_preference
from eval.recorded.personalized.preflight import CHECKS
from eval.recorded.personalized.presets import Preset
from eval.recorded.personalized.reading import read_verdicts
from eval.recorded.personalized.report import PersonalizedOptions, recording_report
from eval.report.checks import BROKEN, preflight
from eval.stats.proportions import wilson_json
from pearl.stats import Bootstrap


def heard(trials: PersonaTrials, told: Told, preset: Preset) -> Heard:
    return Heard(trials, told, read_verdicts(recording_of(trials.mode, told), preset))


def persona_report(modes: Sequence[Heard], options: PersonalizedOptions, itself: Itself, file: str) -> dict[str, Any]:
    """Report on the first mode; the others are its ablations."""
    first, preset = modes[0], options.preset
    recording = first.read.recording
    changed, pairs = flips(first.told, first.read)
    checks = preflight(CHECKS, once(first.told, recording))
    figures = recording_report(recording, options) | {
        "preflight": [finding.to_json() for finding in checks],
        "broken": any(finding.level == BROKEN for finding in checks),
    }
    return {
        "threshold": options.threshold,
        "preset": preset.name,
        "choices": {"reading": preset.reading, "unparsed": preset.unparsed},
        "runs": first.trials.runs,
        "order": first.trials.order,
        "failed": dict(first.told.failed),
        "flip_rate": wilson_json(changed, pairs),
        "pairs_of_orders": pairs,
        "self_preference": self_preference(itself, _choices(first, options)),
        "files": [{"file": file, **figures}],
        "ablation": ablation_report(modes, options) if len(modes) > 1 else None,
    }


def _choices(first: Heard, options: PersonalizedOptions) -> SideChoices:
    trials = first.trials
    bootstrap = Bootstrap(personas(trials), resamples=options.resamples, seed=options.seed)
    generators = [item.generators for item, _run, _swapped in trials]
    return SideChoices(generators, first.columns.taken, golds(trials), bootstrap)
