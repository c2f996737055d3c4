"""Feedback forensics of 10,000 pairs with 40 traits: reading the file, and every figure with 10,000 resamples.

The alternative is the plain loop: for each trait and each resample draw pairs with replacement and compute the strength
again. It runs on a hundredth of the resamples, and its time is a hundred times that. Seconds are of the processor;
those by the clock stand beside them and grow where other programs run. Memory is that of the command as a process.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ParamSpec, TypeVar

import numpy as np

from benchmarks.figures import Measured, over_repetitions
from benchmarks.processes import PEARL, run
from eval.recorded.forensics.measures import Resampling
from eval.recorded.forensics.metrics import ForensicsOptions, forensics_figures
from eval.recorded.forensics.votes import A, B, VoteTable, read_votes

T = TypeVar("T")
P = ParamSpec("P")

TITLE = "Feedback forensics: 40 traits on 10,000 pairs"
REPETITIONS, PAIRS, RESAMPLES = 3, 10_000, 10_000
QUICK_REPETITIONS, QUICK_PAIRS, QUICK_RESAMPLES = 1, 50, 200
TRAITS = 40
SHARE = 100  # of the resamples, the plain loop draws one in so many
WORDS = ["lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit"]


def measure(quick: bool) -> Measured:
    repetitions, pairs, resamples = (
        (QUICK_REPETITIONS, QUICK_PAIRS, QUICK_RESAMPLES) if quick else (REPETITIONS, PAIRS, RESAMPLES)
    )
    reading, figures, loop, clock = [], [], [], []
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        path = Path(folder) / "pairs.json"
        write(path, pairs)
        options = ForensicsOptions("people", resampling=Resampling(resamples))
        forensics_figures(read_votes(path), options)  # imports what it needs
        for _ in range(repetitions):
            table, seconds, _ = timed(read_votes, path)
            reading.append(seconds)
            _, seconds, by_the_clock = timed(forensics_figures, table, options)
            figures.append(seconds)
            clock.append(by_the_clock)
            drawn = max(resamples // SHARE, 1)
            _, seconds, _ = timed(plain_loop, table, drawn)
            loop.append(seconds * resamples / drawn)
        memory = [peak_mib(path, resamples, quick) for _ in range(repetitions)]
        times = [slow / fast for slow, fast in zip(loop, figures, strict=True)]
        size = path.stat().st_size / 1e6
    given = {
        "corpus": "synthetic",
        "pairs": pairs,
        "traits": TRAITS,
        "resamples": resamples,
        "megabytes": round(size, 1),
    }
    return Measured(
        repetitions,
        given,
        (
            over_repetitions("reading_s", "reading the file", "s", reading, at_most=5.0),
            over_repetitions("figures_s", "every figure", "s", figures, at_most=2.0),
            over_repetitions("figures_clock_s", "every figure, by the clock", "s", clock),
            over_repetitions("plain_loop_s", "strengths alone, plain loop", "s", loop),
            over_repetitions("times_plain", "plain loop by ours", "times", times),
            over_repetitions("peak_mib", "peak memory of the command", "MiB", memory, at_most=1000.0),
        ),
    )


def timed(work: Callable[P, T], *given: P.args, **options: P.kwargs) -> tuple[T, float, float]:
    """The result of the work, its seconds on the processor and by the clock."""
    processor, clock = time.process_time(), time.perf_counter()
    found = work(*given, **options)
    return found, time.process_time() - processor, time.perf_counter() - clock


def plain_loop(table: VoteTable, resamples: int) -> list[list[float]]:
    """The strength of each trait in each resample of the pairs."""
    generator = np.random.default_rng(0)
    reference = table.codes[:, table.place("people")]
    found = []
    for place in range(TRAITS):
        codes = table.codes[:, place]
        strengths = []
        for _ in range(resamples):
            rows = generator.integers(0, len(codes), len(codes))
            votes, same = codes[rows], codes[rows] == reference[rows]
            chosen = (votes == A) | (votes == B)
            strengths.append(float((same & chosen).sum() - (~same & chosen).sum()) / len(rows))
        found.append(strengths)
    return found


def peak_mib(path: Path, resamples: int, quick: bool) -> float:
    """The most memory of ``pearl forensics metrics``; in a smoke test that of this process."""
    if quick:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    words = ["--pairs", str(path), "--reference", "people", "--resamples", str(resamples), "--json", "-"]
    return run([PEARL, "forensics", "metrics", *words], {}).peak_mib


def write(path: Path, pairs: int) -> None:
    """A file of pairs with texts of some 200 words and votes at random, laid out as the public tool does it."""
    chance = np.random.default_rng(1)
    annotators = {f"{place:08x}": {"description": f"has trait {place}", "type": "principle"} for place in range(TRAITS)}
    annotators["people"] = {"name": "people", "type": "human"}
    none = {"pref": None, "no_pref_reason": "not_applicable"}
    choices = ({"pref": "a"}, {"pref": "b"}, none)
    comparisons = []
    for number in range(pairs):
        votes = {id: choices[vote] for id, vote in zip(annotators, chance.integers(0, 3, TRAITS), strict=False)}
        votes["people"] = choices[chance.integers(0, 2)]
        texts = [" ".join(chance.choice(WORDS, 200)) for _ in "ab"]
        comparisons.append(
            {
                "id": f"{number:08x}",
                "prompt": f"Question {number}?",
                "response_a": {"text": texts[0], "model": "one"},
                "response_b": {"text": texts[1], "model": "two"},
                "annotations": votes,
            }
        )
    value = {"metadata": {"version": "2.0"}, "annotators": annotators, "comparisons": comparisons}
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
