"""Pairs a second that the workers of a Ray cluster score with the auxiliary model, by their number.

Each worker is given one processor of this machine; with more workers than processors they share them. The numbers take
turns, and the model is loaded before the clock starts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.corpus import find_corpus
from benchmarks.figures import Measured, over_repetitions
from pearl.history.files import read_histories
from pearl.history.split import TRAIN, users_of
from pearl.runtime.ray_workers import Cluster
from pearl.settings import EMBEDDED
from training.gains.auxiliary import RayAuxiliary
from training.gains.scoring import prepared, score_units
from training.gains.units import GainOptions, ScoringUnit, plan_units, target_texts
from training.templates import auxiliary_template

TITLE = "Scoring on the workers of a Ray cluster"
COUNTS, QUICK_COUNTS = (1, 2, 3), (1, 2)
REPETITIONS, QUICK_REPETITIONS = 3, 1
OPTIONS = GainOptions("commit", targets=2, candidates=4, least_candidates=4, users=6)
QUICK_OPTIONS = replace(OPTIONS, targets=1, candidates=2, users=2, target_tokens=12, document_tokens=16)


def measure(quick: bool) -> Measured:
    import ray

    options, counts, wanted = (
        (QUICK_OPTIONS, QUICK_COUNTS, QUICK_REPETITIONS) if quick else (OPTIONS, COUNTS, REPETITIONS)
    )
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        corpus = find_corpus(Path(folder))
        histories = {user: list(own) for user, own in users_of(read_histories(corpus.path), TRAIN).items()}
        units = plan_units(histories, options)
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
        ray.init("local", num_cpus=max(counts), **quiet)
        turns = [
            {
                count: _pairs_per_second(count, histories, units, options, Path(folder) / f"{turn}-{count}")
                for count in counts
            }
            for turn in range(wanted)
        ]
        ray.shutdown()
    figures = [
        over_repetitions(f"workers_{count}", f"workers: {count}", "pairs/s", [rates[count] for rates in turns])
        for count in counts
    ]
    figures += [
        over_repetitions(
            f"times_{count}", f"{count} workers, times one", "x", [rates[count] / rates[1] for rates in turns]
        )
        for count in counts[1:]
    ]
    found = {"corpus": corpus.source, "users": len(units), "pairs": sum(unit.size for unit in units)}
    return Measured(wanted, found | {"model": "SmolLM2-135M-Instruct"}, tuple(figures))


def _pairs_per_second(
    count: int, histories: dict[str, Any], units: Sequence[ScoringUnit], options: GainOptions, folder: Path
) -> float:
    """The rate of so many workers, once all have loaded their model."""
    model = RayAuxiliary(Cluster("local", count, 1), EMBEDDED, "cpu", "auto")
    template, targets = auxiliary_template(options.template), target_texts(units)
    scorer, description = prepared(model, template, options, histories, targets, "")
    score_units(units[:count], scorer, folder / "warm", description)
    started = time.perf_counter()
    score_units(units, scorer, folder / "parts", description)
    seconds = time.perf_counter() - started
    model.close()
    return sum(unit.size for unit in units) / seconds
