"""The auxiliary model when it is causal, such as SmolLM2.

A Llama on a processor is run without padding, and what prompts begin with is computed once (``packed``); every other
model is run by transformers, in padded batches.

Dimensions in comments: B sequences of a batch, S tokens of the longest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import torch

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
    """A decoder-only model."""

    _first: Tokens = ()  # before every prompt

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
        self.check_fits(max((_longest(group) for group in groups), default=0))
        if self._packed is None:
            return in_batches(groups, self._score)
        return [likelihoods for some in _packs(groups) for likelihoods in self._score_packed(self._packed, some)]

    def _begun(self, prompts: Sequence[Tokens]) -> tuple[Tokens, ...]:
        return tuple((*self._first, *prompt) for prompt in prompts)

    def _score(self, pairs: list[tuple[Tokens, Tokens]]) -> list[Likelihood]:
        """Score pairs of prompt and target, a row each; the model's head runs on the targets' tokens only."""
        device = self._model.device
        tokens, mask = padded([(*prompt, *target) for prompt, target in pairs], device)  # (B, S)
        hidden = self._model.base_model(
            input_ids=tokens, attention_mask=mask, use_cache=False
        ).last_hidden_state  # (B, S, hidden)
        rows = torch.tensor([row for row, (_, target) in enumerate(pairs) for _ in target], device=device)
        columns = [len(prompt) - 1 + step for prompt, target in pairs for step in range(len(target))]
        wanted = torch.tensor([token for _, target in pairs for token in target], device=device)
        log_p = log_probabilities(self._model.get_output_embeddings(), hidden[rows, columns], wanted)
        totals = sums(log_p, rows, len(pairs))
        return [Likelihood(total, len(target)) for total, (_, target) in zip(totals, pairs, strict=True)]

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
