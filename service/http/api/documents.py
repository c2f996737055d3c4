"""``/v1/documents``: the caller's history."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Body, Path, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag
from sqlalchemy import Connection

from pearl.errors import Conflict, InputError
from pearl.records import Document
from pearl.text.language import detect
from service.http.api.account import ANSWERS, deletion_answer
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.feedback import SentDraftOut, sent_draft_out
from service.http.api.fields import (
    EntryPage,
    KnownFields,
    ListedEntry,
    MaybeEmptyText,
    Name,
    OfRecord,
    Recipient,
    StoredVoice,
    Text,
    Timestamp,
)
from service.http.api.idempotency import IdempotencyKey, once
from service.process.threads import writes
from service.store import apart, documents, feedback, imports, voices
from service.store.documents import Addition, AddOutcome
from service.store.idempotency import StoredResponse
from service.store.ids import new_id
from service.store.paging import PageQuery
from service.store.tables import documents as documents_table

router = APIRouter(prefix="/v1/documents", tags=["documents"], route_class=KeyedRoute)

MOST_AT_ONCE = 1000


class DocumentIn(KnownFields):
    """A text that you wrote. ``user_id``, which the lines of a history file have, is accepted and ignored."""

    id: Name | None = Field(None, description="Your name for it; made up if absent.", examples=["mail-2041"])
    text: Text = Field(description="The text that was written.", examples=["Kettle's on. See you at ten."])
    timestamp: Timestamp | None = Field(
        None,
        description="When it was written: Unix seconds or RFC 3339; now if absent.",
        examples=["2026-03-01T09:30:00Z"],
    )
    request: MaybeEmptyText | None = Field(
        None, description="The message it answered, or the request for it.", examples=["When do we meet?"]
    )
    voice: StoredVoice | None = Field(None, description="The register it belongs to.", examples=["email"])
    recipient: Recipient | None = Field(
        None,
        description="Whom it went to: an address, handle, name or channel; of a name with an address the address.",
        examples=["nan@example.org"],
    )
    thread: Name | None = Field(
        None, description="The conversation it belongs to, by an id of yours.", examples=["costume-rails"]
    )
    mine: bool | None = Field(
        None,
        description="Your word on whether drafts shall learn from it: true even if it reads like an assistant's prose, "
        "false for never; without it the text itself decides.",
        examples=[True],
    )
    user_id: Any = Field(
        None, description="Not read: the key says whose document it is.", exclude=True, examples=["ada"]
    )

    def document(self) -> Document:
        request = self.request if self.request and self.request.strip() else None
        return Document(
            self.id or new_id("doc"), self.text, self.timestamp, request, self.voice, self.recipient, self.thread
        )


class DocumentsIn(KnownFields):
    """Several documents at once; all are added or none."""

    documents: list[DocumentIn] = Field(
        min_length=1,
        max_length=MOST_AT_ONCE,
        fail_fast=True,
        description=f"1 to {MOST_AT_ONCE:,} documents.",
        examples=[[{"id": "mail-2041", "text": "Kettle's on. See you at ten."}]],
    )


def _shape(body: Any) -> str:
    if isinstance(body, list):
        return "(list)"
    several = isinstance(body, DocumentsIn) or (isinstance(body, dict) and "documents" in body)
    return "(many)" if several else "(one)"


DocumentsBody = Annotated[
    Annotated[DocumentIn, Tag("(one)")]
    | Annotated[DocumentsIn, Tag("(many)")]
    | Annotated[list[DocumentIn], Field(min_length=1, max_length=MOST_AT_ONCE, fail_fast=True), Tag("(list)")],
    Discriminator(_shape),
]


Apart = Literal["machine_prose", "accepted_unchanged", "mostly_draft", "not_mine"]


def _unknown(value: object) -> bool:
    return value is None


def _apart_field() -> Any:
    return Field(
        None,
        description="Why drafts do not learn from it, until you say that it is yours: it reads like an assistant's "
        "prose, more than your texts from before December 2022 do; it is a draft that was sent (nearly) unchanged, or "
        "most of its words are a draft's; or you said so.",
        examples=[None],
        exclude_if=_unknown,
    )


class DocumentOut(ListedEntry):
    """A document of the history."""

    id: str = Field(description="Its name.", examples=["mail-2041"])
    object: Literal["document"] = Field(description="Always `document`.")
    text: str = Field(description="The text that was written.", examples=["Kettle's on. See you at ten."])
    timestamp: float = Field(description="When it was written, Unix seconds.", examples=[1772357400])
    request: str | None = Field(description="The message it answered.", examples=["When do we meet?"])
    voice: str | None = Field(description="The register it belongs to.", examples=["email"])
    recipient: str | None = Field(
        None, description="Whom it went to, if known.", examples=["nan@example.org"], exclude_if=_unknown
    )
    thread: str | None = Field(
        None, description="The conversation it belongs to, if known.", examples=["costume-rails"], exclude_if=_unknown
    )
    language: str | None = Field(
        None,
        description="The language it is in, an ISO 639 code, if that is sure.",
        examples=["en"],
        exclude_if=_unknown,
    )
    set_apart: Apart | None = _apart_field()
    sent_draft: SentDraftOut | None = Field(
        None,
        description="For a text that was sent from a draft alone: how much of it is the machine's.",
        examples=[None],
        exclude_if=_unknown,
    )


class AddedDocument(BaseModel):
    """The outcome of adding one document."""

    id: str = Field(description="Its name.", examples=["mail-2041"])
    object: Literal["document"] = Field(description="Always `document`.")
    status: Literal["created", "exists"] = Field(
        description="`exists`: the same id with the same content was there.", examples=["created"]
    )
    set_apart: Apart | None = _apart_field()


class AddedDocuments(BaseModel):
    """The outcomes of adding documents, in their order."""

    object: Literal["list"] = Field(description="Always `list`.")
    data: list[AddedDocument] = Field(
        description="One entry a document.", examples=[[{"id": "mail-2041", "object": "document", "status": "created"}]]
    )
    created: int = Field(description="Number of new documents.", examples=[1])
    existing: int = Field(description="Number of documents that existed already.", examples=[0])


class DocumentPage(EntryPage[DocumentOut]):
    """A page of the history."""


@router.post(
    "",
    status_code=201,
    response_model=AddedDocuments,
    summary="Add one or up to 1,000 documents",
    responses={200: {"model": AddedDocuments, "description": "All were there already."}},
)
async def add_documents(
    request: Request,
    services: ServicesDep,
    caller: Caller,
    body: Annotated[
        DocumentsBody,
        Body(
            description='One document, `{"documents": [...]}`, or a bare array.',
            openapi_examples={
                "one": {"value": {"id": "mail-2041", "text": "Kettle's on. See you at ten.", "voice": "email"}},
                "several": {"value": {"documents": [{"id": "a", "text": "First."}, {"id": "b", "text": "Second."}]}},
            },
        ),
    ],
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Add all documents or none. A stored document changes nothing; a stored id with other content is a 409."""
    documents_in = body if isinstance(body, list) else body.documents if isinstance(body, DocumentsIn) else [body]
    additions = [Addition(caller.user.id, entry.document(), mine=entry.mine) for entry in documents_in]
    _check_ids([addition.document for addition in additions])
    return await once(services, caller, request, idempotency_key, lambda connection: _add(connection, additions))


