"""A causal model of transformers on this machine: a folder, such as one that `pearl train chat` wrote, or a hub's name.

For measuring models that no endpoint serves. It answers one question at a time; to serve drafts, an inference server is
many times as fast.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from pearl.chat.base import Chunk, Decoding, Message
from pearl.errors import ChatError, ChatRejected, ContextExceeded
from pearl.extras import MissingExtra
from pearl.records import Usage
from pearl.text.fences import without_role_tokens


class LocalChatModel:
    """A causal model of transformers, loaded on first use."""

    continues = False

    def __init__(self, model: str) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self.name = Path(model).name or model

    @property
    def identity(self) -> str:
        """The name, and for a folder a digest of its files' sizes and times, on which kept answers depend."""
        files = [path for path in sorted(Path(self._model).glob("*")) if path.is_file()]
        if not files:
            return self._model
        listing = "; ".join(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files)
        return f"{self._model} ({sha256(listing.encode()).hexdigest()[:12]})"

    def load(self) -> None:
        """Load the weights now, so that the first request does not wait for them. Raises ChatError, and MissingExtra
        without transformers."""
        self._loaded()

    def _loaded(self) -> tuple[Any, Any]:
        """Return the model and its tokenizer; if several threads ask at once, one loads them."""
        with self._loading:
            return self._parts

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        """Load both, once. Raises ChatError for what is no chat model, and MissingExtra without transformers."""
        try:
            from transformers import AutoModelForCausalLM, AutoTokenizer
            from transformers.utils import logging
        except ModuleNotFoundError:
            raise MissingExtra("transformers", "eval") from None

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            tokenizer = AutoTokenizer.from_pretrained(self._model)
            model: Any = AutoModelForCausalLM.from_pretrained(self._model, dtype="auto")
        except (OSError, ValueError) as error:
            what = " ".join(str(error).split())  # transformers' own words take several lines
            raise ChatError(
                f"{self._model}: is no causal model with its tokenizer: {what}", code="llm_not_found"
            ) from error
        if not tokenizer.chat_template:
            raise ChatError(
                f"{self._model}: its tokenizer has no chat template; name a model that was trained to chat.",
                code="llm_not_found",
            )
        return model.eval(), tokenizer

    @property
    def context_tokens(self) -> int:
        return int(self._loaded()[0].config.max_position_embeddings)

    def count_tokens(self, text: str) -> int:
        return len(self._loaded()[1](text, add_special_tokens=False)["input_ids"])

    async def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        left = threading.Event()
        try:
            text, finish_reason, usage = await asyncio.to_thread(self._answer, list(messages), decoding, left)
        finally:
            left.set()
        yield Chunk(text)
        yield Chunk(finish_reason=finish_reason, usage=usage)

    def _answer(self, messages: list[Message], decoding: Decoding, left: threading.Event) -> tuple[str, str, Usage]:
        model, tokenizer = self._loaded()
        import torch
        from jinja2 import TemplateError

        with self._lock, torch.inference_mode():
            control = [token.content for token in tokenizer.added_tokens_decoder.values() if token.special]
            turns = [
                {"role": message.role, "content": without_role_tokens(message.content, control)} for message in messages
            ]
            try:
                prompt = tokenizer.apply_chat_template(
                    turns, add_generation_prompt=True, return_tensors="pt", return_dict=True
                )
            except TemplateError as error:  # Gemma 2 and the first Mistrals take no message of the system
                raise ChatRejected(
                    f"The chat template of {self.name} does not take this conversation ({error}); name another model, "
                    "or serve it behind an endpoint that does."
                ) from error
            prompt_tokens = int(prompt["input_ids"].shape[1])
            if prompt_tokens + decoding.max_tokens > self.context_tokens:
                raise ContextExceeded(
                    f"The prompt has {prompt_tokens} tokens; with {decoding.max_tokens} for the answer it does not fit "
                    f"the window of {self.context_tokens} of {self.name}; shorten it."
                )
            torch.manual_seed(decoding.seed)
            draws = {"do_sample": True, "temperature": decoding.temperature, "top_p": decoding.top_p}
            tokens = model.generate(
                **prompt,
                max_new_tokens=decoding.max_tokens,
                stopping_criteria=[lambda *_: torch.tensor([left.is_set()])],
                pad_token_id=tokenizer.pad_token_id,
                **(draws if decoding.temperature else {"do_sample": False}),
            )[0, prompt_tokens:]
        end = model.generation_config.eos_token_id  # of some models a list
        ends = {tokenizer.eos_token_id, *(end if isinstance(end, list) else [end])}
        whole = len(tokens) < decoding.max_tokens or int(tokens[-1]) in ends
        text = tokenizer.decode(tokens, skip_special_tokens=True).strip()
        starts = [start for stop in decoding.stop if (start := text.find(stop)) >= 0]
        text = text[: min(starts)] if starts else text
        return text, "stop" if whole or starts else "length", Usage(prompt_tokens, len(tokens))

    async def check(self) -> None:
        """Return at once: the model is in this process."""

    async def close(self) -> None:
        """Do nothing: no connection is held."""
