"""``POST /v1/blind-pairs``: one of the caller's own texts and a draft for the same request, for a blind comparison."""

from __future__ import annotations

import random
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import Field

from pearl.errors import InputError
from pearl.models.chat.base import Decoding
from pearl.records import Document
from pearl.text.answers.marks import CLOSING
from pearl.text.usable import counted
from service.drafting.drafter import DraftJob
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.drafts import admitted, whole
from service.http.api.fields import KnownFields, Name, OfRecord
from service.process.threads import in_thread
from service.services import Services
from service.store import feedback, voices
from service.store.samples import Sample, newest_samples

router = APIRouter(prefix="/v1", tags=["likeness"], route_class=KeyedRoute)

NEWEST = Sample(texts=1_000)  # of which the newer half is asked about: each draft has half of them before it
SHORTEST, LONGEST = 15, 150  # words of a text that can be told apart in a minute


class BlindPairIn(KnownFields):
    """A request for a blind pair."""

    voice: Name | None = Field(
        None, description="Only texts of this voice; the whole history if absent or `pearl`.", examples=["email"]
    )
    seen: list[Name] = Field(
        default=[],
        max_length=100,
        description="The `document` of each pair before, so that none comes twice.",
        examples=[["mail-2041"]],
    )


class BlindPairOut(OfRecord):
    """A text of yours and a draft for the same request."""

    object: Literal["blind_pair"] = Field(description="Always `blind_pair`.")
    document: str = Field(description="The id of your text.", examples=["mail-2041"])
    voice: str | None = Field(description="The voice of both; null for none.", examples=["email"])
    request: str = Field(description="The request that your text answered.", examples=["When does the shop open?"])
    text: str = Field(description="Your text.", examples=["At ten. Mind the tide, Otti"])
    draft: str = Field(description="The draft.", examples=["It opens at ten. Mind the tide, Otti"])
    left: int = Field(description="Number of further texts that can be asked about.", examples=[9])


@router.post("/blind-pairs", summary="Make a pair for a blind test")
async def blind_pair(request: Request, services: ServicesDep, caller: Caller, body: BlindPairIn) -> BlindPairOut:
    """Pick at random one of your newer texts whose request is known, and draft that request as if the text did not
    exist: only from older texts, without copies of it, and without questions to you. The draft is not recorded. Texts
    that were sent from a draft, or from which drafts do not learn, are never picked."""
    voice = voices.chosen(body.voice)
    drawn, left = await in_thread(_drawn, services, caller.user.id, voice, frozenset(body.seen))
    job = DraftJob(
        drawn.request or "",
        drawn.voice,
        decoding=Decoding(services.settings.max_draft_tokens, stop=(CLOSING,)),
        recipient=drawn.recipient,
        thread=drawn.thread,
        instead_of=drawn,
    )
    events = admitted(request, services, services.drafter.draft(caller.user, job))
    draft = await whole(request, events, services.metrics)
    return BlindPairOut.of(
        drawn,
        document=drawn.id,
        request=job.request,
        text=drawn.text.strip(),
        draft=draft.text.strip(),
        left=left,
    )


def _drawn(services: Services, user_id: int, voice: str | None, seen: frozenset[str]) -> tuple[Document, int]:
    """Pick at random a text that is not in ``seen``; return the text, and the number of texts left. Raises NotFound for
    an unknown voice, InputError if no text is left."""
    with services.database.read() as connection:
        if voice is not None:
            voices.get(connection, user_id, voice)
        newest = newest_samples(connection, user_id, voice, NEWEST)
        fit = [document for document in newest[len(newest) // 2 :] if _fits(document) and document.id not in seen]
        sent = feedback.sent_drafts(connection, user_id, [document.id for document in fit])
    left = [document for document in fit if document.id not in sent]
    if not left:
        raise InputError(
            f"No {'further ' if seen else ''}text can be asked about: among the newer half of your "
            f"{counted(len(newest), 'text')} none {'else ' if seen else ''}has {SHORTEST} to {LONGEST} words and a "
            "known request. Chats and mails bring the messages that they answer; import some.",
            code="too_few_texts",
        )
    return random.SystemRandom().choice(left), len(left) - 1


def _fits(document: Document) -> bool:
    return bool((document.request or "").strip()) and SHORTEST <= len(document.text.split()) <= LONGEST
