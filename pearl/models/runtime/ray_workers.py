"""Workers of a Ray cluster. Each makes its model once and does one piece of work after another; results go back to the
driver, the process that runs the command, which alone writes files.

A piece of work whose worker or machine was lost is done again by another worker. Lost workers are started again where
there is room, also on machines that join later.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from pearl import __version__
from pearl.errors import InputError, PearlError
from pearl.extras import MissingExtra

AUTO, LOCAL = "auto", "local"
TRIES = 3  # of a piece of work, and of starting a worker; what is lost as often is taken to need more memory
ANSWERS_S = 5.0  # within which something at the address must answer; Ray itself waits for minutes
NO_WORKER_S = 300.0  # without one worker, after which a run ends
STORE_BYTES = 100_000_000  # of Ray's object store on this machine; texts and scores are small
# the begin of HTTP/2, which Ray speaks, with an empty frame of settings; the answer begins with one, too
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"
SETTINGS_FRAME = 4

Item = TypeVar("Item")
Result = TypeVar("Result")
# what tells a worker's model from another one, and the work
Made: TypeAlias = tuple[object, Callable[[Item], Awaitable[Result]]]


@dataclass(frozen=True, slots=True)
class Placement:
    """The number of workers that a cluster has room for, and the processors and GPUs of each."""

    count: int
    cpus: int  # of each
    gpus: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster, and the number and size of workers wanted there."""

    address: str
    workers: int | None = None  # as many as there is room for
    cpus: int | None = None  # of each worker; all of a machine's
    gpus: float = 0.0

    @classmethod
    def read(cls, option: str, device: str = "cpu") -> Cluster:
        """Read ADDRESS[,workers=N][,cpus=N][,gpus=SHARE]; workers compute on ``device``. Raises InputError."""
        address, *words = (word.strip() for word in option.split(","))
        values: dict[str, Any] = {}
        for word in words:
            name, _, value = word.partition("=")
            if name not in ("workers", "cpus", "gpus"):
                raise _refused(option, f"'{word}' is none of workers=N, cpus=N and gpus=SHARE")
            try:
                number = float(value) if name == "gpus" else int(value)
            except ValueError:
                number = -1
            if not (0 <= number < 100_000) or (name != "gpus" and not number) or (number > 1 and number % 1):
                raise _refused(option, f"{word}: give a positive whole number, or for gpus a share such as 0.25")
            values[name] = number
        if address not in (AUTO, LOCAL) and not _host_and_port(address):
            raise _refused(option, f"'{address}' is no address; give HOST:PORT of the head, auto or local")
        if device != "cpu" and not values.get("gpus"):  # Ray hides a machine's GPUs from such workers
            raise _refused(option, f"device {device}: give each worker a share of a GPU: {address},gpus=1")
        return cls(address, **values)

    def connect(self) -> Placement:
        """Connect this process to the cluster; return the workers that it has room for. Raises InputError."""
        return _connected(self)


def _refused(option: str, why: str) -> InputError:
    return InputError(f"Ray cluster {option}: {why}.")


def _host_and_port(address: str) -> tuple[str, int] | None:
    host, _, port = address.rpartition(":")
    return (host, int(port)) if host and "/" not in host and port.isdecimal() and 0 < int(port) < 65536 else None


def _connected(cluster: Cluster) -> Placement:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ModuleNotFoundError:
        raise MissingExtra("ray", "ray") from None

    if not ray.is_initialized():
        _initialize(ray.init, cluster)
    machines: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return _placed(cluster, [_Room(machine["Resources"]) for machine in machines if machine["Alive"]])


def _initialize(init: Callable[..., object], cluster: Cluster) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    address = cluster.address
    if address == LOCAL:
        quiet |= {"include_dashboard": False, "object_store_memory": STORE_BYTES}
    else:
        if address == AUTO:
            address = _found(cluster)
        _check_answers(cluster, address)
    try:
        init(address, **quiet)
    except (RuntimeError, ValueError, ConnectionError, OSError) as error:
        raise _refused(cluster.address, _why_not(error)) from None


def _found(cluster: Cluster) -> str:
    """The address of the cluster that this machine belongs to."""
    from ray._private.services import canonicalize_bootstrap_address

    try:
        address: str | None = canonicalize_bootstrap_address(AUTO)
    except ConnectionError:
        address = None
    if not address:
        raise _refused(cluster.address, "this machine is in no cluster; run 'ray start' first, or name HOST:PORT")
    return address


