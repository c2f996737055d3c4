"""``python -m benchmarks.many_machines``: pairs a second that Ray's workers score, by their number, as JSON.

Each worker is given a processor of this machine; with more workers than processors they share them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.corpus import find_corpus
from pearl.history.files import read_histories
from pearl.history.split import TRAIN, users_of
from pearl.runtime.ray_workers import Cluster
from pearl.settings import EMBEDDED
from training.gains.auxiliary import RayAuxiliary
from training.gains.scoring import prepared, score_units
from training.gains.units import GainOptions, ScoringUnit, plan_units, target_texts
from training.templates import auxiliary_template

COUNTS = (1, 2, 3)
OPTIONS = GainOptions("commit", targets=2, candidates=8, least_candidates=8, users=6)


def measure() -> dict[str, Any]:
    import ray

    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        corpus = find_corpus(Path(folder))
        histories = {user: list(own) for user, own in users_of(read_histories(corpus.path), TRAIN).items()}
        units = plan_units(histories, OPTIONS)
        ray.init("local", num_cpus=max(COUNTS), include_dashboard=False, log_to_driver=False)
        rates = {count: _pairs_per_second(count, histories, units, Path(folder)) for count in COUNTS}
        ray.shutdown()
    found = {"corpus": corpus.source, "pairs": sum(unit.size for unit in units), "cores": os.cpu_count()}
    return found | {"load_average_after": os.getloadavg()[0], "pairs_per_second": rates}


def _pairs_per_second(count: int, histories: dict[str, Any], units: Sequence[ScoringUnit], folder: Path) -> float:
    """The rate of so many workers, once all have loaded their model."""
    model = RayAuxiliary(Cluster("local", count, 1), EMBEDDED, "cpu", "auto")
    template, targets = auxiliary_template(OPTIONS.template), target_texts(units)
    scorer, description = prepared(model, template, OPTIONS, histories, targets, "")
    score_units(units[:count], scorer, folder / f"warm{count}", description)
    started = time.perf_counter()
    score_units(units, scorer, folder / str(count), description)
    seconds = time.perf_counter() - started
    model.close()
    return round(sum(unit.size for unit in units) / seconds, 3)


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
