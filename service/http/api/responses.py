"""``POST /v1/responses``: OpenAI's newer shape of the same call as ``/v1/chat/completions``, without its memory.

The conversation is the caller's: each call brings all of it in ``input``, and nothing can be fetched or continued by
an answer's id, which is the draft's, for feedback.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from functools import partial
from itertools import count
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from pearl.models.chat.base import Role
from pearl.records import Draft
from service.drafting.drafter import Retrieved
from service.http.api import openai_calls as calls
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.drafts import whole
from service.http.api.fields import Limit, MaybeEmptyText, Text
from service.http.api.openai_fields import STATE, TEXT_FORMAT, UNUSED, describe, passed_over, refuse_state
from service.http.api.streaming import EventStream, event
from service.store.ids import new_id

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"], route_class=KeyedRoute)

MESSAGE = "message"
# of a dozen tools, and more to come
BESIDE = re.compile(r"reasoning|compaction|mcp_[a-z_]{1,40}|[a-z_]{1,40}_(?:call|output)")
NO_MESSAGE = "Only messages can be read: PEARL calls no tools and keeps no conversation. Leave other items out."
REQUEST = "Tomas asks to swap his Saturday"


class InputMessage(BaseModel):
    """A message of the conversation; an earlier answer's output can be given back as it came. Its reasoning, calls of
    tools and their results are passed over, as `x-pearl-ignored` says: what came of them stands in the answer."""

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
        None, description="The message; one without content is passed over.", examples=[REQUEST]
    )


class TextOptions(BaseModel):
    """Options of the text."""

    format: dict[str, Any] | None = Field(
        None, description="Must be a text.", examples=[{"type": "text"}], json_schema_extra=TEXT_FORMAT
    )
    verbosity: str | None = Field(None, description="Passed over.", examples=[None])


class ResponseIn(calls.CallIn):
    """The fields of OpenAI's API that make sense here. Others are passed over, and `x-pearl-ignored` names those that
    would have changed the answer; what a text cannot answer, or needs a memory, is refused. Tools that the caller
    would run are passed over, for the model may leave them uncalled; tools that OpenAI's server would run are
    refused."""

    model_config = ConfigDict(json_schema_extra=describe(UNUSED | STATE))

    input: Annotated[
        Annotated[Text, Tag("(text)")]
        | Annotated[list[InputMessage], Tag("(parts)"), Field(min_length=1, json_schema_extra=calls.HAS_A_REQUEST)],
        Discriminator(calls.shape),
    ] = Field(
        description="The request; or messages, of which the user's last one is the request, with the earlier ones that "
        "it follows up on. Those of the `system` and the `developer` are instructions wherever they stand.",
        examples=[REQUEST],
    )
    instructions: MaybeEmptyText | None = Field(
        None, description="Instructions; they outrank the learned style.", examples=["At most five lines."]
    )
    max_output_tokens: Limit | None = Field(
        None, description="Longest draft, tokens; at most half the model's context is used.", examples=[400]
    )
    text: TextOptions | None = Field(None, description="Options of the text.", examples=[None])
    store: bool | None = Field(
        None, description="Passed over: the draft is recorded, the answer is not.", examples=[False]
    )

    def call(self) -> calls.OpenAICall:
        """Convert the body to a call. Raises InputError for what is not supported."""
        fields, text = self.model_extra or {}, self.text or TextOptions.model_construct()
        refuse_state(fields)
        turns: list[tuple[calls.Speaker, str]] = [("system", self.instructions)] if self.instructions else []
        beside: dict[str, None] = {}
        if isinstance(self.input, str):
            turns.append(("user", self.input))
        else:
            for message in self.input:
                if message.type not in (None, MESSAGE):
                    beside[f"input.{message.type}"] = None
                    turns.append(("tools", ""))
                    continue
                role: Role = "system" if message.role == "developer" else message.role
                turns.append((role, calls.text_of(message.content)))
        return calls.OpenAICall(
            model=self.model,
            turns=turns,
            messages="input",
            most_tokens=self.max_output_tokens,
            limit="max_output_tokens",
            temperature=self.temperature,
            top_p=self.top_p,
            ignored=[
                *passed_over({**fields, "text.format": text.format, "verbosity": text.verbosity}),
                *beside,
                *calls.unread(
                    "input", [] if isinstance(self.input, str) else [(each.role, each.content) for each in self.input]
                ),
            ],
        )


DELTA = 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"Hello"}\n\n'


@router.post(
    "/responses",
    summary="Draft through OpenAI's newer API",
    response_model=dict[str, Any],
    responses={200: {"content": {"text/event-stream": {"example": DELTA}}}},
)
async def create_response(
    request: Request, services: ServicesDep, caller: Caller, body: ResponseIn
) -> Response | dict[str, Any]:
    """Run the pipeline of `POST /v1/chat/completions`, in OpenAI's newer shape and without its memory: each call
    brings its conversation in `input`.

    A stream has OpenAI's events, from `response.created` to `response.completed` or `response.incomplete`; one that
    fails ends with `error`."""
    model, events = await calls.begin(request, services, caller.user, body.call())
    if body.stream:
        first, numbered = await anext(events), partial(_numbered, count())
        assert isinstance(first, Retrieved)
        answer = _begun(body, model, first.draft_id)
        return EventStream(
            _events(answer, calls.pieces(events, services.metrics), numbered),
            # flat, as OpenAI describes it, and in `error`, where its clients look for it
            failed=lambda error: numbered("error", **{**error["error"], **error}),
        )
    draft = await whole(request, events, services.metrics)
    return _finished(_begun(body, model, draft.id), _message(new_id("msg"), draft), draft)


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _message(id: str, draft: Draft | None = None) -> dict[str, Any]:
    """The one item of an answer, before its draft is there or with it."""
    status, parts = "in_progress", []
    if draft is not None:
        status = "incomplete" if draft.finish_reason == "length" else "completed"
        parts = [_part(calls.content(draft))]
    return {"id": id, "type": "message", "role": "assistant", "status": status, "content": parts}


def _begun(body: ResponseIn, model: str, draft_id: str) -> dict[str, Any]:
    return {
        "id": draft_id,
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "incomplete_details": None,
        "error": None,
        "model": model,
        "instructions": body.instructions,
        "max_output_tokens": body.max_output_tokens,
        "temperature": body.temperature or 0.0,
        "top_p": 1.0 if body.top_p is None else body.top_p,
        "output": [],
        "usage": None,
        "tools": [],
        "tool_choice": "none",
        "parallel_tool_calls": False,
        "store": False,
        "metadata": None,
        "pearl": None,
    }


def _finished(answer: dict[str, Any], message: dict[str, Any], draft: Draft) -> dict[str, Any]:
    return answer | {
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


def _numbered(numbers: Iterator[int], name: str, /, **fields: Any) -> bytes:
    return event(fields | {"type": name, "sequence_number": next(numbers)}, name)


async def _events(
    answer: dict[str, Any], text: AsyncGenerator[str | Draft, None], numbered: Callable[..., bytes]
) -> AsyncGenerator[bytes, None]:
    message = _message(new_id("msg"))
    of_item = partial(numbered, output_index=0)
    of_part = partial(numbered, output_index=0, item_id=message["id"], content_index=0)
    yield numbered("response.created", response=answer)
    yield numbered("response.in_progress", response=answer)
    yield of_item("response.output_item.added", item=message)
    yield of_part("response.content_part.added", part=_part(""))
    async with aclosing(text):
        async for item in text:
            if isinstance(item, str):
                yield of_part("response.output_text.delta", delta=item, logprobs=[])
            else:
                message = _message(message["id"], item)
                (part,) = message["content"]
                yield of_part("response.output_text.done", text=part["text"], logprobs=[])
                yield of_part("response.content_part.done", part=part)
                yield of_item("response.output_item.done", item=message)
                yield numbered(f"response.{message['status']}", response=_finished(answer, message, item))
