"""Failures of an endpoint: the SDK's errors converted to ours, which quote the endpoint's own explanation."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import openai

from pearl.errors import (
    ChatError,
    ChatInterrupted,
    ChatRateLimited,
    ChatRefused,
    ChatRejected,
    ChatTimeout,
    ContextExceeded,
)
from pearl.models.chat.base import Message
from pearl.text.shown_urls import distrusted

PASSING = frozenset({408, 409, 425, 429})  # of the 4xx: what may be taken later
LONGEST_WAIT_S = 3600.0  # longer waits are cut to it
SENTENCE_CHARACTERS = 300
QUOTED_CHARACTERS = 16  # of a prompt in an endpoint's sentence that count as a quotation
DEPTH = 5  # of an error's body; real ones have three levels
TOO_LONG = re.compile(
    r"(context|prompt|input).{0,40}(length|window|too (long|large)|exceed)|too many (input )?tokens", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Complaint:
    """The content of an error's body: its sentence, the fields it names, its codes and types."""

    sentence: str = ""
    fields: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()

    @property
    def too_long(self) -> bool:
        """True if the complaint is that the prompt does not fit the model's context."""
        return "context_length_exceeded" in self.kinds or TOO_LONG.search(self.sentence) is not None


@contextmanager
def translated(silence_s: float, messages: Sequence[Message] = (), *, started: bool = False) -> Iterator[None]:
    """Turn the SDK's errors into ours. ``messages`` are the prompt, which no error message may quote."""
    try:
        yield
    except TimeoutError as error:  # asyncio's: the time for the whole draft is up
        raise ChatTimeout(
            "The model did not finish within the time allowed for a draft; raise PEARL_LLM_BUDGET_S, or lower "
            "PEARL_MAX_DRAFT_TOKENS."
        ) from error
    except (openai.APITimeoutError, httpx2.TimeoutException) as error:
        raise ChatTimeout(
            f"The model did not answer within {silence_s:g} s; try again or raise PEARL_LLM_TIMEOUT_S."
        ) from error
    except openai.APIStatusError as error:
        raise _explain(error, messages) from error
    except (openai.OpenAIError, httpx2.HTTPError, ValueError, RecursionError) as error:
        if isinstance(error.__cause__, ChatError):  # of our own wire, wrapped by the SDK
            raise error.__cause__ from error
        if started:
            raise ChatInterrupted("The model's endpoint broke off in the middle of its answer; try again.") from error
        if reason := distrusted(error):
            raise ChatError(
                f"The certificate of the model's endpoint is not trusted ({reason}): renew it, or, if it is your own, "
                "name the file of its authority in SSL_CERT_FILE.",
                code="llm_untrusted",
            ) from error
        raise ChatError(
            "The model's endpoint cannot be reached; check PEARL_LLM_BASE_URL.", code="llm_unreachable"
        ) from error


def complaint_of(error: BaseException | None) -> Complaint:
    """Read the complaint in an HTTP error's body, whatever its shape; empty if nothing is readable."""
    if not isinstance(error, openai.APIStatusError):
        return Complaint()
    sentences: list[str] = []
    fields: set[str] = set()
    kinds: set[str] = set()

    def read(value: Any, depth: int) -> None:
        if isinstance(value, str) and not value.lstrip().startswith("<"):
            sentences.append(value)
        elif isinstance(value, list) and depth < DEPTH:
            for item in value[:DEPTH]:
                read(item, depth + 1)
        elif isinstance(value, dict) and depth < DEPTH:
            path = [step for step in _listed(value.get("loc")) if isinstance(step, str)]
            fields.update(path, (name for name in (value.get("param"),) if isinstance(name, str)))
            kinds.update(kind for name in ("code", "type") if isinstance(kind := value.get(name), str))
            if path:
                sentences.append(f"{'.'.join(path)}:")
            for name in ("error", "message", "msg", "detail", "errors"):
                read(value.get(name), depth + 1)

    read(error.body, 0)
    sentence = "".join(
        character if character.isprintable() else " " for character in " ".join(sentences)[: 4 * SENTENCE_CHARACTERS]
    )
    sentence = " ".join(sentence.split())
    if len(sentence) > SENTENCE_CHARACTERS:
        sentence = sentence[: SENTENCE_CHARACTERS - 1] + "…"
    return Complaint(sentence, frozenset(fields), frozenset(kinds))


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _explain(error: openai.APIStatusError, messages: Sequence[Message]) -> ChatError | ContextExceeded:
    complaint, status = complaint_of(error), error.status_code
    words = _quotable(complaint.sentence, messages)
    quotation = f" It says: {words}" if words else ""
    wait = asked_to_wait(error)
    if status == 429:
        again = "wait and try again."
        return ChatRateLimited(
            f"The model's endpoint is over its rate limit; {again}{quotation}", retry_after=max(1.0, wait or 1.0)
        )
    if 400 <= status < 500 and complaint.too_long:
        return ContextExceeded("The prompt does not fit the model's context; lower PEARL_LLM_CONTEXT_TOKENS.")
    if "content_filter" in complaint.kinds:  # so Azure refuses a prompt, with status 400
        return ChatRefused("A content filter stopped the request; rephrase it.", code="llm_content_filter")
    if status in (401, 403):  # without its words, which may hold a part of the key
        return ChatError("The model's endpoint refused our key; check PEARL_LLM_API_KEY.", code="llm_key_refused")
    if status in (404, 501):  # 501: it has no such route, so the same again would not help
        return ChatError(
            f"The endpoint does not know this model or path; check PEARL_LLM_MODEL and PEARL_LLM_BASE_URL.{quotation}",
            code="llm_not_found",
        )
    if 300 <= status < 400:
        return ChatError(
            f"The model's endpoint redirects to another address (status {status}), and redirects are not followed; set "
            "PEARL_LLM_BASE_URL to the address that answers itself.",
            code="llm_redirected",
        )
    if 400 <= status < 500 and status not in PASSING:
        return ChatRejected(
            f"The model's endpoint rejected this request with status {status}; change the request, or look in the "
            f"endpoint's log for what it does not take.{quotation}"
        )
    return ChatError(
        f"The model's endpoint answered with status {status}; try again later.{quotation}", retry_after=wait
    )


def _quotable(sentence: str, messages: Sequence[Message]) -> str:
    """The endpoint's sentence in quotation marks; nothing where it quotes the prompt, which no error may hold."""
    if not sentence:
        return ""
    folded = sentence.casefold()
    pieces = [folded[at : at + QUOTED_CHARACTERS] for at in range(len(folded) - QUOTED_CHARACTERS + 1)]
    for message in messages:
        text = " ".join(message.content.split()).casefold()
        if (text and text in folded) or any(piece in text for piece in pieces):
            return ""
    return f'"{sentence}"'


def asked_to_wait(error: BaseException | None) -> float | None:
    """Return the seconds that the header ``retry-after`` asks to wait; None if it does not."""
    if not isinstance(error, openai.APIStatusError):
        return None
    header = error.response.headers.get("retry-after", "")
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return min(max(0.0, seconds), LONGEST_WAIT_S) if math.isfinite(seconds) else None
