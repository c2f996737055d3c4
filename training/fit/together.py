"""Training of a cross-encoder by several workers of a Ray cluster, each with its share of every batch.

The workers are a group of torch.distributed, which averages their gradients. The driver keeps the checkpoints that the
first of them sends, so no folder is shared. If a worker is lost, all begin again at the last checkpoint.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from operator import methodcaller
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import torch.distributed as dist
from rich.console import Console

from pearl import __version__
from pearl.errors import InputError, PearlError
from pearl.runtime.ray_workers import NO_WORKER_S, TRIES, Cluster, Workers, told_by
from retriever.models.files import system_errors
from training.files import replaced
from training.fit.cross_encoder import GroupFitting, fit_cross_encoder, trained_weights
from training.progress import Advance, progress_of

CHECKPOINTS = "checkpoint-*"
Tell = Callable[[Callable[["_Driver"], None]], None]  # has the driver do something


def fit_together(model: Any, fitting: GroupFitting, folder: Path) -> dict[str, Any]:
    """Train as ``fit_cross_encoder`` does, in the workers of the fitting's cluster; there are as many as divide the
    batch evenly. Raises PearlError where workers are lost again and again; the checkpoints are then kept."""
    assert fitting.ray is not None
    started = time.monotonic()
    cluster = Cluster.read(fitting.ray, fitting.device)
    if 0 < cluster.gpus < 1:  # two processes of a group cannot share a GPU
        cluster = replace(cluster, gpus=1.0, workers=None)
    if Workers.running is not None:
        asyncio.run(Workers.running.close())  # for their room
    folder.mkdir(parents=True, exist_ok=True)

    def work() -> Callable[[Tell], Any]:
        seconds = fitting.seconds and max(0.0, started + fitting.seconds - time.monotonic())
        return partial(_fit_in_worker, model, replace(fitting, seconds=seconds), _contents(folder))

    with ExitStack() as stack:
        driver = _Driver(folder, stack)
        report: dict[str, Any]
        report, weights = _run_group(cluster, partial(_members, cluster, fitting), work, driver)
    with torch.no_grad():
        for name, values in trained_weights(model).items():
            values.copy_(weights[name])
    shutil.rmtree(folder)
    return report | {"seconds": round(time.monotonic() - started, 1)}


def _members(cluster: Cluster, fitting: GroupFitting) -> tuple[int, dict[str, float]]:
    """The number of processes for which there is room now, and what each takes."""
    placement = cluster.connect()
    room = replace(cluster, workers=None, cpus=placement.cpus).connect().count
    batch = fitting.options.batch
    most = min(placement.count, room) if len(fitting.groups) >= batch else 1
    count = next(number for number in range(most, 0, -1) if batch % number == 0)
    return count, {"num_cpus": placement.cpus, "num_gpus": placement.gpus}


class _Driver:
    """The part of this process, as the workers tell it: to show the progress, and to keep checkpoints."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._console = Console(stderr=True)
        self._advance: Advance | None = None
        self._done = 0

    def begin(self, label: str, steps: int) -> None:
        if self._advance is None:
            self._advance = self._stack.enter_context(progress_of(label, steps, self._console))
        else:  # again, after a loss
            self._advance(-self._done, False)
        self._done = 0

    def advance(self, steps: int, now: bool) -> None:
        assert self._advance is not None
        self._done += steps
        self._advance(steps, now)

    def keep(self, name: str, files: Mapping[str, bytes], others: Sequence[str]) -> None:
        """Write a checkpoint, whole or not at all, and remove those that are not among the ``others``."""
        with system_errors(self._folder), replaced(self._folder / name) as partial:
            _write(partial, files)
        for checkpoint in self._folder.glob(CHECKPOINTS):
            if checkpoint.name not in (name, *others):
                shutil.rmtree(checkpoint)

    def say(self, note: str) -> None:
        self._console.print(f"Note: {note}.", highlight=False, markup=False, soft_wrap=True)


