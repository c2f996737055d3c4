"""Convert the calls of other APIs' clients to jobs of the drafting pipeline, and drafts to answers in their formats."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import count
from typing import Annotated, Any, ClassVar, Literal

from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from pearl.errors import InputError, NotFound
from pearl.models.chat.base import Decoding, Role
from pearl.models.prompts import instructed_by_lines
from pearl.records import Draft, Variant
from pearl.text.answers.marks import CLOSING
from pearl.text.recipients import addressed_by_lines
from pearl.text.usable import MAX_TEXT_BYTES, check_characters, check_text
from service.drafting.client_tasks import is_client_task, pass_on
from service.drafting.drafter import Delta, DraftJob, Ended, Event, Finished, Retrieved
from service.drafting.turns import conversation
from service.http.api.dependencies import add_headers
from service.http.api.draft_form import ClaimOut, DecidedByOut, RetrievalOut, VariantOut
from service.http.api.drafts import admitted, whole
from service.http.api.fields import NO_LIMIT, STORABLE, Limit, Name
from service.http.api.openai_fields import BESIDE_TEXT, TEXT_PARTS, unreadable_part
from service.http.api.streaming import EVENTS, KEEP_ALIVE, EventStream, event
from service.process.metrics import Metrics
from service.process.threads import in_thread
from service.services import Services
from service.store import voices
from service.store.keys import Identity
from service.store.voices import WHOLE_HISTORY

MODEL = "`pearl`, or one of your voices. The name of a known model, like `gpt-4o`, stands for `pearl`; the header " + (
    "`x-pearl-model` says so. If absent, your only voice, or `pearl` if you have none or several."
)
ModelId = Annotated[Name | None, BeforeValidator(lambda value: value or None)]
REQUEST = "Tomas asks to swap his Saturday"  # in examples
INSTRUCTIONS = Field(description="Instructions; they outrank the learned style.", examples=["At most five lines."])
MaxTokens = Annotated[
    Limit | None,
    Field(description="Longest draft, tokens; at most half the model's context is used.", examples=[400]),
]


class Sampling(BaseModel):
    """The options by which the model chooses its words."""

    model_config = ConfigDict(extra="allow")

    temperature: float | None = Field(None, ge=0, le=2, description="0 by default: the likeliest text.", examples=[0])
    top_p: float | None = Field(None, ge=0, le=1, description="Nucleus sampling.", examples=[1])


class CallIn(Sampling):
    """The fields that OpenAI's and Anthropic's APIs share."""

    model: ModelId = Field(None, description=MODEL, examples=["email"])
    stream: bool | None = Field(False, description="Server-sent events.", examples=[False])


KIND = re.compile(r"[a-z_]{1,40}")  # of a part: a header may name it
# the size is checked for all parts of a message together
Written = Annotated[str, WithJsonSchema({"type": "string", "maxLength": MAX_TEXT_BYTES, "pattern": STORABLE})]
# of a conversation, at least one message is the user's
HAS_A_REQUEST: JsonDict = {"contains": {"properties": {"role": {"const": "user"}}, "required": ["role"]}}


class Part(BaseModel):
    """A part of a message's content: a text, or a part that is ignored, such as a model's reasoning. Images, recordings
    and files are ignored in messages that were answered before, and refused in the request."""

    type: str = Field(
        "text",
        description=f"All but {', '.join(f'`{kind}`' for kind in TEXT_PARTS)} are passed over.",
        examples=["text"],
        json_schema_extra={"enum": [*TEXT_PARTS, *BESIDE_TEXT]},
    )
    text: Written | None = Field(description="The text.", examples=[REQUEST])

    @model_validator(mode="before")
    @classmethod
    def _readable(cls, part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        kind = part.get("type", "text" if "text" in part else None)
        if kind in TEXT_PARTS:
            return part
        if not isinstance(kind, str) or not KIND.fullmatch(kind):
            raise PydanticCustomError("unsupported", "{message}", {"message": unreadable_part(kind)})
        return {"type": kind, "text": None}

    @property
    def readable(self) -> bool:
        return self.type in (*TEXT_PARTS, *BESIDE_TEXT)


def shape(content: Any) -> str:
    """Return the tag of the content's type: a text, or a list of parts."""
    return "(parts)" if isinstance(content, list) else "(text)"


