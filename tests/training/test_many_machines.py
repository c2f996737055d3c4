"""Long commands on the workers of a Ray cluster: the results of one process, whatever is killed."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from threading import Thread

import psutil
import pytest

from pearl.errors import ChatTimeout, InputError
from pearl.extras import MissingExtra
from pearl.models.runtime.ray_workers import Cluster, Placement, _placed, _Room, _why_not
from tests.source import ROOT
from tests.tiny_gguf import write_tiny_gguf

USERS = [f"user{number:02}" for number in range(24)]
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
WAITED_S = 600.0  # on a busy machine; a quiet one takes a twentieth

SHORT = ("--choose", "max_tokens=8")


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("", "'' is no address"),
        ("head", "'head' is no address; give HOST:PORT of the head, auto or local"),
        ("head:70000", "is no address"),
        ("ray://head:10001", "is no address"),
        ("auto,worker=2", "'worker=2' is none of workers=N, cpus=N and gpus=SHARE"),
        ("auto,workers=0", "give a positive whole number"),
        ("auto,cpus=1.5", "give a positive whole number"),
        ("auto,gpus=1.5", "for gpus a share such as 0.25"),
        ("auto,gpus=nan", "for gpus a share such as 0.25"),
    ],
)
def test_an_option_that_cannot_be_read_says_what_to_write(option, why):
    with pytest.raises(InputError, match="Ray cluster") as raised:
        Cluster.read(option)
    assert why in raised.value.message


@pytest.mark.parametrize(
    ("option", "machines", "placement"),
    [
        ("auto", [{"CPU": 4}, {"CPU": 4}], (2, 4)),  # a worker a machine
        ("auto", [{"CPU": 16}, {"CPU": 4}, {}], (5, 4)),  # the head has no CPU to give
        ("auto,cpus=1", [{"CPU": 4}, {"CPU": 2}], (6, 1)),
        ("auto,workers=4", [{"CPU": 4}, {"CPU": 4}], (4, 2)),
        ("auto,workers=9", [{"CPU": 4}, {"CPU": 4}], (9, 1)),  # one more as soon as a machine joins
        ("auto,gpus=0.25,cpus=2", [{"CPU": 16, "GPU": 1}, {"CPU": 16}], (4, 2)),
        ("auto,gpus=0.25", [{"CPU": 16, "GPU": 1}], (4, 4)),
        ("auto,gpus=1", [{"CPU": 16, "GPU": 8}, {"CPU": 64, "GPU": 8}], (16, 2)),
        ("auto,gpus=0.3,cpus=1", [{"CPU": 16, "GPU": 2}], (6, 1)),
        ("auto,gpus=2,cpus=1", [{"CPU": 16, "GPU": 5}], (2, 1)),
    ],
)
def test_workers_are_placed_where_there_is_room(option, machines, placement):
    cluster = Cluster.read(option)
    assert _placed(cluster, [_Room(resources) for resources in machines]) == Placement(*placement, cluster.gpus)


@pytest.mark.parametrize(("option", "refused"), [("auto,cpus=2", True), ("auto,gpus=0.25", False)])
def test_workers_on_gpus_need_a_share_of_one(option, refused):
    with (
        pytest.raises(InputError, match="give each worker a share of a GPU: auto,gpus=1") if refused else nullcontext()
    ):
        Cluster.read(option, "cuda")


@pytest.mark.parametrize("option", ["auto,gpus=1", "auto,cpus=8"])
def test_a_cluster_without_room_for_a_worker_is_refused(option):
    with pytest.raises(InputError, match="no machine of the cluster has"):
        _placed(Cluster.read(option), [_Room({"CPU": 4})])


@pytest.mark.parametrize(
    "error",
    [InputError("a", param="b", code="c"), MissingExtra("torch", "train"), ChatTimeout("slow", retry_after=2.0)],
)
def test_an_error_comes_back_from_a_worker_as_it_is(error):
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), vars(copy), str(copy)) == (type(error), vars(error), str(error))


@contextmanager
def listening(answer: bytes | None) -> Iterator[int]:
    """Something that answers a connection with this, or with silence."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                if answer is None:
                    connection.recv(100)  # until the other side gives up
                else:
                    connection.sendall(answer)

        thread = Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


@contextmanager
def nothing() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    yield port


@pytest.mark.parametrize(
    ("there", "host", "why"),
    [
        (nothing, "127.0.0.1", "(Connection refused); start the cluster's head"),
        (nothing, "no-such-host.invalid", "nothing answers at no-such-host.invalid"),
        (partial(listening, None), "127.0.0.1", "(no answer)"),
        (partial(listening, b"HTTP/1.1 400 Bad Request\r\n\r\n"), "127.0.0.1", "is not Ray; give the head's port"),
        (partial(listening, b"220 mail"), "127.0.0.1", "is not Ray; give the head's port"),
    ],
)
def test_an_address_without_a_cluster_is_refused(monkeypatch, there, host, why):
    pytest.importorskip("ray", reason="the extra ray is not installed")
    monkeypatch.setattr("pearl.models.runtime.ray_workers.ANSWERS_S", 1.0)
    with there() as port, pytest.raises(InputError) as raised:
        Cluster.read(f"{host}:{port}").connect()
    assert why in raised.value.message


