"""A chat model in this process from any GGUF file that llama.cpp can run."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from pathlib import Path

from pearl.errors import ChatError, ContextExceeded
from pearl.models.chat.base import Chunk, Decoding, Message, PromptRead
from pearl.models.chat.chat_format import ChatFormat
from pearl.models.chat.gguf_file import ModelFile, read_gguf
from pearl.models.chat.llama_cpp import REPEAT_PENALTY, REPEAT_WINDOW, Event, LlamaCpp, load_llama_cpp
from pearl.models.chat.speed import Speed, Speeds
from pearl.models.weights.table import PACKAGE_FOLDER, REINSTALL
from pearl.records import Usage

log = logging.getLogger(__name__)

PACKING = re.compile(r"\.I?Q\d\w*\Z")  # what many files' names end with; not part of the model's
CONTEXT_TOKENS = 4096
PROBED = 8  # tokens to write where the speed of writing is not known
CHATML_END = "<|im_end|>"  # in usual characters, for a file that has neither a chat template nor this token

Left = Callable[[], bool]  # True when nobody waits for the answer any more
Put = Callable[[Chunk], None]
Generate = Callable[[Put, Left], None]


class _Answer:
    """An answer that grows with the library's events."""

    def __init__(self, put: Put, prompt_tokens: int, speed: Speed) -> None:
        self.ended, self.failed = False, ""
        self.took = Speed()
        self._put = put
        self._prompt_tokens = prompt_tokens
        self._speed = speed  # as far as it is known before

    def take(self, event: Event) -> bool:
        """Pass on what the event holds; return True if the answer ends with it."""
        if "error" in event:
            self.failed = str(event["error"].get("message"))
        if "timings" in event:
            self.took = Speed.of_timings(event["timings"])
        if progress := event.get("prompt_progress"):
            self._put(Chunk(prompt_read=self._read(progress)))
        for choice in event.get("choices", ()):
            if choice["text"]:
                self._put(Chunk(choice["text"]))
            if choice["finish_reason"]:
                usage = Usage(self._prompt_tokens, event["usage"]["completion_tokens"])
                self._put(Chunk(finish_reason=choice["finish_reason"], usage=usage))
                self.ended = True
        return self.ended or bool(self.failed)

    def _read(self, progress: Event) -> PromptRead:
        """Return how far the prompt is read; the time left is by this prompt's own speed as soon as it has one."""
        done, total, kept = progress["processed"], progress["total"], progress["cache"]
        speed = Speed(done - kept, progress["time_ms"] / 1000, 0, 0) if done > kept else self._speed
        return PromptRead(done, total, speed.seconds(total - done) if speed.read else None)


