"""``POST /v1/chat/completions`` and ``GET /v1/models``: a writing tool works by changing its base URL.

The last user message is the request, together with the earlier ones that it follows up on; system messages are
instructions. The model id names the voice; ``pearl`` stands for the whole history.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from pearl.chat.base import Decoding, Role
from pearl.errors import InputError, NotFound
from pearl.marks import CLOSING
from pearl.records import Draft
from pearl.texts import check_characters, check_text
from service.api.bodies import KeyedRoute
from service.api.dependencies import Caller, ServicesDep, add_headers, admission_of
from service.api.draft_form import RetrievalOut, UsageOut
from service.api.drafts import finished
from service.api.fields import Name
from service.api.model_names import is_chat_model
from service.api.openai_fields import passed_over, unreadable_part
from service.api.streaming import DONE, event, event_stream, while_connected
from service.api.voices import all_voices
from service.client_tasks import is_client_task, pass_on
from service.drafting import Commission, Delta, Event, Finished, Retrieved
from service.metrics import Metrics
from service.services import Services
from service.store import voices
from service.store.voices import WHOLE_HISTORY
from service.threads import in_thread
from service.turns import conversation

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"], route_class=KeyedRoute)


class TextPart(BaseModel):
    """A part of a message's content; only texts can be read."""

    @model_validator(mode="before")
    @classmethod
    def _readable(cls, part: Any) -> Any:
        if isinstance(part, dict) and part.get("type") != "text":
            message = unreadable_part(part.get("type"))
            raise PydanticCustomError("unsupported", "{message}", {"message": message})
        return part

    type: Literal["text"] = Field(description="Always `text`.")
    text: str = Field(description="The text.", examples=["Tomas asks to swap his Saturday"])


def _shape(content: Any) -> str:
    return "(parts)" if isinstance(content, list) else "(text)"


Content = Annotated[Annotated[str, Tag("(text)")] | Annotated[list[TextPart], Tag("(parts)")], Discriminator(_shape)]


class ChatMessage(BaseModel):
    """A message of the conversation."""

    role: Literal["system", "developer", "user", "assistant"] = Field(description="The speaker.", examples=["user"])
    content: Content = Field(description="The message.", examples=["Tomas asks to swap his Saturday"])

    def text(self) -> str:
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class StreamOptions(BaseModel):
    """Options of a stream."""

    include_usage: bool = Field(False, description="Send a last chunk with the usage.", examples=[True])


class ChatIn(BaseModel):
    """The fields of OpenAI's API that make sense here. Others are passed over, and `x-pearl-ignored` names those that
    would have changed the answer; what a text cannot answer is refused."""

    model_config = ConfigDict(extra="allow")

    model: Name = Field(
        description="`pearl`, or one of your voices. The name of a known model, like `gpt-4o`, stands for `pearl`; the "
        "header `x-pearl-model` says so.",
        examples=["email"],
    )
    messages: list[ChatMessage] = Field(
        min_length=1,
        fail_fast=True,
        description="The last one, from the user, is the request, with the earlier ones that it follows up on.",
        examples=[[{"role": "user", "content": "Tomas asks to swap his Saturday"}]],
    )
    stream: bool | None = Field(False, description="Server-sent events.", examples=[False])
    stream_options: StreamOptions | None = Field(
        None, description="Options of the stream.", examples=[{"include_usage": True}]
    )
    max_tokens: int | None = Field(
        None, ge=1, description="Longest draft, tokens; at most half the model's context is used.", examples=[400]
    )
    max_completion_tokens: int | None = Field(None, ge=1, description="The same, under its newer name.", examples=[400])
    temperature: float | None = Field(None, ge=0, le=2, description="0 by default: the likeliest text.", examples=[0])
    top_p: float | None = Field(None, gt=0, le=1, description="Nucleus sampling.", examples=[1])
    n: int | None = Field(None, description="Must be 1.", examples=[1])
    stop: str | list[str] | None = Field(None, description="Texts that end the answer.", examples=[["\n\n\n"]])

    def passed_over(self) -> list[str]:
        """The names of fields that would change an answer of OpenAI's. Raises InputError for what cannot be done."""
        return passed_over({**(self.model_extra or {}), "n": self.n})

    def turns(self) -> list[tuple[Role, str]]:
        """The role and text of each message, oldest first."""
        return [
            ("system" if message.role == "developer" else message.role, message.text()) for message in self.messages
        ]

    def commission(self, voice: str | None, *, usual_tokens: int, most_tokens: int) -> Commission:
        """The order to the drafting pipeline. Raises InputError for fields that cannot be honoured."""
        *earlier, (role, asked) = self.turns()
        if role != "user":
            raise InputError("The last message must be the user's: it is the request.", param="messages")
        for _, text in earlier:
            check_characters(text, param="messages")
        stop = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())
        return Commission(
            request=check_text(asked, param="messages"),
            voice=voice,
            instructions="\n".join(text for role, text in earlier if role == "system"),
            before=conversation([(role, text) for role, text in earlier if role != "system"]),
            stop=tuple(filter(None, stop)),
            decoding=Decoding(
                # tools ask for thousands as a matter of course, which must leave room for the request
                max_tokens=min(self.max_completion_tokens or self.max_tokens or usual_tokens, most_tokens),
                temperature=self.temperature or 0.0,
                top_p=self.top_p or 1.0,
                stop=(CLOSING,),
            ),
        )


