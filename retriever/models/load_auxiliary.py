"""Loading the auxiliary model by name: causal, such as SmolLM2, or encoder-decoder, such as FLAN-T5. It needs torch, so
import it only when needed.

On a CPU a Llama runs without padding and computes a prefix that prompts share once (``packed``). Every other model is
run by transformers, in padded batches.

Dimensions in comments: B sequences of a batch, S tokens of the longest, P prompt and T target tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from pearl.errors import InputError
from pearl.models.chat.gguf_file import read_gguf
from pearl.models.weights.table import REINSTALL, embedded_model_file
from pearl.settings import EMBEDDED
from retriever.models.auxiliary import (
    AUTO,
    BATCH_TOKENS,
    BFLOAT16,
    DTYPES,
    FLOAT32,
    AuxiliaryModel,
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
from retriever.models.hardware import device_named, prefers_bfloat16
from retriever.models.packed import Pack, PackedLlama


def load_auxiliary(name: str, *, device: str = "cpu", dtype: str = AUTO) -> AuxiliaryModel:
    """Load ``embedded`` (SmolLM2), or a causal or encoder-decoder model of transformers by name or folder. ``dtype``:
    see ``arithmetic_of``. Raises InputError."""
    from transformers import AutoConfig
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    torch_device = device_named(device)
    kind = torch.bfloat16 if arithmetic_of(torch_device.type, dtype) == BFLOAT16 else torch.float32
    try:
        if name == EMBEDDED:
            return CausalAuxiliary.embedded(torch_device, kind)
        if not AutoConfig.from_pretrained(name).is_encoder_decoder:
            return CausalAuxiliary.load(name, torch_device, kind)
        return Seq2SeqAuxiliary.load(name, torch_device, kind)
    except (OSError, ValueError, SafetensorError) as error:
        why = str(error).strip().partition("\n")[0]
        raise InputError(
            f"The auxiliary model '{name}' cannot be loaded ({why}); name a transformers model or folder, "
            f"or '{EMBEDDED}'.",
        ) from error


def arithmetic_of(device: str, dtype: str = AUTO) -> str:
    """Return the number format for a device, ``float32`` or ``bfloat16``. ``device``: of type cpu or cuda; ``dtype``:
    the format, or ``auto`` for bfloat16 where it is faster. Raises InputError for an unknown ``dtype``."""
    if dtype not in DTYPES:
        raise InputError(f"dtype {dtype}: there are {', '.join(DTYPES)}.", param="dtype")
    if dtype != AUTO:
        return dtype
    return BFLOAT16 if prefers_bfloat16(device) else FLOAT32


# what configurations call it when a causal model does more to its last layer's logits
LOGITS_SCALED_BY = ("final_logit_softcapping", "logits_scaling", "logit_scale")


class CausalAuxiliary(TransformersAuxiliary):
    """A decoder-only auxiliary model such as SmolLM2."""

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
        """True if a token's prediction does not depend on the tokens after it. It would in encoders such as BERT, which
        transformers loads as language models, too."""
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
        """Score pairs of prompt and target in a padded batch; logits are computed only for the targets' tokens."""
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
        """Score groups laid end to end; logits are computed only for the targets' tokens."""
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
    """Yield the groups in their order, about BATCH_TOKENS tokens at a time."""
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


class Seq2SeqAuxiliary(TransformersAuxiliary):
    """An encoder-decoder auxiliary model such as FLAN-T5: the prompt is encoded, the target decoded."""

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


def load_smollm2(file: Path, dtype: torch.dtype) -> tuple[Any, Any]:
    """Load SmolLM2 and its tokenizer from a GGUF file. Raises InputError if the file cannot be read."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, modeling_gguf_pytorch_utils

    # its bar is not one of those that transformers switches off, and would stand between our lines
    bar = modeling_gguf_pytorch_utils.tqdm  # type: ignore[attr-defined]
    modeling_gguf_pytorch_utils.tqdm = partial(bar, disable=True)  # type: ignore[attr-defined]
    named: dict[str, Any] = {"gguf_file": file.name}
    unpacked = GgufConfig(**named, dequantize=True)
    try:
        read_gguf(file)  # refuses what is no such file in better words
        model = AutoModelForCausalLM.from_pretrained(file.parent, **named, dtype=dtype, quantization_config=unpacked)
        return model, AutoTokenizer.from_pretrained(file.parent, **named)
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read ({error}); install it again: {REINSTALL}") from error