def _check_ids(documents: list[Document]) -> None:
    """Check that documents of one body that share an id are equal. Raises Conflict if they are not."""
    first: dict[str, tuple[int, Document]] = {}
    for index, document in enumerate(documents):
        earlier, other = first.setdefault(document.id, (index, document))
        if (other.text, other.request, other.voice) != (document.text, document.request, document.voice):
            raise Conflict(
                f"The id '{document.id}' stands twice in this body, at {earlier} and {index} from 0, with different "
                "contents; give each document its own. Nothing was added.",
                param="id",
                code="duplicate_id",
            )


def _add(connection: Connection, additions: list[Addition]) -> StoredResponse:
    outcomes = documents.add(connection, additions)
    clashing = [
        addition.document.id
        for addition, outcome in zip(additions, outcomes, strict=True)
        if outcome is AddOutcome.CONFLICT
    ]
    if clashing:  # the error undoes the others
        raise Conflict(
            f"{len(clashing)} of the documents are there already with other content, which stays: "
            f"{', '.join(clashing[:5])}. Nothing was added.",
            param="id",
            code="document_exists",
        )
    created = outcomes.count(AddOutcome.CREATED)
    marks = apart.marks(connection, additions[0].user_id, [addition.document.id for addition in additions])
    data = []
    for addition, outcome in zip(additions, outcomes, strict=True):
        entry = {"id": addition.document.id, "object": "document", "status": outcome.value}
        reason = marks.get(addition.document.id, apart.SAMPLE).reason
        data.append(entry if reason is None else {**entry, "set_apart": reason})
    body = {"object": "list", "data": data, "created": created, "existing": len(outcomes) - created}
    return StoredResponse(201 if created else 200, orjson.dumps(body).decode())


@router.get("", summary="List your documents")
def list_documents(
    services: ServicesDep,
    caller: Caller,
    limit: Annotated[int, Query(ge=1, le=1000, description="Number per page.")] = 20,
    after: Annotated[Name | None, Query(description="Id of the last document of the page before.")] = None,
    order: Annotated[Literal["asc", "desc"], Query(description="Order by time: oldest or newest first.")] = "desc",
    voice: Annotated[Name | None, Query(description="List only documents of this voice.", examples=["email"])] = None,
    query: Annotated[
        Text | None,
        Query(
            description="List only texts that contain each of these words, in upper or lower case.", examples=["kettle"]
        ),
    ] = None,
    set_apart: Annotated[bool, Query(description="List only documents from which drafts do not learn.")] = False,
) -> DocumentPage:
    wanted, user_id = PageQuery(limit, after, order == "desc", query), caller.user.id
    with services.database.read() as connection:
        chosen = voices.chosen_there(connection, user_id, voice)
        page = documents.page(connection, user_id, wanted, chosen, only_apart=set_apart)
        return DocumentPage.of(_marked(connection, user_id, page.documents), page.has_more)


