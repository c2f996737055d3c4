"""Memory and time that the paper's models take, computed from their sizes: docs/training.md."""

from __future__ import annotations

from dataclasses import dataclass

WORDS = 32_128  # of T5's vocabulary
PROMPT, TARGET = 186, 60  # tokens of a pair, as in benchmarks/results/scoring.json
PAIRS = 100_000
GROUPS, DOCUMENTS, EPOCHS = 10_000, 4, 3  # that the cross-encoder reads
MPNET_LAYERS = 85e6  # weights of its layers; embeddings are looked up
USED = 0.3  # of the peak


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
GPUS = (("L4", 24, 121), ("RTX A6000", 48, 155), ("A100", 80, 312), ("H100", 80, 989))


def memory_table() -> str:
    lines = ["| `--aux` | weights | in bfloat16 | in float32 |", "| --- | ---: | ---: | ---: |"]
    for model in MODELS:
        sizes = (f"{model.weights * width / 1e9:.2f} GB" for width in (2, 4))
        lines.append(f"| `{model.name}` | {model.weights / 1e6:,.0f} million | {' | '.join(sizes)} |")
    return "\n".join(lines) + "\n"


def time_table() -> str:
    names = " | ".join(model.name.rpartition("-")[2] for model in MODELS)
    lines = [f"| GPU | {names} | cross-encoder |", "| --- |" + " ---: |" * (len(MODELS) + 1)]
    read = 6.0 * MPNET_LAYERS * GROUPS * DOCUMENTS * EPOCHS * (PROMPT + TARGET)  # forward, and twice as much backward
    for name, memory, peak in GPUS:
        speed = USED * peak * 1e12
        cells = " | ".join(_minutes(operations / speed) for operations in (*(PAIRS * m.pair for m in MODELS), read))
        lines.append(f"| {name}, {memory} GB | {cells} |")
    return "\n".join(lines) + "\n"


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
