"""The auxiliary model f_aux, which scores targets by their log-likelihood given a prompt. It needs torch, so import it
only when needed.

``load_auxiliary`` defines the causal and the encoder-decoder models. Dimensions in comments: B sequences of a batch, N
tokens of a batch to score, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from pearl.errors import InputError
from retriever.models.files import model_fingerprint

BATCH_TOKENS = 8192  # padded tokens of a batch, at most
LOGITS = {"cpu": 64, "cuda": 2048}  # rows of logits in memory at a time; a GPU waits at each beginning
AUTO, FLOAT32, BFLOAT16 = DTYPES = ("auto", "float32", "bfloat16")

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The log-likelihood of a target given a prompt, log p(target given prompt)."""

    total: float  # sum over the target's tokens, nats
    tokens: int  # of the target

    @property
    def mean(self) -> float:
        return self.total / self.tokens


class AuxiliaryModel(Protocol):
    """Scores targets given prompts. Prompt and target are tokenised separately, and only the target's tokens count."""

    name: str
    fingerprint: dict[str, str]

    def encode(self, text: str, limit: int | None = None) -> list[int]:
        """Tokenise a text without special tokens; keep at most ``limit`` tokens."""
        ...

    def decode(self, tokens: Sequence[int]) -> str: ...

    def likelihoods(self, groups: Sequence[PairGroup]) -> list[list[Likelihood]]:
        """Return, for each group, the likelihoods of its pairs, in order."""
        ...


@dataclass(frozen=True, slots=True)
class PairGroup:
    """Pairs of a prompt and a target, as tokens; the prompts may share a prefix, such as a document."""

    prompts: tuple[Tokens, ...]
    targets: tuple[Tokens, ...]

    def shared(self) -> int:
        """Return the length in tokens of the prompts' common prefix; it is shorter than any prompt."""
        first = min(self.prompts)
        last = max(self.prompts)
        limit = min(len(prompt) for prompt in self.prompts) - 1
        for position in range(limit):
            if first[position] != last[position]:
                return position
        return max(limit, 0)


def folder_fingerprint(name: str) -> dict[str, str]:
    return {"folder": Path(name).name, "content": model_fingerprint(name)}


class TransformersAuxiliary:
    """Base class of the causal and the encoder-decoder auxiliary models."""

    def __init__(self, name: str, model: Any, tokenizer: Any, fingerprint: dict[str, str]) -> None:
        self.name = name
        self._model = model.eval()
        self._tokenizer = tokenizer
        self.fingerprint = fingerprint | {"dtype": str(model.dtype).removeprefix("torch.")}
        self._window: int | None = getattr(model.config, "max_position_embeddings", None)

    def encode(self, text: str, limit: int | None = None) -> list[int]:
        tokens: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens[:limit]

    def decode(self, tokens: Sequence[int]) -> str:
        return str(self._tokenizer.decode(tokens))

    def check_fits(self, tokens: int) -> None:
        """Raise InputError if ``tokens``, a number, exceed the model's window."""
        if self._window is not None and tokens > self._window:
            raise InputError(
                f"A prompt and its target have {tokens} tokens; the window of the model '{self.name}' holds "
                f"{self._window}. Name a model with a longer one."
            )


def in_batches(
    groups: Sequence[PairGroup], score: Callable[[list[tuple[Tokens, Tokens]]], list[Likelihood]]
) -> list[list[Likelihood]]:
    """Return each group's likelihoods. ``score`` gets batches of pairs with similar lengths."""
    pairs = [pair for group in groups for pair in zip(group.prompts, group.targets, strict=True)]
    scored: dict[int, Likelihood] = {}
    for batch in pair_batches(pairs):
        scored |= zip(batch, score([pairs[index] for index in batch]), strict=True)
    likelihoods = (scored[index] for index in range(len(pairs)))
    return [[next(likelihoods) for _ in group.prompts] for group in groups]


def pair_batches(pairs: Sequence[tuple[Tokens, Tokens]]) -> list[list[int]]:
    """Divide pairs into batches of similar length, of at most BATCH_TOKENS tokens with padding; return their
    indices."""
    batches: list[list[int]] = []
    for index in sorted(range(len(pairs)), key=lambda index: (len(pairs[index][0]), len(pairs[index][1]))):
        members = [*batches[-1], index] if batches else [index]
        width = sum(max(len(pairs[member][side]) for member in members) for side in (0, 1))
        if batches and len(members) * width <= BATCH_TOKENS:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def padded(sequences: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Pad token sequences on the right with 0; return tokens and mask, (B, longest) each."""
    longest = max(len(sequence) for sequence in sequences)
    tokens = torch.zeros((len(sequences), longest), dtype=torch.long)
    mask = torch.zeros_like(tokens)
    for row, sequence in enumerate(sequences):
        tokens[row, : len(sequence)] = torch.tensor(sequence, dtype=torch.long)
        mask[row, : len(sequence)] = 1
    return tokens.to(device), mask.to(device)


def log_probabilities(head: Any, hidden: Tensor, wanted: Tensor) -> Tensor:
    """Return the log-probability of each wanted token, (N,), in float32, with at most (LOGITS, V) logits in memory."""
    at_once = LOGITS[hidden.device.type]
    parts = []
    for start in range(0, len(wanted), at_once):
        logits = head(hidden[start : start + at_once]).float()
        chosen = logits.gather(1, wanted[start : start + at_once].unsqueeze(1)).squeeze(1)
        parts.append(chosen - logits.logsumexp(1))
    return torch.cat(parts)


def sums(values: Tensor, rows: Tensor, count: int) -> list[float]:
    totals = torch.zeros(count, dtype=torch.float64, device=values.device)
    summed: list[float] = totals.index_add_(0, rows, values.double()).tolist()
    return summed
