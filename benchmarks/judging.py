"""How fast a judge is asked, in how much memory, and that nothing is asked twice: ``pearl judge authorship`` as its own
process, the judge a mock on loopback that answers at once.

Each repetition: a tenth of the judgements, then all of them, each on a fresh file of replies; 1,000 kept judgements
replayed without a call; then all of them on another file, killed with SIGKILL in the middle, and a second run that goes
on. The mock counts the calls.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpus import find_corpus
from benchmarks.figures import Measured, over_repetitions
from benchmarks.processes import PEARL, Finished, get_json, judge_mocked, run, start, wait_until

TITLE = "Asking a judge, 64 calls in flight"
REPETITIONS, JUDGEMENTS = 3, 10_000
QUICK_REPETITIONS, QUICK_JUDGEMENTS = 1, 240
IN_FLIGHT = 64
REPLAYED = 1_000


@dataclass(frozen=True, slots=True)
class Repetition:
    asking_s: float  # without the start of the process and the statistics
    whole: Finished
    tenth: Finished
    replayed: Finished
    repeated: int  # calls of the second run for a reply that was stored when the first was killed
    lost: int  # judgements that are not there after the second run
    under_way: int  # calls of the first run whose reply was not stored


@dataclass(frozen=True, slots=True)
class Bench:
    """``judgements`` are twice as many as items: one run, both orders."""

    items: Path
    judgements: int
    mock: str
    scratch: Path

    def command(self, replies: Path, judgements: int, *more: str) -> list[str]:
        words = ["--items", str(self.items), "--replies", str(replies), "--runs", "1", "--limit", str(judgements // 2)]
        return [PEARL, "judge", "authorship", *words, "--max-in-flight", str(IN_FLIGHT), "--json", "-", *more]

    @property
    def environment(self) -> dict[str, str]:
        home = str(self.scratch / "home")
        return {"PEARL_HOME": home, "PEARL_LLM_BASE_URL": f"{self.mock}/v1", "PEARL_LLM_MODEL": "mock"}

    def run(self, replies: Path, judgements: int, *more: str) -> Finished:
        return run(self.command(replies, judgements, *more), self.environment)

    def calls(self) -> int:
        """Since they were last asked for."""
        return int(get_json(f"{self.mock}/calls")["calls"])


def measure(quick: bool) -> Measured:
    repetitions, judgements = (QUICK_REPETITIONS, QUICK_JUDGEMENTS) if quick else (REPETITIONS, JUDGEMENTS)
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        scratch = Path(folder)
        items = scratch / "items.jsonl"
        source = _write_items(items, judgements // 2, scratch)
        with judge_mocked(scratch) as mock:
            bench = Bench(items, judgements, mock, scratch)
            runs = [_repeat(bench, scratch / str(number)) for number in range(repetitions)]
    figures = (
        over_repetitions(
            "judgements_per_second",
            "judgements per second while asking",
            "judgements/s",
            [judgements / each.asking_s for each in runs],
            at_least=500,
        ),
        over_repetitions("seconds", "the whole process", "s", [each.whole.seconds for each in runs]),
        over_repetitions("peak_memory", "most resident memory", "MiB", [each.whole.peak_mib for each in runs]),
        over_repetitions(
            "memory_growth",
            "memory more than for a tenth of the judgements",
            "MiB",
            [each.whole.peak_mib - each.tenth.peak_mib for each in runs],
            at_most=50,
        ),
        over_repetitions(
            "replay_seconds",
            f"replaying {min(REPLAYED, judgements):,} kept judgements, the whole process",
            "s",
            [each.replayed.seconds for each in runs],
            at_most=2,
        ),
        over_repetitions(
            "repeated_calls",
            "after kill -9: calls repeated for a stored reply",
            "calls",
            [each.repeated for each in runs],
            at_most=0,
        ),
        over_repetitions(
            "lost_judgements",
            "after kill -9 and a second run: judgements lost",
            "judgements",
            [each.lost for each in runs],
            at_most=0,
        ),
        over_repetitions(
            "calls_under_way",
            "calls whose reply the kill cut off",
            "calls",
            [each.under_way for each in runs],
            at_most=2 * IN_FLIGHT,
        ),
    )
    described = {"corpus": source, "judgements": judgements, "in_flight": IN_FLIGHT, "replayed": REPLAYED}
    return Measured(repetitions, described, figures)


def _write_items(path: Path, count: int, scratch: Path) -> str:
    """A text of the corpus as the reference, the two that follow it as drafts."""
    corpus = find_corpus(scratch)
    texts = [line["text"] for line in islice(corpus.lines(), count + 2)]
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            reference, first, second = (texts[(number + step) % len(texts)] for step in range(3))
            candidates = {"first": first, "second": second}
            item = {"id": str(number), "user_id": str(number % 500), "reference": reference, "candidates": candidates}
            file.write(json.dumps(item) + "\n")
    return corpus.source


def _repeat(bench: Bench, folder: Path) -> Repetition:
    folder.mkdir()
    kept, killed = folder / "kept.sqlite", folder / "killed.sqlite"
    tenth = bench.run(folder / "tenth.sqlite", bench.judgements // 10)
    bench.calls()
    whole = bench.run(kept, bench.judgements)
    elicitation = json.loads(whole.output)["elicitation"]
    assert bench.calls() == elicitation["asked"] == elicitation["questions"]
    some, few = kept, bench.judgements
    if few > REPLAYED:
        some, few = folder / "some.sqlite", REPLAYED
        bench.run(some, few)
    replayed = bench.run(some, few, "--replay")
    bench.calls()
    _kill_in_the_middle(bench, killed)
    first, stored = bench.calls(), _stored(killed)
    second = json.loads(bench.run(killed, bench.judgements).output)["elicitation"]
    return Repetition(
        asking_s=elicitation["seconds"],
        whole=whole,
        tenth=tenth,
        replayed=replayed,
        repeated=bench.calls() - (second["questions"] - stored),
        lost=second["questions"] - _stored(killed),
        under_way=first - stored,
    )


def _kill_in_the_middle(bench: Bench, replies: Path) -> None:
    process = start(bench.command(replies, bench.judgements), bench.environment)
    wait_until(lambda: process.poll() is not None or _stored(replies) >= bench.judgements // 3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.5)  # calls that were on their way to the mock


def _stored(replies: Path) -> int:
    """How many replies the file holds; none before there is one."""
    if not replies.exists():
        return 0
    with closing(sqlite3.connect(replies)) as connection:
        try:
            return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])
        except sqlite3.OperationalError:  # the table is not there yet
            return 0