class ChoiceMessage(BaseModel):
    """The answer."""

    role: Literal["assistant"] = Field(description="Always `assistant`.")
    content: str = Field(description="The draft.", examples=["Kettle's on. Yes, swap with Bea."])
    refusal: None = Field(None, description="Never set; a refusal is an error.", examples=[None])


class Choice(BaseModel):
    """The one choice."""

    index: Literal[0] = Field(description="Always 0.")
    message: ChoiceMessage
    finish_reason: Literal["stop", "length"] = Field(
        description="`length`: cut off at `max_tokens`.", examples=["stop"]
    )
    logprobs: None = Field(None, description="Never given.", examples=[None])


class ChatOut(BaseModel):
    """An answer as OpenAI's API gives it, with the evidence beside it."""

    id: str = Field(description="Also the draft's id, for feedback.", examples=["draft_0192f0c4b1aa7d0e5c2f9b1c"])
    object: Literal["chat.completion"] = Field(description="Always `chat.completion`.")
    created: int = Field(description="Unix seconds.", examples=[1772357400])
    model: str = Field(description="The model asked for.", examples=["email"])
    choices: list[Choice] = Field(
        description="Exactly one.",
        examples=[[{"index": 0, "message": {"role": "assistant", "content": "Kettle's on."}, "finish_reason": "stop"}]],
    )
    usage: UsageOut
    pearl: dict[str, Any] = Field(
        description="`stage` and `retrieval` as in `POST /v1/drafts`.", examples=[{"stage": "draft"}]
    )


class ModelOut(BaseModel):
    """A model id that drafts can be asked under."""

    id: str = Field(description="`pearl` or a voice.", examples=["email"])
    object: Literal["model"] = Field(description="Always `model`.")
    created: int = Field(description="Unix seconds.", examples=[1772357400])
    owned_by: str = Field(description="The user.", examples=["sample"])


class ModelList(BaseModel):
    """The whole history and each voice."""

    object: Literal["list"] = Field(description="Always `list`.")
    data: list[ModelOut] = Field(
        description="`pearl` first.",
        examples=[[{"id": "email", "object": "model", "created": 1772357400, "owned_by": "sample"}]],
    )


@router.get("/models", summary="List models: each voice is one")
async def list_models(services: ServicesDep, caller: Caller) -> ModelList:
    listed = await in_thread(all_voices, services, caller.user.id)
    named = [(voice.name, voice.created_at) for voice in listed if voice.name != WHOLE_HISTORY]
    models = [(WHOLE_HISTORY, 0.0), *named]
    return ModelList(object="list", data=[_model(name, created, caller.user.name) for name, created in models])


@router.get("/models/{id:path}", summary="Get a model")
async def get_model(
    services: ServicesDep, caller: Caller, id: Annotated[Name, Path(description="The model's id.", examples=["email"])]
) -> ModelOut:
    voice = await in_thread(_voice, services, caller.user.id, id)
    return _model(id, 0.0 if voice is None else voice.created_at, caller.user.name)


