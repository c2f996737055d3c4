"""Notes (rows) about deletions: a note stays until the deletion's traces in the files are overwritten."""

from __future__ import annotations

import time

from sqlalchemy import Connection, delete, func, insert, select, text

from service.store.tables import erasures, metadata

# A dead row stays in its page for as long as a transaction runs that may still see it. The newest deletion's own
# transaction wrote the newest row of `erasures`; transactions that began no later than that keep VACUUM from it.
STILL_SEEN = text("""
    WITH newest AS (SELECT min(age(xmin)) AS age FROM erasures)
    SELECT EXISTS (
        SELECT 1 FROM pg_stat_activity
        WHERE pid <> pg_backend_pid() AND (datname = current_database() OR datname IS NULL)
            AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
            AND (age(backend_xmin) >= newest.age OR age(backend_xid) >= newest.age)
        UNION ALL SELECT 1 FROM pg_prepared_xacts
        WHERE database = current_database() AND age(transaction) >= newest.age
        UNION ALL SELECT 1 FROM pg_replication_slots WHERE age(xmin) >= newest.age
    ) FROM newest
""")

# as the last VACUUM left them
NOT_ALL_VISIBLE = text("""
    SELECT relname FROM pg_class
    WHERE relkind = 'r' AND pg_table_is_visible(oid) AND relname = ANY(:names) AND relpages - relallvisible > :pages
""")


def owe(connection: Connection, user_id: int) -> None:
    """Note, in the transaction that deletes, that the files must be cleaned after it. Also delete what quotes the
    user's data outside of the database; if that fails, so does the transaction."""
    connection.execute(insert(erasures).values(requested_at=time.time()))
    forget = connection.get_execution_options().get("pearl_forget")
    if forget is not None:
        forget(user_id)


def newest(connection: Connection) -> int | None:
    """Return the id of the newest note; None if there is none."""
    newest_id = connection.scalar(select(func.max(erasures.c.id)))
    return None if newest_id is None else int(newest_id)


def settle(connection: Connection, up_to: int) -> None:
    """Delete the notes up to the id ``up_to``, after the files were cleaned."""
    connection.execute(delete(erasures).where(erasures.c.id <= up_to))


def still_seen(connection: Connection) -> bool:
    """True while a transaction on PostgreSQL may still read what was deleted."""
    return bool(connection.scalar(STILL_SEEN))


def read_again(connection: Connection, pages: int) -> list[str]:
    """Return the names of the PostgreSQL tables of which each VACUUM reads more than ``pages`` pages."""
    return list(connection.scalars(NOT_ALL_VISIBLE, {"names": list(metadata.tables), "pages": pages}))
