"""Write docs/results/corrected.json: do corrected rates and trusted thresholds keep what they promise?

``python docs/simulate_corrected.py [--recordings FOLDER]``, a few minutes. Simulated judges of known error, then the
recordings of the personalised judge's authors, whose own labels stand in for people's; without that folder the part of
the file about them stays as it is.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from eval.recorded.corrected import CorrectedOptions, corrected_report, fixed_sequence, trusted_from  # noqa: E402  # noqa: E402
from eval.recorded.labels import own_labels, read_judged  # noqa: E402
from eval.stats.corrected import LabelledShares, prediction_powered, resampled  # noqa: E402
from eval.stats.proportions import wilson  # noqa: E402
from pearl.cli.options import write_json  # noqa: E402
from pearl.stats.bootstrap import Floats  # noqa: E402
from pearl.stats.proportions import Interval  # noqa: E402

RESULT = ROOT / "docs" / "results" / "corrected.json"
JUDGES, ITEMS, RESAMPLES = 1000, 1000, 400
SIZES = (30, 50, 100, 200)  # labelled items
RISK, CONFIDENCE = 0.1, 0.95
DRAWS, LABELS = 100, 100  # samples of labels of each recording

Way = tuple[str, str]  # a name, and what tables call it
WAYS: tuple[Way, ...] = (
    ("raw", "as the judge says"),
    ("labelled_only", "by the labels alone"),
    ("corrected", "corrected"),
    ("plain_bootstrap", "corrected, plain bootstrap"),
    ("prediction_powered", "prediction-powered"),
)


@dataclass(frozen=True)
class SimulatedJudge:
    """``rates`` (K,) are the true ones; ``rows`` (K, K) says what it says of each label."""

    rates: Floats
    rows: Floats

    def judged(self, labelled: int, generator: np.random.Generator) -> LabelledShares:
        size = len(self.rates)
        people = generator.choice(size, ITEMS, p=self.rates)
        said = (generator.random(ITEMS)[:, None] > self.rows.cumsum(axis=1)[people]).sum(axis=1).clip(0, size - 1)
        gold = np.where(np.arange(ITEMS) < labelled, people, -1)
        return LabelledShares([str(place) for place in range(size)], np.eye(size)[said], gold)


def binary(rate: float, sensitivity: float, specificity: float) -> SimulatedJudge:
    rows = [[sensitivity, 1 - sensitivity], [1 - specificity, specificity]]
    return SimulatedJudge(np.array([rate, 1 - rate]), np.array(rows))


def drawn_judge(size: int, generator: np.random.Generator) -> SimulatedJudge:
    """Rates from 0.1 on, and right from 65% to 97% of the time (60% of three labels on)."""
    if size == 2:
        rate, sensitivity, specificity = generator.uniform((0.1, 0.65, 0.65), (0.9, 0.97, 0.97))
        return binary(rate, sensitivity, specificity)
    rates = 0.1 + 0.7 * generator.dirichlet((1, 1, 1))
    right = generator.uniform(0.6, 0.95, 3)
    rows = np.diag(right)
    for place in range(3):
        others = [other for other in range(3) if other != place]
        rows[place, others] = (1 - right[place]) * generator.dirichlet((2, 2))
    return SimulatedJudge(rates, rows)


def coverage(
    judges: Sequence[SimulatedJudge], labelled: int, generator: np.random.Generator, *, compare: bool = False
) -> dict[str, Any]:
    """How often each way's 95% interval holds the true rate, how wide it is, and how often there is no correction;
    ``compare``: with the plain bootstrap beside it."""
    held: dict[str, list[float]] = {name: [] for name, _ in WAYS}
    width: dict[str, list[float]] = {name: [] for name, _ in WAYS}
    impossible = skipped = 0
    for number, judge in enumerate(judges):
        data = judge.judged(labelled, generator)
        if len(set(data.gold[:labelled])) < len(judge.rates):
            skipped += 1  # a label that no labelled item has: the command says so
            continue
        chosen = resampled(data, resamples=RESAMPLES, seed=number)
        plain = resampled(data, resamples=RESAMPLES, seed=number, pseudo=0) if compare else None
        impossible += chosen.corrected is None
        found: dict[str, Sequence[Interval] | None] = {
            "raw": chosen.raw,
            "labelled_only": [_alone(data, place) for place in range(len(judge.rates))],
            "corrected": chosen.corrected,
            "plain_bootstrap": plain.corrected if plain else None,
            "prediction_powered": prediction_powered(data),
        }
        for name, intervals in found.items():
            if intervals is not None:
                pairs = list(zip(intervals, judge.rates, strict=True))
                held[name].append(float(np.mean([each.low <= true <= each.high for each, true in pairs])))
                width[name].append(float(np.mean([each.high - each.low for each, _ in pairs])))
    return {
        "labelled": labelled,
        "judges": len(judges),
        "label_missing": skipped,
        "no_correction": impossible,
        "coverage": {name: round(float(np.mean(values)), 4) for name, values in held.items() if values},
        "width": {name: round(float(np.median(values)), 4) for name, values in width.items() if values},
    }


def _alone(data: LabelledShares, place: int) -> Interval:
    interval = wilson(int((data.gold == place).sum()), int(data.labelled.sum()))
    assert interval is not None
    return interval


def coverages(generator: np.random.Generator) -> Iterator[dict[str, Any]]:
    for size in (2, 3):
        for labelled in SIZES:
            judges = [drawn_judge(size, generator) for _ in range(JUDGES)]
            yield {"labels": size, "judge": "drawn"} | coverage(judges, labelled, generator, compare=True)
    for rate in (0.1, 0.3, 0.5):
        for sensitivity, specificity in ((0.8, 0.7), (0.9, 0.8), (0.95, 0.95)):
            fixed = {"rate": rate, "sensitivity": sensitivity, "specificity": specificity}
            judges = [binary(**fixed)] * JUDGES
            yield {"labels": 2, "judge": "fixed", **fixed} | coverage(judges, 100, generator)


LEVELS = np.arange(50, 100, 5)  # certainties, equally common
CURVES: dict[str, tuple[str, Floats]] = {
    "calibrated": ("wrong as often as its certainty says", 1 - LEVELS / 100),
    "cliff": ("wrong in 4% from 80 on, in half below", np.where(LEVELS >= 80, 0.04, 0.5)),
    "just_above": ("wrong in 10.5% at every certainty", np.full(len(LEVELS), 0.105)),
    "sure_and_wrong": ("wrong in 30% from 90 on, in 2% below", np.where(LEVELS >= 90, 0.3, 0.02)),
    "slope_at_the_risk": ("from 0% at 95 to 20% at 50, the wanted risk at the end", np.linspace(0.2, 0.0, len(LEVELS))),
    "overconfident": ("wrong in 30% at every certainty", np.full(len(LEVELS), 0.3)),
}


def promises(generator: np.random.Generator) -> Iterator[dict[str, Any]]:
    """How often a threshold is found whose true error is above the risk."""
    for name, (description, error) in CURVES.items():
        true = error[::-1].cumsum()[::-1] / np.arange(len(error), 0, -1)  # of all from each level on
        for labelled in (100, 300):
            found: list[float | None] = []
            for _ in range(JUDGES):
                places = generator.integers(0, len(LEVELS), labelled)
                wrong: NDArray[np.bool_] = generator.random(labelled) < error[places]
                steps = list(fixed_sequence(LEVELS[places].astype(float), wrong, RISK, CONFIDENCE))
                chosen = trusted_from(steps, RISK)
                found.append(None if chosen is None else chosen.certainty)
            reached = [int(np.searchsorted(LEVELS, level)) for level in found if level is not None]
            yield {
                "curve": name,
                "description": description,
                "labelled": labelled,
                "calibrations": JUDGES,
                "found": len(reached) / JUDGES,
                "broken": sum(bool(true[place] > RISK + 1e-9) for place in reached) / JUDGES,
                "coverage": round(float(np.mean([1 - place / len(LEVELS) for place in reached])), 4)
                if reached
                else None,
            }


def recording(path: Path) -> dict[str, Any]:
    """A recording with its own labels: the corrected rate by some of them against the rate by all, and trust."""
    items = read_judged([path])
    first = corrected_report(items, own_labels(items, LABELS, 0), CorrectedOptions(resamples=RESAMPLES))
    held: dict[str, list[bool]] = {name: [] for name in ("raw", "corrected", "prediction_powered")}
    for seed in range(DRAWS):
        report = corrected_report(
            items, own_labels(items, LABELS, seed), CorrectedOptions(resamples=RESAMPLES, seed=seed)
        )
        row = report["rates"][0]
        for name, values in held.items():
            if row[name]:
                values.append(row[name]["low"] <= row["known"] <= row[name]["high"])
    trusted = {}
    for risk in (0.1, 0.05):
        options = CorrectedOptions(risk, CONFIDENCE, RESAMPLES)
        found = corrected_report(items, own_labels(items, None, 0), options)["trusted"]
        trusted[f"{risk:g}"] = {
            name: found[name] for name in ("threshold", "reason", "coverage", "bound", "error_of_all")
        }
    return {
        "file": path.name,
        "items": first["items"],
        "rate": first["rates"][0],
        "undefined": first["undefined"],
        "draws": DRAWS,
        "labelled": LABELS,
        "corrected_in": len(held["corrected"]),
        "coverage": {name: float(np.mean(values)) if values else None for name, values in held.items()},
        "trusted": trusted,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=Path, metavar="FOLDER", help="recordings, JSON Lines, gzipped or not")
    folder = parser.parse_args().recordings
    before = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {"recordings": []}
    recordings = sorted(folder.glob("*.jsonl*")) if folder else []
    result = {
        "command": "python docs/simulate_corrected.py --recordings FOLDER",
        "items": ITEMS,
        "ways": dict(WAYS),
        "coverages": list(coverages(np.random.default_rng(0))),
        "risk": RISK,
        "confidence": CONFIDENCE,
        "promises": list(promises(np.random.default_rng(1))),
        "recordings": [recording(path) for path in recordings] or before["recordings"],
    }
    write_json(str(RESULT), result)


if __name__ == "__main__":
    main()