def _model(name: str, created: float, owner: str) -> ModelOut:
    return ModelOut(id=name, object="model", created=int(created), owned_by=owner)


def _voice(services: Services, user_id: int, model: str) -> voices.Voice | None:
    """None for the whole history. Raises NotFound for a name that may be a misspelt voice: a draft in another manner
    than the one that was asked for would not be noticed."""
    if model == WHOLE_HISTORY:
        return None
    with services.database.read() as connection:
        there = {voice.name: voice for voice in voices.list_all(connection, user_id)}
    if model in there:
        return there[model]
    if is_chat_model(model, there):
        return None
    raise NotFound(
        f"There is no model '{model}'; GET /v1/models lists yours, and '{WHOLE_HISTORY}' is your whole history.",
        param="model",
        code="model_not_found",
    )


CHUNK = 'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hello"}}]}\n\n'


@router.post(
    "/chat/completions",
    summary="Draft through OpenAI's API",
    response_model=ChatOut,
    responses={200: {"content": {"text/event-stream": {"example": CHUNK}}}},
)
async def create_completion(
    request: Request, services: ServicesDep, caller: Caller, body: ChatIn
) -> Response | dict[str, Any]:
    """The same pipeline as `POST /v1/drafts`, in OpenAI's shape.

    What a chat client asks on its own account (titles, tags, follow-up questions) goes to the model as it is, without
    your history, and is not recorded; `pearl.stage` is then `passed_on`.

    A stream that fails ends with an event that has `error`, in place of `[DONE]`."""
    voice = await in_thread(_voice, services, caller.user.id, body.model)
    if voice is None and body.model != WHOLE_HISTORY:
        add_headers(request, {"x-pearl-model": WHOLE_HISTORY})
    if ignored := body.passed_over():
        add_headers(request, {"x-pearl-ignored": ", ".join(ignored)})
    commission = body.commission(
        None if voice is None else voice.name,
        usual_tokens=services.settings.max_draft_tokens,
        most_tokens=services.drafter.model.context_tokens // 2,
    )
    turns = body.turns()
    if is_client_task(turns):
        events = pass_on(services.drafter.model, turns, commission.decoding)
    else:
        events = services.drafter.draft(caller.user, commission)
    events = admission_of(request).admit(events)
    if body.stream:
        first = await anext(events)
        with_usage = body.stream_options is not None and body.stream_options.include_usage
        stream = _chunks(first, events, body.model, with_usage, services.metrics)
        return event_stream(stream, keep_alive_s=services.settings.keep_alive_s, named_errors=False)
    draft = await while_connected(request, lambda: finished(events))
    services.metrics.count_draft(draft)
    return {
        "id": draft.id,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": _content(draft), "refusal": None},
                "finish_reason": draft.finish_reason,
                "logprobs": None,
            }
        ],
        "usage": UsageOut.model_validate(draft.usage).model_dump(),
        "pearl": {"stage": draft.stage, "retrieval": RetrievalOut.of(draft.retrieval).model_dump()},
    }


async def _chunks(
    first: Event, rest: AsyncGenerator[Event, None], model: str, with_usage: bool, metrics: Metrics
) -> AsyncGenerator[bytes, None]:
    assert isinstance(first, Retrieved)
    head = {"id": first.draft_id, "object": "chat.completion.chunk", "created": int(time.time()), "model": model}

    def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return event({**head, "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    async with aclosing(rest):
        async for item in rest:
            if isinstance(item, Delta):
                yield chunk({"content": item.text})
            elif isinstance(item, Finished):
                metrics.count_draft(item.draft)
                if item.draft.questions:
                    yield chunk({"content": _content(item.draft)})
                yield chunk({}, item.draft.finish_reason)
                if with_usage:
                    yield event(
                        {**head, "choices": [], "usage": UsageOut.model_validate(item.draft.usage).model_dump()}
                    )
    yield DONE


def _content(draft: Draft) -> str:
    """The text; questions for the user where there is none yet."""
    return draft.text or "\n".join(f"- {question}" for question in draft.questions)
