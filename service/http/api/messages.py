"""``POST /v1/messages``: Anthropic's shape of the same call as ``/v1/chat/completions``."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from pearl.records import Draft
from pearl.text.usable import check_characters
from service.drafting.drafter import Retrieved
from service.http.api import openai_calls as calls
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.drafts import whole
from service.http.api.fields import Limit
from service.http.api.openai_fields import UNUSED, describe, passed_over, unsupported
from service.http.api.streaming import EventStream, event

router = APIRouter(prefix="/v1", tags=["Anthropic-compatible"], route_class=KeyedRoute)

CHOICE: dict[str, Any] = {"type": ["object", "null"], "properties": {"type": {"enum": ["auto", "none"]}}}
FIELDS = {
    "tools": UNUSED["tools"],
    "tool_choice": {"description": "A model may answer with a text.", **CHOICE},
    "mcp_servers": {"description": "Not supported.", "enum": [[], None]},
    "output_format": UNUSED["response_format"],
}


class SystemBlock(BaseModel):
    """A block of instructions."""

    type: Literal["text"] = Field(description="Always `text`.", examples=["text"])
    text: calls.Written = Field(description="The instructions.", examples=["At most five lines."])


System = Annotated[
    Annotated[calls.Written, Tag("(text)")] | Annotated[list[SystemBlock], Tag("(parts)")], Discriminator(calls.shape)
]


class TurnIn(BaseModel):
    """A message of the conversation. Calls of tools, their results and a model's thoughts are passed over."""

    role: Literal["user", "assistant", "system"] = Field(description="The speaker.", examples=["user"])
    content: calls.Content = Field(description="The message.", examples=["Tomas asks to swap his Saturday"])

    def turn(self) -> tuple[calls.Speaker, str]:
        of_tools = not isinstance(self.content, str) and any(part.type.startswith("tool_") for part in self.content)
        text = calls.text_of(self.content)
        return ("tools", "") if of_tools and not text else (self.role, text)


class MessagesIn(calls.CallIn):
    """The fields of Anthropic's API that make sense here. Others are passed over, and `x-pearl-ignored` names those
    that would have changed the answer; what a text cannot answer is refused."""

    model_config = ConfigDict(json_schema_extra=describe(FIELDS))

    system: System | None = Field(
        None, description="Instructions; they outrank the learned style.", examples=["At most five lines."]
    )
    messages: list[TurnIn] = Field(
        min_length=1,
        fail_fast=True,
        description="The user's last one is the request, with the earlier ones that it follows up on.",
        examples=[[{"role": "user", "content": "Tomas asks to swap his Saturday"}]],
        json_schema_extra=calls.HAS_A_REQUEST,
    )
    max_tokens: Limit | None = Field(
        None, description="Longest draft, tokens; at most half the model's context is used.", examples=[400]
    )
    stop_sequences: list[str] | None = Field(
        None, max_length=calls.MOST_STOPS, description="Texts that end the answer.", examples=[["\n\n\n"]]
    )

    def call(self) -> calls.OpenAICall:
        """Convert the body to a call. Raises InputError for what is not supported."""
        fields = self.model_extra or {}
        if fields.get("mcp_servers"):
            raise unsupported("mcp_servers", "'mcp_servers' is not supported: a draft calls no tools. Leave it out.")
        choice, output = fields.get("tool_choice"), fields.get("output_config")
        fields = fields | {
            "tool_choice": choice.get("type") if isinstance(choice, dict) else choice,
            "output_config.format": output.get("format") if isinstance(output, dict) else None,
        }
        system = [self.system] if isinstance(self.system, str) else [block.text for block in self.system or ()]
        turns = [*(("system", text) for text in system), *(message.turn() for message in self.messages)]
        return calls.OpenAICall(
            model=self.model,
            turns=turns,
            messages="messages",
            most_tokens=self.max_tokens,
            limit="max_tokens",
            temperature=self.temperature,
            top_p=self.top_p,
            ignored=[
                *passed_over(fields, ("output_format", "output_config.format"), ("thinking", "top_k")),
                *(["messages.tool_use"] if ("tools", "") in turns else []),
                *calls.unread("messages", [(message.role, message.content) for message in self.messages]),
            ],
            stop=tuple(filter(None, self.stop_sequences or ())),
        )


DELTA = 'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"Hi"}}\n\n'


@router.post(
    "/messages",
    summary="Draft through Anthropic's API",
    response_model=dict[str, Any],
    responses={200: {"content": {"text/event-stream": {"example": DELTA}}}},
)
async def create_message(
    request: Request, services: ServicesDep, caller: Caller, body: MessagesIn
) -> Response | dict[str, Any]:
    """Run the pipeline of `POST /v1/chat/completions`, in Anthropic's shape.

    A stream has Anthropic's events, from `message_start` to `message_stop`; `message_delta` has `pearl`. One that fails
    ends with `error`."""
    model, events = await calls.begin(request, services, caller.user, body.call())
    if body.stream:
        first = await anext(events)
        assert isinstance(first, Retrieved)
        head = _message(first.draft_id, model, [], None, 0, 0)
        return EventStream(
            _events(head, calls.pieces(events, services.metrics)),
            failed=lambda error: event({"type": "error", **error}, "error"),
        )
    draft = await whole(request, events, services.metrics)
    return _message(
        draft.id, model, [{"type": "text", "text": calls.content(draft)}], _stop_reason(draft), *_tokens(draft)
    ) | {"pearl": calls.evidence_of(draft)}


@router.post("/messages/count_tokens", summary="Count tokens as Anthropic's API does")
def count_tokens(services: ServicesDep, caller: Caller, body: MessagesIn) -> dict[str, int]:
    """Count the tokens of the messages and instructions in `input_tokens`. A draft reads your own texts besides, as far
    as the model's context has room. An endpoint's model is estimated, rather too high."""
    call = body.call()
    calls.voice_of_model(services, caller.user.id, call.model)
    texts = [check_characters(text, param=call.messages) for _, text in call.turns]
    return {"input_tokens": services.drafter.model.count_tokens("\n".join(texts))}


def _message(
    id: str, model: str, blocks: list[dict[str, str]], stop_reason: str | None, read: int, written: int
) -> dict[str, Any]:
    usage = {"input_tokens": read, "output_tokens": written}
    head = {"id": id, "type": "message", "role": "assistant", "model": model}
    return {**head, "content": blocks, "stop_reason": stop_reason, "stop_sequence": None, "usage": usage}


def _stop_reason(draft: Draft) -> str:
    return "max_tokens" if draft.finish_reason == "length" else "end_turn"


def _tokens(draft: Draft) -> tuple[int, int]:
    return draft.usage.prompt_tokens, draft.usage.completion_tokens


async def _events(head: dict[str, Any], text: AsyncGenerator[str | Draft, None]) -> AsyncGenerator[bytes, None]:
    def of(kind: str, **fields: Any) -> bytes:
        return event({"type": kind, **fields}, kind)

    yield of("message_start", message=head)
    yield of("content_block_start", index=0, content_block={"type": "text", "text": ""})
    async with aclosing(text):
        async for item in text:
            if isinstance(item, str):
                yield of("content_block_delta", index=0, delta={"type": "text_delta", "text": item})
            else:
                yield of("content_block_stop", index=0)
                read, written = _tokens(item)
                yield of(
                    "message_delta",
                    delta={"stop_reason": _stop_reason(item), "stop_sequence": None},
                    usage={"input_tokens": read, "output_tokens": written},
                    pearl=calls.evidence_of(item),
                )
                yield of("message_stop")
