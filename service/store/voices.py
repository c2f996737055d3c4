"""Voices: a user's named registers (such as email or blog) with their standing instructions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from shlex import quote
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, bindparam, delete, exists, func, select, update

from pearl.errors import AccessError, Conflict, InputError, NotFound, TooLarge
from pearl.text.templates import DEFAULT_TEMPLATE
from pearl.text.usable import check_characters, check_id, meant
from service.store import erasures
from service.store.tables import calibrations, documents, drafts, profiles, upsert, voices
from service.store.user_counts import count_documents
from service.store.users import lock, touch_history

WHOLE_HISTORY = "pearl"  # the model id that stands for no voice, so no voice has this name
MOST_INSTRUCTIONS = 20_000  # characters, about 5,000 tokens, which every draft takes along
LOCAL_ONLY = select(voices.c.name).where(voices.c.user_id == bindparam("user_id"), voices.c.local_only)


@dataclass(frozen=True, slots=True)
class Voice:
    """A voice: a register of a user's writing, and its settings."""

    name: str
    instructions: str = ""
    template: str = DEFAULT_TEMPLATE  # name of a prompt template
    k: int | None = None  # documents in the prompt; None: the template's number
    documents: int = 0  # the user's documents in this voice, if counted
    created_at: float = 0.0
    local_only: bool = False  # its texts are shown to no model outside this machine
    edges: bool = True  # drafts begin and end as its texts do, by rule


def check_name(name: Any, *, param: str = "name") -> str:
    """Return the name if a voice may have it. Raises InputError otherwise."""
    checked = check_id(name, param=param)
    if checked == WHOLE_HISTORY:
        raise InputError(f"'{checked}' stands for the whole history; choose another name for a voice.", param=param)
    return checked


def check_instructions(text: str, *, param: str = "instructions") -> str:
    """Check standing instructions; return them. Raises InputError, TooLarge for more than MOST_INSTRUCTIONS."""
    if len(text) > MOST_INSTRUCTIONS:
        raise TooLarge(
            f"'{param}' has {len(text):,} characters; the limit of standing instructions is {MOST_INSTRUCTIONS:,}, for "
            "every draft takes them along. Shorten them.",
            param=param,
            code="text_too_large",
        )
    return check_characters(text, param=param)


def chosen(name: str | None) -> str | None:
    """Return the voice that a call names; None for the whole history, which ``pearl`` or a missing name means."""
    return None if name == WHOLE_HISTORY else name


def chosen_there(connection: Connection, user_id: int, name: str | None) -> str | None:
    """Return the voice as :func:`chosen` does. Raises InputError for an invalid name, NotFound for an unknown voice."""
    if (voice := chosen(name)) is not None:
        get(connection, user_id, check_id(voice, param="voice"))
    return voice


def list_all(connection: Connection, user_id: int) -> list[Voice]:
    """The voices by name, without the numbers of their documents, which take long to count in a long history."""
    rows = connection.execute(select(voices).where(voices.c.user_id == user_id).order_by(voices.c.name))
    return list(map(_voice, rows))


def _voice(row: Any) -> Voice:
    return Voice(
        row.name,
        row.instructions,
        row.template,
        row.k,
        created_at=row.created_at,
        local_only=row.local_only,
        edges=row.edges,
    )


def local_only(connection: Connection, user_id: int) -> frozenset[str]:
    """The names of the voices whose texts are shown to no model outside this machine."""
    return frozenset(connection.scalars(LOCAL_ONLY, {"user_id": user_id}))


def kept_here(name: str, reader: str) -> AccessError:
    """Make the error that refuses to show a local-only voice's texts. ``reader``: a clause that says to whom, such as
    "'gpt-4o' runs elsewhere"."""
    return AccessError(
        f"The voice '{name}' is local only, and {reader}. Write with the embedded model or an endpoint on this machine "
        f"(PEARL_LLM_BASE_URL=http://127.0.0.1:PORT/v1), or allow it with `pearl voices set {quote(name)} "
        "--no-local-only`.",
        param="voice",
        code="voice_is_local_only",
    )


def list_counted(connection: Connection, user_id: int) -> list[Voice]:
    """The voices by name, with the numbers of their documents."""
    counts = (
        select(documents.c.voice, func.count().label("documents"))
        .where(documents.c.user_id == user_id)
        .group_by(documents.c.voice)
    )
    by_name = {row.voice: row.documents for row in connection.execute(counts)}
    return [replace(voice, documents=by_name.get(voice.name, 0)) for voice in list_all(connection, user_id)]


