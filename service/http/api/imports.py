"""``/v1/imports``: import an archive, which is the body of the request, into the caller's history."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import anyio.to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.requests import ClientDisconnect

from pearl.errors import InputError, PearlError, TooLarge
from pearl.text.usable import printable
from service.http.api.bodies import READ_TIMEOUT_S, KeyedRoute, TimedOut
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.draft_form import check_listed
from service.http.api.fields import Name, OfRecord, StoredVoice
from service.http.api.streaming import ClientLeft, EventStream, event, while_connected
from service.importing.sources.base import Importer, Options
from service.importing.upload import OneUsers, Uploads, chosen, guess, import_file, importers, without
from service.process.temporary import temporary_folder, temporary_full
from service.process.threads import in_thread
from service.store import imports
from service.store.database import Database

router = APIRouter(prefix="/v1/imports", tags=["imports"], route_class=KeyedRoute)

MOST = 1_000_000_000  # bytes of an archive; `pearl import` reads larger ones
SLOWEST = 100_000  # bytes a second that must arrive
PIECE = 1 << 20  # bytes written at once
TOLD_S = 0.3  # between two events of progress
NOT_IN_NAMES = frozenset('<>:"|?*')  # on Windows

FileName = Annotated[
    str,
    Query(max_length=255, description="The file's own name, which tells some importers more.", examples=["chat.zip"]),
]


class ImporterFlag(BaseModel):
    """An option of an importer."""

    name: str = Field(description="Its name, for `option`.", examples=["day_first"])
    description: str = Field(description="What it does.", examples=["Read 03/04/24 as 3 April."])


class ImporterOut(OfRecord):
    """A kind of archive."""

    name: str = Field(description="Its name, for `kind`.", examples=["whatsapp"])
    summary: str = Field(description="What it reads.", examples=["A chat exported from WhatsApp."])
    needs_me: bool = Field(
        description="True if it holds others' texts too, so that `me` must say which are yours.", examples=[True]
    )
    options: list[ImporterFlag] = Field(description="The choices that it has.", examples=[[]])


class ImporterList(BaseModel):
    """All kinds of archives."""

    object: Literal["list"] = Field(description="Always `list`.")
    data: list[ImporterOut] = Field(description="Kinds, by name.", examples=[[]])


class GuessOut(BaseModel):
    """A guess at the kind of an archive."""

    object: Literal["import_guess"] = Field(description="Always `import_guess`.")
    kind: str = Field(description="The importer that reads it.", examples=["whatsapp"])
    looks: str = Field(description="What it is, in words.", examples=["a chat of WhatsApp"])


class ProblemOut(BaseModel):
    """Something in an archive that cannot be used."""

    where: str = Field(description="Its place in the archive.", examples=["chat.zip/_chat.txt:12"])
    message: str = Field(description="The problem.", examples=["'text' is empty."])
    field: str | None = Field(description="The part at fault, if known.", examples=["text"])


class SenderOut(BaseModel):
    """Somebody who writes in an archive."""

    name: str = Field(description="The name or address there.", examples=["Bea Rook"])
    texts: int = Field(description="Number of their texts.", examples=[812])


class ImportOut(OfRecord):
    """The outcome of an import."""

    id: str | None = Field(
        description="Undo it with `DELETE /v1/documents?import=ID`; null if it brought nothing.",
        examples=["import_0192f0c4b1aa7d0e5c2f9b1c"],
    )
    object: Literal["import"] = Field(description="Always `import`.")
    kind: str = Field(description="The importer.", examples=["whatsapp"])
    source: str = Field(description="The file's name.", examples=["chat.zip"])
    imported: int = Field(description="Number of documents that are new in your history.", examples=[240])
    already_there: int = Field(description="Number of those that were there before.", examples=[0])
    conflicts: int = Field(
        description="Number of those that were there before with another text, which stays.", examples=[0]
    )
    set_apart: int = Field(
        description="Number of new ones from which drafts do not learn: they read like an assistant's.", examples=[1]
    )
    left_out: dict[str, int] = Field(
        description="Numbers of items that were left out, by reason.", examples=[{"not written by --me": 812}]
    )
    languages: dict[str, int] = Field(
        description="Numbers of new documents by language, an ISO 639 code or `unknown`.", examples=[{"en": 240}]
    )
    errors: list[ProblemOut] = Field(description="The first 100 errors in the archive.", examples=[[]])
    errors_total: int = Field(description="Number of errors.", examples=[0])
    unmatched_me: list[str] = Field(description="Names in `me` that nobody in the archive has.", examples=[[]])
    senders: list[SenderOut] = Field(
        description="The commonest other senders, if `me` names somebody who is not there.", examples=[[]]
    )
    remarks: list[str] = Field(description="What else you should know.", examples=[["Its times are taken as UTC."]])


class PastImportOut(OfRecord):
    """An import that added documents to your history."""

    id: str = Field(description="Undo it with `DELETE /v1/documents?import=ID`.", examples=["import_0192f0c4b1aa7d0e"])
    object: Literal["import"] = Field(description="Always `import`.")
    kind: str = Field(description="The importer.", examples=["whatsapp"])
    source: str = Field(description="The file's name, or its path on the service's machine.", examples=["chat.zip"])
    created_at: float = Field(description="When it was, Unix seconds.", examples=[1772357400.25])
    undone_at: float | None = Field(description="When it was undone, Unix seconds.", examples=[None])
    brought: int = Field(description="Number of documents that it brought.", examples=[240])
    documents: int = Field(description="Number of those that are still in your history.", examples=[240])


class PastImports(BaseModel):
    """All imports that added documents to your history."""

    object: Literal["list"] = Field(description="Always `list`.")
    data: list[PastImportOut] = Field(description="Imports, the newest first.", examples=[[]])


@router.get("/kinds", summary="List the kinds of archives")
def list_kinds(caller: Caller) -> ImporterList:
    return ImporterList(object="list", data=[_kind(importer) for importer in importers()])


@router.get("", summary="List your imports")
def list_imports(services: ServicesDep, caller: Caller) -> PastImports:
    with services.database.read() as connection:
        listed = imports.list_all(connection, caller.user.id)
    return PastImports(object="list", data=[PastImportOut.of(past, kind=past.importer) for past in listed])


@router.post("/guess", summary="Tell what kind an archive is")
async def guess_kind(request: Request, caller: Caller, name: FileName) -> GuessOut:
    """Send the file as the body, as for an import. If the file is not packed, its first 65,536 bytes are enough."""
    uploads: Uploads = request.app.state.uploads
    async with AsyncExitStack() as stack:
        stack.enter_context(uploads.turn(caller.user.id))
        source = await _received(request, stack.enter_context(temporary_folder()), name)
        guessed = await in_thread(guess, source)
    return GuessOut(object="import_guess", kind=guessed.kind, looks=guessed.looks)


@router.post(
    "",
    summary="Import an archive",
    response_model=ImportOut,
    responses={200: {"content": {"text/event-stream": {}}, "description": "The outcome, or a stream of events."}},
)
async def import_archive(
    request: Request,
    services: ServicesDep,
    caller: Caller,
    name: FileName,
    kind: Annotated[str | None, Query(description="The importer; guessed if absent.", examples=["whatsapp"])] = None,
    me: Annotated[
        list[Name] | None,
        Query(description="A name, address or id of yours in the archive; repeatable.", examples=[["Ann Lee"]]),
    ] = None,
    voice: Annotated[
        StoredVoice | None, Query(description="Voice of texts for which the archive names none.", examples=["chat"])
    ] = None,
    least_words: Annotated[int, Query(ge=0, description="Leave out texts of fewer words.", examples=[0])] = 0,
    option: Annotated[
        list[str] | None, Query(description="A choice of the importer's; repeatable.", examples=[["day_first"]])
    ] = None,
    stream: Annotated[bool, Query(description="Answer with a stream of events.")] = False,
) -> Response:
    """Send the file itself as the body, at most 1,000,000,000 bytes. With `stream` the answer is several events
    `progress`, then `import` with the outcome, or `error`. If the client disconnects, the import stops, and documents
    imported by then stay."""
    uploads: Uploads = request.app.state.uploads
    options = Options(caller.user.name, tuple(me or ()), voice, least_words, frozenset(option or ()))
    if kind is not None:
        chosen(kind, options)  # what is wrong with the choice is said before the file is sent
    async with AsyncExitStack() as stack:
        stack.enter_context(uploads.turn(caller.user.id))
        source = await _received(request, stack.enter_context(temporary_folder()), name)
        importer = chosen(kind or (await in_thread(guess, source)).kind, options)
        one_users = OneUsers(importer, caller.user)
        work = partial(_import, services.database, one_users, source, options)
        running = asyncio.create_task(_carry_out(stack.pop_all(), uploads, work))
        running.add_done_callback(lambda task: task.cancelled() or task.exception())  # if nobody is there to be told
    if stream:
        return EventStream(_events(one_users, running), failed=partial(event, name="error"))
    try:
        outcome = await while_connected(request, lambda: asyncio.shield(running))
    finally:
        one_users.stop.set()
    return Response(outcome.model_dump_json(), media_type="application/json")


async def _carry_out(stack: AsyncExitStack, uploads: Uploads, work: partial[ImportOut]) -> ImportOut:
    async with stack:
        return await anyio.to_thread.run_sync(work, limiter=uploads.threads)


async def _events(importer: OneUsers, running: asyncio.Task[ImportOut]) -> AsyncGenerator[bytes, None]:
    try:
        while not running.done():
            yield event(importer.progress(), "progress")
            await asyncio.wait((running,), timeout=TOLD_S)
        yield event(importer.progress(), "progress")
        yield event((await running).model_dump(), "import")
    finally:
        importer.stop.set()
        await asyncio.wait((running,))


async def _received(request: Request, folder: Path, name: str) -> Path:
    """Write the body to a file in the folder. Raises InputError, TooLarge, TimedOut, ClientLeft, StoreError."""
    source = folder / _file_name(name)
    kind = request.headers.get("content-type", "").partition(";")[0]
    if kind.startswith("multipart/") or request.headers.get("content-encoding", "identity").lower() != "identity":
        raise InputError(
            "Send the file itself as the body, not a form or a compressed body: curl --data-binary @FILE",
            code="not_the_file",
        )
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > MOST:
        raise _too_large()
    received, pieces = 0, bytearray()
    try:
        with source.open("xb") as file:
            started = asyncio.get_running_loop().time()
            async with asyncio.timeout(READ_TIMEOUT_S) as limit:
                async for piece in request.stream():
                    received += len(piece)
                    if received > MOST:
                        raise _too_large()
                    limit.reschedule(started + READ_TIMEOUT_S + received / SLOWEST)
                    pieces += piece
                    if len(pieces) >= PIECE:
                        await in_thread(file.write, bytes(pieces))
                        pieces.clear()
            await in_thread(file.write, bytes(pieces))
    except TimeoutError:
        raise TimedOut(f"The file did not arrive: less than {SLOWEST:,} bytes a second came.") from None
    except ClientDisconnect:
        raise ClientLeft from None
    except OSError as error:
        raise temporary_full(error) from error
    return source


def _too_large() -> PearlError:
    return TooLarge(
        f"The file is over the limit of {MOST:,} bytes; import it on the service's machine with 'pearl import'.",
        code="body_too_large",
    )


def _file_name(name: str) -> str:
    """Make a file name that every system allows. Raises InputError for a path."""
    shown = "".join("_" if letter in NOT_IN_NAMES else letter for letter in name if letter.isprintable()).strip()
    if {"/", "\\"} & set(name) or shown in ("", ".", "..") or len(shown.encode()) > 255:
        raise InputError("'name' must be the file's own name, without folders.", param="name", code="invalid_name")
    return shown


def _kind(importer: Importer) -> ImporterOut:
    options = [ImporterFlag(name=name, description=text) for name, text in getattr(importer, "flags", {}).items()]
    return ImporterOut.of(importer, options=options)


def _import(database: Database, importer: OneUsers, source: Path, options: Options) -> ImportOut:
    summary, restored = import_file(database, importer, source, options, check_listed)
    shown = partial(without, source.parent)
    return ImportOut.of(
        summary,
        id=next(iter(summary.import_ids.values()), None),
        kind=importer.name,
        source=source.name,
        errors=[
            ProblemOut(where=shown(problem.where), message=shown(problem.message), field=problem.field)
            for problem in summary.errors
        ],
        unmatched_me=list(summary.unmatched_me),
        senders=[SenderOut(name=printable(sender.name), texts=sender.texts) for sender in summary.senders],
        remarks=[shown(remark) for remark in (*summary.remarks, *restored)],
    )
