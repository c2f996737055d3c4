"""``POST /v1/messages``: the same as ``/v1/chat/completions``, in the format of Anthropic's API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from pearl.records import Draft
from pearl.text.usable import check_characters
from service.drafting.drafter import Delta
from service.http.api import openai_calls as calls
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.openai_fields import UNUSED, describe, passed_over, unsupported
from service.http.api.streaming import event, streams

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
    """A message of the conversation. Tool calls, tool results and a model's reasoning are ignored."""

    role: Literal["user", "assistant", "system"] = Field(description="The speaker.", examples=["user"])
    content: calls.Content = Field(description="The message.", examples=[calls.REQUEST])

    def turn(self) -> tuple[calls.Speaker, str]:
        of_tools = not isinstance(self.content, str) and any(part.type.startswith("tool_") for part in self.content)
        text = calls.text_of(self.content)
        return ("tools", "") if of_tools and not text else (self.role, text)


class MessagesIn(calls.CallIn):
    """The fields of Anthropic's API that have a meaning here. Other fields are ignored; `x-pearl-ignored` names those
    that would have changed the answer. A call that asks for more than a text is refused."""

    model_config = ConfigDict(json_schema_extra=describe(FIELDS))

    system: Annotated[System | None, calls.INSTRUCTIONS] = None
    messages: list[TurnIn] = Field(
        min_length=1,
        fail_fast=True,
        description="The user's last one is the request, with the earlier ones that it follows up on.",
        examples=[[{"role": "user", "content": calls.REQUEST}]],
        json_schema_extra=calls.HAS_A_REQUEST,
    )
    max_tokens: calls.MaxTokens = None
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
            most_tokens=self.max_tokens,
            sampling=self,
            stream=self.stream,
            ignored=[
                *passed_over(fields, ("output_format", "output_config.format"), ("thinking", "top_k")),
                *(["messages.tool_use"] if ("tools", "") in turns else []),
                *calls.unread("messages", [(message.role, message.content) for message in self.messages]),
            ],
            stop=self.stop_sequences,
        )


NOT_STOPPED = {"stop_reason": None, "stop_sequence": None}
NO_USAGE = {"input_tokens": 0, "output_tokens": 0}
DELTA = 'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"Hi"}}\n\n'


@router.post("/messages", summary="Draft through Anthropic's API", **streams(DELTA))
async def create_message(request: Request, services: ServicesDep, caller: Caller, body: MessagesIn) -> calls.Answer:
    """Write a draft as `POST /v1/chat/completions` does, in Anthropic's format.

    A stream has Anthropic's events, from `message_start` to `message_stop`; `message_delta` has the field `pearl`. A
    stream that fails ends with `error`."""
    return await calls.answer(request, services, caller, body.call(), _Message)


@router.post("/messages/count_tokens", summary="Count tokens as Anthropic's API does")
def count_tokens(services: ServicesDep, caller: Caller, body: MessagesIn) -> dict[str, int]:
    """Count the tokens of the messages and instructions, as `input_tokens`. A draft also reads texts of your history,
    as far as the model's context has room. For an endpoint's model the count is an estimate, rather too high."""
    call = body.call()
    calls.voice_of_model(services, caller.user.id, call.model)
    texts = [check_characters(text, param=call.messages) for _, text in call.turns]
    return {"input_tokens": services.drafter.model.count_tokens("\n".join(texts))}


@dataclass
class _Message(calls.Shape):
    def whole(self, draft: Draft) -> dict[str, Any]:
        block = {"type": "text", "text": calls.content(draft)}
        return self._message([block], _stop(draft), _usage(draft)) | {"pearl": calls.evidence_of(draft)}

    def opening(self) -> Iterator[bytes]:
        yield _event("message_start", message=self._message([], NOT_STOPPED, NO_USAGE))
        yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})

    def piece(self, delta: Delta) -> Iterator[bytes]:
        yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": delta.text})

    def closing(self, draft: Draft) -> Iterator[bytes]:
        yield _event("content_block_stop", index=0)
        yield _event("message_delta", delta=_stop(draft), usage=_usage(draft), pearl=calls.evidence_of(draft))
        yield _event("message_stop")

    def failed(self, error: dict[str, Any]) -> bytes:
        return _event("error", **error)

    def _message(self, blocks: list[dict[str, str]], stop: dict[str, Any], usage: dict[str, int]) -> dict[str, Any]:
        head = {"id": self.id, "type": "message", "role": "assistant", "model": self.model}
        return {**head, "content": blocks, **stop, "usage": usage}


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)


def _stop(draft: Draft) -> dict[str, Any]:
    reason = "max_tokens" if draft.finish_reason == "length" else "end_turn"
    return {"stop_reason": reason, "stop_sequence": None}


def _usage(draft: Draft) -> dict[str, int]:
    return {"input_tokens": draft.usage.prompt_tokens, "output_tokens": draft.usage.completion_tokens}
