"""Scoring paragraphs with the shipped reward model: our runtime, and the torch reference on the same texts in turn.

Rates are those of two idle cores: two paragraphs in the processor time of one. By the clock fewer are scored where
other programs run. torch computes all layers in float32, as its interface does; the runtime leaves out those above the
last one that is read. "AVX2" is a process whose oneDNN may use AVX2 alone, in float32: what OpenVINO compiles itself
does not know that limit, so a processor without AVX-512 may be slower than that.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from safetensors.numpy import load_file

from benchmarks.corpus import find_corpus, invented_lines
from benchmarks.figures import Measured, over_repetitions
from benchmarks.processes import ONEDNN_AVX2, run
from pearl.settings import EMBEDDED
from retriever.models.encoder import embedded_encoder_folder
from retriever.models.folder import model_folder
from retriever.models.graph import Arithmetic, layers_graph
from retriever.models.runtime import TextModel
from retriever.reward.artifact import HEAD, read_reward, reward_folder
from retriever.reward.head import ScoreHead
from retriever.reward.reference import TorchVectors

TITLE = "Scoring paragraphs with the reward model"
REPETITIONS, PARAGRAPHS = 5, 100
QUICK_REPETITIONS, QUICK_PARAGRAPHS = 1, 4
LEAST_WORDS, MOST_WORDS = 100, 300
CORES = 2
ASKED = 60  # paragraphs a second on two cores
TOLERANCE = 0.05  # points

Turn = tuple[list[float], float, float]  # scores, seconds on the processor and by the clock


class Scorers:
    """The shipped model under both interfaces."""

    def __init__(self, arithmetic: Arithmetic | None = None) -> None:
        folder = reward_folder(EMBEDDED)
        artifact = read_reward(folder)
        self._head = ScoreHead.of(load_file(folder / HEAD))
        self._base, self._layers, self._max_tokens = embedded_encoder_folder(), artifact.layers, artifact.max_tokens
        found = model_folder(self._base, self._max_tokens)
        assert found is not None
        self._runtime = TextModel(found, layers_graph(self._layers), arithmetic)

    def ours(self, texts: list[str]) -> Turn:
        started = time.process_time(), time.perf_counter()
        scores = self._head.scores(self._runtime.outputs([(text,) for text in texts]))
        return scores.tolist(), time.process_time() - started[0], time.perf_counter() - started[1]

    def torch(self) -> TorchVectors:
        return TorchVectors(self._base, self._layers, self._max_tokens)

    def under_torch(self, reference: TorchVectors, texts: list[str]) -> Turn:
        started = time.process_time(), time.perf_counter()
        scores = self._head.scores(reference.of(texts))
        return scores.tolist(), time.process_time() - started[0], time.perf_counter() - started[1]


def measure(quick: bool) -> Measured:
    repetitions = QUICK_REPETITIONS if quick else REPETITIONS
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        texts, source = paragraphs(Path(folder), quick)
        scorers = Scorers()
        reference = scorers.torch()
        scorers.ours(texts)  # makes the code for each length
        ours, theirs = [], []
        for _ in range(repetitions):
            ours.append(scorers.ours(texts))
            theirs.append(scorers.under_torch(reference, texts))
        file = Path(folder) / "paragraphs.json"
        file.write_text(json.dumps(texts), encoding="utf-8")
        avx2 = without_avx512(texts, 1) if quick else capped(file, repetitions)
    rates = [CORES * len(texts) / seconds for _, seconds, _ in ours]
    slow = [CORES * len(texts) / seconds for _, seconds, _ in avx2]
    times = [torch / own for (_, own, _), (_, torch, _) in zip(ours, theirs, strict=True)]
    words = sum(len(text.split()) for text in texts) / len(texts)
    return Measured(
        repetitions,
        {"corpus": source, "paragraphs": len(texts), "words_each": round(words)},
        (
            over_repetitions("rate", "two idle cores", "paragraphs/s", rates, at_least=ASKED),
            over_repetitions("avx2_rate", "two idle cores, AVX2", "paragraphs/s", slow, at_least=ASKED),
            over_repetitions("times_torch", "torch's processor time by ours", "times", times),
            over_repetitions("clock_rate", "by the clock", "paragraphs/s", [len(texts) / each[2] for each in ours]),
            over_repetitions(
                "avx2_clock_rate", "by the clock, AVX2", "paragraphs/s", [len(texts) / each[2] for each in avx2]
            ),
            over_repetitions(
                "torch_clock_rate", "by the clock, torch", "paragraphs/s", [len(texts) / each[2] for each in theirs]
            ),
            over_repetitions(
                "difference", "farthest score from torch's", "points", apart(ours, theirs), at_most=TOLERANCE
            ),
            over_repetitions("avx2_difference", "farthest, AVX2", "points", apart(avx2, theirs), at_most=TOLERANCE),
        ),
    )


def apart(some: list[Turn], others: list[Turn]) -> list[float]:
    """The largest difference of two scores of one paragraph, in each repetition."""
    return [float(np.abs(np.subtract(one[0], two[0])).max()) for one, two in zip(some, others, strict=True)]


def paragraphs(scratch: Path, quick: bool) -> tuple[list[str], str]:
    """Texts of about a paragraph's length, and their source."""
    if quick:
        lines, source = invented_lines(50), "invented"
    else:
        corpus = find_corpus(scratch)
        lines, source = iter(corpus.lines()), corpus.source
    fitting = (line["text"] for line in lines if LEAST_WORDS <= len(line["text"].split()) <= MOST_WORDS)
    return list(islice(fitting, QUICK_PARAGRAPHS if quick else PARAGRAPHS)), source


def capped(file: Path, repetitions: int) -> list[Turn]:
    """The same in a process whose oneDNN may use AVX2 alone."""
    done = run([sys.executable, "-m", "benchmarks.rewards", str(file), str(repetitions)], ONEDNN_AVX2)
    return [(scores, processor, clock) for scores, processor, clock in json.loads(done.output)]


def without_avx512(texts: list[str], repetitions: int) -> list[Turn]:
    """The turns in float32, as on a processor that has no bfloat16."""
    scorers = Scorers(Arithmetic.FLOAT32)
    scorers.ours(texts)
    return [scorers.ours(texts) for _ in range(repetitions)]


if __name__ == "__main__":
    print(json.dumps(without_avx512(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), int(sys.argv[2]))))
