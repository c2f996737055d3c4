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
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from pearl.chat.base import Role
from pearl.records import Draft
from service.api.bodies import KeyedRoute
from service.api.dependencies import Caller, ServicesDep
from service.api.drafts import whole
from service.api.fields import Limit, MaybeEmptyText, Text
from service.api.openai_calls import (
    HAS_A_REQUEST,
    MODEL,
    Content,
    ModelId,
    OpenAICall,
    Speaker,
    begin,
    content,
    evidence_of,
    pieces,
    shape,
    text_of,
    unread,
)
from service.api.openai_fields import STATE, TEXT_FORMAT, UNUSED, describe, passed_over, refuse_state
from service.api.streaming import EventStream, event
from service.drafting.drafter import Retrieved
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
    content: Content | None = Field(
        None, description="The message; one without content is passed over.", examples=[REQUEST]
    )


class TextOptions(BaseModel):
    """Options of the text."""

    format: dict[str, Any] | None = Field(
        None, description="Must be a text.", examples=[{"type": "text"}], json_schema_extra=TEXT_FORMAT
    )
    verbosity: str | None = Field(None, description="Passed over.", examples=[None])


class ResponseIn(BaseModel):
    """The fields of OpenAI's API that make sense here. Others are passed over, and `x-pearl-ignored` names those that
    would have changed the answer; what a text cannot answer, or needs a memory, is refused. Tools that the caller
    would run are passed over, for the model may leave them uncalled; tools that OpenAI's server would run are
    refused."""

    model_config = ConfigDict(extra="allow", json_schema_extra=describe(UNUSED | STATE))

    model: ModelId = Field(None, description=MODEL, examples=["email"])
    input: Annotated[
        Annotated[Text, Tag("(text)")]
        | Annotated[list[InputMessage], Tag("(parts)"), Field(min_length=1, json_schema_extra=HAS_A_REQUEST)],
        Discriminator(shape),
    ] = Field(
        description="The request; or messages, of which the user's last one is the request, with the earlier ones that "
        "it follows up on. Those of the `system` and the `developer` are instructions wherever they stand.",
        examples=[REQUEST],
    )
    instructions: MaybeEmptyText | None = Field(
        None, description="Instructions; they outrank the learned style.", examples=["At most five lines."]
    )
    stream: bool | None = Field(False, description="Server-sent events.", examples=[False])
    max_output_tokens: Limit | None = Field(
        None, description="Longest draft, tokens; at most half the model's context is used.", examples=[400]
    )
    temperature: float | None = Field(None, ge=0, le=2, description="0 by default: the likeliest text.", examples=[0])
    top_p: float | None = Field(None, ge=0, le=1, description="Nucleus sampling.", examples=[1])
    text: TextOptions | None = Field(None, description="Options of the text.", examples=[None])
    store: bool | None = Field(
        None, description="Passed over: the draft is recorded, the answer is not.", examples=[False]
    )

    def call(self) -> OpenAICall:
        """Convert the body to a call. Raises InputError for what is not supported."""
        fields, text = self.model_extra or {}, self.text or TextOptions.model_construct()
        refuse_state(fields)
        turns: list[tuple[Speaker, str]] = [("system", self.instructions)] if self.instructions else []
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
                turns.append((role, text_of(message.content)))
        return OpenAICall(
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
                *unread(
                    "input", [] if isinstance(self.input, str) else [(each.role, each.content) for each in self.input]
                ),
            ],
        )


class OutputPart(BaseModel):
    """The text of the answer."""

    type: Literal["output_text"] = Field(description="Always `output_text`.")
    text: str = Field(description="The draft.", examples=["Kettle's on. Yes, swap with Bea."])
    annotations: list[Any] = Field(description="Always empty.", examples=[[]])
    logprobs: list[Any] = Field(description="Always empty.", examples=[[]])

    @classmethod
    def of(cls, text: str) -> Self:
        return cls(type="output_text", text=text, annotations=[], logprobs=[])


class OutputMessage(BaseModel):
    """The one item of an answer."""

    id: str = Field(description="The message's id.", examples=["msg_0192f0c4b1aa7d0e5c2f9b1c"])
    type: Literal["message"] = Field(description="Always `message`.")
    role: Literal["assistant"] = Field(description="Always `assistant`.")
    status: Literal["in_progress", "completed", "incomplete"] = Field(
        description="The answer's.", examples=["completed"]
    )
    content: list[OutputPart] = Field(description="Exactly one.", examples=[[]])

    @classmethod
    def begun(cls) -> Self:
        return cls(id=new_id("msg"), type="message", role="assistant", status="in_progress", content=[])

    def finished(self, draft: Draft) -> Self:
        status = "incomplete" if draft.finish_reason == "length" else "completed"
        return self.model_copy(update={"status": status, "content": [OutputPart.of(content(draft))]})


class ResponseUsageOut(BaseModel):
    """Tokens of the chat model, revision and candidates included; 0 where its endpoint does not say."""

    input_tokens: int = Field(examples=[745], description="Tokens read.")
    input_tokens_details: dict[str, int] = Field(
        examples=[{"cached_tokens": 0, "cache_write_tokens": 0}], description="Not counted: zeros."
    )
    output_tokens: int = Field(examples=[115], description="Tokens written.")
    output_tokens_details: dict[str, int] = Field(examples=[{"reasoning_tokens": 0}], description="Not counted: zeros.")
    total_tokens: int = Field(examples=[860], description="Both.")


