"""``/v1/drafts``: write a text the way the caller would have written it, and list earlier drafts."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated, Literal

from anyio import CancelScope
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import Field
from sqlalchemy import Connection

from pearl.errors import InputError
from pearl.models.chat.base import Decoding, PromptRead
from pearl.models.prompts import instructed
from pearl.records import Draft
from pearl.text.answers.marks import CLOSING
from service.drafting.drafter import Delta, DraftJob, Ended, Event, Finished, Retrieved
from service.drafting.variants import MOST
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep, admission_of
from service.http.api.draft_form import EXCERPT, DraftOut, RecordedDraftOut, RetrievalOut, VariantOut
from service.http.api.fields import EntryPage, KnownFields, Length, MaybeEmptyText, Name, Recipient, Text
from service.http.api.idempotency import IdempotencyKey, Store, run_idempotent
from service.http.api.streaming import EventStream, event, streams, while_connected
from service.process.metrics import Metrics
from service.process.model_watch import Spending, counted
from service.process.rate_limits import RateLimited
from service.process.threads import in_writing_thread
from service.services import Services
from service.store import drafts
from service.store.idempotency import StoredResponse
from service.store.keys import Identity, until_tomorrow
from service.store.paging import PageQuery
from service.store.voices import chosen


async def admitted(
    request: Request, services: Services, events: AsyncGenerator[Event, None]
) -> AsyncGenerator[Event, None]:
    """Yield a draft's events while it holds one of this worker's slots. If the caller's key has a token budget, count
    the draft's tokens, even if the draft fails or the client leaves. Raises Overloaded if no slot comes free, and
    RateLimited if the budget is used up; both before the first event."""
    caller: Identity = request.state.caller
    async with aclosing(admission_of(request).admit(events)) as let_in:
        if (budget := caller.budget) is None:
            async for event in let_in:
                yield event
            return
        if budget.spent >= budget.per_day:
            raise RateLimited(
                f"The drafts of this key have taken {budget.spent:,} tokens today, and may take {budget.per_day:,} a "
                "day; the next day begins at midnight UTC.",
                code="token_budget_exceeded",
                retry_after=until_tomorrow(),
            )
        spending = Spending(services.database, caller.key_id)
        counted.set(spending)  # for the tasks of this request, which end with it
        try:
            async for event in let_in:
                if isinstance(event, Finished):  # the client's next call must find it counted
                    await in_writing_thread(spending.store)
                yield event
        finally:
            await let_in.aclose()  # then the model's last call is counted
            if spending.tokens:
                with CancelScope(shield=True):
                    await in_writing_thread(spending.store)


router = APIRouter(prefix="/v1/drafts", tags=["drafts"], route_class=KeyedRoute)


class DraftOrder(KnownFields):
    """A draft to write."""

    request: Text = Field(
        description="An instruction, or the message to answer.",
        examples=["Tomas asks whether he can swap his Saturday"],
    )
    voice: Name | None = Field(
        None, description="One of your voices; the whole history if absent or `pearl`.", examples=["email"]
    )
    instructions: MaybeEmptyText = Field(
        "", description="Instructions for this draft; they outrank the learned style.", examples=["At most five lines."]
    )
    intent: Literal["accept", "decline", "hedge", "ask", "inform"] | None = Field(
        None,
        description="What the draft is to do, whatever the request says: say yes, say no, leave it open, ask for what "
        "is missing, or only inform.",
        examples=["decline"],
    )
    length: Length | None = Field(
        None, description="Than you usually write, or a number of words.", examples=["shorter"]
    )
    recipient: Recipient | None = Field(
        None,
        description="Whom it is for: an address, handle, name or channel; of a name with an address the address. The "
        "draft may name them, and the sent text keeps it.",
        examples=["nan@example.org"],
    )
    thread: Name | None = Field(
        None,
        description="The conversation it belongs to, by an id of yours; the sent text keeps it.",
        examples=["costume-rails"],
    )
    k: int | None = Field(
        None,
        ge=1,
        le=20,
        description="Documents to show the model; by default the voice's number, or else at most the "
        "template's, without those whose scores lie far behind the best one's or, in a short history, that have "
        "nothing to do with the request. A document below the retriever's floor is left out in any case.",
        examples=[4],
    )
    revise: Literal["auto", "never", "always"] = Field(
        "auto",
        description="`auto`: revise when the best document scored below the trained threshold.",
        examples=["auto"],
    )
    edges: bool | None = Field(
        None,
        description="Begin and end as you do: greeting, opening words, sign-off and name, by rule from your texts; "
        "null for what the voice says.",
        examples=[None],
    )
    variants: int = Field(
        1,
        ge=1,
        le=MOST,
        description="Different texts to write, one after the other; each is revised, and has `candidates`, as the "
        "first is. With more than 1 the answer has `variants`.",
        examples=[2],
    )

    def job(self, longest: int) -> DraftJob:
        """Convert the request to a job of the drafting pipeline; ``longest``: the most tokens of the draft."""
        return DraftJob(
            self.request,
            chosen(self.voice),
            instructed(self.instructions, self.intent, self.length),
            self.k,
            self.revise,
            variants=self.variants,
            decoding=Decoding(longest, stop=(CLOSING,)),
            recipient=self.recipient,
            thread=self.thread,
            length=self.length,
            edges=self.edges,
        )


class DraftIn(DraftOrder):
    """A draft to write."""

    candidates: int = Field(
        0,
        ge=0,
        le=20,
        description="Edits of the draft to choose the best of, by quality and likeness; the draft stays where none is "
        "better. 0: no edits. Needs a reward model on the server (PEARL_REWARD_MODEL); `editing` says what was done.",
        examples=[0],
    )
    stream: bool = Field(
        False,
        description="Server-sent events: `retrieval`, `reading`..., `delta`..., `draft`; `error` if it fails.",
        examples=[False],
    )

    def job(self, longest: int) -> DraftJob:
        return replace(super().job(longest), candidates=self.candidates)


DELTA = 'event: delta\ndata: {"text":"Hello"}\n\n'


@router.post("", summary="Draft a text in your manner", **streams(DELTA, model=DraftOut))
async def create_draft(
    request: Request, services: ServicesDep, caller: Caller, body: DraftIn, idempotency_key: IdempotencyKey = None
) -> Response | DraftOut:
    """Write a draft: find the texts of your history that help most, prompt the model with them, and revise the draft if
    the best text's score is low.

    With `stream`, the answer is a stream of events: first `retrieval` with `id` and `retrieval`, then `delta` with the
    next piece of the text in `text`, then `draft` with the whole answer. When a revision is due or candidates are asked
    for, only the final text is sent. While a model on the server's own machine reads its prompt, `reading` has the
    tokens `done`, their `total`, and `seconds_left` or null. With several `variants` each `delta` has its text's index
    in `variant`, and an event `variant` has each whole text. A stream that fails ends with `error`, with the data of
    every error. Lines that begin with a colon only keep a silent stream open. A stream takes no Idempotency-Key.
    """
    job = body.job(services.settings.max_draft_tokens)
    if idempotency_key is not None:
        if body.stream:
            raise InputError("A stream cannot be repeated: leave out 'stream' or the key.", param="Idempotency-Key")
        return await _create_once(request, services, caller, job, idempotency_key)
    events = admitted(request, services, services.drafter.draft(caller.user, job))
    if body.stream:
        first = await anext(events)  # here an error in the request can still get its status
        stream = _events(first, events, services.metrics, several=job.variants > 1)
        return EventStream(stream, failed=partial(event, name="error"))
    return DraftOut.of(await whole(request, events, services.metrics))


async def _create_once(request: Request, services: Services, caller: Identity, job: DraftJob, key: str) -> Response:
    """Write the draft once for an Idempotency-Key; a repeated call gets the recorded draft."""

    async def work(store: Store) -> StoredResponse:
        def store_id(connection: Connection, draft: Draft) -> None:
            store(connection, StoredResponse(200, draft.id))

        events = admitted(request, services, services.drafter.draft(caller.user, job, store_id))
        answer = DraftOut.of(await whole(request, events, services.metrics))
        return StoredResponse(200, answer.model_dump_json())

    return await run_idempotent(services, caller, request, key, work, partial(_repeated, services, caller.user.id))


def _repeated(services: Services, user_id: int, stored: StoredResponse) -> StoredResponse:
    """Answer a repeated call with the stored draft. Raises NotFound if the draft was deleted."""
    with services.database.read() as connection:
        draft = drafts.get(connection, user_id, stored.body)
        texts = drafts.evidence_texts(connection, user_id, [draft], EXCERPT + 1)
    return StoredResponse(stored.status, DraftOut.of(draft.draft(texts)).model_dump_json())


async def whole(request: Request, events: AsyncGenerator[Event, None], metrics: Metrics) -> Draft:
    """Run a draft's events to their end, count the draft and return it. Raises ClientLeft if the client leaves."""
    draft = await while_connected(request, lambda: finished(events))
    metrics.count_draft(draft)
    return draft


