"""Any GGUF file that llama.cpp knows as a chat model in this process."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from pearl.chat.base import IMITATORS, Chunk, Decoding, Message
from pearl.chat.chat_format import ChatFormat
from pearl.chat.gguf_file import ModelFile, read_gguf
from pearl.chat.llama_cpp import REPEAT_PENALTY, REPEAT_WINDOW, Event, LlamaCpp, load_llama_cpp
from pearl.chat.turns import Left, Put, check_room, in_turn
from pearl.errors import ChatError
from pearl.records import Usage
from pearl.text.words import CLOSERS, FULL_STOPS
from pearl.weights.smollm2 import PACKAGE_FOLDER, REINSTALL

# the end of a line or a sentence; that of "e.g.", of "J." and of "1." is none
SENTENCE = re.compile(
    rf"(?:(?<!\d)(?<!\b[A-Za-z])[.!?…][{CLOSERS}]*\s|[{FULL_STOPS}][{CLOSERS}]*[^{FULL_STOPS}{CLOSERS}]|\n\S?)\Z"
)
LAST = 8  # characters that tell whether a sentence has ended


def ends_before(written: str, piece: str) -> bool:
    """Return True if a sentence or a line has ended, and this piece would begin another."""
    return SENTENCE.search(written[-LAST:] + piece[:1]) is not None


FIRST = 16  # tokens of an answer without a penalty
LEAST = 64  # tokens of an answer, below which none ends before its model ends it
PACKING = re.compile(r"\.I?Q\d\w*\Z")  # what many files' names end with; not part of the model's
CHATML_END = "<|im_end|>"  # in usual characters, for a file that has neither a chat template nor this token


class _Answer:
    """An answer that grows with the library's events, in one step or several. A model that imitates is stopped at the
    end of a sentence after ``usual`` tokens; by itself it would repeat itself up to the limit."""

    def __init__(self, put: Put, prompt_tokens: int, most: int, usual: float) -> None:
        self.text, self.tokens = "", 0
        self.ended, self.failed = False, ""
        self._put = put
        self._prompt_tokens = prompt_tokens
        self._most = most
        self._usual = usual
        self._before = 0  # tokens of the steps before

    def take(self, event: Event) -> bool:
        """Put what the event says; return True if the answer ends here."""
        if "error" in event:
            self.failed = str(event["error"].get("message"))
        for choice in event.get("choices", ()):
            if self.tokens >= self._usual and ends_before(self.text, choice["text"]):
                self._end("stop")
                break
            if choice["text"]:
                self.text += choice["text"]
                self.tokens += 1
                self._put(Chunk(choice["text"]))
            if choice["finish_reason"]:
                # several tokens may have made one character
                self.tokens = self._before = self._before + event["usage"]["completion_tokens"]
                if choice["finish_reason"] == "stop" or self.tokens >= self._most:
                    self._end(choice["finish_reason"])
        return self.ended or bool(self.failed)

    def _end(self, finish_reason: str) -> None:
        self._put(Chunk(finish_reason=finish_reason, usage=Usage(self._prompt_tokens, self.tokens)))
        self.ended = True


class GgufChatModel:
    """A GGUF file as a chat model, loaded on first use; further generations than copies wait their turn.

    Copies share the weights in memory; each has its own context.
    """

    continues = True

    def __init__(
        self,
        path: Path,
        *,
        context_tokens: int = 4096,
        undisturbed: Callable[[], AbstractContextManager[None]] = nullcontext,
        copies: int = 1,
    ) -> None:
        """``context_tokens`` is the most, if the model was trained for no less; ``undisturbed`` is entered while the
        model generates, for what else wants this machine's processors."""
        self._path = path
        self._most_context = context_tokens
        self._undisturbed = undisturbed
        self._copies = copies
        self._turns = ThreadPoolExecutor(max_workers=copies, thread_name_prefix="embedded-llm")
        self._loading = threading.Lock()
        self.name = PACKING.sub("", path.stem)

    @cached_property
    def _file(self) -> ModelFile:
        try:
            return read_gguf(self._path)
        except (OSError, ValueError) as error:
            again = f"install it again: {REINSTALL}" if PACKAGE_FOLDER in self._path.parts else "get it again."
            raise ChatError(f"{self._path} cannot be loaded ({error}); {again}", code="llm_failed") from error

    def check_file(self) -> None:
        """Read what the file says of itself. Raises ChatError for one that is cut off, or a part of several."""
        _ = self._file

    @property
    def identity(self) -> str:
        """The model and our rules, on which kept answers depend: a part of their keys."""
        rules = f"repeat penalty {REPEAT_PENALTY} over {REPEAT_WINDOW} tokens"
        if self.name in IMITATORS:
            rules += " that it wrote, as long as the longest answer shown"
        return f"{self.name} ({self._file.digest}), on llama.cpp, {rules}"

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
        answer = _Answer(put, len(prompt), decoding.max_tokens, self._usual(messages))
        decoding = self._stopped(decoding)

        def heard(event: Event) -> bool:
            return left() or answer.take(event)

        with self._undisturbed():
            while not (answer.ended or answer.failed or left()):
                step, window = self._step(decoding, answer.tokens)
                engine.complete([*prompt, *engine.tokens(answer.text)], step, heard, window)
        if answer.failed:
            raise ChatError(f"llama.cpp failed: {answer.failed}", code="llm_failed")

    def _step(self, decoding: Decoding, written: int) -> tuple[Decoding, int]:
        """Return the decoding of the step after ``written`` tokens, and the window of the repeat penalty.

        llama.cpp's window begins in the prompt. A model that imitates would be penalized for words of what it is
        shown, so it writes in steps, each no longer than what is written, which is the window.
        """
        most = decoding.max_tokens - written
        if self.name not in IMITATORS or decoding.choices:
            return decoding, REPEAT_WINDOW
        if written < REPEAT_WINDOW:
            most = min(most, max(FIRST, written))
        return replace(decoding, max_tokens=most, seed=decoding.seed + written), min(written, REPEAT_WINDOW)

    def _usual(self, messages: Sequence[Message]) -> float:
        """Return the tokens from which an answer ends with its sentence: as many as the longest answer shown has."""
        answers = [message.content for message in messages[:-1] if message.role == "assistant"]
        if self.name not in IMITATORS or not answers:
            return math.inf
        return max(LEAST, *map(self.count_tokens, answers))

    def _stopped(self, decoding: Decoding) -> Decoding:
        """The decoding; without a chat template an answer ends as ChatML's do."""
        return decoding if self._file.chat_template else replace(decoding, stop=(*decoding.stop, CHATML_END))

    def _prompt(self, written: ChatFormat, messages: list[Message], max_tokens: int) -> list[int]:
        """The model's chat format, in which no document can end its turn and speak as someone else.

        Raises ContextExceeded where no room for the answer is left."""
        prompt = written.prompt(messages)
        check_room(len(prompt), max_tokens, self.context_tokens)
        return prompt

    async def check(self) -> None:
        """Return at once: the model is in this process, and loads before it is ready."""

    async def close(self) -> None:
        """Close the model: generations that wait for their turn fail, those that run may end."""
        self._turns.shutdown(wait=False, cancel_futures=True)
        with self._loading:
            self.__dict__.pop("_parts", None)  # the memory is given back when the last generation has ended