class ResponseOut(BaseModel):
    """An answer as OpenAI's API gives it, with the evidence beside it."""

    id: str = Field(description="Also the draft's id, for feedback.", examples=["draft_0192f0c4b1aa7d0e5c2f9b1c"])
    object: Literal["response"] = Field(description="Always `response`.")
    created_at: int = Field(description="Unix seconds.", examples=[1772357400])
    status: Literal["in_progress", "completed", "incomplete"] = Field(
        description="`incomplete`: cut off at `max_output_tokens`; `in_progress` only in a stream.",
        examples=["completed"],
    )
    incomplete_details: dict[str, str] | None = Field(
        description="The reason of an incomplete answer.", examples=[{"reason": "max_output_tokens"}]
    )
    error: None = Field(description="Never set; a refusal is an error.", examples=[None])
    model: str = Field(description="The model asked for.", examples=["email"])
    instructions: str | None = Field(description="The instructions given.", examples=["At most five lines."])
    max_output_tokens: int | None = Field(description="The limit given.", examples=[400])
    temperature: float = Field(description="The temperature used.", examples=[0])
    top_p: float = Field(description="The share of the probability sampled from.", examples=[1])
    output: list[OutputMessage] = Field(description="Exactly one message.", examples=[[]])
    usage: ResponseUsageOut | None = Field(description="Null while in progress.", examples=[None])
    tools: list[Any] = Field(description="Always empty.", examples=[[]])
    tool_choice: Literal["none"] = Field(description="Always `none`.")
    parallel_tool_calls: Literal[False] = Field(description="Always false.")
    store: Literal[False] = Field(description="Always false: no answer can be fetched again.")
    metadata: None = Field(description="Never kept.", examples=[None])
    pearl: dict[str, Any] | None = Field(
        description="`stage`, `retrieval`, `calibration` and `claims` as in `POST /v1/drafts`; null while in progress.",
        examples=[{"stage": "draft"}],
    )

    @classmethod
    def begun(cls, body: ResponseIn, model: str, draft_id: str) -> Self:
        return cls(
            id=draft_id,
            object="response",
            created_at=int(time.time()),
            status="in_progress",
            incomplete_details=None,
            error=None,
            model=model,
            instructions=body.instructions,
            max_output_tokens=body.max_output_tokens,
            temperature=body.temperature or 0.0,
            top_p=1.0 if body.top_p is None else body.top_p,
            output=[],
            usage=None,
            tools=[],
            tool_choice="none",
            parallel_tool_calls=False,
            store=False,
            metadata=None,
            pearl=None,
        )

    def finished(self, draft: Draft, message: OutputMessage) -> Self:
        usage = ResponseUsageOut(
            input_tokens=draft.usage.prompt_tokens,
            input_tokens_details={"cached_tokens": 0, "cache_write_tokens": 0},
            output_tokens=draft.usage.completion_tokens,
            output_tokens_details={"reasoning_tokens": 0},
            total_tokens=draft.usage.total_tokens,
        )
        reason = {"reason": "max_output_tokens"} if message.status == "incomplete" else None
        return self.model_copy(
            update={
                "status": message.status,
                "incomplete_details": reason,
                "output": [message],
                "usage": usage,
                "pearl": evidence_of(draft),
            }
        )


DELTA = 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"Hello"}\n\n'


@router.post(
    "/responses",
    summary="Draft through OpenAI's newer API",
    response_model=ResponseOut,
    responses={200: {"content": {"text/event-stream": {"example": DELTA}}}},
)
async def create_response(
    request: Request, services: ServicesDep, caller: Caller, body: ResponseIn
) -> Response | ResponseOut:
    """Run the pipeline of `POST /v1/chat/completions`, in OpenAI's newer shape and without its memory: each call
    brings its conversation in `input`.

    A stream has OpenAI's events, from `response.created` to `response.completed` or `response.incomplete`; one that
    fails ends with `error`."""
    model, events = await begin(request, services, caller.user, body.call())
    if body.stream:
        first, numbered = await anext(events), partial(_numbered, count())
        assert isinstance(first, Retrieved)
        answer = ResponseOut.begun(body, model, first.draft_id)
        return EventStream(
            _events(answer, pieces(events, services.metrics), numbered),
            # flat, as OpenAI describes it, and in `error`, where its clients look for it
            failed=lambda error: numbered("error", **{**error["error"], **error}),
        )
    draft = await whole(request, events, services.metrics)
    return ResponseOut.begun(body, model, draft.id).finished(draft, OutputMessage.begun().finished(draft))


def _numbered(numbers: Iterator[int], name: str, /, **fields: Any) -> bytes:
    return event(fields | {"type": name, "sequence_number": next(numbers)}, name)


async def _events(
    answer: ResponseOut, text: AsyncGenerator[str | Draft, None], numbered: Callable[..., bytes]
) -> AsyncGenerator[bytes, None]:
    message = OutputMessage.begun()
    of_item = partial(numbered, output_index=0)
    of_part = partial(numbered, output_index=0, item_id=message.id, content_index=0)
    yield numbered("response.created", response=answer.model_dump())
    yield numbered("response.in_progress", response=answer.model_dump())
    yield of_item("response.output_item.added", item=message.model_dump())
    yield of_part("response.content_part.added", part=OutputPart.of("").model_dump())
    async with aclosing(text):
        async for item in text:
            if isinstance(item, str):
                yield of_part("response.output_text.delta", delta=item, logprobs=[])
            else:
                message = message.finished(item)
                (part,) = message.content
                yield of_part("response.output_text.done", text=part.text, logprobs=[])
                yield of_part("response.content_part.done", part=part.model_dump())
                yield of_item("response.output_item.done", item=message.model_dump())
                answer = answer.finished(item, message)
                yield numbered(f"response.{message.status}", response=answer.model_dump())
