"""``python -m benchmarks [NAME ...] [--quick] [--out FOLDER]``: measure, and write a result file for each."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from benchmarks.figures import Result, write_result
from benchmarks.machine import Machine, this_machine
from benchmarks.report import table

RESULTS = Path(__file__).parent / "results"
NAMES = (
    "import",
    "draft_overhead",
    "load",
    "retrieval",
    "serving",
    "many_users",
    "workers",
    "rag",
)


def benchmark(name: str) -> ModuleType:
    """The module of a benchmark, imported on use: some of them need torch, which takes seconds."""
    return import_module(f"benchmarks.{'importing' if name == 'import' else name}")


def run(name: str, quick: bool, machine: Machine) -> Result:
    module = benchmark(name)
    measured = module.measure(quick)
    return Result(
        name,
        module.TITLE,
        f"python -m benchmarks {name}",
        quick,
        machine,
        measured.repetitions,
        measured.input,
        measured.figures,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    # no `choices`: argparse would hold them against the empty list, too
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all if none is given")
    parser.add_argument("--quick", action="store_true", help="a smoke test: a few calls, whose figures mean nothing")
    parser.add_argument("--out", type=Path, help="folder of the result files (default: benchmarks/results)")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    if options.quick and options.out is None:
        parser.error("--quick needs --out: its figures must not take the place of the measured ones")
    folder = options.out or RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    machine = this_machine()  # before the first benchmark, so that its load average is that of others
    for name in options.names or NAMES:
        started = time.monotonic()
        print(f"{name}: {benchmark(name).TITLE} ...", file=sys.stderr, flush=True)
        result = run(name, options.quick, machine)
        path = write_result(result, folder)
        print(f"{table(result)}\n{path} ({time.monotonic() - started:.0f} s)\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