class GgufChatModel:
    """A chat model from a GGUF file, loaded on first use. At most ``copies`` generations run at once; others wait.

    Copies share the weights in memory; each has its own context.
    """

    continues = True

    def __init__(
        self,
        path: Path,
        *,
        context_tokens: int = CONTEXT_TOKENS,
        cpu_guard: Callable[[], AbstractContextManager[None]] = nullcontext,
        copies: int = 1,
        home: Path | None = None,
    ) -> None:
        """``context_tokens``: upper limit, if the model was trained for more; ``cpu_guard``: a context entered while
        the model generates, so that other work can yield; ``home``: the folder that keeps the measured speed."""
        self._path = path
        self._most_context = context_tokens
        self._cpu_guard = cpu_guard
        self._copies = copies
        self._turns = ThreadPoolExecutor(max_workers=copies, thread_name_prefix="embedded-llm")
        self._loading = threading.Lock()
        self._speeds = Speeds(home)
        self._kept: list[int] = []  # tokens of the last prompt, which the engine need not read again
        self.name = PACKING.sub("", path.stem)

    @cached_property
    def _file(self) -> ModelFile:
        try:
            return read_gguf(self._path)
        except (OSError, ValueError) as error:
            again = f"install it again: {REINSTALL}" if PACKAGE_FOLDER in self._path.parts else "get it again."
            raise ChatError(f"{self._path} cannot be loaded ({error}); {again}", code="llm_failed") from error

    def check_file(self) -> None:
        """Read the file's header. Raises ChatError if the file is cut off."""
        _ = self._file

    @property
    def identity(self) -> str:
        """The model file and our decoding rules, as a text that is part of the keys of stored answers."""
        penalty = f"repeat penalty {REPEAT_PENALTY} over {REPEAT_WINDOW} tokens"
        return f"{self.name} ({self._file.digest}), on llama.cpp, {penalty}"

    @property
    def context_tokens(self) -> int:
        return min(self._most_context, self._file.context_tokens)

    @cached_property
    def _parts(self) -> tuple[LlamaCpp, ChatFormat]:
        engine = load_llama_cpp(self._file, context_tokens=self.context_tokens, slots=self._copies)
        return engine, ChatFormat(engine.apply, engine.tokens, self._file.marks(), engine.begin())

    def _loaded(self) -> tuple[LlamaCpp, ChatFormat]:
        """Return the engine and the chat format; if several threads ask at once, one loads them."""
        with self._loading:
            return self._parts

    def load(self) -> None:
        """Load the weights now, so that the first request does not wait for them. Raises ChatError."""
        self._loaded()

    def count_tokens(self, text: str) -> int:
        return len(self._loaded()[0].tokens(text))

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        return in_turn(self._turns, lambda put, left: self._generate(list(messages), decoding, put, left))

    def _generate(self, messages: list[Message], decoding: Decoding, put: Put, left: Left) -> None:
        engine, written = self._loaded()
        prompt = self._prompt(written, messages, decoding.max_tokens)
        answer = _Answer(put, len(prompt), self.speed)

        def heard(event: Event) -> bool:
            return left() or answer.take(event)

        with self._cpu_guard():
            if not left():
                self._kept = prompt
                engine.complete(prompt, self._stopped(decoding), heard)
        self._speeds.add(self._file.digest, answer.took)
        if answer.failed:
            raise ChatError(f"llama.cpp failed: {answer.failed}", code="llm_failed")

    @property
    def speed(self) -> Speed:
        """The speed of this model on this machine, as far as it was measured."""
        return self._speeds.of(self._file.digest)

    def read_ahead(self, begin: Sequence[Message], left: Left = lambda: False) -> Speed:
        """Have the model read ``begin``, the beginning of the next prompt, ahead of time, and return the model's speed.
        If the speed is not known yet, a few tokens are written to measure it. Raises ChatError."""
        decoding = Decoding(max_tokens=1 if self.speed.is_known else PROBED)
        try:
            self._turns.submit(self._generate, list(begin), decoding, lambda chunk: None, left).result()
        except (RuntimeError, CancelledError) as error:
            raise _closed() from error
        return self.speed

    def tokens_in_time(self, begin: Sequence[Message], seconds: float) -> int:
        """Return how many tokens of a prompt that starts with ``begin`` can be read within ``seconds``. Tokens that the
        engine still has from the last prompt take no time."""
        if not self.speed.is_known:
            self.read_ahead(begin)
        pairs = zip(self._loaded()[1].prompt(begin), self._kept, strict=False)
        kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return kept + int(seconds / self.speed.seconds(1))

    def _stopped(self, decoding: Decoding) -> Decoding:
        """The decoding, which stops at the end mark of ChatML if the file has no chat template."""
        return decoding if self._file.chat_template else replace(decoding, stop=(*decoding.stop, CHATML_END))

    def _prompt(self, written: ChatFormat, messages: list[Message], max_tokens: int) -> list[int]:
        """The prompt's tokens in the model's chat format, in which no document can end its turn and speak as someone
        else. Raises ContextExceeded where no room for the answer is left."""
        prompt = written.prompt(messages)
        check_room(len(prompt), max_tokens, self.context_tokens)
        return prompt

    async def check(self) -> None:
        """Return at once: the model is in this process, and loads before it is ready."""

    async def close(self) -> None:
        """Close the model: waiting generations fail, running ones may finish."""
        self._turns.shutdown(wait=False, cancel_futures=True)
        with self._loading:
            self.__dict__.pop("_parts", None)  # the memory is given back when the last generation has ended


async def in_turn(turns: ThreadPoolExecutor, generate: Generate) -> AsyncGenerator[Chunk, None]:
    """Run ``generate`` in a thread of ``turns``; yield the chunks it puts. Raises ContextExceeded or ChatError."""
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[Chunk | Exception | None] = asyncio.Queue()
    left = threading.Event()

    def put(item: Chunk | Exception | None) -> None:
        if not left.is_set():
            loop.call_soon_threadsafe(arrived.put_nowait, item)

    def run() -> None:
        try:
            if not left.is_set():
                generate(put, left.is_set)
            put(None)
        except (ChatError, ContextExceeded) as error:
            put(error)
        except Exception as error:  # whatever a library raises: the caller must not wait for ever
            log.debug("a generation failed", exc_info=True)
            put(ChatError(f"The embedded model failed ({type(error).__name__}).", code="llm_failed"))

    try:
        turn = turns.submit(run)
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


def check_room(prompt_tokens: int, max_tokens: int, context_tokens: int) -> None:
    """Check that prompt and answer fit the context together. Raises ContextExceeded if they do not."""
    if prompt_tokens + max_tokens > context_tokens:
        raise ContextExceeded(
            f"The prompt has {prompt_tokens} tokens; with {max_tokens} for the answer it does not fit the context of "
            f"{context_tokens}; shorten it, or raise PEARL_LLM_CONTEXT_TOKENS."
        )


def _closed() -> ChatError:
    return ChatError("The embedded model was closed; the service is stopping.", code="llm_closed")