def _contents(folder: Path) -> dict[str, bytes]:
    """The files below, by their paths in it."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


class _Member:
    """Runs in a worker."""

    def place(self) -> tuple[str, int, str]:
        """This machine's address, a free port there, and its version of PEARL."""
        import psutil
        import ray

        address = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
        for name, own in psutil.net_if_addrs().items():
            if any(each.address == address for each in own):  # else Gloo asks for the host's name: often the loopback
                os.environ.setdefault("GLOO_SOCKET_IFNAME", name)
        with socket.create_server(("", 0)) as server:
            return address, server.getsockname()[1], __version__

    def run(self, environment: Mapping[str, str], work: Callable[[Tell], Any], queue: Any) -> Any:
        os.environ.update(environment)
        try:
            return work(queue.put if environment["RANK"] == "0" else lambda message: None)
        except PearlError as error:
            return error


def _run_group(
    cluster: Cluster,
    members: Callable[[], tuple[int, dict[str, float]]],
    work: Callable[[], Callable[[Tell], Any]],
    driver: _Driver,
) -> Any:
    """Have workers do it together; return the first one's result. If one is lost, all of them begin again."""
    import ray
    from ray.exceptions import RayError
    from ray.util.queue import Queue

    why, count = "", 0
    for attempt in range(TRIES):
        count, resources = members()
        queue = Queue(actor_options={"num_cpus": 0})
        kind: Any = ray.remote(_Member)
        actors = [kind.options(**resources).remote() for _ in range(count)]
        try:
            places = ray.get([actor.place.remote() for actor in actors], timeout=NO_WORKER_S / TRIES)
            host, port, _ = places[0]
            if others := [place for place in places if place[2] != __version__]:
                raise InputError(
                    f"--ray {cluster.address}: {others[0][0]} has PEARL {others[0][2]}, this machine {__version__}; "
                    "install the same on both.",
                    param="ray",
                    code="ray_workers_differ",
                )
            shared = {"MASTER_ADDR": host, "MASTER_PORT": str(port), "WORLD_SIZE": str(count), "LOCAL_RANK": "0"}
            task = ray.put(work())
            running = [actor.run.remote(shared | {"RANK": str(rank)}, task, queue) for rank, actor in enumerate(actors)]
            return _followed(running, queue, driver)
        except RayError as error:
            why = told_by(error)
            if attempt + 1 < TRIES:
                driver.say(f"the training in {count} workers ended ({why}); it goes on from its last checkpoint")
        finally:
            for actor in actors:
                ray.kill(actor)
            with suppress(RayError):
                queue.shutdown(force=True)
    raise PearlError(
        f"--ray {cluster.address}: the training in {count} workers ended {TRIES} times ({why}). Its last checkpoint is "
        "kept; give workers more memory (fewer of them on a machine) and run it again.",
        code="ray_worker_lost",
    )


def _followed(running: Sequence[Any], queue: Any, driver: _Driver) -> Any:
    """Do what the workers tell until all have ended, and return the first one's result."""
    import ray

    waiting = list(running)
    while waiting:
        ended, waiting = ray.wait(waiting, timeout=0.5)
        for result in ray.get(ended):
            if isinstance(result, PearlError):
                raise result
        for message in queue.get_nowait_batch(queue.qsize()):
            message(driver)
    return ray.get(running[0])


def _fit_in_worker(
    model: Any, fitting: GroupFitting, files: Mapping[str, bytes], tell: Tell
) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Go on from the checkpoints in ``files``; return the report and the trained weights."""
    from transformers import TrainerCallback

    @contextmanager
    def progress(label: str, steps: int, console: Console) -> Iterator[Advance]:
        tell(methodcaller("begin", label, steps))
        yield lambda items, now: tell(methodcaller("advance", items, now))

    with TemporaryDirectory(prefix="pearl-fit-") as name:
        folder = Path(name) / "fit"
        _write(folder, files)

        class Sent(TrainerCallback):
            def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
                last = folder / f"checkpoint-{state.global_step}"
                others = [path.name for path in folder.glob(CHECKPOINTS)]
                tell(methodcaller("keep", last.name, _contents(last), others))

        if int(os.environ["WORLD_SIZE"]) > 1:
            dist.init_process_group("gloo" if fitting.device == "cpu" else "nccl")
        model.to(fitting.device)
        report = fit_cross_encoder(model, fitting, folder, progress, [Sent()])
    return report, {name: values.detach().cpu() for name, values in trained_weights(model).items()}
