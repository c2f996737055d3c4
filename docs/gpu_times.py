"""Memory and time that the paper's models take: as measured on one GPU, and computed from their sizes on others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

MEASURED = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "gpu.json"

WORDS = 32_128  # of T5's vocabulary
PROMPT, TARGET = 186, 60  # tokens of a pair, as in benchmarks/results/scoring.json
PAIRS = 100_000
GROUPS, EPOCHS = 10_000, 3  # that the cross-encoder learns from
PEAK = 989  # TFLOP/s of the GPU that was measured, an H200, as published


@dataclass(frozen=True, slots=True)
class FlanT5:
    """A model's published dimensions."""

    name: str
    hidden: int
    inner: int
    layers: int
    heads: int

    @property
    def _attention(self) -> int:
        return 4 * self.hidden * self.heads * 64

    @property
    def encoder(self) -> int:
        return self.layers * (self._attention + 3 * self.hidden * self.inner)

    @property
    def decoder(self) -> int:
        """Its layers, and the matrix that gives the words."""
        return self.layers * (2 * self._attention + 3 * self.hidden * self.inner) + WORDS * self.hidden

    @property
    def weights(self) -> int:
        return self.encoder + self.decoder + WORDS * self.hidden

    @property
    def pair(self) -> float:
        """Floating-point operations of a pair: two a weight and token."""
        return 2.0 * (self.encoder * PROMPT + self.decoder * TARGET)


MODELS = (
    FlanT5("google/flan-t5-small", 512, 1024, 8, 6),
    FlanT5("google/flan-t5-base", 768, 2048, 12, 12),
    FlanT5("google/flan-t5-large", 1024, 2816, 24, 16),
    FlanT5("google/flan-t5-xl", 2048, 5120, 24, 32),
)
# name, memory in GB, peak of dense bfloat16 matrices in TFLOP/s, both as published
GPUS = (("L4", 24, 121), ("RTX A6000", 48, 155), ("A100", 80, 312))


def memory_table() -> str:
    lines = ["| `--aux` | weights | in bfloat16 | in float32 |", "| --- | ---: | ---: | ---: |"]
    for model in MODELS:
        sizes = (f"{model.weights * width / 1e9:.2f} GB" for width in (2, 4))
        lines.append(f"| `{model.name}` | {model.weights / 1e6:,.0f} million | {' | '.join(sizes)} |")
    return "\n".join(lines) + "\n"


def time_table() -> str:
    """The measured times, and those of other GPUs at the same share of their peak; none is faster than the one that was
    measured, for the smaller models do not fill it."""
    rates = {figure["name"]: figure["value"] for figure in json.loads(MEASURED.read_text(encoding="utf-8"))["figures"]}
    sizes = [model.name.rpartition("-")[2] for model in MODELS]
    measured = [PAIRS / rates[f"flan_t5_{size}"] for size in sizes] + [GROUPS * EPOCHS / rates["mpnet"]]
    lines = [f"| GPU | {' | '.join(sizes)} | cross-encoder |", "| --- |" + " ---: |" * len(measured)]
    lines.append(f"| H200, measured | {' | '.join(map(_minutes, measured))} |")
    largest = PAIRS * MODELS[-1].pair / measured[-2]  # FLOP/s
    for name, memory, peak in GPUS:
        share = peak / PEAK
        computed = [PAIRS * model.pair / (share * largest) for model in MODELS] + [measured[-1] / share]
        cells = (_minutes(max(pair)) for pair in zip(computed, measured, strict=True))
        lines.append(f"| {name}, {memory} GB | {' | '.join(cells)} |")
    told = (
        f"On the H200 a model of the embedded one's size scored {rates['smollm2']:,.0f} pairs a second, "
        f"{rates['times_plain']:.1f} times what a plain loop did, in {rates['smollm2_gib']:.1f} GiB; FLAN-T5-xl took "
        f"{rates['flan_t5_xl_gib']:.1f} GiB, and MPNet's training {rates['mpnet_gib']:.0f} GiB "
        "(`python -m benchmarks gpu` at the tag `lab-2026-11`)."
    )
    return "\n".join([*lines, "", told]) + "\n"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
