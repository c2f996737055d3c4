"""``GET /v1/export`` and ``DELETE /v1/me``: export or delete everything of one user; and the answer to any deletion."""

from __future__ import annotations

import tempfile
from typing import IO, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel, Field
from starlette.types import Receive, Scope, Send

from service.histories.export import export_pieces
from service.http.api.bodies import KeyedRoute
from service.http.api.dependencies import Caller, ServicesDep
from service.http.api.idempotency import IdempotencyKey, once
from service.process.temporary import temporary_full
from service.process.threads import in_thread, writes
from service.services import Services
from service.store import users
from service.store.idempotency import StoredResponse
from service.store.replies import forget_replies
from service.store.users import User

router = APIRouter(prefix="/v1", tags=["account"], route_class=KeyedRoute)

IN_MEMORY = 16_000_000  # bytes of an export; a longer one is written to a nameless file
PIECE = 64_000  # bytes
ERASING = (
    "It is deleted and will not be shown or used again. Another program is reading the database's files, or their disk "
    "is full; they are overwritten as soon as that ends. Nothing is left for you to do."
)


class Erasing(BaseModel):
    """The answer to a deletion whose traces stay in the database's files for a while."""

    object: Literal["deletion"] = Field(description="Always `deletion`.", examples=["deletion"])
    status: Literal["erasing"] = Field(description="Always `erasing`.", examples=["erasing"])
    message: str = Field(description="The same in a sentence.", examples=[ERASING])


ANSWERS: dict[int | str, dict[str, Any]] = {
    202: {"model": Erasing, "description": "Deleted; the database's files are still to be overwritten."}
}


def deletion_answer(erased: bool) -> Response:
    """Make the answer to a deletion: 204 without a body, or 202 if traces stay in the database's files."""
    if erased:
        return Response(status_code=204)
    return JSONResponse(Erasing(object="deletion", status="erasing", message=ERASING).model_dump(), 202)


@router.get(
    "/export",
    summary="Everything PEARL keeps of you",
    response_class=Response,
    responses={
        200: {
            "description": "A JSON object; each of `documents` is a line of a history file.",
            "content": {"application/json": {"example": {"object": "export", "user_id": "sample", "documents": []}}},
        }
    },
)
async def export(
    request: Request, services: ServicesDep, caller: Caller, idempotency_key: IdempotencyKey = None
) -> Response:
    """Export your voices, documents, drafts, feedback, profiles, and calibrations with the model's replies kept for
    them. A call that is repeated under an Idempotency-Key gets the data as they are then: a stored copy would outlive
    what you delete."""
    headers = {"content-disposition": 'attachment; filename="pearl-export.json"'}
    if idempotency_key is not None:
        recognised = await once(
            services, caller, request, idempotency_key, lambda connection: StoredResponse(200, "{}")
        )
        headers |= {name: value for name, value in recognised.headers.items() if name == "idempotent-replayed"}
    try:
        written = await in_thread(_write_export, services, caller.user)
    except OSError as error:
        raise temporary_full(error) from error
    return WrittenExport(written, headers)


class WrittenExport(StreamingResponse):
    """Streams an export from its file, and closes the file at the end, even if the client leaves early."""

    def __init__(self, file: IO[bytes], headers: dict[str, str]) -> None:
        super().__init__(iter(lambda: file.read(PIECE), b""), media_type="application/json", headers=headers)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


def _write_export(services: Services, user: User) -> IO[bytes]:
    """Write the export to a file: a slow client must not hold a transaction open, and an error must get its status."""
    file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - WrittenExport closes it
    try:
        with services.database.read() as connection:
            file.writelines(export_pieces(connection, user, services.settings.home))
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


@router.delete("/me", status_code=204, responses=ANSWERS, summary="Delete yourself and everything of yours")
@writes
def delete_me(services: ServicesDep, caller: Caller) -> Response:
    """Delete your history, voices, embeddings, drafts, feedback, jobs and keys for good. SQLite also erases them from
    the database's files; PostgreSQL overwrites the freed space later."""
    with services.database.write(deletes=True) as connection:
        users.remove(connection, caller.user.id)
        forget_replies(services.settings.home, caller.user.id)  # if this fails the user stays: no one could ask again
    return deletion_answer(services.forget_deleted(caller.user.id))
