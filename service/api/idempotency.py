"""``Idempotency-Key``: a call repeated under the same key is answered, not carried out, again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Annotated

from fastapi import Header, Request
from fastapi.responses import Response

from pearl.texts import check_id
from service.services import Services
from service.store import idempotency
from service.store.idempotency import Answer
from service.store.keys import Identity
from service.threads import in_thread

ABANDONED_S = 300.0  # a call whose process died frees its key after this

IdempotencyKey = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="Any string; the same call under it is carried out once (24 hours)."),
]


async def once(
    services: Services, caller: Identity, request: Request, key: str | None, work: Callable[[], Answer]
) -> Response:
    """The answer of ``work`` (run in a thread), or the one it gave before under this key."""
    if key is None:
        return _response(await in_thread(work))
    check_id(key, param="Idempotency-Key")
    fingerprint = hashlib.sha256(
        b"\0".join((request.method.encode(), str(request.url.path).encode(), await request.body()))
    ).hexdigest()
    return await in_thread(_once, services, caller.user.id, key, fingerprint, work)


def _once(services: Services, user_id: int, key: str, fingerprint: str, work: Callable[[], Answer]) -> Response:
    lifetime_s = services.settings.idempotency_hours * 3600
    with services.database.write() as connection:
        before = idempotency.begin(
            connection, user_id, key, fingerprint, lifetime_s=lifetime_s, abandoned_s=ABANDONED_S
        )
    if before is not None:
        return _response(before, replayed=True)
    try:
        answer = work()
        with services.database.write() as connection:
            idempotency.finish(connection, user_id, key, answer)
    except BaseException:
        with services.database.write() as connection:
            idempotency.abandon(connection, user_id, key)
        raise
    return _response(answer)


def _response(answer: Answer, *, replayed: bool = False) -> Response:
    headers = {"idempotent-replayed": "true"} if replayed else {}
    return Response(answer.body, answer.status, headers, "application/json")
