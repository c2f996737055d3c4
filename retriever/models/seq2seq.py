"""The auxiliary model when it is an encoder-decoder, such as FLAN-T5.

Dimensions in comments: B pairs of a batch, P prompt and T target tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from retriever.models.auxiliary import (
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

    def _score(self, pairs: list[tuple[Tokens, Tokens]]) -> list[Likelihood]:
        device, targets = self._model.device, [target for _, target in pairs]
        start, end = self._model.config.decoder_start_token_id, self._tokenizer.eos_token_id
        prompts, prompt_mask = padded([(*prompt, end) for prompt, _ in pairs], device)  # (B, P)
        decoder, decoder_mask = padded([(start, *target[:-1]) for target in targets], device)  # (B, T)
        logits = self._model(
            input_ids=prompts,
            attention_mask=prompt_mask,
            decoder_input_ids=decoder,
            decoder_attention_mask=decoder_mask,
        ).logits  # (B, T, V)
        wanted, mask = padded(targets, device)
        rows, columns = mask.nonzero(as_tuple=True)
        log_p = log_probabilities(lambda chosen: chosen, logits[rows, columns], wanted[rows, columns])
        totals = sums(log_p, rows, len(targets))
        return [Likelihood(total, len(target)) for total, target in zip(totals, targets, strict=True)]
