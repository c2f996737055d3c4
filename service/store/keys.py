"""API keys. Only a digest is kept; the key itself is shown once, when it is made."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from sqlalchemy import Connection, bindparam, case, delete, exists, insert, select, update

from pearl.errors import AccessError, NotFound, Unauthenticated
from pearl.text.usable import format_timestamp, storable
from service.store.database import Database
from service.store.ids import new_id
from service.store.tables import grants, keys, users
from service.store.users import User, ensure, find, find_address, get, spellings, tenant_id

KEY_PREFIX = "pearl_"
SIGNED_ON = "user_"  # begins the key id of a user who signed on without a key
DAY_S = 86_400

# made once, as are other statements that each draft needs: making one takes as long as running it
_KEY = select(
    *(keys.c.id, keys.c.user_id, keys.c.grants_all_users, keys.c.expires_at, users.c.name),
    *(keys.c.tokens_per_day, keys.c.spent_on, keys.c.tokens_spent),
).outerjoin(users, users.c.id == keys.c.user_id)
KEY_BY_ID = _KEY.where(keys.c.id == bindparam("id"))
KEY_BY_DIGEST = _KEY.where(keys.c.digest == bindparam("digest"))


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The tokens that a key's drafts may use in a day (UTC), and those that they have used today."""

    per_day: int
    spent: int  # today, so far


@dataclass(frozen=True, slots=True)
class Identity:
    """The user a call acts as, and the key it uses."""

    user: User
    key_id: str  # SIGNED_ON and the user's id where no key was used
    budget: TokenBudget | None = None  # None: no limit


@dataclass(frozen=True, slots=True)
class KeyId:
    """The id of a key, as a session holds it, in place of the key itself."""

    id: str  # as in Identity


@dataclass(frozen=True, slots=True)
class UserName:
    """The name of a user as given by an issuer's token or a trusted proxy, in place of a key."""

    name: str


class UnknownUser(AccessError):
    """No user of this service has the name."""

    default_code = "user_not_found"


@dataclass(frozen=True, slots=True)
class KeySummary:
    """Information about a key that does not reveal it."""

    id: str
    name: str | None
    shown: str  # its first characters
    user: str | None  # None for a service key
    may_act_as: tuple[str, ...]  # "*" stands for every user of the tenant
    created_at: float
    last_used_at: float | None  # exact to a minute or two; None: never
    expires_at: float | None  # None: never
    tokens_per_day: int | None  # that its drafts may take; None: any number
    tokens_today: int | None  # that they took; None where they are not counted


@dataclass(frozen=True, slots=True)
class KeyTerms:
    """The owner's settings for a new key."""

    name: str | None = None
    expires_at: float | None = None  # None: never
    tokens_per_day: int | None = None  # None: any number


def create_for_user(connection: Connection, name: str, *, terms: KeyTerms = KeyTerms()) -> str:
    """Make a key for the user, and the user if there is none; return the key."""
    user = ensure(connection, {name})[name]
    return _create(connection, terms, user_id=user.id, grants_all_users=False)[1]


def create_for_service(
    connection: Connection, names: tuple[str, ...], *, all_users: bool = False, terms: KeyTerms = KeyTerms()
) -> str:
    """Make a service key that may act as the named users, or as every user; return the key."""
    granted = [get(connection, name) for name in names]
    key_id, key = _create(connection, terms, user_id=None, grants_all_users=all_users)
    if granted:
        connection.execute(insert(grants), [{"key_id": key_id, "user_id": user.id} for user in granted])
    return key


def _create(connection: Connection, terms: KeyTerms, *, user_id: int | None, grants_all_users: bool) -> tuple[str, str]:
    key = KEY_PREFIX + secrets.token_urlsafe(32)
    key_id = new_id("key")
    connection.execute(
        insert(keys).values(
            id=key_id,
            tenant_id=tenant_id(connection),
            user_id=user_id,
            digest=_digest(key),
            shown=key[: len(KEY_PREFIX) + 4],
            grants_all_users=grants_all_users,
            created_at=time.time(),
            name=terms.name,
            expires_at=terms.expires_at,
            tokens_per_day=terms.tokens_per_day,
        )
    )
    return key_id, key


