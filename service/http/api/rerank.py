"""``POST /v1/rerank`` and ``/v2/rerank``: the retriever alone, in the shape that Cohere's and Jina's clients expect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import regex
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, WithJsonSchema

from pearl.errors import InputError
from pearl.records import Document, ScoredDocument
from pearl.records import Request as PearlRequest
from pearl.text.usable import check_text
from pearl.text.words import count_words, rouge_words
from retriever.models.encoder import NAMES
from retriever.registry import SERVED
from service.histories.embedding import WantedEncoder
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep, add_headers
from service.http.api.fields import NO_LIMIT, Limit, Text
from service.http.api.openai_calls import is_reranker
from service.http.api.streaming import while_connected
from service.services import Services
from service.store.ids import new_id

router = APIRouter(tags=["rerank"], route_class=KeyedRoute)

CHARACTERS_A_TOKEN = 4  # approximately, for a client's limit on a document's tokens
RELATED_FROM = 0.2  # cosine: the sample's requests have a document above .25, made-up words and greetings none above .2
OTHER_LETTER = regex.compile(r"(?V1)[\p{L}--\p{Latin}]")


TEXT = {"type": "string"}
GivenDocument = Annotated[
    Any, WithJsonSchema({"anyOf": [TEXT, {"type": "object", "properties": {"text": TEXT}, "required": ["text"]}]})
]


class RerankIn(BaseModel):
    """A request and the documents to score for it."""

    model: str | None = Field(
        None,
        description=f"{', '.join(f'`{name}`' for name in SERVED)}; the service's own by default, and for the name of "
        "another reranker, like `rerank-v3.5`; the header `x-pearl-model` says so.",
        examples=["bm25"],
    )
    query: Text = Field(description="The request.", examples=["reset the index"])
    documents: list[GivenDocument] = Field(
        min_length=1,
        max_length=1000,
        fail_fast=True,
        description="1 to 1,000 texts, or objects with a `text`, whose other fields come back with `return_documents`. "
        "A document that cannot be read, such as an empty one, has no result; `meta.left_out` counts them.",
        examples=[["one", "two"]],
    )
    top_n: Limit | None = Field(None, description="Number of the best to give back; all by default.", examples=[3])
    return_documents: bool | None = Field(
        False, description="Give the documents back with their scores.", examples=[False]
    )
    max_tokens_per_doc: Limit | None = Field(
        None, description="Read about this many tokens of each document; all by default.", examples=[4096]
    )

    def texts(self) -> tuple[dict[int, str], Counter[str]]:
        """Return the readable documents' texts by index, cut to the token limit, and the number of unreadable documents
        by error code. Raises the first error if no document is readable."""
        end = None if self.max_tokens_per_doc in (None, NO_LIMIT) else self.max_tokens_per_doc * CHARACTERS_A_TOKEN
        texts: dict[int, str] = {}
        errors: list[InputError] = []
        for index, document in enumerate(self.documents):
            text, field = (document.get("text"), ".text") if isinstance(document, dict) else (document, "")
            try:
                texts[index] = check_text(text, param=f"documents.{index}{field}")[:end]
            except InputError as error:
                errors.append(error)
        if not texts:
            raise errors[0]
        return texts, Counter(error.code for error in errors)


class RerankResult(BaseModel):
    """One document's score."""

    index: int = Field(description="Its place in `documents`, from 0.", examples=[0])
    relevance_score: float = Field(
        description="Between 0 and 1, higher for a higher score. With a trained retriever (`meta.calibrated`) the "
        "probability that the document helps, as far as its training data tell; else the score on another scale.",
        examples=[0.93],
    )
    score: float = Field(description="The retriever's own score.", examples=[4.2])
    document: dict[str, Any] | None = Field(
        None, description="The document, when asked for.", examples=[{"text": "Reset the index after a failed merge."}]
    )