Content = Annotated[Annotated[Written, Tag("(text)")] | Annotated[list[Part], Tag("(parts)")], Discriminator(shape)]


def unread(messages: str, turns: Sequence[tuple[str, str | Sequence[Part] | None]]) -> list[str]:
    """List unreadable parts, such as images, of earlier messages. ``messages``: the field's name; ``turns``: its (role,
    content). Raises InputError for an unreadable part after the last answer: it belongs to the request."""
    answers = (index for index, (role, content) in enumerate(turns) if role == "assistant" and content)
    answered = max(answers, default=-1)
    names: dict[str, None] = {}
    for index, (_, content) in enumerate(turns):
        for number, part in enumerate(() if isinstance(content, str) else content or ()):
            if part.readable:
                continue
            if index > answered:
                where = f"{messages}.{index}.content.{number}"
                raise InputError(unreadable_part(part.type), param=where, code="unsupported")
            names[f"{messages}.{part.type}"] = None
    return list(names)


def text_of(content: str | Sequence[Part] | None) -> str:
    return content if isinstance(content, str) else "".join(part.text or "" for part in content or ())


MOST_STOPS = 64  # each is looked for in each piece of the answer
Speaker = Role | Literal["tools"]  # tools: a model's call of a tool, or its result


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAICall:
    """A call of a client, in whatever API's format it came."""

    model: str | None
    turns: Sequence[tuple[Speaker, str]]  # oldest first; those of tools without a text
    messages: str = "messages"  # the field that has the turns
    most_tokens: int | None  # the caller's limit for the answer; -1: none
    limit: str = "max_tokens"  # the field that has this limit
    sampling: Sampling
    stream: bool | None
    ignored: Sequence[str]  # fields that were passed over
    stop: str | Sequence[str] | None = None
    choices: int = 1

    def spoken(self) -> list[tuple[Role, str]]:
        """Return the system messages, then the other turns up to the user's last message, which is the request. Turns
        of tools are left out. Raises InputError if there is no message of the user."""
        last = max((index for index, (role, _) in enumerate(self.turns) if role == "user"), default=None)
        if last is None:
            raise InputError("There is no message of the user: their last one is the request.", param=self.messages)
        instructions: list[tuple[Role, str]] = [(role, text) for role, text in self.turns if role == "system"]
        turns = self.turns[: last + 1]
        return instructions + [(role, text) for role, text in turns if role != "system" and role != "tools"]

    def passed_over(self) -> list[str]:
        """The names of ignored fields and messages."""
        behind = next((role for role, _ in reversed(self.turns) if role in ("user", "assistant")), None)
        return [*self.ignored, *([f"{self.messages}.assistant"] if behind == "assistant" else [])]

    def job(self, voice: str | None, *, usual_tokens: int, most_tokens: int) -> DraftJob:
        """Convert the call to a drafting job. ``usual_tokens``: the limit if the call names none; ``most_tokens``: the
        highest limit. Raises InputError for turns that cannot be answered."""
        *earlier, (_, request) = self.spoken()
        for _, text in earlier:
            check_characters(text, param=self.messages)
        stop = tuple(filter(None, [self.stop] if isinstance(self.stop, str) else self.stop or ()))
        if len(stop) > MOST_STOPS:
            raise InputError(f"'stop' may have {MOST_STOPS} texts; it has {len(stop):,}.", param="stop")
        system = "\n".join(text for role, text in earlier if role == "system" and text.strip())
        system, recipient, thread = addressed_by_lines(system)
        instructions, length = instructed_by_lines(system)
        limit = usual_tokens if self.most_tokens in (None, NO_LIMIT) else self.most_tokens
        return DraftJob(
            request=check_text(request, param=self.messages),
            voice=voice,
            instructions=instructions,
            before=conversation([(role, text) for role, text in earlier if role != "system"]),
            stop=stop,
            variants=self.choices,
            decoding=Decoding(
                # tools often ask for thousands; that must leave room for the request
                max_tokens=min(limit, most_tokens),
                # a top_p of 0 leaves the likeliest token, and many endpoints refuse it
                temperature=0.0 if self.sampling.top_p == 0 else self.sampling.temperature or 0.0,
                top_p=self.sampling.top_p or 1.0,
                stop=(CLOSING,),
            ),
            limit=self.limit,
            recipient=recipient,
            thread=thread,
            length=length,
        )


