"""Any OpenAI-compatible endpoint, through the ``openai`` SDK."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

import openai

from pearl.errors import ChatError, ChatInterrupted, ChatRefused, ChatRejected, InputError
from pearl.models.chat.answers import Piece, read_piece, unreadable
from pearl.models.chat.base import Chunk, Decoding, Message, Reply, gathered
from pearl.models.chat.dialect import Dialect
from pearl.models.chat.failures import asked_to_wait, complaint_of, translated
from pearl.models.chat.wire import PLAIN, Calls, Events, http_client
from pearl.records import Usage
from pearl.settings import MAX_RETRIES, Settings
from pearl.text.shown_urls import without_secrets

log = logging.getLogger("pearl.models.chat")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0  # before a failed call is repeated, where the endpoint does not say
CONTEXT_TOKENS = 8192
REPEATED = frozenset({"llm_error", "llm_rate_limited", "llm_unreachable"})
CHECK_S = 3.0  # a probe of readiness waits no longer
ANSWERED = frozenset({"llm_not_found", "llm_rejected", "llm_rate_limited"})  # so the endpoint is there
GRACE_S = 2.0  # for the usage, which comes after the end of the answer
BYTES_PER_TOKEN = 3  # real tokenizers average over 4 bytes of English; fewer of other scripts
THINKING = "<think>"  # how open models begin to reason within their answer


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on an endpoint's response time and on the length of its answers."""

    silence_s: float = 45.0
    budget_s: float = 55.0
    characters: int = 100_000  # of an answer that ignores its number of tokens; it is cut there
    reasoning_tokens: int = 8192


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """The response to a call that succeeded."""

    received: object  # the events of a stream, or a whole answer
    room: int  # tokens it had for reasoning


