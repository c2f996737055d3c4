"""``POST /v1/rerank``: the retriever alone, in the shape that Cohere's and Jina's clients expect."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from pearl.records import Document, Request
from service.api.bodies import KeyedRoute
from service.api.dependencies import Caller, ServicesDep
from service.api.fields import Text
from service.services import Services
from service.store.ids import new_id

router = APIRouter(prefix="/v1/rerank", tags=["rerank"], route_class=KeyedRoute)


class TextDocument(BaseModel):
    """A document as an object; other fields are given back with ``return_documents``."""

    model_config = ConfigDict(extra="allow")

    text: Text = Field(description="The document's text.", examples=["Reset the index after a failed merge."])


def _shape(given: Any) -> str:
    return "(object)" if isinstance(given, dict) else "(text)"


GivenDocument = Annotated[
    Annotated[Text, Tag("(text)")] | Annotated[TextDocument, Tag("(object)")], Discriminator(_shape)
]


class RerankIn(BaseModel):
    """A request and the documents to score for it."""

    model: str | None = Field(
        None,
        description="`embedded`, `bm25`, `dense`, `dense-requests`, `fusion`, `random` or `recent`; the service's own "
        "by default.",
        examples=["bm25"],
    )
    query: Text = Field(description="The request.", examples=["reset the index"])
    documents: list[GivenDocument] = Field(
        min_length=1,
        max_length=1000,
        fail_fast=True,
        description="1 to 1,000 texts, or objects with a `text`.",
        examples=[["one", "two"]],
    )
    top_n: int | None = Field(
        None, ge=1, description="How many of the best to give back; all by default.", examples=[3]
    )
    return_documents: bool = Field(False, description="Give the documents back with their scores.", examples=[False])


class RerankResult(BaseModel):
    """One document's score."""

    index: int = Field(description="Its place in `documents`, from 0.", examples=[0])
    relevance_score: float = Field(description="Higher is better, within this answer.", examples=[4.2])
    document: dict[str, Any] | None = Field(
        None, description="The document, when asked for.", examples=[{"text": "Reset the index after a failed merge."}]
    )


class RerankOut(BaseModel):
    """The documents in order."""

    id: str = Field(description="Of this answer.", examples=["rerank_0192f0c4b1aa7d0e5c2f9b1c"])
    model: str = Field(description="The retriever that scored.", examples=["bm25"])
    results: list[RerankResult] = Field(description="Best first.", examples=[[{"index": 0, "relevance_score": 4.2}]])
    usage: dict[str, int] = Field(description="Words read, as Jina's clients expect.", examples=[{"total_tokens": 12}])
    meta: dict[str, Any] = Field(
        description="As Cohere's clients expect.", examples=[{"api_version": {"version": "1"}}]
    )


@router.post("", summary="Score documents for a request", response_model_exclude_none=True)
async def rerank(services: ServicesDep, caller: Caller, body: RerankIn) -> RerankOut:
    return await services.ranking.run(caller.user.id, _rerank, services, body)


def _rerank(services: Services, body: RerankIn) -> RerankOut:
    retriever = services.retriever(body.model)
    texts = [given if isinstance(given, str) else given.text for given in body.documents]
    ranking = retriever.rank(Request(body.query), [Document(str(index), text) for index, text in enumerate(texts)])
    results = []
    for found in ranking[: body.top_n]:
        index = int(found.document.id)
        given = body.documents[index]
        shown = {"text": given} if isinstance(given, str) else given.model_dump()
        results.append(
            RerankResult(index=index, relevance_score=found.score, document=shown if body.return_documents else None)
        )
    words = sum(len(text.split()) for text in [body.query, *texts])
    return RerankOut(
        id=new_id("rerank"),
        model=retriever.name,
        results=results,
        usage={"total_tokens": words},
        meta={"api_version": {"version": "1"}, "billed_units": {"search_units": 0}},
    )