async def _begin(
    request: Request, services: Services, caller: Identity, call: OpenAICall
) -> tuple[str, AsyncGenerator[Event, None]]:
    """Start the draft of a call, or the client's own task; return the model to name in the answer, and the events.
    Headers tell what was ignored."""
    voice = await in_thread(voice_of_model, services, caller.user.id, call.model)
    used = WHOLE_HISTORY if voice is None else voice.name
    if call.model not in (None, used):
        add_headers(request, {"x-pearl-model": used})
    # OpenAI's API has no such key, and neither a stream nor a client's own task is kept to be answered again
    ignored = [*call.passed_over(), *(["Idempotency-Key"] if "Idempotency-Key" in request.headers else [])]
    if ignored:
        add_headers(request, {"x-pearl-ignored": ", ".join(ignored)})
    job = call.job(
        None if voice is None else voice.name,
        usual_tokens=services.settings.max_draft_tokens,
        most_tokens=services.drafter.model.context_tokens // 2,
    )
    if is_client_task(spoken := call.spoken()):
        if voice is not None and voice.local_only and not services.drafter.here:  # the conversation has its texts
            raise voices.kept_here(voice.name, f"'{services.drafter.model.name}' runs elsewhere")
        events = pass_on(services.drafter.model, spoken, job.decoding)
    else:
        events = services.drafter.draft(caller.user, job)
    return call.model or used, admitted(request, services, events)


Answer = Response | dict[str, Any]


@dataclass
class Shape:
    """Formats a draft for one of the APIs, as one answer or as a stream (opening, pieces of text, closing)."""

    model: str  # to name in the answer
    id: str  # the draft's
    ended: Ended | None = field(default=None, init=False)  # the choice whose end is still to be told
    media_type: ClassVar[str] = EVENTS

    def whole(self, draft: Draft) -> dict[str, Any]:
        raise NotImplementedError

    def opening(self) -> Iterable[bytes]:
        return ()

    def piece(self, delta: Delta) -> Iterable[bytes]:
        raise NotImplementedError

    def closing(self, draft: Draft) -> Iterable[bytes]:
        raise NotImplementedError

    def failed(self, error: dict[str, Any]) -> bytes:
        return event(error)

    def keep_alive(self) -> bytes:
        return KEEP_ALIVE


async def answer(
    request: Request, services: Services, caller: Identity, call: OpenAICall, shape: Callable[[str, str], Shape]
) -> Answer:
    """Answer a call with its draft. ``shape`` makes the formatter of the API from the model's name and the draft's
    id."""
    model, events = await _begin(request, services, caller, call)
    if not call.stream:
        draft = await whole(request, events, services.metrics)
        return shape(model, draft.id).whole(draft)
    first = await anext(events)  # here an error in the request can still get its status
    assert isinstance(first, Retrieved)
    shown = shape(model, first.draft_id)
    told = _told(shown, events, services.metrics)
    return EventStream(told, failed=shown.failed, keep_alive=shown.keep_alive(), media_type=shown.media_type)


