"""Routes for editing a draft on the page: strike out or insert a claim, show the words that the draft shares with its
evidence, and count the texts without an embedding."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from pearl.style.manner.ends import body_end
from pearl.style.manner.repairs import Repair, put_in, shared_spans, struck
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.fields import KnownFields, MaybeEmptyText, Name, Text
from service.process.threads import in_reading_thread
from service.services import Services
from service.store import drafts, embeddings
from service.store.samples import LONGEST

router = APIRouter(prefix="/page", include_in_schema=False, route_class=KeyedRoute)

MOST_SHOWN = 100_000  # characters of a document


class Work(KnownFields):
    """A draft, and its text as it stands on the page now."""

    draft_id: Name
    text: MaybeEmptyText


class RepairIn(Work):
    """A repair of a draft's text: a claim to strike out, or words of the draft's request to insert."""

    start: Annotated[int | None, Field(ge=0)] = None  # of the claim, in code points; None: put it in
    end: Annotated[int | None, Field(ge=0)] = None
    words: Text  # the claim's


@router.post("/repair")
async def repair(services: ServicesDep, caller: Caller, body: RepairIn) -> Repair:
    """Return the repair: the part of the text to replace, in code points, and its replacement. Raises NotFound."""
    return await in_reading_thread(_repair, services, caller.user.id, body)


def _repair(services: Services, user_id: int, body: RepairIn) -> Repair:
    with services.database.read() as connection:
        draft = drafts.get(connection, user_id, body.draft_id)
        shown = drafts.evidence_texts(connection, user_id, [draft], LONGEST)
    ends = body_end(body.text, list(shown.values()))
    if body.start is None or body.end is None:
        return put_in(body.text, body.words, draft.request, ends)
    return struck(body.text, body.start, max(body.start, min(body.end, len(body.text))), ends)


@router.post("/shared")
async def shared(services: ServicesDep, caller: Caller, body: Work) -> dict[str, Any]:
    """Return the word spans that the text shares with the draft's evidence, each with the number of the document, and
    the documents' texts and shared spans by id. Raises NotFound for an unknown draft."""
    return await in_reading_thread(_shared, services, caller.user.id, body)


def _shared(services: Services, user_id: int, body: Work) -> dict[str, Any]:
    with services.database.read() as connection:
        draft = drafts.get(connection, user_id, body.draft_id)
        shown = drafts.evidence_texts(connection, user_id, [draft], MOST_SHOWN)
    listed = [shown.get(name, "") for name in draft.evidence]
    texts = {
        name: {"text": text, "shared": [spot[:2] for spot in shared_spans(text, [body.text], draft.request)]}
        for name, text in shown.items()
    }
    return {"shared": shared_spans(body.text, listed, draft.request), "texts": texts}


@router.get("/unread")
def unread(services: ServicesDep, caller: Caller) -> dict[str, int]:
    """Return the number of texts and requests without an embedding, which drafts cannot use in full yet."""
    if not services.needs_encoder:
        return {"unread": 0}
    with services.database.read() as connection:
        return {"unread": embeddings.missing_size(connection, caller.user.id, services.encoder.name)[0]}
