"""The users. In the schema they belong to tenants, of which there is only one."""

from __future__ import annotations

import time
from dataclasses import dataclass
from shlex import quote

from sqlalchemy import Connection, bindparam, delete, func, select, update

from pearl.errors import AccessError, InputError, NotFound
from pearl.text.usable import meant
from pearl.text.words import composed
from service.store import erasures
from service.store.tables import tenants, upsert, users

TENANT = "default"
NAMES_SHOWN = 10
BY_NAME = (  # with the tenant, which the index of names begins with
    select(users.c.id)
    .join(tenants, tenants.c.id == users.c.tenant_id)
    .where(tenants.c.name == TENANT, users.c.name == bindparam("name"))
)
HISTORY_VERSION = select(users.c.history_version).where(users.c.id == bindparam("id"))
LOCK = (
    select(users.c.id)
    .where(users.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(users.c.id)
    .with_for_update(key_share=True)
)


@dataclass(frozen=True, slots=True)
class User:
    """A user as the store knows them: row id, and the name that is used outside of it."""

    id: int
    name: str


def tenant_id(connection: Connection) -> int:
    """The tenant's row id; make the tenant if there is none."""
    find = select(tenants.c.id).where(tenants.c.name == TENANT)
    known = connection.scalar(find)
    if known is None:  # of several calls that find it missing at once, one makes it
        addition = upsert(connection, tenants).values(name=TENANT, created_at=time.time())
        connection.execute(addition.on_conflict_do_nothing())
        known = connection.scalar(find)
    assert known is not None, "it was just made"
    return int(known)


def ensure(connection: Connection, names: set[str]) -> dict[str, User]:
    """Return the users by name; make missing users, with composed letters (NFC) in their names."""
    owner = tenant_id(connection)
    known = set(connection.scalars(select(users.c.name).where(users.c.name.in_(names))))
    stored = {name: name if name in known else composed(name) for name in names}
    rows = [{"tenant_id": owner, "name": name, "created_at": time.time()} for name in sorted(set(stored.values()))]
    if rows:
        connection.execute(upsert(connection, users).on_conflict_do_nothing(), rows)
    named = connection.execute(select(users.c.id, users.c.name).where(users.c.name.in_(stored.values())))
    ids = {name: row_id for row_id, name in named}
    return {given: User(ids[name], name) for given, name in stored.items()}


def find(connection: Connection, name: str) -> User | None:
    """The user of this name, or of the same name with composed letters; None if there is none."""
    for spelling in spellings(name):
        row_id = connection.scalar(BY_NAME, {"name": spelling})
        if row_id is not None:
            return User(row_id, spelling)
    return None


def spellings(name: str) -> tuple[str, ...]:
    """The name as given, and with composed letters (NFC) if that differs: both look the same."""
    return tuple(dict.fromkeys((name, composed(name))))


def find_address(connection: Connection, name: str) -> User | None:
    """Return the user whose name is this mail address, ignoring case; None without one, or if it is no address."""
    wanted = as_address(name)
    if "@" not in name:
        return None
    alike = select(users.c.id, users.c.name).where(func.lower(users.c.name) == wanted).order_by(users.c.id)
    rows = connection.execute(alike).all()
    return next((User(row.id, row.name) for row in rows if as_address(row.name) == wanted), None)


def as_address(name: str) -> str:
    """Return an ASCII mail address in lower case, and any other name unchanged: addresses of two people with letters
    beyond ASCII may be the same in lower case."""
    return name.lower() if "@" in name and name.isascii() else name


def check_room(connection: Connection, most: int) -> None:
    """Check that another user can be made. Raises AccessError if there are ``most`` users or more."""
    if (connection.scalar(select(func.count()).select_from(users)) or 0) >= most:
        raise AccessError(
            f"There are {most:,} users, the most with which a sign-on makes another; ask the operator.",
            code="too_many_users",
        )


def get(connection: Connection, name: str) -> User:
    """Return the user of this name, for commands. Raises NotFound that says what to do about it."""
    user = find(connection, name)
    if user is None:
        raise NotFound(
            f"There is no user '{name}'; `pearl users list` lists those there are, and an import or `pearl keys create "
            f"--user {quote(name)}` makes one.{meant(name, connection.scalars(select(users.c.name)))}",
            param="user",
            code="user_not_found",
        )
    return user


def chosen(connection: Connection, name: str | None) -> User:
    """Return the named user; None: the only user. Raises NotFound if there is none, InputError if there are several."""
    if name is not None:
        return get(connection, name)
    rows = connection.execute(select(users.c.id, users.c.name).order_by(users.c.name)).all()
    if not rows:
        raise NotFound(
            "There is no user yet; import a history (pearl import PATH --user me).", param="user", code="user_not_found"
        )
    if len(rows) > 1:
        names = ", ".join(row.name for row in rows[:NAMES_SHOWN]) + (", ..." if len(rows) > NAMES_SHOWN else "")
        raise InputError(
            f"There are {len(rows)} users ({names}); name one with --user.", param="user", code="missing_user"
        )
    return User(rows[0].id, rows[0].name)


def has_other(connection: Connection, name: str) -> bool:
    """True if there is a user of another name."""
    return connection.scalar(select(users.c.id).where(users.c.name != name).limit(1)) is not None


def keep_others_out(connection: Connection) -> None:
    """Keep all other transactions from making a user until this transaction ends."""
    connection.execute(select(tenants.c.id).where(tenants.c.id == tenant_id(connection)).with_for_update())


def history_version(connection: Connection, user_id: int) -> int:
    """Return a number that changes whenever the user's documents change. Raises NotFound if the user is gone."""
    version = connection.scalar(HISTORY_VERSION, {"id": user_id})
    if version is None:
        raise NotFound("This user was deleted.", code="user_not_found")
    return int(version)


def lock(connection: Connection, user_ids: set[int]) -> set[int]:
    """Lock these users' histories until the transaction ends; return the ids of the users that exist.

    On SQLite a write transaction keeps all others out anyway.
    """
    return set(connection.scalars(LOCK, {"ids": list(user_ids)}))


def history_versions(connection: Connection, user_ids: set[int]) -> dict[int, int]:
    """The history versions by user id, without users that no longer exist."""
    rows = connection.execute(select(users.c.id, users.c.history_version).where(users.c.id.in_(user_ids)))
    return {row.id: row.history_version for row in rows}


def touch_history(connection: Connection, user_ids: set[int]) -> None:
    """Change the history versions of these users, since their documents changed."""
    connection.execute(
        update(users).where(users.c.id.in_(user_ids)).values(history_version=users.c.history_version + 1)
    )


def remove(connection: Connection, user_id: int) -> None:
    """Delete the user with everything that is theirs, by the tables' foreign keys."""
    connection.execute(delete(users).where(users.c.id == user_id))
    erasures.owe(connection, user_id)
