"""Raw answers of chat models, kept in a JSON Lines file, so that an interrupted run goes on and later steps rerun free.

A line is ``{"key", "text", "finish_reason", "prompt_tokens", "completion_tokens", "seconds", "error"}``; the key is a
SHA-256 of the model, the decoding and the messages. A failure is kept too, and tried again by the next run.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from eval.asking.patience import OUT_OF_TIME, Patience, Unwatched, Watch, asking
from eval.asking.verdict import Failed
from pearl.chat.base import ChatModel, Decoding, Message
from pearl.errors import InputError
from pearl.history import parse_lines
from pearl.options import writing
from pearl.side_by_side import side_by_side
from pearl.texts import json_type, storable

LINE_START = b'{"key": "'
EMPTY = "empty_answer"
UNWATCHED = Unwatched()

FIELDS: dict[str, type | tuple[type, ...]] = {
    "key": str,
    "text": str,
    "finish_reason": str,
    "prompt_tokens": int,
    "completion_tokens": int,
    "seconds": (int, float),
    "error": (str, type(None)),
}


@dataclass(frozen=True, slots=True)
class Generation:
    """A model's answer as it came, or the code of the ``error`` that came instead."""

    key: str
    text: str
    finish_reason: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A prompt for a model, and how to decode its answer."""

    messages: tuple[Message, ...]
    decoding: Decoding


def key_of(model: str, task: Task) -> str:
    """The same for the same model, decoding and messages, and for nothing else. ``model`` names it and its rules."""
    decoding = task.decoding
    said = [
        model,
        [decoding.max_tokens, decoding.temperature, decoding.top_p, list(decoding.stop)],
        [[message.role, message.content] for message in task.messages],
    ]
    # lone surrogates cannot be encoded; as escapes they can
    return hashlib.sha256(json.dumps(said, ensure_ascii=True).encode()).hexdigest()


class Generations:
    """The answers that a file holds, and those added to it; open it with :func:`open_generations`."""

    def __init__(self, path: Path, file: IO[bytes], found: dict[str, Generation]) -> None:
        self._path = path
        self._file = file
        self._found = found

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: str) -> Generation | None:
        return self._found.get(key)

    def add(self, generation: Generation) -> None:
        """Kept for good when this returns. Raises InputError when the disk is full."""
        self._found[generation.key] = generation
        line = json.dumps({name: getattr(generation, name) for name in FIELDS}, ensure_ascii=False)
        with writing(f"{self._path}: cannot be written"):
            _write_through(self._file.fileno(), line.encode() + b"\n")
            os.fsync(self._file.fileno())


def _write_through(file: int, content: bytes) -> None:
    """All of it, or OSError; nothing stays in a buffer, to fail once more when the file is closed."""
    if os.write(file, content) < len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextmanager
def open_generations(path: Path) -> Iterator[Generations]:
    """The file's answers, whose last line may be cut off: it is dropped and done again. One run at a time has a file.

    Raises InputError when it cannot be used, and names the line when it holds something else.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab+")
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written: {error.strerror}; give another --generations.", param="generations"
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(
                f"{path}: another run is using it; wait for it or give another --generations.", param="generations"
            ) from error
        _drop_unfinished_line(path, file)
        yield Generations(path, file, {each.key: each for each in parse_lines(path, _parse)})


def _drop_unfinished_line(path: Path, file: IO[bytes]) -> None:
    file.seek(0)
    end, last = 0, b""
    for last in file:
        end += len(last)
    if not last or last.endswith(b"\n"):
        return
    if not last.startswith(LINE_START) and not LINE_START.startswith(last):
        raise InputError(
            f"{path}: is not a file of generations; give another --generations.",
            param="generations",
            code="not_generations",
        )
    file.truncate(end - len(last))


def _parse(value: dict[str, Any]) -> Generation:
    for name, kind in FIELDS.items():
        if name not in value or not isinstance(value[name], kind) or isinstance(value[name], bool):
            raise InputError(
                f"is {json_type(value.get(name))}; this is no file of generations.", param=name, code="not_generations"
            )
    return Generation(**{name: value[name] for name in FIELDS})


async def generate(
    model: ChatModel,
    identity: str,
    tasks: Sequence[Task],
    kept: Generations,
    watch: Watch = UNWATCHED,
    go_on: Callable[[], bool] = lambda: True,
    in_flight: int = 1,
) -> list[Generation]:
    """An answer for each task, in order; what is kept is not asked again, and what is asked twice is asked once.

    ``identity`` is what the keys say of the model; ``in_flight`` calls are under way at once, and those that fail for
    now are repeated. Nothing is asked any more where ``go_on`` says no; OUT_OF_TIME then stands for the answer, and is
    not kept. Raises ChatError when the model is down.
    """
    keys = [key_of(identity, task) for task in tasks]
    todo = iter(dict(zip(keys, tasks, strict=True)).items())
    done: dict[str, Generation] = {}
    patience = Patience(asking(model), watch.waits, go_on=go_on)

    async def work() -> None:
        for key, task in todo:
            found = kept.get(key)
            if found is None or found.error:
                found = await _answer(patience, key, task)
                if found.error != OUT_OF_TIME:
                    kept.add(found)
                    watch.advance(bool(found.error))
            done[key] = found

    await side_by_side(work, in_flight)
    return [done[key] for key in keys]


def missing(identity: str, tasks: Sequence[Task], kept: Generations) -> int:
    """The number of different tasks without an answer so far."""
    keys = {key_of(identity, task) for task in tasks}
    return sum(1 for key in keys if (found := kept.get(key)) is None or found.error)


async def _answer(patience: Patience, key: str, task: Task) -> Generation:
    started = time.monotonic()
    reply = await patience.answer(task.messages, task.decoding)
    seconds = round(time.monotonic() - started, 3)
    if isinstance(reply, Failed):
        return Generation(key, "", "error", seconds=seconds, error=reply.reason)
    used = reply.usage
    text = storable(reply.text)
    if not text.strip():
        return Generation(key, "", "error", used.prompt_tokens, used.completion_tokens, seconds, EMPTY)
    return Generation(key, text, reply.finish_reason, used.prompt_tokens, used.completion_tokens, seconds)
