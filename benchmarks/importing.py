"""How fast a history comes in, and in how much memory: ``pearl import jsonl`` into SQLite, as its own process.

Each repetition: a fresh store; an import; the same import again, which changes nothing; the same texts dated 2023 or
later, in which phrases of an assistant are looked for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpus import Corpus, find_corpus, first_lines, write_lines
from benchmarks.figures import Measured, over_repetitions
from benchmarks.processes import PEARL, Finished, run

TITLE = "Importing a history from JSON Lines into SQLite"
REPETITIONS, QUICK_REPETITIONS = 5, 1
QUICK_DOCUMENTS = 500
RECENT = 1_672_531_200  # 2023; Unix seconds divided by 100 are added


@dataclass(frozen=True, slots=True)
class Repetition:
    documents: int
    first: Finished
    working_s: float  # of the first, as the importer itself counts: without the start of the process
    again: Finished
    recent: Finished
    one: Finished  # an import of one document: the process's start


def measure(quick: bool) -> Measured:
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        scratch = Path(folder)
        corpus = find_corpus(scratch)
        if quick:
            corpus = first_lines(corpus, QUICK_DOCUMENTS, scratch / "some.jsonl.gz")
        wanted = QUICK_REPETITIONS if quick else REPETITIONS
        recent = scratch / "recent.jsonl.gz"
        write_lines(recent, ({**line, "timestamp": RECENT + line["timestamp"] / 100} for line in corpus.lines()))
        one = first_lines(corpus, 1, scratch / "one.jsonl.gz").path
        runs = [_repeat(corpus, recent, one, scratch / str(number)) for number in range(wanted)]
    figures = (
        over_repetitions(
            "documents_per_second",
            "documents per second, the whole process",
            "documents/s",
            [each.documents / each.first.seconds for each in runs],
        ),
        over_repetitions(
            "documents_per_cpu_second",
            "documents per second of the processor",
            "documents/s",
            [each.documents / each.first.cpu_s for each in runs],
            at_least=5_000,
        ),
        over_repetitions(
            "recent_per_cpu_second",
            "texts since 2023 per second of the processor",
            "documents/s",
            [each.documents / each.recent.cpu_s for each in runs],
            at_least=5_000,
        ),
        over_repetitions(
            "recent_per_cpu_second_working",
            "the same, without the process's start",
            "documents/s",
            [each.documents / (each.recent.cpu_s - each.one.cpu_s) for each in runs],
        ),
        over_repetitions(
            "documents_per_second_working",
            "documents per second, without the process's start",
            "documents/s",
            [each.documents / each.working_s for each in runs],
        ),
        over_repetitions(
            "peak_memory", "most resident memory", "MiB", [each.first.peak_mib for each in runs], at_most=300
        ),
        over_repetitions("seconds", "the whole process", "s", [each.first.seconds for each in runs]),
        over_repetitions("seconds_again", "the same import again", "s", [each.again.seconds for each in runs]),
    )
    return Measured(wanted, {"corpus": corpus.source, "documents": runs[0].documents}, figures)


def _repeat(corpus: Corpus, recent: Path, one: Path, home: Path) -> Repetition:
    home.mkdir()
    command = [PEARL, "import", "jsonl", str(corpus.path), "--json", "-"]
    first, again = (run(command, {"PEARL_HOME": str(home)}) for _ in range(2))
    came, came_again = json.loads(first.output), json.loads(again.output)
    assert came_again["imported"] == 0
    assert came_again["already_there"] == came["imported"]
    later, start = (
        run([PEARL, "import", "jsonl", str(path), "--json", "-"], {"PEARL_HOME": str(home / path.name)})
        for path in (recent, one)
    )
    assert json.loads(later.output)["imported"] == came["imported"]
    return Repetition(came["imported"], first, came["seconds"], again, later, start)
