"""How long a request waits for the documents: our cascade, and ``CrossEncoder.predict`` over the whole history.

Both read with the same cross-encoder (random weights of two sizes: time does not depend on what they say) and from
text; what either can do before the request comes is done: the models are loaded, our index of the history stands. The
plain way is sentence-transformers' own, float32 and 32 pairs a batch. The cascade reads 32 documents.

* times as fast: the median of the plain way's runs over the median of ours;
* exponent: how the cost grows from one size of history to the next, log(cost ratio) / log(size ratio); 1 is linear.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from benchmarks.corpus import Line, find_corpus
from benchmarks.figures import Figure, Measured, over_repetitions
from pearl.records import Document, Request
from retriever.calibrated.artifact import SHIPPED, load_artifact
from retriever.calibrated.retriever import CalibratedRetriever
from retriever.models.cross_encoder import CrossEncoderModel, PairReading
from retriever.models.encoder import SentenceEncoder, embedded_encoder_folder

TITLE = "Waiting for the documents"
SIZES, QUICK_SIZES = (30, 100, 590, 5900), (30, 100)  # documents of a history
REQUESTS, QUICK_REQUESTS = 40, 2
PLAIN_RUNS = {30: 3, 100: 3, 590: 3, 5900: 1}
GOALS = {30: 3, 590: 50}
READING = PairReading(160)


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a cross-encoder is. ``largest``: documents of the largest history that the plain way is run over."""

    name: str
    title: str
    layers: int
    hidden: int
    largest: int


SHAPES = (
    Shape("minilm", "MiniLM", 6, 384, 5900),
    # over 5,900 documents the plain way would take twenty minutes
    Shape("mpnet", "MPNet-base", 12, 768, 590),
)
QUICK_SHAPES = (Shape("minilm", "two small layers", 2, 48, 100),)


@dataclass(frozen=True, slots=True)
class Timed:
    """Milliseconds of each run."""

    ours: list[float]
    plain: list[float]


def measure(quick: bool) -> Measured:
    shapes, sizes = (QUICK_SHAPES, QUICK_SIZES) if quick else (SHAPES, SIZES)
    wanted = QUICK_REQUESTS if quick else REQUESTS
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        corpus = find_corpus(Path(folder))
        documents, requests = material(corpus.lines(), max(sizes), wanted)
        encoder = KnownTexts(SentenceEncoder())
        timed: dict[tuple[str, int], Timed] = {}
        for shape in shapes:
            plain = saved(shape, Path(folder) / shape.name)
            ours = _retriever(Path(folder) / shape.name, encoder)
            for size in sizes:
                timed[shape.name, size] = _take_turns(ours, plain, documents[:size], requests, shape)
        tokens = [len(plain.tokenizer(*READING.pair(requests[0].text, each))["input_ids"]) for each in documents[:500]]
    described = {
        "corpus": corpus.source,
        "requests": wanted,
        "sizes": "; ".join(f"{shape.title}'s, {shape.layers} layers of {shape.hidden}" for shape in shapes),
        "median_tokens_of_a_pair": median(tokens),
        "tokens_of_a_pair_at_most": READING.max_tokens,
        "read_by_the_cross_encoder": 32,
        "threads": torch.get_num_threads(),
    }
    return Measured(1 if quick else max(PLAIN_RUNS.values()), described, tuple(_figures(timed, shapes, sizes)))


def material(lines: Sequence[Line], size: int, requests: int) -> tuple[list[Document], list[Request]]:
    """The oldest documents as one history, and the requests of those that came next."""
    ordered = sorted((line for line in lines if line.get("request")), key=lambda line: float(line["timestamp"]))
    documents = [
        Document(f"d{place}", line["text"], float(line["timestamp"]), line["request"])
        for place, line in enumerate(ordered[:size])
    ]
    asked = ordered[size : size + requests]
    return documents, [Request(line["request"], float(line["timestamp"])) for line in asked]


