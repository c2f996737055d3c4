"""The paper's models on a GPU: pairs scored with FLAN-T5 of four sizes and with SmolLM2, and a cross-encoder trained.

Speed and memory hang on a model's size and not on what it learned, so the models have their published sizes and random
weights. A pair has the length of those of the scorer's benchmark. The plain loop is what one writes first: float32,
eight pairs a batch, the logits of every token. A step of training reads 16 groups of four documents, forward and
backward in bfloat16 over weights in float32, with AdamW.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from benchmarks.figures import Figure, Measured, over_repetitions
from pearl.errors import InputError
from retriever.models.auxiliary import AuxiliaryModel, Group, Tokens
from retriever.models.causal import CausalAuxiliary
from retriever.models.seq2seq import Seq2SeqAuxiliary
from training.fit.losses import scale_calibrated_loss

TITLE = "The paper's models on a GPU"
PROMPT, TARGET = 186, 60  # tokens of a pair, as in benchmarks/results/scoring.json
REPETITIONS, QUICK_REPETITIONS = 3, 1
PLAIN_BATCH = 8
STEPS, GROUPS, DOCUMENTS = 10, 16, 4
GIB = 2**30
Pair = tuple[Tokens, Tokens]


@dataclass(frozen=True, slots=True)
class Size:
    """A FLAN-T5's published dimensions, and the pairs of a repetition."""

    name: str
    hidden: int
    inner: int
    layers: int
    heads: int
    pairs: int


SIZES = (
    Size("small", 512, 1024, 8, 6, 4096),
    Size("base", 768, 2048, 12, 12, 4096),
    Size("large", 1024, 2816, 24, 16, 2048),
    Size("xl", 2048, 5120, 24, 32, 1024),
)
SMOLLM2_PAIRS, PLAIN_PAIRS = 4096, 512


@dataclass(frozen=True, slots=True)
class Bench:
    """The device that is measured, and by how much a smoke test is smaller."""

    place: torch.device
    quick: bool

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def seconds(self, work: Callable[[], object]) -> list[float]:
        """The seconds of each repetition, after one that warms up."""
        work()
        taken = []
        if self.place.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
        for _ in range(self.size(REPETITIONS, QUICK_REPETITIONS)):
            started = time.perf_counter()
            work()
            if self.place.type == "cuda":
                torch.cuda.synchronize()
            taken.append(time.perf_counter() - started)
        return taken

    def rated(self, name: str, label: str, unit: str, count: int, work: Callable[[], object]) -> tuple[Figure, Figure]:
        """How many of ``count`` are done a second, and the most memory that was taken for it, the weights included."""
        rates = [count / seconds for seconds in self.seconds(work)]
        peak = torch.cuda.max_memory_allocated() / GIB if self.place.type == "cuda" else 0.0
        # said at once, for a lent GPU may be gone before the end
        print(f"{label}: {sorted(rates)[len(rates) // 2]:,.0f} {unit}", flush=True)
        return (
            over_repetitions(name, label, unit, rates),
            over_repetitions(f"{name}_gib", f"{label}: memory", "GiB", [peak]),
        )


def measure(quick: bool) -> Measured:
    """Raises InputError where there is no GPU; the smoke test runs on any machine."""
    if not quick and not torch.cuda.is_available():
        raise InputError("There is no GPU that torch can use.")
    bench = Bench(torch.device("cpu" if quick else "cuda"), quick)
    figures: list[Figure] = []
    for size in SIZES:
        own = replace(size, hidden=32, inner=64, layers=1, heads=2, pairs=2) if quick else size
        figures += _scored(bench, f"flan_t5_{size.name}", f"FLAN-T5-{size.name}", _flan_t5(own, bench.place), own.pairs)
    figures += _smollm2(bench)
    figures += _cross_encoder(bench)
    described = {
        "corpus": f"random tokens, {PROMPT} of a prompt and {TARGET} of a target",
        "gpu": "none" if quick else torch.cuda.get_device_name(),
        "training": f"steps of {GROUPS} groups of {DOCUMENTS} documents, {PROMPT + TARGET} tokens each",
    }
    return Measured(bench.size(REPETITIONS, QUICK_REPETITIONS), described, tuple(figures))