def identify(connection: Connection, key: str | KeyId | UserName, acting_for: str | None = None) -> Identity:
    """Find the user that the key acts as; ``acting_for`` is the user that a service key names.

    Raises Unauthenticated for an unknown or expired key, UnknownUser for a name that no user has, AccessError if the
    key may not act as that user.
    """
    if isinstance(key, UserName) or (isinstance(key, KeyId) and key.id.startswith(SIGNED_ON)):
        user = _signed_on(connection, key)
        identity = Identity(user, f"{SIGNED_ON}{user.id}")
    else:
        row = _in_force(connection, key)
        if row.user_id is None:
            if acting_for is None:
                raise AccessError(
                    "A service key must name the user it acts for: set X-Pearl-User.", param="X-Pearl-User"
                )
            return Identity(_granted(connection, row.id, row.grants_all_users, acting_for), row.id, _budget(row))
        identity = Identity(User(row.user_id, row.name), row.id, _budget(row))
    if acting_for is not None and identity.user.name not in _names(acting_for):
        raise AccessError("Only a service key can act for another user through X-Pearl-User.", param="X-Pearl-User")
    return identity


def identify_service(connection: Connection, key: str) -> str:
    """Return a service key's id. Raises Unauthenticated if it is unknown or expired, AccessError for a user's key."""
    row = _in_force(connection, key)
    if row.user_id is not None:
        raise AccessError("This is for the service's operator: use a key made with 'pearl keys create --service'.")
    return str(row.id)


def _in_force(connection: Connection, key: str | KeyId) -> Any:
    if isinstance(key, KeyId):
        row = connection.execute(KEY_BY_ID, {"id": key.id}).first()
    else:
        row = connection.execute(KEY_BY_DIGEST, {"digest": _digest(key)}).first()
    if row is None:
        raise Unauthenticated("This API key is not valid; make one with 'pearl keys create --user NAME'.")
    if row.expires_at is not None and row.expires_at <= time.time():
        raise Unauthenticated(
            f"This API key expired at {format_timestamp(int(row.expires_at))}; make another with 'pearl keys create'.",
            code="expired_api_key",
        )
    return row


def _budget(row: Any) -> TokenBudget | None:
    if row.tokens_per_day is None:
        return None
    return TokenBudget(row.tokens_per_day, row.tokens_spent if row.spent_on == _today() else 0)


def spend(connection: Connection, key_id: str, tokens: int) -> None:
    """Add ``tokens`` to the number that the key's drafts used today."""
    today, columns = _today(), keys.c
    spent = case((columns.spent_on == today, columns.tokens_spent + tokens), else_=tokens)
    connection.execute(update(keys).where(columns.id == key_id).values(spent_on=today, tokens_spent=spent))