class BulkDeletion(OfRecord):
    """The outcome of a bulk deletion."""

    object: Literal["deletion"] = Field(description="Always `deletion`.")
    deleted: int = Field(description="Number of documents deleted.", examples=[30])
    kept: int = Field(
        description="Number of documents of the import that stay because you changed them by hand since.", examples=[0]
    )
    status: Literal["deleted", "erasing"] = Field(
        description="`erasing`: another program reads the database's files, which are overwritten when that ends.",
        examples=["deleted"],
    )


@router.delete(
    "",
    summary="Delete the documents of a voice or of an import",
    responses={202: {"model": BulkDeletion, "description": "Deleted; the files are still to be overwritten."}},
)
@writes
def delete_documents(
    services: ServicesDep,
    caller: Caller,
    response: Response,
    voice: Annotated[Name | None, Query(description="Every document of this voice.", examples=["old-blog"])] = None,
    import_id: Annotated[
        Name | None,
        Query(alias="import", description="Documents of this import that you did not change by hand since."),
    ] = None,
) -> BulkDeletion:
    """Delete all documents of a voice or of an import: name exactly one. The drafts that they were sent from are
    deleted too. `DELETE /v1/me` deletes everything of yours."""
    if (voice is None) == (import_id is None):
        raise InputError(
            "Say which documents: 'voice' or 'import', one of the two. DELETE /v1/me deletes everything of yours.",
            param="voice",
            code="missing_parameter",
        )
    with services.database.write(deletes=True) as connection:
        if import_id is not None:
            undone = imports.undo(connection, caller.user.id, import_id)
        else:
            voices.get(connection, caller.user.id, str(voice))
            removed = documents.remove_all(connection, caller.user.id, documents_table.c.voice == voice)
            undone = imports.Undone(removed, kept=0)
    erased = services.forget_deleted(caller.user.id)
    response.status_code = 200 if erased else 202
    return BulkDeletion.of(undone, deleted=undone.removed, status="deleted" if erased else "erasing")


DocumentId = Annotated[Name, Path(description="The document's id.", examples=["mail-2041"])]


@router.get("/{id:path}", summary="Get a document")
def get_document(services: ServicesDep, caller: Caller, id: DocumentId) -> DocumentOut:
    with services.database.read() as connection:
        return _marked(connection, caller.user.id, [documents.get(connection, caller.user.id, id)])[0]


class DocumentChange(KnownFields):
    """The changes to make to a document."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": ["voice"]}, {"required": ["mine"], "properties": {"mine": {"type": "boolean"}}}]
        }
    )

    voice: StoredVoice | None = Field(
        None, description="The register it belongs to; null for none; unchanged if absent.", examples=["email"]
    )
    mine: bool | None = Field(
        None,
        description="True if drafts shall learn from it though it was set apart, false if they shall not.",
        examples=[None],
    )


@router.patch("/{id:path}", summary="Move a document to another voice, or say whether it is yours")
@writes
def change_document(services: ServicesDep, caller: Caller, id: DocumentId, body: DocumentChange) -> DocumentOut:
    """Set the voice, created if new and kept when the document is imported again, or whether drafts learn from it."""
    if "voice" not in body.model_fields_set and body.mine is None:
        raise InputError("Say what to change: 'voice' or 'mine'.", param="voice", code="missing_field")
    user_id = caller.user.id
    with services.database.write() as connection:
        if body.mine is not None:
            documents.claim(connection, user_id, id, mine=body.mine)
        if "voice" in body.model_fields_set:
            documents.change_voice(connection, user_id, id, body.voice)
        return _marked(connection, user_id, [documents.get(connection, user_id, id)])[0]


@router.delete("/{id:path}", status_code=204, responses=ANSWERS, summary="Delete a document")
@writes
def delete_document(services: ServicesDep, caller: Caller, id: DocumentId) -> Response:
    """Delete the document, its embedding and the draft it was sent from for good. SQLite also erases them from the
    database's files; PostgreSQL overwrites the freed space later."""
    with services.database.write(deletes=True) as connection:
        documents.remove(connection, caller.user.id, id)
    return deletion_answer(services.forget_deleted(caller.user.id))


def _marked(connection: Connection, user_id: int, listed: list[Document]) -> list[DocumentOut]:
    """Convert documents to their API form: a quarantined document has the reason, a document sent from a draft has
    ``sent_draft``."""
    ids = [document.id for document in listed]
    sent, marks = feedback.sent_drafts(connection, user_id, ids), apart.marks(connection, user_id, ids)
    return [_out(each, sent.get(each.id), marks.get(each.id, apart.SAMPLE)) for each in listed]


def _out(document: Document, sent: feedback.Feedback | None, mark: apart.Mark) -> DocumentOut:
    return DocumentOut.of(
        document, language=detect(document.text), set_apart=mark.reason, sent_draft=sent_draft_out(sent)
    )
