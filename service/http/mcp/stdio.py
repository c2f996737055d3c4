"""The Model Context Protocol over standard input and output: a message per line, until the input ends."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager

import orjson
from pydantic import ValidationError

from pearl.errors import Malformed, PearlError, TooLarge
from service.http.api.errors import explain_validation, unexpected
from service.http.mcp.protocol import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    McpMessage,
    McpReply,
    error_message,
    reply,
)
from service.http.mcp.tools import Toolbox

LONGEST_LINE = 4_000_000  # bytes, the same as for a body over HTTP
PIECE = 65_536
PIECES = 16  # read ahead at most
AT_ONCE = 64  # messages answered at a time; more must wait

Write = Callable[[McpReply], None]


@contextmanager
def wire() -> Iterator[Write]:
    """Yield a function that writes a reply to standard output. Until the block ends, everything else that the process
    writes there, even from native libraries, goes to standard error."""
    output = os.dup(1)
    os.dup2(2, 1)

    def write(answer: McpReply) -> None:
        left = memoryview(orjson.dumps(answer.body, option=orjson.OPT_APPEND_NEWLINE))
        while left:
            left = left[os.write(output, left) :]

    try:
        yield write
    finally:
        os.dup2(output, 1)
        os.close(output)


async def serve(lines: AsyncGenerator[bytes | None, None], toolbox: Toolbox, write: Write) -> None:
    """Answer the message on each line (None: the line was too long), AT_ONCE at a time. Return when all are answered,
    or when nobody reads the answers any more."""
    under_way: set[asyncio.Task[None]] = set()
    free = asyncio.Semaphore(AT_ONCE)

    def ended(task: asyncio.Task[None]) -> None:
        under_way.discard(task)
        free.release()

    try:
        async with asyncio.TaskGroup() as group:
            async for line in lines:
                try:
                    message = _read(line)
                except PearlError as error:
                    code = PARSE_ERROR if isinstance(error, Malformed) else INVALID_REQUEST
                    write(McpReply(error_message(code, error.message)))
                    continue
                if message is None:
                    continue
                if message.method == "notifications/cancelled":
                    for task in under_way:
                        if task.get_name() == repr(message.params.get("requestId")):
                            task.cancel()
                    continue
                await free.acquire()
                task = group.create_task(_answer(message, toolbox, write), name=repr(message.id))
                under_way.add(task)
                task.add_done_callback(ended)
    except* BrokenPipeError:
        pass


def _read(line: bytes | None) -> McpMessage | None:
    """Read the message in a line; None for an empty line. Raises PearlError for anything else."""
    if line is None:
        raise TooLarge(f"The line is over the limit of {LONGEST_LINE:,} bytes.")
    if not line.strip():
        return None
    try:
        return McpMessage.model_validate(orjson.loads(line))
    except orjson.JSONDecodeError as error:
        raise Malformed(f"The line is not JSON: {error.msg}.", code="invalid_json") from None
    except ValidationError as error:
        problem = error.errors()[0]
        raise explain_validation({**problem, "loc": ("body", *problem["loc"])}) from None


async def _answer(message: McpMessage, toolbox: Toolbox, write: Write) -> None:
    try:
        answer = await reply(message, toolbox.tools)
    except Exception as error:
        known = unexpected(error, "a message")
        answer = McpReply(error_message(INTERNAL_ERROR, known.message, message))
    if answer is not None:
        write(answer)


async def lines_of(read: Callable[[], Awaitable[bytes]]) -> AsyncGenerator[bytes | None, None]:
    """Yield an input's lines, None for a line that is too long; ``read`` returns the next piece, empty at the end."""
    line, skipping = b"", False
    while piece := await read():
        *ended, rest = (line + piece).split(b"\n")
        for whole in ended:
            if not skipping:
                yield whole if len(whole) <= LONGEST_LINE else None
            skipping = False
        line = rest
        if len(line) > LONGEST_LINE:
            if not skipping:
                yield None
            line, skipping = b"", True
    if line and not skipping:
        yield line


def standard_input() -> Callable[[], Awaitable[bytes]]:
    """Start reading standard input in a thread; return a function that waits for its next piece.

    The thread reads below Python's buffers: if it still reads when the process ends, it must not hold their locks."""
    pieces: asyncio.Queue[bytes] = asyncio.Queue()
    free = threading.Semaphore(PIECES)
    loop = asyncio.get_running_loop()

    def read() -> None:
        piece = b"-"
        while piece:
            free.acquire()
            try:
                piece = os.read(0, PIECE)
            except OSError:  # closed
                piece = b""
            loop.call_soon_threadsafe(pieces.put_nowait, piece)

    async def next_piece() -> bytes:
        piece = await pieces.get()
        free.release()
        return piece

    threading.Thread(target=read, name="stdin", daemon=True).start()
    return next_piece
