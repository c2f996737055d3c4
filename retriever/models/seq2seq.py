"""The auxiliary model when it is an encoder-decoder, such as FLAN-T5.

Dimensions in comments: B pairs of a batch, P prompt and T target tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from retriever.models.auxiliary import (
    BATCH_TOKENS,
    Group,
    Likelihood,
    Tokens,
    TransformersAuxiliary,
    folder_fingerprint,
    log_probabilities,
    padded,
    sums,
)


class Seq2SeqAuxiliary(TransformersAuxiliary):
    """An encoder-decoder model such as FLAN-T5: the prompt is encoded, the target decoded."""

    @classmethod
    def load(cls, name: str, device: torch.device, dtype: torch.dtype) -> Seq2SeqAuxiliary:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        model = AutoModelForSeq2SeqLM.from_pretrained(name, dtype=dtype)
        return cls(name, model.to(device), AutoTokenizer.from_pretrained(name), folder_fingerprint(name))

    @torch.inference_mode()
    def likelihoods(self, groups: Sequence[Group]) -> list[list[Likelihood]]:
        pairs = [pair for group in groups for pair in zip(group.prompts, group.targets, strict=True)]
        for prompt, target in pairs:
            self.check_fits(max(len(prompt) + 1, len(target)))
        scored: dict[int, Likelihood] = {}
        for batch in _pair_batches(pairs):
            scored |= zip(batch, self._score([pairs[index] for index in batch]), strict=True)
        found = (scored[index] for index in range(len(pairs)))
        return [[next(found) for _ in group.prompts] for group in groups]

    def _score(self, pairs: list[tuple[Tokens, Tokens]]) -> list[Likelihood]:
        end, start = self._tokenizer.eos_token_id, self._model.config.decoder_start_token_id
        prompts, prompt_mask = padded([(*prompt, end) for prompt, _ in pairs], self._model.device)  # (B, P)
        decoder, decoder_mask = padded([(start, *target[:-1]) for _, target in pairs], self._model.device)  # (B, T)
        logits = self._model(
            input_ids=prompts,
            attention_mask=prompt_mask,
            decoder_input_ids=decoder,
            decoder_attention_mask=decoder_mask,
        ).logits  # (B, T, V)
        wanted, mask = padded([target for _, target in pairs], self._model.device)
        rows, columns = mask.nonzero(as_tuple=True)
        found = log_probabilities(lambda chosen: chosen, logits[rows, columns], wanted[rows, columns])
        totals = sums(found, rows, len(pairs))
        return [Likelihood(total, len(target)) for total, (_, target) in zip(totals, pairs, strict=True)]


def _pair_batches(pairs: Sequence[tuple[Tokens, Tokens]]) -> list[list[int]]:
    """Indices of pairs of like length, at most BATCH_TOKENS padded tokens of prompts and targets a batch."""
    batches: list[list[int]] = []
    for index in sorted(range(len(pairs)), key=lambda index: (len(pairs[index][0]), len(pairs[index][1]))):
        members = [*batches[-1], index] if batches else [index]
        width = sum(max(len(pairs[member][side]) for member in members) for side in (0, 1))
        if batches and len(members) * width <= BATCH_TOKENS:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches
