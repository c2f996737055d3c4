"""The auxiliary model when it is causal, such as SmolLM2: what prompts begin with is computed once.

A Llama on a processor is run without padding (``packed``), every other model by transformers, in padded batches.

Dimensions in comments: D documents, B sequences of a batch, P prefix and S suffix tokens.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from pearl.settings import EMBEDDED
from pearl.weights.table import embedded_model_file
from retriever.models.auxiliary import (
    BATCH_TOKENS,
    Likelihood,
    PairGroup,
    Tokens,
    TransformersAuxiliary,
    folder_fingerprint,
    in_batches,
    log_probabilities,
    padded,
    sums,
)
from retriever.models.packed import Pack, PackedLlama
from retriever.models.smollm2 import load_smollm2

# what configurations call it when a causal model does more to its last layer's logits
LOGITS_SCALED_BY = ("final_logit_softcapping", "logits_scaling", "logit_scale")


class CausalAuxiliary(TransformersAuxiliary):
    """A decoder-only model; what the prompts of a group begin with is computed once."""

    _first: Tokens = ()  # before every prompt

    def __init__(self, name: str, model: Any, tokenizer: Any, fingerprint: dict[str, str]) -> None:
        super().__init__(name, model, tokenizer, fingerprint)
        # full batches are worth more to a GPU than beginnings computed once
        self.apart = model.device.type == "cuda"

    @cached_property
    def _packed(self) -> PackedLlama | None:
        return PackedLlama(self._model) if PackedLlama.can_run(self._model) else None

    @classmethod
    def embedded(cls, device: torch.device, dtype: torch.dtype) -> CausalAuxiliary:
        file = embedded_model_file()
        model, tokenizer = load_smollm2(file, dtype)
        return cls(EMBEDDED, model.to(device), tokenizer, {"file": file.name, "size": str(file.stat().st_size)})

    @classmethod
    def load(cls, name: str, device: torch.device, dtype: torch.dtype) -> CausalAuxiliary:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        model: Any = AutoModelForCausalLM.from_pretrained(name, dtype=dtype)
        scaled = [field for field in LOGITS_SCALED_BY if getattr(model.config, field, None) not in (None, 1.0)]
        if scaled:
            raise ValueError(f"its logits are changed after the last layer, by {scaled[0]}, which is not done here")
        tokenizer = AutoTokenizer.from_pretrained(name)
        fingerprint = folder_fingerprint(name)
        made = cls(name, model.to(device), tokenizer, fingerprint)
        if not made._reads_left_to_right():
            raise ValueError("it is an encoder, which has read the words that it would predict")
        # some were trained to see a mark at the beginning of every text, and are lost without it
        if tokenizer.bos_token_id is not None and tokenizer("")["input_ids"][:1] == [tokenizer.bos_token_id]:
            made._first = (tokenizer.bos_token_id,)
            made.fingerprint |= {"begins_with": tokenizer.bos_token}
        return made

    @torch.inference_mode()
    def _reads_left_to_right(self) -> bool:
        """True where what a token predicts does not depend on the token behind it: transformers also loads encoders,
        such as BERT, as language models. The tolerance is of bfloat16."""
        after = self._model(torch.tensor([[0, 0], [0, 1]], device=self._model.device)).logits[:, 0].float()
        return torch.allclose(after[0], after[1], rtol=0.02, atol=0.02)

    @torch.inference_mode()
    def likelihoods(self, groups: Sequence[PairGroup]) -> list[list[Likelihood]]:
        groups = [PairGroup(self._begun(group.prompts), group.targets) for group in groups]
        results: list[list[Likelihood]] = [[] for _ in groups]
        self.check_fits(max((_longest(group) for group in groups), default=0))
        if self.apart:
            return in_batches(groups, self._score_apart)
        if self._packed is not None:
            return [likelihoods for some in _packs(groups) for likelihoods in self._score_packed(self._packed, some)]
        for batch in _batches(groups):
            for index, scored in zip(batch, self._score([groups[index] for index in batch]), strict=True):
                results[index] = scored
        return results

    @torch.inference_mode()
    def remember(self, prompts: Sequence[Tokens], limit: int) -> Memory:
        return Memory(self, self._begun(prompts), limit)

    def _begun(self, prompts: Sequence[Tokens]) -> tuple[Tokens, ...]:
        return tuple((*self._first, *prompt) for prompt in prompts)

    def _score_apart(self, pairs: list[tuple[Tokens, Tokens]]) -> list[Likelihood]:
        texts: list[Tokens] = [(*prompt, *target) for prompt, target in pairs]
        targets = [target for _, target in pairs]
        nothing = self._beginning([()] * len(pairs))
        totals = self._continue(texts, targets, [len(prompt) for prompt, _ in pairs], nothing)
        return [Likelihood(total, len(target)) for total, target in zip(totals, targets, strict=True)]

    def _score_packed(self, packed: PackedLlama, groups: list[PairGroup]) -> list[list[Likelihood]]:
        """Score groups end to end; the model's head runs on the targets' tokens only."""
        starts = [group.shared() for group in groups]
        pack = Pack.of(
            [
                (
                    group.prompts[0][:start],
                    [(*prompt[start:], *target) for prompt, target in zip(group.prompts, group.targets, strict=True)],
                )
                for group, start in zip(groups, starts, strict=True)
            ]
        )
        parts = [part for span in pack.spans for part in span.parts]
        targets = [target for group in groups for target in group.targets]
        positions = [
            position
            for part, target in zip(parts, targets, strict=True)
            for position in range(part.stop - len(target) - 1, part.stop - 1)
        ]
        rows = torch.tensor([row for row, target in enumerate(targets) for _ in target])
        wanted = torch.tensor([token for target in targets for token in target])
        hidden = packed.hidden(pack)[positions]
        totals = sums(log_probabilities(packed.head, hidden, wanted), rows, len(targets))
        likelihoods = iter(Likelihood(total, len(target)) for total, target in zip(totals, targets, strict=True))
        return [[next(likelihoods) for _ in group.targets] for group in groups]

    def _score(self, groups: list[PairGroup]) -> list[list[Likelihood]]:
        """Score groups of equal size: their shared beginnings first, then everything behind them."""
        shared = [group.shared() for group in groups]
        group_size = len(groups[0].prompts)
        beginning = self._beginning([group.prompts[0][:length] for group, length in zip(groups, shared, strict=True)])
        if beginning.cache is not None:
            beginning.cache.batch_repeat_interleave(group_size)
        beginning = PromptPrefix(beginning.cache, beginning.mask.repeat_interleave(group_size, dim=0))  # (B, P)
        suffixes, targets, starts = [], [], []
        for group, length in zip(groups, shared, strict=True):
            for prompt, target in zip(group.prompts, group.targets, strict=True):
                suffixes.append((*prompt[length:], *target))
                targets.append(target)
                starts.append(len(prompt) - length)
        totals = self._continue(suffixes, targets, starts, beginning)
        likelihoods = [Likelihood(total, len(target)) for total, target in zip(totals, targets, strict=True)]
        return [likelihoods[start : start + group_size] for start in range(0, len(likelihoods), group_size)]

    def _beginning(self, prefixes: list[Tokens]) -> PromptPrefix:
        tokens, mask = padded(prefixes, self._model.device)  # (D, P)
        if not tokens.shape[1]:
            return PromptPrefix(None, mask)
        computed = self._model(input_ids=tokens, attention_mask=mask, use_cache=True, logits_to_keep=1)
        return PromptPrefix(computed.past_key_values, mask)

    def _continue(
        self,
        suffixes: list[Tokens],
        targets: list[Tokens],
        starts: list[int],
        beginning: PromptPrefix,
    ) -> list[float]:
        """The sum of each target's log-probabilities; the model's head runs on its tokens only."""
        tokens, mask = padded(suffixes, self._model.device)  # (B, S)
        full = torch.cat((beginning.mask, mask), dim=1)  # (B, P + S)
        # padding stands between prefix and suffix, so positions are counted, not taken from the columns
        positions = (full.cumsum(dim=1) - 1).clamp(min=0)[:, -tokens.shape[1] :]  # (B, S)
        hidden = self._model.base_model(
            input_ids=tokens,
            attention_mask=full,
            position_ids=positions,
            past_key_values=beginning.cache,
            use_cache=beginning.cache is not None,
        ).last_hidden_state  # (B, S, hidden)
        rows = torch.tensor([row for row, target in enumerate(targets) for _ in target], device=tokens.device)
        columns = torch.tensor(
            [start - 1 + step for start, target in zip(starts, targets, strict=True) for step in range(len(target))],
            device=tokens.device,
        )
        wanted = torch.tensor([token for target in targets for token in target], device=tokens.device)
        log_p = log_probabilities(self._model.get_output_embeddings(), hidden[rows, columns], wanted)
        return sums(log_p, rows, len(targets))


@dataclass(frozen=True, slots=True)
class PromptPrefix:
    """The state of a model after a batch of prefixes."""

    cache: Any  # None if they are empty
    mask: Tensor  # (B, P)


class Memory:
    """Prompts of a causal model and its state after each, before the last token, which predicts the target's first."""

    def __init__(self, model: CausalAuxiliary, prompts: Sequence[Tokens], limit: int) -> None:
        self._model = model
        self._prompts = prompts
        self._lock = threading.Lock()  # a target's tokens join the caches while it is scored
        self._batches = _batches([PairGroup((prompt,), ((),)) for prompt in prompts])
        self._kept: list[PromptPrefix] = []
        for batch in self._batches:
            limit -= len(batch) * max(len(prompts[index]) for index in batch)
            if limit < 0:
                break
            self._kept.append(self._compute(batch))

    @torch.inference_mode()
    def likelihoods(self, target: Tokens) -> list[Likelihood]:
        """The likelihoods of the target after each prompt."""
        totals = [0.0] * len(self._prompts)
        longest = max(map(len, self._prompts), default=0)
        self._model.check_fits(longest + len(target))
        for number, batch in enumerate(self._batches):
            suffixes: list[Tokens] = [(self._prompts[index][-1], *target) for index in batch]
            with self._lock:
                beginning = self._kept[number] if number < len(self._kept) else self._compute(batch)
                batch_totals = self._model._continue(suffixes, [target] * len(batch), [1] * len(batch), beginning)
                if beginning.cache is not None:
                    beginning.cache.crop(-len(suffixes[0]))
            for index, total in zip(batch, batch_totals, strict=True):
                totals[index] = total
        return [Likelihood(total, len(target)) for total in totals]

    def _compute(self, batch: list[int]) -> PromptPrefix:
        return self._model._beginning([self._prompts[index][:-1] for index in batch])


