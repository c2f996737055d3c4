"""How long a request waits for the documents with the retriever that ships, which reads no pair with a cross-encoder.

What can be done before the request comes is done: the encoder is loaded, the index of the history stands. The plain way
is the same encoder under sentence-transformers and a cosine with each document. "AVX2" is a process whose numpy, BLAS
and oneDNN may use AVX2 alone, so its encoder computes in float32. Both have processes of their own, in turns.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.corpus import find_corpus
from benchmarks.figures import Figure, Measured, over_repetitions, percentile
from benchmarks.processes import run
from benchmarks.retrieval import KnownTexts, material, milliseconds
from pearl.records import Request
from retriever.calibrated.artifact import SHIPPED, artifact_retriever
from retriever.models.encoder import SentenceEncoder, embedded_encoder_folder

TITLE = "Waiting for the documents, with the retriever that ships"
SIZES, QUICK_SIZES = (30, 590, 5900), (4,)  # documents of a history
REQUESTS, QUICK_REQUESTS = 100, 2
REPETITIONS, QUICK_REPETITIONS = 5, 1
GOALS = {590: 25}  # milliseconds by size, on a processor with AVX2 only
AVX2_ONLY = {
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # OpenVINO's and torch's products without AVX-512
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
}

Times = dict[str, list[float]]  # milliseconds of each request, by way and size


def measure(quick: bool) -> Measured:
    sizes, requests, repetitions = (
        (QUICK_SIZES, QUICK_REQUESTS, QUICK_REPETITIONS) if quick else (SIZES, REQUESTS, REPETITIONS)
    )
    command = [sys.executable, "-m", "benchmarks.first_stage"]
    here, avx2 = [], []
    for _ in range(repetitions):
        here.append(json.loads(run([*command, json.dumps([sizes, requests, True])], {}).output))
        avx2.append(json.loads(run([*command, json.dumps([sizes, requests, False])], AVX2_ONLY).output))
    described = {"corpus": here[0]["corpus"], "requests": requests}
    return Measured(
        repetitions, described, tuple(figures(sizes, [one["ms"] for one in here], [one["ms"] for one in avx2]))
    )


def figures(sizes: Sequence[int], here: Sequence[Times], avx2: Sequence[Times]) -> Iterator[Figure]:
    """p50 and p99 of each repetition, then the median over the repetitions."""
    for size in sizes:
        what = f"{size:,} documents"
        all_ours = [times[f"ours {size}"] for times in here]
        ours = [median(some) for some in all_ours]
        slow = [median(times[f"ours {size}"]) for times in avx2]
        plain = [median(times[f"plain {size}"]) for times in here]
        yield over_repetitions(f"{size}_p50", f"{what}, p50", "ms", ours)
        yield over_repetitions(f"{size}_p99", f"{what}, p99", "ms", [percentile(some, 99) for some in all_ours])
        yield over_repetitions(f"{size}_avx2_p50", f"{what}, AVX2, p50", "ms", slow, at_most=GOALS.get(size))
        yield over_repetitions(f"{size}_plain_p50", f"{what}, `SentenceTransformer`, p50", "ms", plain)
        ratios = [own / theirs for own, theirs in zip(ours, plain, strict=True)]
        yield over_repetitions(f"{size}_ratio", f"{what}: ours by `SentenceTransformer`'s", "times", ratios)


def timed(sizes: Sequence[int], requests: int, beside_plain: bool) -> tuple[str, Times]:
    """The corpus, and the times of this process, of the plain way only ``beside_plain``."""
    encoder = KnownTexts(SentenceEncoder())
    retriever = artifact_retriever(SHIPPED, encoder)
    dense = _plain_encoder() if beside_plain else None
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        corpus = find_corpus(Path(folder))
        documents, asked = material(corpus.lines(), max(sizes), requests)
    times: Times = {}
    for size in sizes:
        index = retriever.index(documents[:size])
        vectors = encoder.encode_documents([document.text for document in documents[:size]])
        ways: dict[str, Callable[[Request], object]] = {"ours": index.scores}
        if dense is not None:
            ways["plain"] = lambda request, vectors=vectors: vectors @ dense.encode(request.text)  # type: ignore[misc]
        for way, work in ways.items():
            work(asked[0])  # threads and allocators are set up before the clock runs
            times[f"{way} {size}"] = [milliseconds(work, request) for request in asked]
    return corpus.source, times


def _plain_encoder() -> Any:
    from sentence_transformers import SentenceTransformer  # whose import takes seconds

    return SentenceTransformer(str(embedded_encoder_folder()), device="cpu")


if __name__ == "__main__":
    source, ms = timed(*json.loads(sys.argv[1]))
    print(json.dumps({"corpus": source, "ms": ms}))