def _flan_t5(size: Size, place: torch.device) -> AuxiliaryModel:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=32128,
        d_model=size.hidden,
        d_ff=size.inner,
        num_layers=size.layers,
        num_heads=size.heads,
        feed_forward_proj="gated-gelu",
    )
    config.decoder_start_token_id = 0
    with place:
        model: Any = T5ForConditionalGeneration(config)
    return Seq2SeqAuxiliary(size.name, model.to(torch.bfloat16).eval(), SimpleNamespace(eos_token_id=1), {})


def _smollm2(bench: Bench) -> Iterator[Figure]:
    from transformers import LlamaConfig, LlamaForCausalLM

    with bench.place:
        config = LlamaConfig(
            vocab_size=49_152,
            hidden_size=bench.size(576, 36),
            intermediate_size=bench.size(1536, 64),
            num_hidden_layers=bench.size(30, 2),
            num_attention_heads=9,
            num_key_value_heads=3,
            max_position_embeddings=8192,
        )
        model: Any = LlamaForCausalLM(config)
    model.eval()
    pairs = _pairs(bench.size(PLAIN_PAIRS, 2))
    plain = bench.rated("plain", "SmolLM2-135M, plain loop", "pairs/s", len(pairs), lambda: _plain(model, pairs))
    half = CausalAuxiliary("smollm2", model.to(torch.bfloat16), None, {}, rounded=False)
    ours = _scored(bench, "smollm2", "SmolLM2-135M", half, bench.size(SMOLLM2_PAIRS, 2))
    yield from (*ours, *plain)
    times = over_repetitions("times_plain", "times as fast as the plain loop", "x", [ours[0].value / plain[0].value])
    yield replace(times, at_least=6.0)


def _scored(bench: Bench, name: str, label: str, model: AuxiliaryModel, count: int) -> tuple[Figure, Figure]:
    """Each pair is a group of its own: as many beginnings to compute as pairs."""
    groups = [Group((prompt,), (target,)) for prompt, target in _pairs(count)]
    return bench.rated(name, label, "pairs/s", count, lambda: model.likelihoods(groups))


def _cross_encoder(bench: Bench) -> tuple[Figure, Figure]:
    from transformers import MPNetConfig, MPNetForSequenceClassification

    groups, steps = bench.size(GROUPS, 2), bench.size(STEPS, 1)
    config = MPNetConfig(
        vocab_size=30_527,
        hidden_size=bench.size(768, 32),
        num_hidden_layers=bench.size(12, 2),
        num_attention_heads=bench.size(12, 2),
    )
    config.num_labels = 1
    with bench.place:
        model: Any = MPNetForSequenceClassification(config)
        tokens = torch.randint(5, 30_000, (groups * DOCUMENTS, bench.size(PROMPT + TARGET, 16)))
        gains = 10 * torch.randn(groups, DOCUMENTS)
        everything = torch.ones(groups, DOCUMENTS, dtype=torch.bool)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)

    def train() -> None:
        for _ in range(steps):
            with torch.autocast(bench.place.type, torch.bfloat16):
                logits = model(input_ids=tokens).logits.reshape(groups, DOCUMENTS)
            loss: Any = scale_calibrated_loss(logits.float(), gains, everything, y0=10.0, tau=5.0)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    return bench.rated("mpnet", "MPNet trained as a cross-encoder", "groups/s", steps * groups, train)


def _pairs(count: int) -> list[Pair]:
    draw = random.Random(0)
    return [
        (tuple(draw.choices(range(5, 30_000), k=PROMPT)), tuple(draw.choices(range(5, 30_000), k=TARGET)))
        for _ in range(count)
    ]


@torch.inference_mode()
def _plain(model: Any, pairs: Sequence[Pair]) -> list[float]:
    totals: list[float] = []
    for start in range(0, len(pairs), PLAIN_BATCH):
        some = pairs[start : start + PLAIN_BATCH]
        tokens = torch.tensor([(*prompt, *target) for prompt, target in some], device=model.device)
        logits = model(input_ids=tokens).logits[:, PROMPT - 1 : -1]
        losses = cross_entropy(logits.transpose(1, 2), tokens[:, PROMPT:], reduction="none")
        totals += [-float(total) for total in losses.double().sum(1)]
    return totals