def _check_answers(cluster: Cluster, address: str) -> None:
    """Check that something speaks HTTP/2 there: Ray would try for minutes."""
    try:
        place = _host_and_port(address)
        with socket.create_connection(place or (address, 6379), timeout=ANSWERS_S) as connection:
            connection.sendall(GREETING)
            connection.settimeout(ANSWERS_S)
            answer = connection.recv(9)
    except OSError as error:
        why = error.strerror or "no answer"
        raise _refused(cluster.address, f"nothing answers at {address} ({why}); start the cluster's head") from None
    if len(answer) < 4 or answer[3] != SETTINGS_FRAME:
        raise _refused(cluster.address, f"what answers at {address} is not Ray; give the head's port, usually 6379")


def _why_not(error: Exception) -> str:
    said = " ".join(str(error).split())
    if "was started with" in said:
        return f"the cluster runs another Python or Ray than this process; install the same everywhere ({said})"
    if "expects this IP" in said or "raylet" in said.lower():
        return f"this machine is not in the cluster; run 'ray start --address=HOST:PORT' on it first ({said})"
    return said.rstrip(".")


@dataclass(frozen=True, slots=True)
class _Room:
    """The processors and GPUs of a machine."""

    resources: dict[str, float]

    @property
    def cpus(self) -> int:
        return int(self.resources.get("CPU", 0))

    def workers(self, cpus: int, gpus: float) -> int:
        return min(self.cpus // cpus, self.by_cards(gpus)) if gpus else self.cpus // cpus

    def by_cards(self, gpus: float) -> int:
        """Return the number of workers that the machine has GPUs for."""
        cards = self.resources.get("GPU", 0.0)
        return int(cards / gpus) if gpus > 1 else int(cards) * int(1 / gpus + 1e-9)

    def share(self, gpus: float) -> int:
        """Return the processors per worker if workers use all of the machine's GPUs; all processors without GPUs."""
        return max(1, self.cpus // self.by_cards(gpus)) if gpus else self.cpus


def _placed(cluster: Cluster, room: list[_Room]) -> Placement:
    """Return the workers for which the machines have room. Raises InputError if that is none."""
    room = [node for node in room if node.workers(1, cluster.gpus)]
    smallest = min((node.share(cluster.gpus) for node in room), default=0)
    cpus = cluster.cpus or smallest
    if not cluster.cpus and cluster.workers:  # the most with which there is room for all
        counts = range(smallest, 0, -1)
        cpus = next((n for n in counts if sum(node.workers(n, cluster.gpus) for node in room) >= cluster.workers), 1)
    count = sum(node.workers(cpus, cluster.gpus) for node in room) if room else 0
    if not count:
        wanted = f"{cluster.cpus or 1} CPUs and {cluster.gpus:g} GPUs"
        raise _refused(cluster.address, f"no machine of the cluster has {wanted} for a worker")
    return Placement(cluster.workers or count, cpus, cluster.gpus)


class _Actor:
    """Runs in a worker."""

    async def begin(self, make: Callable[[], Made[Any, Any]]) -> object:
        """Make the model; return what identifies it, or the error."""
        try:
            told, self._work = await asyncio.to_thread(make)
        except PearlError as error:
            error.message = f"{socket.gethostname()}: {error.message}"
            return error
        return socket.gethostname(), (__version__, told)

    async def run(self, item: Any) -> object:
        try:
            return await self._work(item)
        except PearlError as error:
            return error


@dataclass(slots=True)
class _Worker:
    actor: Any
    lost: bool = False


class Workers(Generic[Item, Result]):
    """A set of workers, each with the model that ``make`` returns; the first call starts them. A process has one set at
    a time: the first call of another set ends this one."""

    running: ClassVar[Workers[Any, Any] | None] = None

    def __init__(
        self, cluster: Cluster, make: Callable[[], Made[Item, Result]], calls: int = 1, expected: object = None
    ) -> None:
        """Connect to the cluster. ``calls``: pieces of work that a worker does at once; ``expected``: what identifies
        the model that workers must have. Raises InputError where the cluster cannot be used."""
        self._placement = cluster.connect()
        self._option = cluster.address
        self._make = make
        self._calls = calls
        self._free: asyncio.Queue[_Worker | PearlError] = asyncio.Queue()
        self._starting: set[asyncio.Task[None]] = set()
        self._live: list[_Worker] = []
        # the first machine, and what tells its model from others
        self._told = None if expected is None else ("this machine", (__version__, expected))
        self._begun = False
        self.at_once = self._placement.count * calls

    async def told(self) -> Any:
        """Wait for the first worker, and return what identifies its model."""
        self._free.put_nowait(await self._next())
        assert self._told is not None
        return self._told[1][1]

    async def run(self, item: Item) -> Result:
        """Have a worker do one piece of work. Raises PearlError if the work raises it, or if workers are lost."""
        from ray.exceptions import RayError, RayTaskError

        why = ""
        for _ in range(TRIES):
            worker = await self._next()
            try:
                result = await worker.actor.run.remote(item)
            except RayTaskError as error:
                failed = f"Ray cluster {self._option}: the work failed in a worker ({told_by(error)})"
                raise PearlError(f"{failed}; what was written is kept.") from error
            except RayError as error:
                why = told_by(error)
                self._lose(worker)
                continue
            self._free.put_nowait(worker)
            if isinstance(result, PearlError):
                raise result
            return result  # type: ignore[no-any-return]
        raise PearlError(
            f"Ray cluster {self._option}: {TRIES} workers were lost over one piece of work ({why}). What was "
            "written is kept; give workers more memory (fewer of them on a machine) and run it again."
        )

    async def close(self) -> None:
        """End the workers; a later call starts others."""
        import ray

        for task in self._starting:
            task.cancel()
        for worker in self._live:
            ray.kill(worker.actor)
        self._live, self._starting, self._free, self._begun = [], set(), asyncio.Queue(), False

    async def _next(self) -> _Worker:
        if not self._begun:
            self._begun = True
            if Workers.running not in (None, self):
                await Workers.running.close()
            Workers.running = self
            for _ in range(self._placement.count):
                self._start()
        while True:
            try:
                worker = await asyncio.wait_for(self._free.get(), NO_WORKER_S)
            except TimeoutError:
                if self._live:
                    continue
                raise PearlError(
                    f"Ray cluster {self._option}: no worker for {NO_WORKER_S:.0f} s. What was written is kept; start "
                    "machines and run it again.",
                ) from None
            if isinstance(worker, PearlError):
                self._free.put_nowait(worker)  # for the others that wait
                raise worker
            if not worker.lost:
                return worker

    def _lose(self, worker: _Worker) -> None:
        if not worker.lost:
            worker.lost = True
            if worker in self._live:
                self._live.remove(worker)
                self._start()

    def _start(self) -> None:
        task = asyncio.get_running_loop().create_task(self._started())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def _started(self) -> None:
        """Start a worker, where and when there is room."""
        import ray
        from ray.exceptions import RayError

        kind: Any = ray.remote(_Actor)
        place = self._placement
        for _ in range(TRIES):
            actor = kind.options(num_cpus=place.cpus, num_gpus=place.gpus, max_concurrency=self._calls + 1).remote()
            try:
                greeting = await actor.begin.remote(self._make)
            except RayError as error:
                why = told_by(error)
                continue
            self._welcome(_Worker(actor), greeting)
            return
        if not self._live and len(self._starting) == 1:  # others may do without it
            lost = (
                f"Ray cluster {self._option}: workers cannot be started ({why}); give them more memory or "
                "the same packages."
            )
            self._free.put_nowait(PearlError(lost))

    def _welcome(self, worker: _Worker, greeting: Any) -> None:
        if isinstance(greeting, PearlError):
            self._free.put_nowait(greeting)
            return
        self._told = self._told or greeting
        (first, before), (host, now) = self._told, greeting
        if before != now:
            self._free.put_nowait(
                InputError(
                    f"Ray cluster {self._option}: {host} has another version of PEARL, model or precision than {first} "
                    f"({now} and {before}); install the same on both.",
                )
            )
            return
        self._live.append(worker)
        for _ in range(self._calls):
            self._free.put_nowait(worker)


def told_by(error: Exception) -> str:
    cause = getattr(error, "cause", None)  # of what Python raised there
    said = " ".join((f"{type(cause).__name__}: {cause}" if cause else str(error)).split())
    return (said.partition("because ")[2] or said)[:200].rstrip(" .")