MISMATCH = (
    "Version mismatch: The cluster was started with:\n    Ray: {}\n    Python: {}\nThis process was started with: ..."
)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (MISMATCH.format("2.60.0", "3.12.1"), "another Python or Ray than this process; install the same everywhere"),
        (MISMATCH.format("2.9.3", "3.11.7"), "another Python or Ray than this process; install the same everywhere"),
        (
            "Can't find a raylet on this node.",
            "this machine is not in the cluster; run 'ray start --address=HOST:PORT'",
        ),
        ("This node has an IP address of 10.0.0.2, and Ray expects this IP", "this machine is not in the cluster"),
        ("Something else.", "Something else"),
    ],
)
def test_what_ray_refuses_says_what_to_do(said, why):
    assert why in _why_not(RuntimeError(said))


class RealCluster:
    """A head and machines beside it, as `ray start` starts them, each with a CPU."""

    def __init__(self, **more: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # a socket's path must be short
        self.environment = {**os.environ, **QUIET, **more}
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.address = f"127.0.0.1:{server.getsockname()[1]}"
        self.machines: list[subprocess.Popen[bytes]] = []

    def start(self, machines: int) -> None:
        ray = [str(Path(sys.executable).with_name("ray")), "start", "--num-cpus=1", "--disable-usage-stats", "--block"]
        ray += ["--object-store-memory=80000000"]
        head = ["--head", f"--port={self.address[10:]}", f"--temp-dir={self.folder}", "--include-dashboard=false"]
        for number in range(machines):
            words = head if number == 0 else [f"--address={self.address}"]
            with (self.folder / f"{number}.log").open("wb") as log:
                self.machines.append(subprocess.Popen([*ray, *words], env=self.environment, stdout=log, stderr=log))
            # one after another: on one computer two at once take the same socket
            self.wait(partial(self.has_started, number))

    def has_started(self, number: int) -> bool:
        return "Ray runtime started" in self.said(number)

    def said(self, number: int) -> str:
        return (self.folder / f"{number}.log").read_text(encoding="utf-8")

    def wait(self, done: Callable[[], bool]) -> None:
        until = time.monotonic() + WAITED_S
        while not done():
            assert time.monotonic() < until, [self.said(number) for number in range(len(self.machines))]
            time.sleep(0.05)

    def kill(self, number: int) -> None:
        """Kill a machine: all of its processes at once."""
        process = psutil.Process(self.machines[number].pid)
        for one in [process, *process.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        self.machines[number].wait()

    def stop(self) -> None:
        for number, machine in reversed(list(enumerate(self.machines))):
            if machine.returncode is None:
                self.kill(number)
        shutil.rmtree(self.folder, ignore_errors=True)

    def pearl(self, *words: object, **more: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", "from pearl.cli.main import main; main()", *map(str, words)]
        environment = self.environment | more
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture
def cluster() -> Iterator[RealCluster]:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    if sys.platform != "linux":
        pytest.skip("several machines of a cluster run on one only under Linux")
    made = RealCluster()
    try:
        made.start(3)
        yield made
    finally:
        made.stop()


def ended(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=WAITED_S)
    assert process.returncode == 0, said
    return said


@pytest.fixture
def scoring(writings, write_lines, causal_folder, tmp_path) -> Callable[..., list[object]]:
    history = write_lines(writings(USERS), "h.jsonl")

    def words(out: str, *more: object) -> list[object]:
        return ["train", "score", "--history", history, "--aux", causal_folder, "--out", tmp_path / out, *more]

    return words


def in_precision_of(parts: Path) -> list[str]:
    """The option by which another run scores in the precision of these scores, which a machine of the cluster chose."""
    return ["--choose", f"dtype={json.loads((parts / 'work.json').read_bytes())['fingerprint']['dtype']}"]


@pytest.mark.slow
def test_scores_are_those_of_one_process_though_a_machine_and_the_driver_are_killed(cluster, scoring, tmp_path):
    parts = tmp_path / "many.parts"

    def run(least: int) -> subprocess.Popen[str]:
        """Start it, and wait until so many parts are there."""
        process = cluster.pearl(*scoring("many.parquet", "--ray", cluster.address))
        cluster.wait(lambda: process.poll() is not None or len(list(parts.glob("*.parquet"))) >= least)
        return process

    driver = run(4)
    driver.kill()
    driver.communicate()
    before = {path.name: path.stat().st_mtime_ns for path in parts.glob("*.parquet")}
    assert 4 <= len(before) < len(USERS)

    driver = run(len(before) + 2)
    cluster.kill(2)
    ended(driver)
    after = {path.name: path.stat().st_mtime_ns for path in parts.glob("*.parquet")}
    assert after.items() >= before.items()  # nothing that was written is computed again
    ended(cluster.pearl(*scoring("alone.parquet", *in_precision_of(parts))))
    assert (tmp_path / "many.parquet").read_bytes() == (tmp_path / "alone.parquet").read_bytes()


def kept(file: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        columns = "key, text, finish_reason, prompt_tokens, completion_tokens"  # all but the seconds that it took
        return connection.execute(f"SELECT {columns} FROM replies ORDER BY key").fetchall()


@pytest.mark.slow
def test_replies_are_those_of_one_process(cluster, writings, write_lines, tmp_path):
    write_tiny_gguf(tmp_path / "wide.gguf", context_tokens=8192, spread=0.02)  # of a token a byte
    lines = [line | {"request": None} for line in writings(USERS[:1], documents=3)]
    pair = {"request": "Thank Bo.", "reference": "ta", "candidates": {"a": "Dear Bo, thank you.", "b": "cheers"}}
    commands: dict[str, list[object]] = {
        "requests": ["train", "requests", "--history", write_lines(lines, "h.jsonl")],
        "judge": ["judge", "authorship", *SHORT, "--items", write_lines([{"id": "1", **pair}], "i.jsonl")],
    }
    history = write_lines(writings(USERS[:2], documents=4), "c.jsonl")
    commands["compare"] = ["compare", "--systems", "bm25", "random", *SHORT, "--targets", 1]
    commands["compare"] += ["--history", history]
    llm = {"PEARL_LLM": "embedded", "PEARL_LLM_MODEL": str(tmp_path / "wide.gguf")}
    llm |= {"PEARL_LLM_CONTEXT_TOKENS": "8192", "PEARL_MAX_DRAFT_TOKENS": "16"}
    for name, words in commands.items():
        files = {}
        for way, ray in {"alone": {}, "many": {"PEARL_RAY": cluster.address}}.items():
            out, home = tmp_path / f"{name}-{way}.jsonl", tmp_path / f"{name}-{way}"
            files[way] = out.with_suffix(".replies") if name == "requests" else home / "judge-replies.sqlite"
            own = ["--out" if name == "requests" else "--json", out]
            ended(cluster.pearl(*words, *own, **llm, **ray, PEARL_HOME=str(home)))
        assert len(kept(files["alone"])) >= 2
        assert kept(files["many"]) == kept(files["alone"])


@pytest.mark.slow
def test_a_cluster_of_another_python_is_refused(cluster, scoring):
    changed = """
import json, sys
from ray._private.ray_constants import KV_NAMESPACE_CLUSTER
from ray._raylet import GcsClient
client, place = GcsClient(address=sys.argv[1]), (b"CLUSTER_METADATA", KV_NAMESPACE_CLUSTER)
told = json.loads(client.internal_kv_get(*place))
client.internal_kv_put(place[0], json.dumps(told | {"python_version": "3.9.1"}).encode(), True, place[1])
"""
    subprocess.run([sys.executable, "-c", changed, cluster.address], env=cluster.environment, check=True)
    process = cluster.pearl(*scoring("out.parquet", "--ray", cluster.address))
    said, _ = process.communicate(timeout=WAITED_S)
    assert process.returncode == 2, said
    assert "the cluster runs another Python or Ray than this process; install the same everywhere" in said


@pytest.mark.slow
def test_workers_out_of_memory_are_an_error_that_says_so(scoring, tmp_path):
    pytest.importorskip("ray", reason="the extra ray is not installed")
    crowded = RealCluster(RAY_memory_usage_threshold="0.01", RAY_memory_monitor_refresh_ms="50")
    parts = tmp_path / "out.parts"
    try:
        crowded.start(1)
        alone = crowded.pearl(*scoring("out.parquet"))  # what another run wrote is kept
        crowded.wait(lambda: alone.poll() is not None or bool(list(parts.glob("*.parquet"))))
        alone.kill()
        alone.communicate()
        before = {path.name: path.stat().st_mtime_ns for path in parts.glob("*.parquet")}
        process = crowded.pearl(*scoring("out.parquet", "--ray", crowded.address))
        said, _ = process.communicate(timeout=WAITED_S)
    finally:
        crowded.stop()
    assert process.returncode == 1, said
    assert re.search("workers cannot be started|workers were lost over one piece of work", said)
    assert "memory" in said
    assert not (tmp_path / "out.parquet").exists()
    assert before
    assert {path.name: path.stat().st_mtime_ns for path in parts.glob("*.parquet")} == before


@pytest.mark.slow
def test_a_training_scores_as_one_process_does(
    cluster, writings, write_lines, causal_folder, sentence_folder, tmp_path
):
    words = ["train", "retriever", "--history", write_lines(writings(["ann"], documents=40), "h.jsonl")]
    words += ["--aux", causal_folder, "--encoder", sentence_folder]
    words += ["--choose", "candidates=5", "--choose", "first_stage_only=yes"]
    ended(cluster.pearl(*words, "--out", tmp_path / "many", "--ray", cluster.address))
    ended(cluster.pearl(*words, "--out", tmp_path / "alone", *in_precision_of(tmp_path / "many.work/h-train.parts")))
    scores = {file.name: file.read_bytes() for file in (tmp_path / "alone.work").glob("*.parquet")}
    assert scores.keys() == {f"h-{split}.parquet" for split in ("train", "dev", "test")}
    assert {name: (tmp_path / "many.work" / name).read_bytes() for name in scores} == scores