class RerankOut(BaseModel):
    """The documents, ordered by score."""

    id: str = Field(description="Id of this answer.", examples=["rerank_0192f0c4b1aa7d0e5c2f9b1c"])
    model: str = Field(description="The retriever that scored.", examples=["bm25"])
    results: list[RerankResult] = Field(
        description="Best first.", examples=[[{"index": 0, "relevance_score": 0.93, "score": 4.2}]]
    )
    usage: dict[str, int] = Field(description="Words read, as Jina's clients expect.", examples=[{"total_tokens": 12}])
    meta: dict[str, Any] = Field(
        description="For Cohere's clients; `calibrated` is true when `relevance_score` is a probability. Where a "
        "trained retriever's does not hold for this request, `warnings` says why. `left_out` counts the documents that "
        "could not be read by what is wrong with them, where there are any.",
        examples=[{"api_version": {"version": "2"}, "calibrated": True}],
    )


@router.post("/v1/rerank", summary="Score documents for a request", response_model_exclude_none=True)
async def rerank(request: Request, services: ServicesDep, caller: Caller, body: RerankIn) -> RerankOut:
    """Rank documents in the format of Cohere's first API and of Jina's."""
    return await _answer(request, services, caller.user.id, body, "1")


@router.post("/v2/rerank", summary="Score documents for a request", response_model_exclude_none=True)
async def rerank_again(request: Request, services: ServicesDep, caller: Caller, body: RerankIn) -> RerankOut:
    """Rank documents in the format of Cohere's current API."""
    return await _answer(request, services, caller.user.id, body, "2")


async def _answer(request: Request, services: Services, user_id: int, body: RerankIn, version: str) -> RerankOut:
    others = is_reranker(body.model or "")
    name = None if others else body.model or None
    encoder = WantedEncoder(services.encoder)

    async def ranked() -> RerankOut:
        try:
            return await services.ranking.run(user_id, _rerank, services, encoder, body, name, version)
        finally:
            encoder.give_up()

    answer = await while_connected(request, ranked)
    if others:
        add_headers(request, {"x-pearl-model": answer.model})
    return answer


def _rerank(services: Services, encoder: WantedEncoder, body: RerankIn, name: str | None, version: str) -> RerankOut:
    retriever = services.retriever(name, encoder)
    texts, left_out = body.texts()
    ranking = retriever.rank(PearlRequest(body.query), [Document(str(index), text) for index, text in texts.items()])
    calibration = retriever.calibration
    outside = calibration.helps and _outside(body.query, ranking, encoder.name)
    results = []
    for scored in ranking[: None if body.top_n == NO_LIMIT else body.top_n]:
        index = int(scored.document.id)
        document = body.documents[index]
        shown = {"text": document} if isinstance(document, str) else document
        results.append(
            RerankResult(
                index=index,
                relevance_score=calibration.relevance(scored.score),
                score=scored.score,
                document=shown if body.return_documents else None,
            )
        )
    return RerankOut(
        id=new_id("rerank"),
        model=retriever.name,
        results=results,
        usage={"total_tokens": sum(count_words(text) for text in [body.query, *texts.values()])},
        meta={
            "api_version": {"version": version},
            "billed_units": {"search_units": 0},
            "calibrated": calibration.helps is not None and outside is None,
            **({"warnings": [f"{outside}, so its scores are no probabilities."]} if outside else {}),
            **({"left_out": left_out} if left_out else {}),
        },
    )


def _outside(request: str, ranking: Sequence[ScoredDocument], encoder: str) -> str | None:
    """Say why the probabilities do not hold for a request, which is unlike their training data; None if they hold."""
    if encoder in NAMES.values() and 2 * len(OTHER_LETTER.findall(request)) > sum(map(str.isalpha, request)):
        return "The request is in a script that the encoder was not trained on"
    if not (words := set(rouge_words(request))):
        return "The request has no words"
    if any((scored.relatedness or 0.0) >= RELATED_FROM for scored in ranking):
        return None
    known = words.intersection(word for scored in ranking for word in rouge_words(scored.document.text))
    return "No document has to do with the request" if 2 * len(known) < len(words) else None