class KnownTexts:
    """An encoder that does not encode a document's text twice: the embeddings of a history are kept in the store."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._known: dict[str, Any] = {}

    def encode_documents(self, texts: Sequence[str]) -> Any:
        missing = sorted(set(texts) - self._known.keys(), key=len)
        if missing:
            self._known.update(zip(missing, self._encoder.encode_documents(missing), strict=True))
        return np.stack([self._known[text] for text in texts])

    def encode_request(self, text: str) -> Any:
        return self._encoder.encode_request(text)


def saved(shape: Shape, folder: Path) -> Any:
    """A cross-encoder of random weights, saved as an artifact has it; the plain way's, with those very weights."""
    from sentence_transformers import CrossEncoder
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    from retriever.models.quantized import read_weights
    from training.fit.kept import save_cross_encoder

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(embedded_encoder_folder())
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=12,
        intermediate_size=4 * shape.hidden,
    )
    config.num_labels = 1
    made = folder.with_name(f"{folder.name}-torch")
    BertForSequenceClassification(config).save_pretrained(made)
    tokenizer.save_pretrained(made)
    plain: Any = CrossEncoder(str(made), num_labels=1, max_length=READING.max_tokens, device="cpu")
    save_cross_encoder(plain, folder)
    plain.model.load_state_dict(read_weights(folder / "model.safetensors"))
    return plain


def _retriever(folder: Path, encoder: KnownTexts) -> CalibratedRetriever:
    """The first stage that ships, with this cross-encoder beside it."""
    artifact, parts = load_artifact(SHIPPED)
    cross_encoder = CrossEncoderModel(folder, READING)
    cross_encoder.load()
    both = replace(parts, cross_encoder=cross_encoder)
    return CalibratedRetriever("bench", encoder, both, artifact.calibration)


def _take_turns(
    retriever: CalibratedRetriever, plain: Any, documents: list[Document], requests: Sequence[Request], shape: Shape
) -> Timed:
    index = retriever.index(documents)
    index.scores(requests[0])  # threads and allocators are set up before the clock runs
    ours = [milliseconds(index.scores, request) for request in requests]
    runs = PLAIN_RUNS.get(len(documents), 1) if len(documents) <= shape.largest else 0
    pairs = [[READING.pair(request.text, each) for each in documents] for request in requests[:runs]]
    return Timed(ours, [milliseconds(plain.predict, some) for some in pairs])


def milliseconds(work: Callable[[Any], object], given: object) -> float:
    started = time.perf_counter()
    work(given)
    return (time.perf_counter() - started) * 1000


def _figures(timed: dict[tuple[str, int], Timed], shapes: Sequence[Shape], sizes: Sequence[int]) -> Iterator[Figure]:
    for shape in shapes:
        for size in sizes:
            yield from _of_a_size(timed[shape.name, size], shape, size)
        for fewer, more in pairwise(sizes):
            ratio = median(timed[shape.name, more].ours) / median(timed[shape.name, fewer].ours)
            yield over_repetitions(
                f"{shape.name}_exponent_{more}",
                f"{shape.title}: exponent from {fewer:,} to {more:,} documents",
                "",
                [math.log(ratio) / math.log(more / fewer)],
                at_most=1.0 if more == sizes[-1] else None,
            )


def _of_a_size(timed: Timed, shape: Shape, size: int) -> Iterator[Figure]:
    name, what = f"{shape.name}_{size}", f"{shape.title}, {size:,} documents"
    yield over_repetitions(f"{name}_ms", f"{what}: ours", "ms", timed.ours)
    if timed.plain:
        times = [each / median(timed.ours) for each in timed.plain]
        yield over_repetitions(f"{name}_plain_ms", f"{what}: `CrossEncoder.predict`", "ms", timed.plain)
        yield over_repetitions(f"{name}_times", f"{what}: times as fast", "x", times, at_least=GOALS.get(size))