class EndpointChatModel:
    """A model behind ``POST {base_url}/chat/completions``. Its tokenizer is unknown, so counts are estimates.

    Parameters that the model refuses are learned from its errors and left out from then on (`dialect`).
    """

    continues = False  # the protocol does not say what a last message of the assistant means

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        max_retries: int = MAX_RETRIES,
        context_tokens: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.name = model
        self.context_tokens = context_tokens or CONTEXT_TOKENS
        self.dialect = Dialect()
        self._limits = limits or Limits()
        self._max_retries = max_retries
        http = http_client(self._limits.silence_s)
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key or "none",  # local servers want no key, the SDK insists on one
            max_retries=0,  # the SDK would wait beyond our budget
            default_headers=PLAIN,
            http_client=http,
        )
        self._calls = Calls(self._client, http)

    @classmethod
    def from_settings(cls, settings: Settings) -> EndpointChatModel:
        """Make the model of the endpoint in the settings. Raises InputError when the model's name is missing."""
        if not settings.llm_model:
            raise InputError("PEARL_LLM_MODEL is not set: name the endpoint's model.", code="invalid_setting")
        return cls(
            model=settings.llm_model,
            base_url=settings.llm_base_url,
            api_key=settings.llm_api_key.get_secret_value() if settings.llm_api_key else None,
            max_retries=settings.llm_max_retries,
            context_tokens=settings.llm_context_tokens,
            limits=Limits(
                settings.llm_timeout_s, settings.llm_budget_s, reasoning_tokens=settings.llm_reasoning_tokens
            ),
        )

    def count_tokens(self, text: str) -> int:
        return -(-len(text.encode()) // BYTES_PER_TOKEN)

    def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        return self._answering(messages, decoding, stream=True)

    async def answer(self, messages: Sequence[Message], decoding: Decoding) -> Reply:
        """Return the whole answer, asked for without a stream: much cheaper when many calls run at once."""
        return await gathered(self._answering(messages, decoding, stream=False))

    async def _answering(
        self, messages: Sequence[Message], decoding: Decoding, *, stream: bool
    ) -> AsyncGenerator[Chunk, None]:
        """Yield the answer; ask again with more room if reasoning used up all tokens."""
        deadline = (time.monotonic() if decoding.began is None else decoding.began) + self._limits.budget_s
        while True:
            call = await self._call(messages, decoding, deadline, stream=stream)
            begun, starved = False, False
            async with aclosing(self._read(call.received, messages, deadline)) as chunks:
                async for chunk in chunks:
                    begun = begun or bool(chunk.text)
                    starved = not begun and chunk.finish_reason == "length"
                    if not starved:
                        yield chunk
            if not starved:
                return
            self._learn(replace(self.dialect, reasons=True))
            if self._room(messages, decoding) <= call.room:
                raise ChatRefused(
                    f"The model '{self.name}' used all its tokens before it began to answer; raise "
                    "PEARL_LLM_REASONING_TOKENS or PEARL_LLM_CONTEXT_TOKENS."
                )

    async def _call(
        self, messages: Sequence[Message], decoding: Decoding, deadline: float, *, stream: bool
    ) -> AnsweredCall:
        """Call until the endpoint accepts: drop the parameters that it refuses, and repeat after temporary failures."""
        tries = 0
        while True:
            dialect, room = self.dialect, self._room(messages, decoding)
            sent = dialect.body(self.name, messages, decoding, room, stream=stream)
            try:
                with translated(self._limits.silence_s, messages):
                    async with asyncio.timeout(deadline - time.monotonic()):
                        return AnsweredCall(await self._calls.post(sent), room)
            except ChatRejected as error:
                # each time a parameter less is sent, so this ends
                learned = dialect.after(complaint_of(error.__cause__), sent)
                if learned is None:
                    raise self._explained(error) from error.__cause__
                self._learn(learned)
            except ChatError as error:
                wait = asked_to_wait(error.__cause__)
                pause = _pause(tries) if wait is None else wait
                if error.code not in REPEATED or tries == self._max_retries or time.monotonic() + pause > deadline:
                    raise
                tries += 1
                await asyncio.sleep(pause)

    def _learn(self, learned: Dialect) -> None:
        """Add what was learned to the dialect, to which other calls may have added while this one ran."""
        known = self.dialect
        self.dialect = Dialect(known.refused | learned.refused, known.reasons or learned.reasons)
        if self.dialect != known:
            without = ", ".join(sorted(self.dialect.refused)) or "nothing"
            log.info("the model %s is asked without: %s; it reasons: %s", self.name, without, self.dialect.reasons)

    def _explained(self, error: ChatRejected) -> ChatRejected:
        without = ", ".join(sorted(self.dialect.refused))
        return ChatRejected(f"{error.message} It was asked without {without} already.") if without else error

    def _room(self, messages: Sequence[Message], decoding: Decoding) -> int:
        """Tokens for hidden reasoning. They must fit the context, unless the model refuses ``max_tokens``."""
        most = self._limits.reasoning_tokens if self.dialect.reasons else 0
        if self.dialect.limit != "max_tokens":
            return most
        return max(0, min(most, self.context_tokens - self._prompt_tokens(messages) - decoding.max_tokens))

    def _prompt_tokens(self, messages: Sequence[Message]) -> int:
        return sum(self.count_tokens(message.content) for message in messages)

    async def _read(
        self, received: object, messages: Sequence[Message], deadline: float
    ) -> AsyncGenerator[Chunk, None]:
        """Yield an answer's texts, one chunk for all that arrived together, and a last chunk with the finish reason."""
        written, finish, usage, readable = 0, None, None, False
        async with aclosing(self._pieces(received, messages, deadline)) as batches:
            async for batch in batches:
                texts = []
                for piece in batch:
                    readable = readable or piece.choices
                    usage = piece.usage or usage
                    if piece.refused:
                        raise ChatRefused(f"The model '{self.name}' declined to answer.")
                    if piece.reasons or (not written and piece.text.lstrip().startswith(THINKING)):
                        self._learn(replace(self.dialect, reasons=True))
                    texts.append(piece.text[: self._limits.characters - written])
                    written += len(texts[-1])
                    finish = piece.finish_reason or finish
                if text := "".join(texts):
                    yield Chunk(text)
                if written == self._limits.characters:
                    finish, usage = "length", Usage(self._prompt_tokens(messages), written // BYTES_PER_TOKEN)
                    break
        if not readable:
            raise unreadable()
        if finish is None:
            raise ChatInterrupted(f"The model '{self.name}' broke off before the end of its answer; try again.")
        if finish == "content_filter":
            raise ChatRefused(f"A content filter stopped the model '{self.name}'.", code="llm_content_filter")
        yield Chunk(finish_reason="length" if finish == "length" else "stop", usage=usage)

    async def _pieces(
        self, received: object, messages: Sequence[Message], deadline: float
    ) -> AsyncGenerator[list[Piece], None]:
        """Yield the events as they arrive, or the whole answer. Closing the iterator early closes the connection, which
        tells the endpoint to stop."""
        if not isinstance(received, Events):
            piece = read_piece(received, "message")
            yield [piece if piece.finish_reason or not piece.choices else replace(piece, finish_reason="stop")]
            return
        ended = False
        async with aclosing(received):
            with translated(self._limits.silence_s, messages, started=True):
                while True:
                    patience = deadline - time.monotonic()
                    if patience <= 0:
                        raise TimeoutError
                    try:
                        async with asyncio.timeout(min(patience, GRACE_S) if ended else patience):
                            events = await anext(received)
                    except StopAsyncIteration:
                        return
                    except Exception:
                        if ended:  # the answer is whole, only its usage is missing
                            return
                        raise
                    batch = []
                    for event in events:
                        piece = read_piece(event, "delta")
                        batch.append(replace(piece, text="") if ended else piece)
                        ended = ended or piece.finish_reason is not None
                    yield batch

    async def check(self) -> None:
        """Ask for the list of models, which costs nothing; an endpoint that has no such list passes, too.

        Raises ChatError when the endpoint cannot be reached, refuses our key, or fails.
        """
        patience = min(self._limits.silence_s, CHECK_S)
        try:
            with translated(patience):
                async with asyncio.timeout(2 * patience):
                    await self._client.with_options(timeout=patience).get("/models", cast_to=object)
        except ChatError as error:
            if error.code not in ANSWERED:
                raise

    async def close(self) -> None:
        await self._client.close()


def address(settings: Settings) -> str:
    """Return the endpoint's address without secrets. If the settings name no address, it is OPENAI_BASE_URL, or the
    SDK's default."""
    return without_secrets(settings.llm_base_url or str(openai.AsyncOpenAI(api_key="none").base_url).rstrip("/"))


def _pause(tries: int) -> float:
    return min(FIRST_PAUSE_S * 2.0**tries, LONGEST_PAUSE_S) * random.uniform(0.75, 1)