async def _told(shape: Shape, events: AsyncGenerator[Event, None], metrics: Metrics) -> AsyncGenerator[bytes, None]:
    async with aclosing(events):
        for part in shape.opening():
            yield part
        async for item in events:
            for part in _parts(shape, item, metrics):
                yield part


def _parts(shape: Shape, item: Event, metrics: Metrics) -> Iterator[bytes]:
    if isinstance(item, Delta):
        yield from shape.piece(item)
    elif isinstance(item, Ended):
        shape.ended = item
    elif isinstance(item, Finished):
        metrics.count_draft(item.draft)
        if item.draft.questions:
            yield from shape.piece(Delta(content(item.draft)))
        yield from shape.closing(item.draft)


def voice_of_model(services: Services, user_id: int, model: str | None) -> voices.Voice | None:
    """Return the voice that a model id names, or without an id the user's only voice; None: the whole history. Raises
    NotFound for an unknown id unless it is a known chat model's: the id may be a misspelt voice."""
    if model == WHOLE_HISTORY:
        return None
    with services.database.read() as connection:
        by_name = {voice.name: voice for voice in voices.list_all(connection, user_id)}
    if model is None:
        named = [voice for name, voice in by_name.items() if name != WHOLE_HISTORY]
        return named[0] if len(named) == 1 else None
    if model in by_name:
        return by_name[model]
    if is_chat_model(model, by_name):
        return None
    raise NotFound(
        f"There is no model '{model}'; GET /v1/models lists yours, and '{WHOLE_HISTORY}' is your whole history.",
        param="model",
        code="model_not_found",
    )


def content(draft: Draft) -> str:
    """Return the draft's text, or if it has none the questions for the user."""
    return draft.text or "\n".join(f"- {question}" for question in draft.questions)


def evidence_of(draft: Draft) -> dict[str, Any]:
    """Make the field ``pearl`` of an answer: the draft's stage, retrieval, calibration, claims and variants."""
    decided_by = DecidedByOut.model_validate(draft.decided_by).model_dump() if draft.decided_by else None
    return {
        "stage": draft.stage,
        "retrieval": RetrievalOut.of(draft.retrieval).model_dump(),
        "calibration": decided_by,
        "claims": [ClaimOut.model_validate(claim).model_dump() for claim in draft.claims],
        **({"variants": list(map(variant_evidence, count(), draft.variants))} if draft.variants else {}),
    }


def variant_evidence(index: int, variant: Variant) -> dict[str, Any]:
    """Make the entry of ``pearl.variants`` for one of several choices."""
    return VariantOut.of(variant, index=index).model_dump(exclude={"text", "finish_reason"})


FAMILIES = (
    "chatgpt|claude|codestral|command|deepseek|gemini|gemma|glm|gpt|grok|jamba|kimi|llama|magistral|ministral|mistral|"
    "mixtral|nova|phi|qwen|smollm|text-davinci"
)
# "gpt-4o", "openai/gpt-4o-mini", "llama3.2:3b", "o3-mini", but not "gpt" or "command", which a misspelt voice may be
CHAT_MODEL = re.compile(
    rf"(\w[\w.-]*/)*(({FAMILIES})([-_.:]?v?\d[\w.:-]*|-[a-z][\w.:-]*)|o[1-9](-[\w.:-]+)?)", re.IGNORECASE
)
ALIKE = 0.75  # share of letters in common from which one name may be a misspelling of the other


def is_chat_model(name: str, voices: Iterable[str]) -> bool:
    """True for a model of a known family, unless the name may be a misspelt voice."""
    return CHAT_MODEL.fullmatch(name) is not None and all(
        SequenceMatcher(None, name.casefold(), voice.casefold()).ratio() < ALIKE for voice in voices
    )


def is_reranker(name: str) -> bool:
    """True for another provider's reranker, such as "rerank-v3.5" or "BAAI/bge-reranker-v2-m3"."""
    return "rerank" in name.casefold() and not name.startswith((".", "/"))
