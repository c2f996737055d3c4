"""Any OpenAI-compatible endpoint, through the ``openai`` SDK, which also repeats failed calls unchanged."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2
import openai

from pearl.chat.base import Chunk, Decoding, Message, Reply
from pearl.errors import (
    ChatError,
    ChatInterrupted,
    ChatRateLimited,
    ChatRefused,
    ChatRejected,
    ChatTimeout,
    ContextExceeded,
    InputError,
)
from pearl.records import Usage
from pearl.settings import Settings

PASSING = frozenset({408, 409, 425, 429})  # of the 4xx: what may be taken later
LONGEST_WAIT_S = 3600.0  # who is told to wait longer asks anew
CHECK_S = 3.0  # a probe of readiness waits no longer
ANSWERED = frozenset({"llm_not_found", "llm_rejected", "llm_rate_limited"})  # so the endpoint is there
BYTES_PER_TOKEN = 3  # real tokenizers average over 4 bytes of English; fewer of other scripts


class EndpointChatModel:
    """A model behind ``POST {base_url}/chat/completions``. Its tokenizer is unknown, so counts are estimates."""

    continues = False  # the protocol does not say what a last message of the assistant means

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = 60.0,
        max_retries: int = 2,
        context_tokens: int = 8192,
    ) -> None:
        self.name = model
        self.context_tokens = context_tokens
        self._timeout_s = timeout_s
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key or "none",  # local servers want no key, the SDK insists on one
            timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, 5.0)),
            max_retries=max_retries,
        )

    @classmethod
    def from_settings(cls, settings: Settings) -> EndpointChatModel:
        """Raises InputError when the model's name is missing."""
        if not settings.llm_model:
            raise InputError("PEARL_LLM_MODEL is not set: name the endpoint's model.", code="invalid_setting")
        return cls(
            model=settings.llm_model,
            base_url=settings.llm_base_url,
            api_key=settings.llm_api_key.get_secret_value() if settings.llm_api_key else None,
            timeout_s=settings.llm_timeout_s,
            max_retries=settings.llm_max_retries,
            context_tokens=settings.llm_context_tokens,
        )

    def count_tokens(self, text: str) -> int:
        return -(-len(text.encode()) // BYTES_PER_TOKEN)

    async def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        with _translated(self._timeout_s):
            # as plain objects: making the SDK's typed ones of them takes four times as long as all the rest
            chunks = await self._client.post(
                "/chat/completions",
                body=self._arguments(messages, decoding) | {"stream": True, "stream_options": {"include_usage": True}},
                cast_to=object,
                stream=True,
                stream_cls=openai.AsyncStream[object],
            )
        finish_reason, usage, readable = None, None, False
        # leaving this block early closes the connection, which tells the endpoint to stop
        async with chunks:
            with _translated(self._timeout_s, started=True):
                async for chunk in chunks:
                    readable = readable or "choices" in _fields(chunk)
                    usage = _usage(chunk) or usage
                    for choice in _fields(chunk).get("choices") or ():
                        finish_reason = _fields(choice).get("finish_reason") or finish_reason
                        delta = _fields(_fields(choice).get("delta"))
                        if delta.get("refusal"):
                            raise ChatRefused(f"The model '{self.name}' declined to answer.")
                        if delta.get("content"):
                            yield Chunk(str(delta["content"]))
        if not readable:
            raise _unreadable()
        if finish_reason is None:
            raise ChatInterrupted(f"The model '{self.name}' broke off before the end of its answer; try again.")
        yield Chunk(finish_reason=self._finish(finish_reason), usage=usage)

    async def answer(self, messages: Sequence[Message], decoding: Decoding) -> Reply:
        """The whole answer in one piece: of many calls at once, each costs us a fraction of a stream's."""
        with _translated(self._timeout_s):
            answer = _fields(
                await self._client.post("/chat/completions", body=self._arguments(messages, decoding), cast_to=object)
            )
        choices = answer.get("choices")
        choice = _fields(choices[0]) if isinstance(choices, list) and choices else {}
        message = _fields(choice.get("message"))
        if not message:
            raise _unreadable()
        if message.get("refusal"):
            raise ChatRefused(f"The model '{self.name}' declined to answer.")
        finish = self._finish(choice.get("finish_reason"))
        return Reply(str(message.get("content") or ""), finish, _usage(answer) or Usage())

    def _finish(self, reason: object) -> str:
        """Raises ChatRefused where a filter stopped it."""
        if reason == "content_filter":
            raise ChatRefused(f"A content filter stopped the model '{self.name}'.", code="llm_content_filter")
        return "length" if reason == "length" else "stop"

    def _arguments(self, messages: Sequence[Message], decoding: Decoding) -> dict[str, Any]:
        return {
            "model": self.name,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "max_tokens": decoding.max_tokens,
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            **({"stop": list(decoding.stop)} if decoding.stop else {}),
        }

    async def check(self) -> None:
        """Ask for the list of models, which costs nothing. An endpoint without such a list is fine, too.

        Raises ChatError where it cannot be reached, refuses our key, or fails.
        """
        patience = min(self._timeout_s, CHECK_S)
        try:
            with _translated(patience):
                await self._client.with_options(timeout=patience, max_retries=0).get("/models", cast_to=object)
        except ChatError as error:
            if error.code not in ANSWERED:
                raise

    async def close(self) -> None:
        await self._client.close()


def address(settings: Settings) -> str:
    """Where the calls go: without a setting the SDK follows OPENAI_BASE_URL, else its own default."""
    return settings.llm_base_url or str(openai.AsyncOpenAI(api_key="none").base_url).rstrip("/")


def _unreadable() -> ChatError:
    return ChatError(
        "The endpoint did not answer as the OpenAI API does; check PEARL_LLM_BASE_URL.", code="llm_unreadable"
    )


def _usage(chunk: object) -> Usage | None:
    usage = _fields(_fields(chunk).get("usage"))
    return Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))) if usage else None


