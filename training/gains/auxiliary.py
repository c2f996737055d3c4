"""Access to the auxiliary model, which measures gains: in this process, or in the workers of a Ray cluster."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias

from pearl.models.runtime.ray_workers import Cluster, Made, Workers
from pearl.models.runtime.side_by_side import side_by_side
from retriever.models.auxiliary import AUTO, AuxiliaryModel
from retriever.models.load_auxiliary import arithmetic_of, load_auxiliary
from training.gains.units import ScoringUnit

if TYPE_CHECKING:
    import pyarrow as pa


class UnitScorer(Protocol):
    """Scores units of work: some candidate documents of a user with that user's requests."""

    def score(self, unit: ScoringUnit) -> pa.Table: ...


MakeScorer: TypeAlias = Callable[[AuxiliaryModel], UnitScorer]
Keep: TypeAlias = "Callable[[ScoringUnit, pa.Table, float], None]"  # of the seconds that a unit took
Batch: TypeAlias = tuple[MakeScorer, Sequence[ScoringUnit]]
Scored: TypeAlias = "list[tuple[pa.Table, float]]"


class RayAuxiliary:
    """The auxiliary model run by the workers of a Ray cluster."""

    def __init__(self, cluster: Cluster, name: str, device: str, dtype: str) -> None:
        """Start the workers. Raises InputError where the cluster or the model cannot be used."""
        self._runner = asyncio.Runner()
        if dtype == AUTO:  # one machine chooses for all: where it is close, each would measure something else
            one = Workers(replace(cluster, workers=1), partial(_choosing, device.partition(":")[0]))
            dtype = self._runner.run(one.told())
        self._workers: Workers[Batch, Scored] = Workers(cluster, partial(_in_worker, name, device, dtype))
        self.name, self.fingerprint = self._runner.run(self._workers.told())

    def score(self, make: MakeScorer, batches: Iterable[Sequence[ScoringUnit]], keep: Keep) -> None:
        """Score batches in the workers, one batch per worker at a time, and call ``keep`` in this process with each
        unit's scores and seconds. Raises PearlError."""
        waiting = iter(batches)

        async def work() -> None:
            for batch in waiting:
                for unit, (table, seconds) in zip(batch, await self._workers.run((make, batch)), strict=True):
                    keep(unit, table, seconds)

        self._runner.run(side_by_side(work, self._workers.at_once))

    def close(self) -> None:
        """End the workers, which frees their room in the cluster."""
        self._runner.run(self._workers.close())
        self._runner.close()


def auxiliary_model(name: str, device: str, dtype: str, ray: str | None) -> AuxiliaryModel | RayAuxiliary:
    """Load the auxiliary model in this process, or in the workers of a Ray cluster if ``ray`` names one. Raises
    InputError if the model cannot be loaded."""
    if ray is None:
        return load_auxiliary(name, device=device, dtype=dtype)
    return RayAuxiliary(Cluster.read(ray, device), name, device, dtype)


def _choosing(device: str) -> Made[float, None]:
    """A worker that only tells in which number format its machine is fast."""
    return arithmetic_of(device), asyncio.sleep


def _in_worker(name: str, device: str, dtype: str) -> Made[Batch, Scored]:
    model = load_auxiliary(name, device=device, dtype=dtype)

    def scored(batch: Batch) -> Scored:
        make, units = batch
        scorer, tables = make(model), []
        for unit in units:
            started = time.monotonic()
            tables.append((scorer.score(unit), time.monotonic() - started))
        return tables

    return (model.name, model.fingerprint), lambda batch: asyncio.to_thread(scored, batch)
