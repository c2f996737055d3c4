"""``POST /v1/responses``: the same as ``/v1/chat/completions``, in OpenAI's newer format, without its memory.

Each call brings its whole conversation in ``input``: the server keeps none, so nothing can be fetched or continued by
an answer's id. That id is the draft's, for feedback.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from pearl.records import Draft
from service.drafting.drafter import Delta
from service.http.api import openai_calls as calls
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.fields import MaybeEmptyText, Text
from service.http.api.openai_fields import STATE, TEXT_FORMAT, UNUSED, describe, passed_over, refuse_state
from service.http.api.streaming import event, streams
from service.store.ids import new_id

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"], route_class=KeyedRoute)

MESSAGE = "message"
# of a dozen tools, and more to come
BESIDE = re.compile(r"reasoning|compaction|mcp_[a-z_]{1,40}|[a-z_]{1,40}_(?:call|output)")
NO_MESSAGE = "Only messages can be read: PEARL calls no tools and keeps no conversation. Leave other items out."


class InputMessage(BaseModel):
    """A message of the conversation; the output of an earlier answer can be sent back as it came. Reasoning, tool calls
    and tool results are ignored, as `x-pearl-ignored` says: the answer that follows a tool call has its outcome."""

    @model_validator(mode="before")
    @classmethod
    def _is_message(cls, item: Any) -> Any:
        kind = item.get("type") if isinstance(item, dict) else None
        if kind in (None, MESSAGE):
            return item
        if isinstance(kind, str) and BESIDE.fullmatch(kind):
            return {"type": kind, "role": "assistant"}
        raise PydanticCustomError("unsupported", "{message}", {"message": NO_MESSAGE})

    type: str | None = Field(
        MESSAGE,
        description="The item's type.",
        examples=[MESSAGE],
        json_schema_extra={"pattern": f"^(?:{MESSAGE}|{BESIDE.pattern})$"},
    )
    role: Literal["system", "developer", "user", "assistant"] = Field(description="The speaker.", examples=["user"])
    content: calls.Content | None = Field(
        None, description="The message; one without content is passed over.", examples=[calls.REQUEST]
    )

    @property
    def is_message(self) -> bool:
        return self.type in (None, MESSAGE)

    def turn(self) -> tuple[calls.Speaker, str]:
        if not self.is_message:
            return "tools", ""
        return "system" if self.role == "developer" else self.role, calls.text_of(self.content)


class TextOptions(BaseModel):
    """Options of the text."""

    format: dict[str, Any] | None = Field(
        None, description="Must be a text.", examples=[{"type": "text"}], json_schema_extra=TEXT_FORMAT
    )
    verbosity: str | None = Field(None, description="Passed over.", examples=[None])


class ResponseIn(calls.CallIn):
    """The fields of OpenAI's API that have a meaning here. Other fields are ignored; `x-pearl-ignored` names those that
    would have changed the answer. A call that asks for more than a text, or needs a memory, is refused. Tools that the
    client would run are ignored; tools that OpenAI's server would run are refused."""

    model_config = ConfigDict(json_schema_extra=describe(UNUSED | STATE))

    input: Annotated[
        Annotated[Text, Tag("(text)")]
        | Annotated[list[InputMessage], Tag("(parts)"), Field(min_length=1, json_schema_extra=calls.HAS_A_REQUEST)],
        Discriminator(calls.shape),
    ] = Field(
        description="The request; or messages, of which the user's last one is the request, with the earlier ones that "
        "it follows up on. Those of the `system` and the `developer` are instructions wherever they stand.",
        examples=[calls.REQUEST],
    )
    instructions: Annotated[MaybeEmptyText | None, calls.INSTRUCTIONS] = None
    max_output_tokens: calls.MaxTokens = None
    text: TextOptions | None = Field(None, description="Options of the text.", examples=[None])
    store: bool | None = Field(
        None, description="Passed over: the draft is recorded, the answer is not.", examples=[False]
    )

    def call(self) -> calls.OpenAICall:
        """Convert the body to a call. Raises InputError for what is not supported."""
        fields, text = self.model_extra or {}, self.text or TextOptions.model_construct()
        refuse_state(fields)
        system: list[tuple[calls.Speaker, str]] = [("system", self.instructions)] if self.instructions else []
        given = self.input
        items = [InputMessage(type=MESSAGE, role="user", content=given)] if isinstance(given, str) else given
        return calls.OpenAICall(
            model=self.model,
            turns=[*system, *(item.turn() for item in items)],
            messages="input",
            most_tokens=self.max_output_tokens,
            limit="max_output_tokens",
            sampling=self,
            stream=self.stream,
            ignored=[
                *passed_over({**fields, "text.format": text.format, "verbosity": text.verbosity}),
                *dict.fromkeys(f"input.{item.type}" for item in items if not item.is_message),
                *calls.unread("input", [(item.role, item.content) for item in items]),
            ],
        )