def _count(value: object) -> int:
    """Some endpoints send 12.0, or null."""
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0


def _fields(value: object) -> dict[str, Any]:
    """An object as the endpoint sent it; whatever else stands in its place counts as an empty one."""
    return value if isinstance(value, dict) else {}


@contextmanager
def _translated(timeout_s: float, *, started: bool = False) -> Iterator[None]:
    try:
        yield
    except (openai.APITimeoutError, httpx2.TimeoutException) as error:
        raise ChatTimeout(
            f"The model did not answer within {timeout_s:g} s; try again or raise PEARL_LLM_TIMEOUT_S."
        ) from error
    except openai.RateLimitError as error:
        raise ChatRateLimited(
            "The model's endpoint is over its rate limit; wait and try again.", retry_after=_retry_after(error)
        ) from error
    except openai.APIStatusError as error:
        raise _explain_status(error) from error
    except (openai.OpenAIError, httpx2.HTTPError, ValueError) as error:
        if started:
            raise ChatInterrupted("The model's endpoint broke off in the middle of its answer; try again.") from error
        raise ChatError(
            "The model's endpoint cannot be reached; check PEARL_LLM_BASE_URL.", code="llm_unreachable"
        ) from error


def _explain_status(error: openai.APIStatusError) -> ChatError | ContextExceeded:
    # the endpoint's own words may quote the prompt, so they are not passed on
    if error.code == "context_length_exceeded":
        return ContextExceeded("The prompt does not fit the model's context; lower PEARL_LLM_CONTEXT_TOKENS.")
    if error.code == "content_filter":  # so Azure refuses a prompt, with status 400
        return ChatRefused("A content filter stopped the request; rephrase it.", code="llm_content_filter")
    if error.status_code in (401, 403):
        return ChatError("The model's endpoint refused our key; check PEARL_LLM_API_KEY.", code="llm_key_refused")
    if error.status_code == 404:
        return ChatError(
            "The endpoint does not know this model or path; check PEARL_LLM_MODEL and PEARL_LLM_BASE_URL.",
            code="llm_not_found",
        )
    if 400 <= error.status_code < 500 and error.status_code not in PASSING:
        return ChatRejected(
            f"The model's endpoint rejected this request with status {error.status_code}; change the request, or look "
            "in the endpoint's log for what it does not take."
        )
    return ChatError(f"The model's endpoint answered with status {error.status_code}; try again later.")


def _retry_after(error: openai.APIStatusError) -> float:
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return 1.0
    return min(max(1.0, seconds), LONGEST_WAIT_S) if math.isfinite(seconds) else 1.0
