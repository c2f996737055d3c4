"""The auxiliary model f_aux: log-likelihoods of targets given prompts. It needs torch, so import it on use.

Dimensions in comments: D documents, B sequences of a batch, P prefix, S suffix and T target tokens, V vocabulary.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError
from torch import Tensor

from pearl.chat.embedded import embedded_model_file
from pearl.errors import InputError
from pearl.settings import EMBEDDED
from retriever.models.files import model_fingerprint
from retriever.models.hardware import device_named, has_bfloat16

BATCH_TOKENS = 8192
DTYPES = ("auto", "float32", "bfloat16")
# what configurations call it when a causal model does more to its last layer's logits
LOGITS_SCALED_BY = ("final_logit_softcapping", "logits_scaling", "logit_scale")

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Likelihood:
    """log p(target given prompt): the sum over the target's tokens in nats, and how many they are."""

    total: float
    tokens: int

    @property
    def mean(self) -> float:
        return self.total / self.tokens


class AuxiliaryModel(Protocol):
    """Scores token-exactly: prompt and target are tokenised on their own, and only the target's tokens count."""

    name: str
    fingerprint: dict[str, str]

    def encode(self, text: str, limit: int | None = None) -> list[int]:
        """Tokens without special ones, cut to ``limit``."""
        ...

    def decode(self, tokens: Sequence[int]) -> str: ...

    def likelihoods(self, groups: Sequence[Group]) -> list[list[Likelihood]]:
        """One list a group, in its order."""
        ...


@dataclass(frozen=True, slots=True)
class Group:
    """Pairs of prompt and target tokens that may share the beginning of their prompts, such as one document."""

    prompts: tuple[Tokens, ...]
    targets: tuple[Tokens, ...]

    def shared(self) -> int:
        """The number of tokens with which all prompts begin; at least one token of each prompt stays outside."""
        first = min(self.prompts)
        last = max(self.prompts)
        limit = min(len(prompt) for prompt in self.prompts) - 1
        for position in range(limit):
            if first[position] != last[position]:
                return position
        return max(limit, 0)


def load_auxiliary(name: str, *, device: str = "cpu", dtype: str = "auto") -> AuxiliaryModel:
    """``embedded`` (SmolLM2), or a transformers model, causal or seq2seq, by name or folder. Raises InputError."""
    from transformers import AutoConfig
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    place = device_named(device)
    kind = _dtype(dtype, place)
    if name == EMBEDDED:
        return CausalAuxiliary.embedded(place, kind)
    try:
        config = AutoConfig.from_pretrained(name)
        if config.is_encoder_decoder:
            return Seq2SeqAuxiliary.load(name, place, kind)
        return CausalAuxiliary.load(name, place, kind)
    except (OSError, ValueError, SafetensorError) as error:
        raise InputError(
            f"The auxiliary model '{name}' cannot be loaded ({error}); name a transformers model or folder, "
            f"or '{EMBEDDED}'.",
            param="aux",
            code="model_not_found",
        ) from error


def _dtype(name: str, device: torch.device) -> torch.dtype:
    if name not in DTYPES:
        raise InputError(f"--dtype {name}: there are {', '.join(DTYPES)}.", param="dtype")
    if name != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16}[name]
    return torch.bfloat16 if has_bfloat16(device.type) else torch.float32


def _fingerprint(name: str) -> dict[str, str]:
    return {"folder": Path(name).name, "content": model_fingerprint(name)}


class TransformersAuxiliary:
    """The common part of causal and seq2seq models."""

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

    def _check_fits(self, tokens: int) -> None:
        """Beyond its window a model answers, but its likelihoods mean nothing."""
        if self._window is not None and tokens > self._window:
            raise InputError(
                f"A prompt and its target have {tokens} tokens; the window of the model '{self.name}' holds "
                f"{self._window}. Name a model with a longer one.",
                param="aux",
                code="window_exceeded",
            )


