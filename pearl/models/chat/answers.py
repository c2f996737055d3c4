"""Parsing of an endpoint's answers as they arrive; fields that do not have the documented types are ignored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pearl.errors import ChatError
from pearl.records import Usage

MOST_TOKENS = 1_000_000_000  # a greater count is not believed
REASONING_FIELDS = ("reasoning_content", "reasoning")  # where servers put what the model thinks


@dataclass(frozen=True, slots=True)
class Piece:
    """The parsed content of one streamed event, or of a whole answer."""

    text: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    choices: bool = False  # False if it has no field for an answer at all
    refused: bool = False
    reasons: bool = False  # True if it shows hidden reasoning


def read_piece(value: object, part: str) -> Piece:
    """Parse a streamed event (``part`` "delta") or a whole answer ("message"). Raises ChatError if it is malformed."""
    fields = _fields(value)
    choices = fields.get("choices")
    if not isinstance(choices, list | None):
        raise unreadable()
    # we ask for one answer; of several the first counts
    first = [candidate for candidate in map(_fields, choices or ()) if candidate.get("index") in (0, None)][:1]
    choice = first[0] if first else {}
    message = _fields(choice.get(part))
    finish = choice.get("finish_reason")
    thought = _fields(_fields(fields.get("usage")).get("completion_tokens_details")).get("reasoning_tokens")
    return Piece(
        _text(message.get("content")),
        finish if isinstance(finish, str) and finish else None,
        _usage(fields.get("usage")),
        choices="choices" in fields if part == "delta" else bool(message),
        refused=bool(message.get("refusal")),
        reasons=any(message.get(name) for name in REASONING_FIELDS) or _count(thought) > 0,
    )


def unreadable() -> ChatError:
    return ChatError(
        "The endpoint did not answer as the OpenAI API does; check PEARL_LLM_BASE_URL.", code="llm_unreadable"
    )


def _text(content: object) -> str:
    """The text of a content: a string, or a list of parts of which some are text."""
    if isinstance(content, list):
        parts = [part.get("text") for part in map(_fields, content) if part.get("type") in ("text", None)]
        return "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str | None):
        raise unreadable()
    return content or ""


def _usage(value: object) -> Usage | None:
    usage = _fields(value)
    return Usage(_count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))) if usage else None


def _count(value: object) -> int:
    """A number of tokens, 0 for what cannot be one. Some endpoints send 12.0, or null."""
    return int(value) if isinstance(value, int | float) and 0 <= value <= MOST_TOKENS else 0


def _fields(value: object) -> dict[str, Any]:
    """The object that the endpoint sent; an empty one for any other value."""
    return value if isinstance(value, dict) else {}