def _today() -> int:
    """The day in UTC, counted from 1970."""
    return int(time.time() // DAY_S)


def until_tomorrow() -> float:
    """Seconds until the next day begins in UTC."""
    return DAY_S - time.time() % DAY_S


def _signed_on(connection: Connection, key: KeyId | UserName) -> User:
    if isinstance(key, UserName):
        user = find(connection, key.name) or find_address(connection, key.name)
        if user is None:
            raise UnknownUser(f"There is no user '{key.name}' here; ask the operator to make one.")
        return user
    row_id = int(key.id.removeprefix(SIGNED_ON))
    name = connection.scalar(select(users.c.name).where(users.c.id == row_id))
    if name is None:
        raise Unauthenticated("This user was deleted.", code="session_ended")
    return User(row_id, name)


def _granted(connection: Connection, key_id: str, all_users: bool, name: str) -> User:
    for spelling in _names(name):
        wanted = select(users.c.id).where(users.c.name == spelling)
        if not all_users:
            wanted = wanted.where(exists().where(grants.c.key_id == key_id, grants.c.user_id == users.c.id))
        user_id = connection.scalar(wanted)
        if user_id is not None:
            return User(int(user_id), spelling)
    # the same words for an unknown user, so that names cannot be probed
    raise AccessError("This service key has no grant for that user.", param="X-Pearl-User")


def _names(header: str) -> tuple[str, ...]:
    """Return the names that X-Pearl-User may mean, the literal one first. Many clients can only send ASCII, and escape
    other letters as in a URL."""
    return (*spellings(header), *spellings(storable(unquote(header))))


def is_valid(connection: Connection, key: str) -> bool:
    """True for a key that exists and has not expired."""
    in_force = keys.c.expires_at.is_(None) | (keys.c.expires_at > time.time())
    return connection.scalar(select(keys.c.id).where(keys.c.digest == _digest(key), in_force)) is not None


def note_uses(connection: Connection, uses: Mapping[str, float]) -> None:
    """Record the time of the last use of keys, by id; a later time recorded by another process stays."""
    for key_id, when in sorted(uses.items()):
        later = keys.c.last_used_at.is_(None) | (keys.c.last_used_at < when)
        connection.execute(update(keys).where(keys.c.id == key_id, later).values(last_used_at=when))


def list_all(connection: Connection) -> list[KeySummary]:
    rows = connection.execute(
        select(keys, users.c.name.label("user"))
        .outerjoin(users, users.c.id == keys.c.user_id)
        .order_by(keys.c.created_at)
    ).all()
    named: dict[str, list[str]] = {}
    for key_id, name in connection.execute(
        select(grants.c.key_id, users.c.name).join(users, users.c.id == grants.c.user_id).order_by(users.c.name)
    ):
        named.setdefault(key_id, []).append(name)
    listed = []
    for row in rows:
        may_act_as = ("*",) if row.grants_all_users else tuple(named.get(row.id, ()))
        times, budget = (row.created_at, row.last_used_at, row.expires_at), _budget(row)
        tokens = (budget.per_day, budget.spent) if budget else (None, None)
        listed.append(KeySummary(row.id, row.name, row.shown, row.user, may_act_as, *times, *tokens))
    return listed


def revoke(connection: Connection, key_id: str) -> None:
    """Revoke a key. Raises NotFound if there is no such key."""
    gone = connection.execute(delete(keys).where(keys.c.id == key_id))
    if not gone.rowcount:
        raise NotFound(f"There is no key '{key_id}'; see 'pearl keys list'.", param="id", code="key_not_found")


def withdraw(connection: Connection, key: str) -> None:
    """Delete a key that was made but could not be shown."""
    connection.execute(delete(keys).where(keys.c.digest == _digest(key)))


def _digest(key: str) -> str:
    # a key is 256 random bits, so a fast digest cannot be searched backwards
    return hashlib.sha256(key.encode()).hexdigest()


WRITTEN_EVERY_S = 60.0  # between stored uses of a key


class KeyUses:
    """Collects uses of keys: ``note`` is quick and writes nothing; ``flush`` stores the noted uses later."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._noted: dict[str, float] = {}  # time of the last use by the key's id, not stored yet
        self._written: dict[str, float] = {}

    def note(self, key_id: str, now: float | None = None) -> None:
        now = time.time() if now is None else now
        with self._lock:
            if now - self._written.get(key_id, 0.0) >= WRITTEN_EVERY_S:
                self._noted[key_id] = now

    def flush(self) -> None:
        """Store the uses noted since the last call. Raises StoreError; the next call tries again."""
        with self._lock:
            due, self._noted = self._noted, {}
        if not due:
            return
        try:
            with self._database.write() as connection:
                note_uses(connection, due)
        except BaseException:
            with self._lock:
                self._noted = due | self._noted
            raise
        with self._lock:
            recent = max(due.values()) - WRITTEN_EVERY_S
            self._written = {key: when for key, when in (self._written | due).items() if when > recent}