class CausalAuxiliary(TransformersAuxiliary):
    """A decoder-only model; what the prompts of a group begin with is computed once."""

    _first: Tokens = ()  # before every prompt

    @classmethod
    def embedded(cls, device: torch.device, dtype: torch.dtype) -> CausalAuxiliary:
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

        file = embedded_model_file()
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the file is here, nothing is to be asked for
        unpacked = GgufConfig(gguf_file=file.name, dequantize=True)  # packed weights would be computed in float32
        with redirect_stderr(StringIO()):  # its progress bar asks no setting
            model: Any = AutoModelForCausalLM.from_pretrained(
                file.parent, gguf_file=file.name, dtype=dtype, quantization_config=unpacked
            )
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
        return cls(EMBEDDED, model.to(device), tokenizer, {"file": file.name, "size": str(file.stat().st_size)})

    @classmethod
    def load(cls, name: str, device: torch.device, dtype: torch.dtype) -> CausalAuxiliary:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        model: Any = AutoModelForCausalLM.from_pretrained(name, dtype=dtype)
        scaled = [field for field in LOGITS_SCALED_BY if getattr(model.config, field, None) not in (None, 1.0)]
        if scaled:
            raise ValueError(f"its logits are changed after the last layer, by {scaled[0]}, which is not done here")
        tokenizer = AutoTokenizer.from_pretrained(name)
        fingerprint = _fingerprint(name)
        made = cls(name, model.to(device), tokenizer, fingerprint)
        # some were trained to see a mark at the beginning of every text, and are lost without it
        if tokenizer.bos_token_id is not None and tokenizer("")["input_ids"][:1] == [tokenizer.bos_token_id]:
            made._first = (tokenizer.bos_token_id,)
            made.fingerprint |= {"begins_with": tokenizer.bos_token}
        return made

    @torch.inference_mode()
    def likelihoods(self, groups: Sequence[Group]) -> list[list[Likelihood]]:
        groups = [Group(self._begun(group.prompts), group.targets) for group in groups]
        results: list[list[Likelihood]] = [[] for _ in groups]
        self._check_fits(max((_longest(group) for group in groups), default=0))
        for batch in _batches(groups):
            for index, scored in zip(batch, self._score([groups[index] for index in batch]), strict=True):
                results[index] = scored
        return results

    @torch.inference_mode()
    def remember(self, prompts: Sequence[Tokens], limit: int) -> Memory:
        """Compute prompts once, for any number of targets; of ``limit`` tokens at most the results are kept."""
        return Memory(self, self._begun(prompts), limit)

    def _begun(self, prompts: Sequence[Tokens]) -> tuple[Tokens, ...]:
        return tuple((*self._first, *prompt) for prompt in prompts)

    def _score(self, groups: list[Group]) -> list[list[Likelihood]]:
        """Groups with as many prompts each: their shared beginnings, then everything behind them."""
        shared = [group.shared() for group in groups]
        each = len(groups[0].prompts)
        beginning = self._beginning([group.prompts[0][:length] for group, length in zip(groups, shared, strict=True)])
        if beginning.cache is not None:
            beginning.cache.batch_repeat_interleave(each)
        beginning = Beginning(beginning.cache, beginning.mask.repeat_interleave(each, dim=0))  # (B, P)
        suffixes, targets, starts = [], [], []
        for group, length in zip(groups, shared, strict=True):
            for prompt, target in zip(group.prompts, group.targets, strict=True):
                suffixes.append((*prompt[length:], *target))
                targets.append(target)
                starts.append(len(prompt) - length)
        totals = self._continue(suffixes, targets, starts, beginning)
        found = [Likelihood(total, len(target)) for total, target in zip(totals, targets, strict=True)]
        return [found[start : start + each] for start in range(0, len(found), each)]

    def _beginning(self, prefixes: list[Tokens]) -> Beginning:
        tokens, mask = self._padded(prefixes)  # (D, P)
        if not tokens.shape[1]:
            return Beginning(None, mask)
        computed = self._model(input_ids=tokens, attention_mask=mask, use_cache=True, logits_to_keep=1)
        return Beginning(computed.past_key_values, mask)

    def _continue(
        self,
        suffixes: list[Tokens],
        targets: list[Tokens],
        starts: list[int],
        beginning: Beginning,
    ) -> list[float]:
        """The sum of each target's log-probabilities; the model's head runs on the targets' places alone."""
        tokens, mask = self._padded(suffixes)  # (B, S)
        full = torch.cat((beginning.mask, mask), dim=1)  # (B, P + S)
        # padding stands between prefix and suffix, so places are counted, not taken from the columns
        places = (full.cumsum(dim=1) - 1).clamp(min=0)[:, -tokens.shape[1] :]  # (B, S)
        hidden = self._model.base_model(
            input_ids=tokens,
            attention_mask=full,
            position_ids=places,
            past_key_values=beginning.cache,
            use_cache=beginning.cache is not None,
        ).last_hidden_state  # (B, S, hidden)
        rows = torch.tensor([row for row, target in enumerate(targets) for _ in target], device=tokens.device)
        columns = torch.tensor(
            [start - 1 + step for start, target in zip(starts, targets, strict=True) for step in range(len(target))],
            device=tokens.device,
        )
        wanted = torch.tensor([token for target in targets for token in target], device=tokens.device)
        found = _log_probabilities(self._model.get_output_embeddings(), hidden[rows, columns], wanted)
        return _sums(found, rows, len(targets))

    def _padded(self, sequences: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        return _padded(sequences, self._model.device)


@dataclass(frozen=True, slots=True)
class Beginning:
    """The state of a model after a batch of prefixes: its cache, None if they are empty, and their mask (B, P)."""

    cache: Any
    mask: Tensor


class Memory:
    """Prompts of a causal model and what it computed of them, all but their last token, on which the target hangs."""

    def __init__(self, model: CausalAuxiliary, prompts: Sequence[Tokens], limit: int) -> None:
        self._model = model
        self._prompts = prompts
        self._lock = threading.Lock()  # a target's tokens join the caches while it is scored
        self._batches = _batches([Group((prompt,), ((),)) for prompt in prompts])
        self._kept: list[Beginning] = []
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
        self._model._check_fits(longest + len(target))
        for number, batch in enumerate(self._batches):
            suffixes: list[Tokens] = [(self._prompts[index][-1], *target) for index in batch]
            with self._lock:
                beginning = self._kept[number] if number < len(self._kept) else self._compute(batch)
                found = self._model._continue(suffixes, [target] * len(batch), [1] * len(batch), beginning)
                if beginning.cache is not None:
                    beginning.cache.crop(-len(suffixes[0]))
            for index, total in zip(batch, found, strict=True):
                totals[index] = total
        return [Likelihood(total, len(target)) for total in totals]

    def _compute(self, batch: list[int]) -> Beginning:
        return self._model._beginning([self._prompts[index][:-1] for index in batch])


class Seq2SeqAuxiliary(TransformersAuxiliary):
    """An encoder-decoder model such as FLAN-T5: the prompt is encoded, the target decoded."""

    @classmethod
    def load(cls, name: str, device: torch.device, dtype: torch.dtype) -> Seq2SeqAuxiliary:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        model = AutoModelForSeq2SeqLM.from_pretrained(name, dtype=dtype)
        return cls(name, model.to(device), AutoTokenizer.from_pretrained(name), _fingerprint(name))

    @torch.inference_mode()
    def likelihoods(self, groups: Sequence[Group]) -> list[list[Likelihood]]:
        pairs = [pair for group in groups for pair in zip(group.prompts, group.targets, strict=True)]
        for prompt, target in pairs:
            self._check_fits(max(len(prompt) + 1, len(target)))
        scored: dict[int, Likelihood] = {}
        for batch in _pair_batches(pairs):
            scored |= zip(batch, self._score([pairs[index] for index in batch]), strict=True)
        found = (scored[index] for index in range(len(pairs)))
        return [[next(found) for _ in group.prompts] for group in groups]

    def _score(self, pairs: list[tuple[Tokens, Tokens]]) -> list[Likelihood]:
        end, start = self._tokenizer.eos_token_id, self._model.config.decoder_start_token_id
        prompts, prompt_mask = _padded([(*prompt, end) for prompt, _ in pairs], self._model.device)  # (B, P)
        decoder, decoder_mask = _padded([(start, *target[:-1]) for _, target in pairs], self._model.device)  # (B, T)
        logits = self._model(
            input_ids=prompts,
            attention_mask=prompt_mask,
            decoder_input_ids=decoder,
            decoder_attention_mask=decoder_mask,
        ).logits  # (B, T, V)
        wanted, mask = _padded([target for _, target in pairs], self._model.device)
        rows, columns = mask.nonzero(as_tuple=True)
        found = _log_probabilities(lambda chosen: chosen, logits[rows, columns], wanted[rows, columns])
        totals = _sums(found, rows, len(pairs))
        return [Likelihood(total, len(target)) for total, (_, target) in zip(totals, pairs, strict=True)]


def _padded(sequences: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Tokens and mask, (B, longest), padded on the right with 0."""
    longest = max(len(sequence) for sequence in sequences)
    tokens = torch.zeros((len(sequences), longest), dtype=torch.long)
    mask = torch.zeros_like(tokens)
    for row, sequence in enumerate(sequences):
        tokens[row, : len(sequence)] = torch.tensor(sequence, dtype=torch.long)
        mask[row, : len(sequence)] = 1
    return tokens.to(device), mask.to(device)


def _log_probabilities(head: Any, hidden: Tensor, wanted: Tensor, at_once: int = 64) -> Tensor:
    """log p of each wanted token, (N,), in float32; (at_once, V) logits in memory at a time."""
    found = []
    for start in range(0, len(wanted), at_once):
        logits = head(hidden[start : start + at_once]).float()
        chosen = logits.gather(1, wanted[start : start + at_once].unsqueeze(1)).squeeze(1)
        found.append(chosen - logits.logsumexp(1))
    return torch.cat(found)


def _sums(values: Tensor, rows: Tensor, count: int) -> list[float]:
    totals = torch.zeros(count, dtype=torch.float64, device=values.device)
    return [float(total) for total in totals.index_add_(0, rows, values.double())]


def _batches(groups: Sequence[Group]) -> list[list[int]]:
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


def _longest(group: Group) -> int:
    pairs = zip(group.prompts, group.targets, strict=True)
    return max((len(prompt) + len(target) for prompt, target in pairs), default=0)
