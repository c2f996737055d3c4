"""Connections to PostgreSQL with a time limit: a server may hang with its connections open."""

from __future__ import annotations

from typing import Any

from psycopg import Connection, OperationalError
from psycopg.errors import _WaitTimeout

NO_ANSWER = "no answer in time"
STATEMENT, GRACE_S = 2.0, 2.0  # STATEMENT: times the limit for a lock, after which the server ends a statement


class LimitedConnection(Connection[Any]):
    """A connection that closes itself if the server does not answer in time."""

    limit_s: float | None = None  # None: no limit

    def wait(self, gen: Any, *args: Any, **more: Any) -> Any:
        if more.get("timeout") is not None:
            return super().wait(gen, *args, **more)
        try:
            return super().wait(gen, *args, **{**more, "timeout": self.limit_s})
        except _WaitTimeout:
            self.pgconn.finish()  # its state is unknown
            raise OperationalError(NO_ANSWER) from None


def connect(timeout_s: float, *arguments: Any, **more: Any) -> LimitedConnection:
    """Connect as psycopg does, with a time limit for answers: STATEMENT times ``timeout_s`` (for locks), and
    GRACE_S."""
    made = LimitedConnection.connect(*arguments, **more)
    made.limit_s = STATEMENT * timeout_s + GRACE_S
    return made
