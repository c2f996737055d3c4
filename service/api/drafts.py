"""``POST /v1/drafts``: a text the way the caller would have written it, with its evidence."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Literal

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from pearl.chat.base import Decoding
from pearl.errors import InputError, NotFound
from pearl.marks import CLOSING
from pearl.records import Draft, Retrieval, Usage
from service.api.bodies import KeyedRoute
from service.api.dependencies import Caller, ServicesDep
from service.api.fields import MaybeEmptyText, Name, Text
from service.api.idempotency import IdempotencyKey, Store, once_long
from service.api.streaming import event, event_stream, while_connected
from service.drafting import Commission, Delta, Event, Finished, Retrieved
from service.metrics import Metrics
from service.services import Services
from service.store import documents, drafts
from service.store.idempotency import Answer
from service.store.keys import Identity

router = APIRouter(prefix="/v1/drafts", tags=["drafts"], route_class=KeyedRoute)

EXCERPT = 240  # characters of a document shown as evidence


class DraftIn(BaseModel):
    """What to write."""

    model_config = ConfigDict(extra="forbid")

    request: Text = Field(
        description="What is asked for: an instruction, or the message to answer.",
        examples=["Tomas asks whether he can swap his Saturday"],
    )
    voice: Name | None = Field(
        None, description="One of your voices; without it the whole history.", examples=["email"]
    )
    instructions: MaybeEmptyText = Field(
        "", description="Instructions for this draft; they outrank the learned style.", examples=["At most five lines."]
    )
    k: int | None = Field(
        None,
        ge=1,
        le=20,
        description="How many documents to show the model; by default the voice's number, or else at most the "
        "template's, without those whose scores lie far behind the best one's.",
        examples=[4],
    )
    revise: Literal["auto", "never", "always"] = Field(
        "auto",
        description="`auto`: revise when the best document scored below the trained threshold.",
        examples=["auto"],
    )
    candidates: int = Field(
        1,
        ge=1,
        le=20,
        description="Drafts to choose the best from; more than 1 needs a trained reward model.",
        examples=[1],
    )
    stream: bool = Field(
        False,
        description="Server-sent events: `retrieval`, `delta`..., `draft`; `error` if it fails.",
        examples=[False],
    )

    def commission(self, longest: int) -> Commission:
        """Raises InputError for what this installation cannot do."""
        if self.candidates > 1:
            raise InputError(
                "Choosing among candidates needs a trained reward model, and none is installed; leave it at 1.",
                param="candidates",
                code="no_reward_model",
            )
        return Commission(
            self.request,
            self.voice,
            self.instructions,
            self.k,
            self.revise,
            decoding=Decoding(longest, stop=(CLOSING,)),
        )


class Evidence(BaseModel):
    """A document that the draft was written from."""

    id: str = Field(description="The document's id.", examples=["email-009"])
    score: float = Field(description="The retriever's score.", examples=[0.0325])
    excerpt: str = Field(description=f"Its first {EXCERPT} characters.", examples=["Hello Tomas, kettle's on..."])


class NoteOut(BaseModel):
    """Something to know about this draft."""

    code: str = Field(
        description="`generic`, `below_floor`, `far_behind`, `no_room`, `shortened` or `time_limit`.",
        examples=["generic"],
    )
    message: str = Field(
        description="The same in a sentence.", examples=["There are no documents in the history: the draft is generic."]
    )


class RetrievalOut(BaseModel):
    """What was found in the history."""

    documents: list[Evidence] = Field(
        description="Those that went into the prompt, best first.",
        examples=[[{"id": "email-009", "score": 0.0325, "excerpt": "Hello Tomas, kettle's on..."}]],
    )
    top_score: float | None = Field(description="The best score, s1; null without a history.", examples=[0.0325])
    threshold: float | None = Field(description="Theta; null until one is trained.", examples=[None])
    below_threshold: bool = Field(description="Whether s1 lies below theta.", examples=[False])
    notes: list[NoteOut] = Field(description="What to know of the evidence, e.g. that there was none.", examples=[[]])


class RevisionOut(BaseModel):
    """Whether the draft was revised, and why or why not."""

    applied: bool = Field(description="Whether `text` is a revision.", examples=[False])
    reason: str = Field(description="A stable code.", examples=["no_threshold"])
    message: str = Field(
        description="The same in a sentence.", examples=["The best document scored below the threshold."]
    )


class UsageOut(BaseModel):
    """Tokens of the chat model, revision included."""

    prompt_tokens: int = Field(examples=[745], description="Tokens read.")
    completion_tokens: int = Field(examples=[115], description="Tokens written.")
    total_tokens: int = Field(examples=[860], description="Both.")


class DraftOut(BaseModel):
    """A draft with its evidence."""

    id: str = Field(description="Name it in feedback.", examples=["draft_0192f0c4b1aa7d0e5c2f9b1c"])
    object: Literal["draft"] = Field(description="Always `draft`.")
    text: str = Field(
        description="The draft; empty when input is needed.", examples=["Kettle's on. Yes, swap with Bea."]
    )
    stage: Literal["draft", "revised", "needs_input"] = Field(description="How far it went.", examples=["draft"])
    questions: list[str] = Field(description="What to tell us first, when `stage` is `needs_input`.", examples=[[]])
    retrieval: RetrievalOut
    revision: RevisionOut
    quality: float | None = Field(description="A reward model's score; null without one.", examples=[None])
    usage: UsageOut
    timings: dict[str, float] = Field(
        description="Milliseconds by stage, and in all.", examples=[{"retrieve_ms": 11.8}]
    )


@router.post("", summary="Draft a text in your manner", response_model=DraftOut)
async def create_draft(
    request: Request, services: ServicesDep, caller: Caller, body: DraftIn, idempotency_key: IdempotencyKey = None
) -> Response | dict[str, Any]:
    """Retrieves from your history, prompts the model with what it found, and revises where the score says so.

    With `stream`, the text comes as `delta` events; when a revision is due, only the revision is sent. An
    Idempotency-Key is for answers in one piece.
    """
    commission = body.commission(services.settings.max_draft_tokens)
    if idempotency_key is not None:
        if body.stream:
            raise InputError("A stream cannot be repeated: leave out 'stream' or the key.", param="Idempotency-Key")
        return await _create_once(request, services, caller, commission, idempotency_key)
    events = services.drafter.draft(caller.user, commission)
    if body.stream:
        first = await anext(events)  # so that what is wrong with the request still gets its status
        stream = _events(first, events, services.metrics)
        return event_stream(stream, keep_alive_s=services.settings.keep_alive_s, named_errors=True)
    draft = await while_connected(request, lambda: finished(events))
    services.metrics.count_draft(draft)
    return draft_body(draft)


async def _create_once(
    request: Request, services: Services, caller: Identity, commission: Commission, key: str
) -> Response:
    async def work(store: Store) -> Answer:
        def kept(connection: Connection, draft: Draft) -> None:
            store(connection, Answer(200, orjson.dumps(_without_texts(draft_body(draft))).decode()))

        draft = await while_connected(request, lambda: finished(services.drafter.draft(caller.user, commission, kept)))
        services.metrics.count_draft(draft)
        return Answer(200, orjson.dumps(draft_body(draft)).decode())

    return await once_long(services, caller, request, key, work, partial(_with_texts, services, caller.user.id))


def _without_texts(body: dict[str, Any]) -> dict[str, Any]:
    """What is kept for a repeated call: a copy of a text would outlive its deletion."""
    for found in body["retrieval"]["documents"]:
        found["excerpt"] = ""
    return {**body, "text": ""}


def _with_texts(services: Services, user_id: int, stored: Answer) -> Answer:
    """The answer with the texts as they are kept now. Raises NotFound when the draft was deleted."""
    body = orjson.loads(stored.body)
    with services.database.read() as connection:
        body["text"] = drafts.get(connection, user_id, body["id"]).text
        for found in body["retrieval"]["documents"]:
            with suppress(NotFound):
                found["excerpt"] = excerpt(documents.get(connection, user_id, found["id"]).text)
    return Answer(stored.status, orjson.dumps(body).decode())


async def finished(events: AsyncGenerator[Event, None]) -> Draft:
    """The draft at the end of the events."""
    async with aclosing(events):
        async for item in events:
            if isinstance(item, Finished):
                return item.draft
    raise AssertionError("the pipeline ends with Finished")


async def _events(first: Event, rest: AsyncGenerator[Event, None], metrics: Metrics) -> AsyncGenerator[bytes, None]:
    assert isinstance(first, Retrieved)
    yield event({"id": first.draft_id, "retrieval": retrieval_body(first.retrieval)}, "retrieval")
    async with aclosing(rest):
        async for item in rest:
            if isinstance(item, Delta):
                yield event({"text": item.text}, "delta")
            elif isinstance(item, Finished):
                metrics.count_draft(item.draft)
                yield event(draft_body(item.draft), "draft")


def draft_body(draft: Draft) -> dict[str, Any]:
    """What the API and ``pearl draft --json`` answer."""
    return {
        "id": draft.id,
        "object": "draft",
        "text": draft.text,
        "stage": draft.stage,
        "questions": list(draft.questions),
        "retrieval": retrieval_body(draft.retrieval),
        "revision": {
            "applied": draft.revision.applied,
            "reason": draft.revision.reason,
            "message": draft.revision.message,
        },
        "quality": None,
        "usage": usage_body(draft.usage),
        "timings": draft.timings,
    }


def usage_body(usage: Usage) -> dict[str, int]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


def retrieval_body(retrieval: Retrieval) -> dict[str, Any]:
    return {
        "documents": [
            {"id": found.document.id, "score": found.score, "excerpt": excerpt(found.document.text)}
            for found in retrieval.documents
        ],
        "top_score": retrieval.top_score,
        "threshold": retrieval.threshold,
        "below_threshold": retrieval.below_threshold,
        "notes": [{"code": note.code, "message": note.message} for note in retrieval.notes],
    }


def excerpt(text: str) -> str:
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1].rstrip() + "…"