def _batches(groups: Sequence[PairGroup]) -> list[list[int]]:
    """Indices of groups of like length and equal size, at most BATCH_TOKENS padded tokens a batch."""

    def length(index: int) -> tuple[int, int, int]:
        group = groups[index]
        suffix = max(len(p) + len(t) for p, t in zip(group.prompts, group.targets, strict=True)) - group.shared()
        return len(group.prompts), suffix, group.shared()

    batches: list[list[int]] = []
    for index in sorted(range(len(groups)), key=length):
        size, suffix, _ = length(index)
        last = batches[-1] if batches else []
        if last and len(groups[last[0]].prompts) == size:
            widest = max(length(other)[2] for other in [*last, index])
            if (len(last) + 1) * (widest + size * suffix) <= BATCH_TOKENS:
                last.append(index)
                continue
        batches.append([index])
    return batches


def _packs(groups: Sequence[PairGroup]) -> Iterator[list[PairGroup]]:
    """The groups in their order, about BATCH_TOKENS tokens at a time."""
    pack: list[PairGroup] = []
    tokens = 0
    for group in groups:
        shared = group.shared()
        size = sum(map(len, (*group.prompts, *group.targets))) - shared * (len(group.prompts) - 1)
        if pack and tokens + size > BATCH_TOKENS:
            yield pack
            pack, tokens = [], 0
        pack.append(group)
        tokens += size
    if pack:
        yield pack


def _longest(group: PairGroup) -> int:
    pairs = zip(group.prompts, group.targets, strict=True)
    return max((len(prompt) + len(target) for prompt, target in pairs), default=0)
