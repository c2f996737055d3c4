"""The auxiliary model when it is an encoder-decoder, such as FLAN-T5.

Dimensions in comments: B pairs of a batch, P prompt and T target tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

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
    pair_batches,
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
    def likelihoods(self, groups: Sequence[PairGroup]) -> list[list[Likelihood]]:
        for group in groups:
            for prompt, target in zip(group.prompts, group.targets, strict=True):
                self.check_fits(max(len(prompt) + 1, len(target)))
        return in_batches(groups, self._score)

    @torch.inference_mode()
    def remember(self, prompts: Sequence[Tokens], limit: int) -> Seq2SeqMemory:
        return Seq2SeqMemory(self, prompts, limit)

    def _score(self, pairs: list[tuple[Tokens, Tokens]]) -> list[Likelihood]:
        return self._decode(self._encode([prompt for prompt, _ in pairs]), [target for _, target in pairs])

    def _encode(self, prompts: Sequence[Tokens]) -> EncodedPrompts:
        end = self._tokenizer.eos_token_id
        tokens, mask = padded([(*prompt, end) for prompt in prompts], self._model.device)  # (B, P)
        states = self._model.get_encoder()(input_ids=tokens, attention_mask=mask).last_hidden_state
        return EncodedPrompts(states, mask)

    def _decode(self, prompts: EncodedPrompts, targets: Sequence[Tokens]) -> list[Likelihood]:
        start = self._model.config.decoder_start_token_id
        decoder, decoder_mask = padded([(start, *target[:-1]) for target in targets], self._model.device)  # (B, T)
        logits = self._model(
            encoder_outputs=(prompts.states,),
            attention_mask=prompts.mask,
            decoder_input_ids=decoder,
            decoder_attention_mask=decoder_mask,
        ).logits  # (B, T, V)
        wanted, mask = padded(targets, self._model.device)
        rows, columns = mask.nonzero(as_tuple=True)
        log_p = log_probabilities(lambda chosen: chosen, logits[rows, columns], wanted[rows, columns])
        totals = sums(log_p, rows, len(targets))
        return [Likelihood(total, len(target)) for total, target in zip(totals, targets, strict=True)]


@dataclass(frozen=True, slots=True)
class EncodedPrompts:
    """A batch of prompts after the encoder."""

    states: Tensor  # (B, P, hidden)
    mask: Tensor  # (B, P)


class Seq2SeqMemory:
    """Prompts of an encoder-decoder and what its encoder made of them; the target is left to decode."""

    def __init__(self, model: Seq2SeqAuxiliary, prompts: Sequence[Tokens], limit: int) -> None:
        self._model = model
        self._prompts = prompts
        self._batches = pair_batches([(prompt, ()) for prompt in prompts])
        self._kept: list[EncodedPrompts] = []
        for batch in self._batches:
            limit -= len(batch) * (1 + max(len(prompts[index]) for index in batch))
            if limit < 0:
                break
            self._kept.append(self._compute(batch))

    @torch.inference_mode()
    def likelihoods(self, target: Tokens) -> list[Likelihood]:
        """The likelihoods of the target after each prompt."""
        likelihoods: dict[int, Likelihood] = {}
        self._model.check_fits(max([len(target), *(len(prompt) + 1 for prompt in self._prompts)]))
        for number, batch in enumerate(self._batches):
            encoded = self._kept[number] if number < len(self._kept) else self._compute(batch)
            at_once = max(1, BATCH_TOKENS // len(target))
            for first in range(0, len(batch), at_once):
                some = batch[first : first + at_once]
                part = slice(first, first + len(some))
                here = EncodedPrompts(encoded.states[part], encoded.mask[part])
                likelihoods |= zip(some, self._model._decode(here, [target] * len(some)), strict=True)
        return [likelihoods[index] for index in range(len(self._prompts))]

    def _compute(self, batch: list[int]) -> EncodedPrompts:
        return self._model._encode([self._prompts[index] for index in batch])