def get(connection: Connection, user_id: int, name: str, *, param: str = "voice") -> Voice:
    """The voice, without the number of its documents. Raises NotFound if there is none."""
    row = connection.execute(select(voices).where(voices.c.user_id == user_id, voices.c.name == name)).first()
    if row is None and name == WHOLE_HISTORY:
        raise NotFound(
            f"'{name}' is the whole history and no voice; leave the voice out for it.",
            param=param,
            code="voice_not_found",
        )
    if row is None:
        theirs = connection.scalars(select(voices.c.name).where(voices.c.user_id == user_id))
        raise NotFound(
            f"There is no voice '{name}'; `pearl voices list` and GET /v1/voices list yours, "
            f"`pearl voices set {quote(name)}` and PUT /v1/voices/{name} make it.{meant(name, theirs)}",
            param=param,
            code="voice_not_found",
        )
    return _voice(row)


def get_counted(connection: Connection, user_id: int, name: str) -> Voice:
    """The voice with the number of its documents. Raises NotFound if there is none."""
    voice = get(connection, user_id, name, param="name")
    return replace(voice, documents=count_documents(connection, user_id, documents.c.voice == name))


def get_or_whole(connection: Connection, user_id: int, name: str) -> Voice:
    """Return the voice, or the whole history for WHOLE_HISTORY, with the number of its documents. Raises NotFound."""
    if name != WHOLE_HISTORY:
        return get_counted(connection, user_id, name)
    return Voice(WHOLE_HISTORY, documents=count_documents(connection, user_id))


def put(connection: Connection, user_id: int, name: str, values: dict[str, Any]) -> bool:
    """Make the voice or change its given fields; return True if it was made. Raises NotFound if the user is gone."""
    if not lock(connection, {user_id}):
        raise NotFound("This user was deleted.", code="user_not_found")
    made = ensure(connection, {user_id: {name}})
    changed = {"import_id": None, **values}  # it is its owner's now, and no undoing of an import removes it
    connection.execute(update(voices).where(voices.c.user_id == user_id, voices.c.name == name).values(**changed))
    return made


def ensure(
    connection: Connection,
    names: dict[int, set[str]],
    template: str = DEFAULT_TEMPLATE,
    import_ids: Mapping[int, str | None] = MappingProxyType({}),
) -> bool:
    """Make these voices (user row id -> names) if they are missing, with this template; return True if any was made.
    ``import_ids``: by user, the import that makes the voices."""
    rows = [
        {
            "user_id": user_id,
            "name": name,
            "template": template,
            "created_at": time.time(),
            "import_id": import_ids.get(user_id),
        }
        for user_id, wanted in names.items()
        for name in sorted(wanted)
    ]
    if not rows:
        return False
    addition = upsert(connection, voices).on_conflict_do_nothing().returning(voices.c.name)
    return bool(connection.execute(addition, rows).all())


def remove_unused(connection: Connection, user_id: int, import_id: str) -> None:
    """Delete the voices that an import made, except those that its owner changed or that have documents or drafts."""
    unused = [
        ~exists().where(table.c.user_id == user_id, table.c.voice == voices.c.name) for table in (documents, drafts)
    ]
    made = select(voices.c.name).where(voices.c.user_id == user_id, voices.c.import_id == import_id, *unused)
    for name in connection.scalars(made).all():
        remove(connection, user_id, name)


def remove(connection: Connection, user_id: int, name: str) -> None:
    """Delete the voice; its documents and drafts stay in the history, without a voice. Raises NotFound, and Conflict
    for a local-only voice with documents, which would lose their protection."""
    lock(connection, {user_id})  # before the voice's row: calls that add documents to the voice lock the user first
    if name in local_only(connection, user_id) and count_documents(connection, user_id, documents.c.voice == name):
        raise Conflict(
            f"The voice '{name}' is local only, and its documents would be so no more. Delete them first "
            f"(`pearl documents delete --voice {quote(name)}`), or set 'local_only' to false.",
            param="name",
            code="voice_is_local_only",
        )
    gone = connection.execute(delete(voices).where(voices.c.user_id == user_id, voices.c.name == name))
    if not gone.rowcount:
        get(connection, user_id, name, param="name")
    for kept in (documents, drafts):
        connection.execute(update(kept).where(kept.c.user_id == user_id, kept.c.voice == name).values(voice=None))
    for of_voice in (calibrations, profiles):
        connection.execute(delete(of_voice).where(of_voice.c.user_id == user_id, of_voice.c.voice == name))
    touch_history(connection, {user_id})
    erasures.owe(connection, user_id)
