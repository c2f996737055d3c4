"""``POST /v1/feedback``: report the outcome of a draft; and tell how much of a sent document a machine wrote."""

from __future__ import annotations

from typing import Literal

import orjson
from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import ConfigDict, Field
from sqlalchemy import Connection

from pearl.style.manner.edits import MOSTLY
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.fields import KnownFields, Name, OfRecord, Text, where
from service.http.api.idempotency import IdempotencyKey, once
from service.store import feedback
from service.store.feedback import Feedback
from service.store.idempotency import StoredResponse

router = APIRouter(prefix="/v1/feedback", tags=["feedback"], route_class=KeyedRoute)


class FeedbackIn(KnownFields):
    """The fate of a draft: accepted, edited or rejected."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                where(
                    "outcome", "edited", {"required": ["final_text"], "properties": {"final_text": {"type": "string"}}}
                ),
                where("outcome", "rejected", {"properties": {"final_text": {"type": "null"}}}),
            ]
        }
    )

    draft_id: Name = Field(description="The draft's id.", examples=["draft_0192f0c4b1aa7d0e5c2f9b1c"])
    outcome: Literal["accepted", "edited", "rejected"] = Field(
        description="Sent as it was, sent changed, or not sent.", examples=["edited"]
    )
    final_text: Text | None = Field(
        None, description="The text that was sent; needed for `edited`.", examples=["Kettle's on. Yes, swap with Bea."]
    )
    variant: int | None = Field(
        None,
        ge=0,
        description="Index of the variant that was taken; without it the one nearest to `final_text`, or the first.",
        examples=[0],
    )


class FeedbackOut(OfRecord):
    """Feedback as it was recorded."""

    id: str = Field(description="Its name.", examples=["feedback_0192f0c4b1aa7d0e5c2f9b1c"])
    object: Literal["feedback"] = Field(description="Always `feedback`.")
    draft_id: str = Field(description="The draft's id.", examples=["draft_0192f0c4b1aa7d0e5c2f9b1c"])
    outcome: str = Field(description="The outcome given.", examples=["edited"])
    document_id: str | None = Field(
        description="The sent text in your history; null for a rejected draft.",
        examples=["draft_0192f0c4b1aa7d0e5c2f9b1c"],
    )
    created_at: float = Field(description="Unix seconds.", examples=[1772357400.25])


@router.post("", status_code=201, response_model=FeedbackOut, summary="Say what became of a draft")
async def give_feedback(
    request: Request, services: ServicesDep, caller: Caller, body: FeedbackIn, idempotency_key: IdempotencyKey = None
) -> Response:
    """Record what became of a draft. The sent text becomes a document of your history and, with the request, a training
    pair. Drafts do not learn from the text if it is the draft (nearly) unchanged, or if most of its words are the
    draft's; `PATCH /v1/documents/{id}` with `mine` overrides that."""
    return await once(
        services, caller, request, idempotency_key, lambda connection: _give(connection, caller.user.id, body)
    )


def _give(connection: Connection, user_id: int, body: FeedbackIn) -> StoredResponse:
    recorded = feedback.add(connection, user_id, body.draft_id, body.outcome, body.final_text, body.variant)
    return StoredResponse(201, orjson.dumps(feedback_body(recorded)).decode())


def feedback_body(recorded: feedback.Feedback) -> dict[str, object]:
    return FeedbackOut.of(recorded).model_dump()


class SentDraftOut(OfRecord):
    """The draft that a document was sent from, and whether drafts learn from the document."""

    draft_id: str = Field(description="The draft's id.", examples=["draft_0192f0c4b1aa7d0e5c2f9b1c"])
    machine_share: float = Field(
        description="Share of the document's words that were the draft's.", examples=[0.62], ge=0, le=1
    )
    mine: bool | None = Field(description="Your word on whether it is yours; null: none given.", examples=[None])
    sample: bool = Field(
        description=f"True when drafts learn from it: you changed it and at most {MOSTLY:.0%} of it is the machine's, "
        "or you said that it is yours.",
        examples=[False],
    )


def sent_draft_out(sent: Feedback | None) -> SentDraftOut | None:
    """Convert a document's feedback to its API form; None if the document was not sent from a draft."""
    if sent is None or sent.edit is None:
        return None
    return SentDraftOut.of(sent, mine=sent.mark.mine, sample=sent.mark.reason is None)
