"""``POST /v1/chat/completions`` and ``GET /v1/models``: OpenAI's chat API, for tools whose base URL can be changed.

The last user message is the request, together with the earlier messages that it follows up on; system messages are
instructions. The model id names the voice; ``pearl`` stands for the whole history.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator

from pearl.errors import InputError
from pearl.records import Draft
from pearl.text.usable import format_timestamp
from service.drafting.drafter import Delta
from service.drafting.variants import MOST
from service.http.api import openai_calls as calls
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.draft_form import UsageOut
from service.http.api.fields import Limit, Name
from service.http.api.openai_fields import UNUSED, describe, passed_over
from service.http.api.streaming import DONE, event, streams
from service.store import voices
from service.store.voices import WHOLE_HISTORY

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"], route_class=KeyedRoute)


class ChatMessage(BaseModel):
    """A message of the conversation. Tool calls, tool results and messages without content are ignored, as
    `x-pearl-ignored` says: the answer that follows a tool call has its outcome."""

    model_config = ConfigDict(extra="allow")

    role: Literal["system", "developer", "user", "assistant", "tool", "function"] = Field(
        description="The speaker.", examples=["user"]
    )
    content: calls.Content | None = Field(None, description="The message.", examples=[calls.REQUEST])

    @model_validator(mode="before")
    @classmethod
    def _without_results(cls, message: Any) -> Any:
        if isinstance(message, dict) and message.get("role") in ("tool", "function"):
            return {"role": message["role"]}  # whatever it is, a picture too
        return message

    def turn(self) -> tuple[calls.Speaker, str]:
        text, more = calls.text_of(self.content), self.model_extra or {}
        called = bool(more.get("tool_calls") or more.get("function_call"))
        match self.role:
            case "tool" | "function":
                return "tools", ""
            case "assistant" if called and not text:
                return "tools", ""
            case "developer":
                return "system", text
        return self.role, text


class StreamOptions(BaseModel):
    """Options of a stream."""

    include_usage: bool | None = Field(False, description="Send a last chunk with the usage.", examples=[True])


class ChatIn(calls.CallIn):
    """The fields of OpenAI's API that have a meaning here. Other fields are ignored; `x-pearl-ignored` names those that
    would have changed the answer. A call that asks for more than a text is refused. Tools that the client would run are
    ignored; tools that OpenAI's server would run are refused."""

    model_config = ConfigDict(json_schema_extra=describe(UNUSED))

    messages: list[ChatMessage] = Field(
        min_length=1,
        fail_fast=True,
        description="The user's last one is the request, with the earlier ones that it follows up on. Those of the "
        "`system` and the `developer` are instructions wherever they stand.",
        examples=[[{"role": "user", "content": calls.REQUEST}]],
        json_schema_extra=calls.HAS_A_REQUEST,
    )
    stream_options: StreamOptions | None = Field(
        None, description="Options of the stream.", examples=[{"include_usage": True}]
    )
    max_tokens: calls.MaxTokens = None
    max_completion_tokens: Limit | None = Field(None, description="The same, under its newer name.", examples=[400])
    stop: str | list[str] | None = Field(None, description="Texts that end the answer.", examples=[["\n\n\n"]])
    n: int | None = Field(
        None,
        ge=1,
        le=MOST,
        description="Different texts to write, one after the other. There are fewer `choices` where the model wrote "
        "the same text twice or failed; `pearl.retrieval.notes` says so.",
        examples=[2],
    )

    def call(self) -> calls.OpenAICall:
        """Convert the body to a call. Raises InputError for what is not supported."""
        turns = [message.turn() for message in self.messages]
        return calls.OpenAICall(
            model=self.model,
            turns=turns,
            most_tokens=self.max_completion_tokens or self.max_tokens,
            sampling=self,
            stream=self.stream,
            ignored=[
                *passed_over(self.model_extra or {}),
                *(["messages.tool_calls"] if ("tools", "") in turns else []),
                *calls.unread("messages", [(message.role, message.content) for message in self.messages]),
            ],
            stop=self.stop,
            choices=self.n or 1,
        )


AnthropicVersion = Annotated[
    str | None, Header(description="Sent by Anthropic's clients, which get their own shape.", examples=["2023-06-01"])
]
Cursor = Annotated[Name | None, Query(description="Id at which Anthropic's clients go on.", examples=["email"])]