async def finished(events: AsyncGenerator[Event, None]) -> Draft:
    """Run a draft's events to their end; return the draft."""
    async with aclosing(events):
        async for item in events:
            if isinstance(item, Finished):
                return item.draft
    raise AssertionError("the pipeline ends with Finished")


async def _events(
    first: Event, rest: AsyncGenerator[Event, None], metrics: Metrics, *, several: bool
) -> AsyncGenerator[bytes, None]:
    assert isinstance(first, Retrieved)
    yield event({"id": first.draft_id, "retrieval": RetrievalOut.of(first.retrieval).model_dump()}, "retrieval")
    async with aclosing(rest):
        async for item in rest:
            if isinstance(item, Delta):
                yield event({"text": item.text} | ({"variant": item.variant} if several else {}), "delta")
            elif isinstance(item, PromptRead):
                yield event(asdict(item), "reading")
            elif isinstance(item, Ended):
                yield event(VariantOut.of(item.variant, index=item.index).model_dump(), "variant")
            elif isinstance(item, Finished):
                metrics.count_draft(item.draft)
                yield event(DraftOut.of(item.draft).model_dump(), "draft")


class DraftPageOut(EntryPage[RecordedDraftOut]):
    """A page of your drafts."""


@router.get("", summary="List your drafts", response_model=DraftPageOut)
def list_drafts(
    services: ServicesDep,
    caller: Caller,
    limit: Annotated[int, Query(ge=1, le=100, description="Number per page.")] = 20,
    after: Annotated[Name | None, Query(description="Id of the last draft of the page before.")] = None,
    order: Annotated[Literal["asc", "desc"], Query(description="Order by time: oldest or newest first.")] = "desc",
    query: Annotated[
        Text | None,
        Query(
            description="List only drafts with each of these words, in upper or lower case, in request or text.",
            examples=["kettle"],
        ),
    ] = None,
) -> DraftPageOut:
    """List drafts in the form of `POST /v1/drafts`, with their requests."""
    with services.database.read() as connection:
        page = drafts.page(connection, caller.user.id, PageQuery(limit, after, order == "desc", query))
        texts = drafts.evidence_texts(connection, caller.user.id, page.drafts, EXCERPT + 1)
    return DraftPageOut.of([RecordedDraftOut.of_record(draft, texts) for draft in page.drafts], page.has_more)


DraftId = Annotated[Name, Path(description="The draft's id.", examples=["draft_0192f0c4b1aa7d0e5c2f9b1c"])]


@router.get("/{id}", summary="Get a draft", response_model=RecordedDraftOut)
def get_draft(services: ServicesDep, caller: Caller, id: DraftId) -> RecordedDraftOut:
    with services.database.read() as connection:
        draft = drafts.get(connection, caller.user.id, id, param="id")
        texts = drafts.evidence_texts(connection, caller.user.id, [draft], EXCERPT + 1)
    return RecordedDraftOut.of_record(draft, texts)