DELTA = 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"Hello"}\n\n'


@router.post("/responses", summary="Draft through OpenAI's newer API", **streams(DELTA))
async def create_response(request: Request, services: ServicesDep, caller: Caller, body: ResponseIn) -> calls.Answer:
    """Write a draft as `POST /v1/chat/completions` does, in OpenAI's newer format and without its memory: each call
    brings its whole conversation in `input`.

    A stream has OpenAI's events, from `response.created` to `response.completed` or `response.incomplete`. A stream
    that fails ends with `error`."""
    return await calls.answer(request, services, caller, body.call(), partial(_Response, body=body))


@dataclass
class _Response(calls.Shape):
    body: ResponseIn

    def __post_init__(self) -> None:
        self._item = new_id("msg")
        self._numbers = count()
        self._begun = {
            "id": self.id,
            "object": "response",
            "created_at": int(time.time()),
            "status": "in_progress",
            "incomplete_details": None,
            "error": None,
            "model": self.model,
            "instructions": self.body.instructions,
            "max_output_tokens": self.body.max_output_tokens,
            "temperature": self.body.temperature or 0.0,
            "top_p": 1.0 if self.body.top_p is None else self.body.top_p,
            "output": [],
            "usage": None,
            "tools": [],
            "tool_choice": "none",
            "parallel_tool_calls": False,
            "store": False,
            "metadata": None,
            "pearl": None,
        }

    def whole(self, draft: Draft) -> dict[str, Any]:
        message = self._message(draft)
        return self._begun | {
            "status": message["status"],
            "incomplete_details": {"reason": "max_output_tokens"} if message["status"] == "incomplete" else None,
            "output": [message],
            "usage": {
                "input_tokens": draft.usage.prompt_tokens,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": draft.usage.completion_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": draft.usage.total_tokens,
            },
            "pearl": calls.evidence_of(draft),
        }

    def opening(self) -> Iterator[bytes]:
        yield self._event("response.created", response=self._begun)
        yield self._event("response.in_progress", response=self._begun)
        yield self._event("response.output_item.added", output_index=0, item=self._message())
        yield self._of_part("response.content_part.added", part=_part(""))

    def piece(self, delta: Delta) -> Iterator[bytes]:
        yield self._of_part("response.output_text.delta", delta=delta.text, logprobs=[])

    def closing(self, draft: Draft) -> Iterator[bytes]:
        message = self._message(draft)
        (part,) = message["content"]
        yield self._of_part("response.output_text.done", text=part["text"], logprobs=[])
        yield self._of_part("response.content_part.done", part=part)
        yield self._event("response.output_item.done", output_index=0, item=message)
        yield self._event(f"response.{message['status']}", response=self.whole(draft))

    def failed(self, error: dict[str, Any]) -> bytes:
        # flat, as OpenAI describes it, and in `error`, where its clients look for it
        return self._event("error", **{**error["error"], **error})

    def _message(self, draft: Draft | None = None) -> dict[str, Any]:
        """Make the only item of an answer, before or after its draft is written."""
        status, parts = "in_progress", []
        if draft is not None:
            status = "incomplete" if draft.finish_reason == "length" else "completed"
            parts = [_part(calls.content(draft))]
        return {"id": self._item, "type": "message", "role": "assistant", "status": status, "content": parts}

    def _of_part(self, name: str, **fields: Any) -> bytes:
        return self._event(name, output_index=0, item_id=self._item, content_index=0, **fields)

    def _event(self, name: str, /, **fields: Any) -> bytes:
        return event(fields | {"type": name, "sequence_number": next(self._numbers)}, name)


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