@router.get("/models", summary="List models: each voice is one")
def list_models(
    services: ServicesDep,
    caller: Caller,
    limit: Annotated[int, Query(ge=1, le=1000, description="Number per page, for Anthropic's clients.")] = 20,
    after_id: Cursor = None,
    before_id: Cursor = None,
    anthropic_version: AnthropicVersion = None,
) -> dict[str, Any]:
    """List all models, as OpenAI's API does; with `anthropic-version` one page, as Anthropic's API does."""
    with services.database.read() as connection:
        listed = voices.list_all(connection, caller.user.id)
    named = [(voice.name, voice.created_at) for voice in listed if voice.name != WHOLE_HISTORY]
    models = [(WHOLE_HISTORY, 0.0), *named]
    if anthropic_version is None:
        return {"object": "list", "data": [_model(name, created, caller.user.name) for name, created in models]}
    ids = [name for name, _ in models]
    for param, cursor in (("after_id", after_id), ("before_id", before_id)):
        if cursor is not None and cursor not in ids:
            raise InputError(f"'{param}' must be the id of a model of yours.", param=param, code="invalid_cursor")
    first = 0 if after_id is None else ids.index(after_id) + 1
    last = len(ids) if before_id is None else ids.index(before_id)
    page = models[first:last][-limit:] if before_id is not None else models[first:last][:limit]
    return {
        "object": "list",
        "data": [_info(*model) for model in page],
        "has_more": last - first > limit,
        "first_id": page[0][0] if page else None,
        "last_id": page[-1][0] if page else None,
    }


@router.get("/models/{id:path}", summary="Get a model")
def get_model(
    services: ServicesDep,
    caller: Caller,
    id: Annotated[Name, Path(description="The model's id.", examples=["email"])],
    anthropic_version: AnthropicVersion = None,
) -> dict[str, Any]:
    voice = calls.voice_of_model(services, caller.user.id, id)
    created = 0.0 if voice is None else voice.created_at
    return _model(id, created, caller.user.name) if anthropic_version is None else _info(id, created)


def _model(name: str, created: float, owner: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": int(created), "owned_by": owner}


def _info(name: str, created: float) -> dict[str, Any]:
    return {"type": "model", "id": name, "display_name": name, "created_at": format_timestamp(int(created))}


CHUNK = 'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hello"}}]}\n\n'


@router.post("/chat/completions", summary="Draft through OpenAI's API", **streams(CHUNK))
async def create_completion(request: Request, services: ServicesDep, caller: Caller, body: ChatIn) -> calls.Answer:
    """Write a draft as `POST /v1/drafts` does, in OpenAI's format.

    A task of the chat client's own (a title, tags, follow-up questions) goes to the model unchanged, without your
    history, and is not recorded; `pearl.stage` is then `passed_on`.

    The field `pearl` has `stage`, `retrieval`, `calibration` and `claims` as in `POST /v1/drafts`; with `n` above 1
    also `variants`, without their texts. A stream sends the choices one after the other. The chunk that ends a choice
    has its entry of `pearl.variants`; the chunk with the last `finish_reason` has the whole of `pearl`. A stream that
    fails ends with an event that has `error`, in place of `[DONE]`."""
    return await calls.answer(request, services, caller, body.call(), partial(_Completion, body=body))


@dataclass
class _Completion(calls.Shape):
    body: ChatIn
    created: int = field(default_factory=lambda: int(time.time()))
    index: int = 0  # of the choice that is sent

    def whole(self, draft: Draft) -> dict[str, Any]:
        choices = [
            {
                "index": index,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "finish_reason": finish_reason,
                "logprobs": None,
            }
            for index, (text, finish_reason) in enumerate(_texts(draft))
        ]
        pearl = calls.evidence_of(draft)
        return {**self._head("chat.completion"), "choices": choices, "usage": _usage(draft), "pearl": pearl}

    def opening(self) -> Iterator[bytes]:
        yield self._chunk({"role": "assistant", "content": ""})

    def piece(self, delta: Delta) -> Iterator[bytes]:
        if self.ended and delta.variant > self.index:
            variant = self.ended.variant
            yield self._chunk({}, variant.finish_reason, pearl=calls.variant_evidence(self.index, variant))
            self.index, self.ended = delta.variant, None
            yield from self.opening()
        yield self._chunk({"content": delta.text})

    def closing(self, draft: Draft) -> Iterator[bytes]:
        # a choice that failed after its beginning was sent is none of the texts
        texts = _texts(draft)
        finish_reason = texts[self.index][1] if self.index < len(texts) else "length"
        yield self._chunk({}, finish_reason, pearl=calls.evidence_of(draft))
        if self.body.stream_options and self.body.stream_options.include_usage:
            yield event({**self._head("chat.completion.chunk"), "choices": [], "usage": _usage(draft)})
        yield DONE

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": self.index, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return event({**self._head("chat.completion.chunk"), "choices": [choice], **more})

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def _texts(draft: Draft) -> list[tuple[str, str]]:
    """The content and the finish reason of each choice."""
    return [(variant.text, variant.finish_reason) for variant in draft.variants] or [
        (calls.content(draft), draft.finish_reason)
    ]


def _usage(draft: Draft) -> dict[str, int]:
    return UsageOut.model_validate(draft.usage).model_dump()
