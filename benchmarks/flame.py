"""Where the processor time of ``pearl serve`` goes while 8 clients draft, by py-spy: in the event loop's thread, which
reads requests and answers, and in the threads that rank, find claims and record.

py-spy is no dependency of ours: ``pip install py-spy``, in any environment or in this one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.corpus import find_corpus, one_user
from benchmarks.draft_overhead import HISTORY, QUICK_HISTORY
from benchmarks.figures import Figure, Measured, over_repetitions
from benchmarks.load import REQUESTS, load, on_pearl
from benchmarks.processes import served

PROGRAM = shutil.which("py-spy") or shutil.which("py-spy", path=str(Path(sys.executable).parent))
TITLE = "Where the processor time of a draft goes"
CLIENTS, RATE = 8, 100
REPETITIONS, SECONDS = 3, 10
QUICK_REPETITIONS, QUICK_SECONDS = 1, 2
LOOP, THREADS = "event loop", "threads"
LEAST = 0.01  # of all samples: smaller parts are left out
HANDED_ON = 0.95  # of the samples of a call are its only inner call's: it is left out
WAITING = re.compile(r"(?:Queue\.get|Condition\.wait|WorkerThread\.run) ")  # a thread that has nothing to do
# what the parts of a stack are called, the first that the innermost known frame belongs to
ROOMS = {
    "asyncio and anyio": r"asyncio|anyio|threading|concurrent|selectors",
    "FastAPI, Starlette, uvicorn, pydantic": r"fastapi|starlette|uvicorn|pydantic",
    "the client of the endpoint": r"httpx2?|httpcore2?|h11|openai|pearl/chat",
    "the store": r"sqlalchemy|sqlite3|service/store",
    "ranking": r"retriever",
    "claims": r"pearl/claims",
    "reading the answer": r"pearl/answers|service/drafting/(?:reading|repetition|stops)",
    "the rest of PEARL": r"pearl|service",
}
REST = "Python and its libraries"
FRAME = re.compile(r"(?P<name>.+) \((?P<file>.+?)(?::\d+)?\)")
Stack = tuple[str, ...]


def measure(quick: bool) -> Measured:
    if PROGRAM is None:
        sys.exit("There is no py-spy: pip install py-spy.")
    repetitions, seconds = (QUICK_REPETITIONS, QUICK_SECONDS) if quick else (REPETITIONS, SECONDS)
    taken = []
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        corpus, raw = find_corpus(Path(folder)), Path(folder) / "stacks"
        person = one_user(corpus.lines(), QUICK_HISTORY if quick else HISTORY, REQUESTS)
        bodies = [{"request": request} for request in person.requests]
        with served(person, Path(folder)) as house:
            load(on_pearl(house, bodies, CLIENTS, seconds / 5))
            for _ in range(repetitions):
                record = ["record", "--threads", "--rate", str(RATE), "--duration", str(seconds), "--format", "raw"]
                spying = subprocess.Popen([PROGRAM, *record, "--output", str(raw), "--pid", str(house.pid)])
                load(on_pearl(house, bodies, CLIENTS, seconds + 2))
                if spying.wait():
                    sys.exit(f"py-spy ended with {spying.returncode}; it must be allowed to read other processes.")
                taken.append(read(raw.read_text(encoding="utf-8")))
    together = sum(taken, Counter())
    described = {
        "corpus": corpus.source,
        "history_documents": len(person.history),
        "clients": CLIENTS,
        "samples": together.total(),
        "stacks": tree(shown(together)),
    }
    return Measured(repetitions, described, tuple(_figures(taken)))


def read(raw: str) -> Counter[Stack]:
    """The stacks of py-spy's raw form, without lines, from what the event loop or a thread was given to do; without
    threads that wait, which py-spy takes for busy ones where they wait for Python's lock."""
    stacks: Counter[Stack] = Counter()
    for line in raw.splitlines():
        frames, _, count = line.rpartition(" ")
        thread, *calls = frames.split(";")
        named = [FRAME.fullmatch(call) for call in calls]
        names = [f"{frame['name']} ({frame['file']})" for frame in named if frame]
        if not names or WAITING.match(names[-1]):
            continue
        begin = next((at for at, name in enumerate(names) if name.startswith(("Runner.run ", "WorkerThread.run "))), -1)
        stacks[(LOOP if "MainThread" in thread else THREADS, *names[begin + 1 :])] += int(count)
    return stacks


def shown(stacks: Mapping[Stack, int]) -> Counter[Stack]:
    """The stacks without the calls that take less than LEAST of all samples; their time is their caller's."""
    below: Counter[Stack] = Counter()
    for stack, count in stacks.items():
        for depth in range(1, len(stack) + 1):
            below[stack[:depth]] += count
    least = LEAST * sum(stacks.values())
    kept: Counter[Stack] = Counter()
    for stack, count in stacks.items():
        depth = len(stack)
        while depth > 1 and below[stack[:depth]] < least:
            depth -= 1
        kept[stack[:depth]] += count
    return kept


def tree(stacks: Counter[Stack]) -> list[list[Any]]:
    """The stacks as [call, samples, calls below it], in the order of their names, without calls that only hand on to
    another one."""
    below: dict[str, Counter[Stack]] = {}
    for stack, count in stacks.items():
        if stack:
            below.setdefault(stack[0], Counter())[stack[1:]] += count
    grown: list[list[Any]] = []
    for name, rest in sorted(below.items()):
        inner = tree(rest)
        hands_on = len(inner) == 1 and inner[0][1] > HANDED_ON * rest.total() and name not in (LOOP, THREADS)
        grown += inner if hands_on else [[name, rest.total(), inner]]
    return grown


def room(stack: Stack) -> str:
    """Name the part of the service that the innermost call of a stack belongs to."""
    for name in reversed(stack):
        file = name.rpartition("(")[2]
        for title, pattern in ROOMS.items():
            if re.match(pattern, file):
                return title
    return REST


def _figures(taken: Sequence[Counter[Stack]]) -> Iterator[Figure]:
    of_all = [sum(count for stack, count in stacks.items() if stack[0] == LOOP) for stacks in taken]
    shares = [100 * count / stacks.total() for count, stacks in zip(of_all, taken, strict=True)]
    yield over_repetitions("loop", f"{LOOP}: of all", "%", shares)
    for thread in (LOOP, THREADS):
        for title in (*ROOMS, REST):
            shares = [_share(stacks, thread, title) for stacks in taken]
            if median(shares) >= 1:
                yield over_repetitions(f"{thread}: {title}", f"{thread}: {title}", "%", shares)


def _share(stacks: Counter[Stack], thread: str, title: str) -> float:
    """The part of the thread's samples that belongs to a room, in percent."""
    own = {stack: count for stack, count in stacks.items() if stack[0] == thread}
    return 100 * sum(count for stack, count in own.items() if room(stack) == title) / sum(own.values())
