"""``Idempotency-Key``: a call repeated under the same key gets its first answer and is not carried out again.

A call's changes and its answer are stored in one transaction: whenever the process is killed, both are there or
neither.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated, TypeVar

import anyio
from fastapi import Header, Request
from fastapi.responses import Response
from pydantic import WithJsonSchema
from sqlalchemy import Connection

from pearl.errors import StoreError
from pearl.text.usable import MAX_ID_LENGTH, check_id
from service.http.api.fields import NAME
from service.process.threads import in_thread, in_writing_thread
from service.services import Services
from service.store import idempotency
from service.store.idempotency import Call, StoredResponse
from service.store.keys import Identity

KEPT_S = 86_400.0  # how long an answer is kept
RENEWED_S = 5.0  # between renewals of a long call's claim
ABANDONED_S = 20.0  # a long call whose process died, and so no longer renews its claim, frees its key after this

T = TypeVar("T")
Store = Callable[[Connection, StoredResponse], None]

IdempotencyKey = Annotated[
    str | None,
    WithJsonSchema({"type": "string", "maxLength": MAX_ID_LENGTH, "pattern": NAME}),
    Header(
        alias="Idempotency-Key",
        description="1 to 200 characters; the same call under it is carried out once (24 hours).",
    ),
]


async def once(
    services: Services,
    caller: Identity,
    request: Request,
    key: str | None,
    work: Callable[[Connection], StoredResponse],
) -> Response:
    """Run ``work`` in one transaction, in a thread; return its answer, or the first answer under this key."""
    call = None if key is None else await _call(services, caller, request, key)
    return await in_writing_thread(_once, services, call, work)


def _once(services: Services, call: Call | None, work: Callable[[Connection], StoredResponse]) -> Response:
    with services.database.write() as connection:
        before = None if call is None else idempotency.begin(connection, call)
        if before is not None:
            return _response(before, replayed=True)
        answer = work(connection)
        if call is not None:
            idempotency.finish(connection, call, answer)
    return _response(answer)


async def run_idempotent(
    services: Services,
    caller: Identity,
    request: Request,
    key: str,
    work: Callable[[Store], Awaitable[StoredResponse]],
    restored: Callable[[StoredResponse], StoredResponse],
) -> Response:
    """Run ``work`` once, as :func:`once` does, if it is too long for one transaction: claim the key first.

    ``work`` is given a function that stores its answer, and must call it in the transaction that stores the result.
    ``restored`` makes the full answer from a stored one, in a thread. Raises Conflict while the first call still runs.
    """
    call = await _call(services, caller, request, key)
    before = await in_writing_thread(_claim, services, call)
    if before is not None:
        return _response(await in_thread(restored, before), replayed=True)
    renewing = asyncio.create_task(_renew(services, call))
    try:
        return _response(await work(lambda connection, answer: idempotency.finish(connection, call, answer)))
    except BaseException:
        # free the key, also if the client left; else the claim lapses
        with anyio.CancelScope(shield=True), suppress(StoreError):
            await in_writing_thread(_written, services, idempotency.abandon, call)
        raise
    finally:
        renewing.cancel()


async def _call(services: Services, caller: Identity, request: Request, key: str) -> Call:
    check_id(key, param="Idempotency-Key")
    parts = (request.method.encode(), str(request.url.path).encode(), await request.body())
    fingerprint = hashlib.sha256(b"\0".join(parts)).hexdigest()
    return Call(caller.user.id, key, fingerprint, KEPT_S, ABANDONED_S)


def _claim(services: Services, call: Call) -> StoredResponse | None:
    _written(services, idempotency.redate, call)
    return _written(services, idempotency.begin, call)


def _written(services: Services, change: Callable[[Connection, Call], T], call: Call) -> T:
    with services.database.write() as connection:
        return change(connection, call)


async def _renew(services: Services, call: Call) -> None:
    while True:
        await asyncio.sleep(RENEWED_S)
        with suppress(StoreError):  # the next time may do
            await in_writing_thread(_written, services, idempotency.renew, call)


def _response(answer: StoredResponse, *, replayed: bool = False) -> Response:
    headers = {"idempotent-replayed": "true"} if replayed else {}
    return Response(answer.body, answer.status, headers, "application/json")
