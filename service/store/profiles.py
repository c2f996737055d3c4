"""Profiles: a person's choices on the lines of their voice cards, by voice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select

from pearl.errors import InputError, NotFound
from pearl.text.usable import check_characters, check_id, check_text
from service.store import erasures, users, voices
from service.store.tables import profiles
from service.store.voices import Voice

LISTED, CONFIRMED, CORRECTED, STRUCK, DELETED = "listed", "confirmed", "corrected", "struck", "deleted"
STATES = (LISTED, CONFIRMED, CORRECTED, STRUCK, DELETED)

OF_VOICE = select(profiles).where(*(profiles.c[name] == bindparam(name) for name in ("user_id", "voice")))


@dataclass(frozen=True, slots=True)
class LineChoice:
    """A person's decision on one line of a voice card, such as to confirm, correct or strike it."""

    state: str  # one of STATES
    text: str | None = None  # in place of the line's if corrected; of a confirmed line, kept if the texts change


@dataclass(frozen=True, slots=True)
class StoredProfile:
    """A person's choices on the lines of one voice card."""

    voice: str | None  # None: the whole history
    standing: bool = False  # the lines are standing instructions
    lines: Mapping[str, LineChoice] = field(default_factory=dict)  # by the line's name
    changed_at: float | None = None
    instructions: str = ""  # the standing lines as they were when their owner last changed something

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"lines": {name: asdict(choice) for name, choice in self.lines.items()}}


def get(connection: Connection, user_id: int, voice: str | None) -> StoredProfile:
    """The person's choices on the card of a voice, or of the whole history; empty if nothing was chosen."""
    row = connection.execute(OF_VOICE, {"user_id": user_id, "voice": voice or ""}).first()
    return StoredProfile(voice) if row is None else _stored(row)


def instructed_voice(connection: Connection, user_id: int, name: str | None) -> Voice:
    """Return the voice as drafts use it: its instructions, and below them its voice card's lines if these are standing
    instructions. ``name`` None: the whole history. Raises NotFound for an unknown voice."""
    voice = Voice("") if name is None else voices.get(connection, user_id, name)
    card = get(connection, user_id, name)
    lines = card.instructions if card.standing else ""
    return replace(voice, instructions="\n".join(filter(None, (voice.instructions, lines))))


def put(connection: Connection, user_id: int, profile: StoredProfile) -> None:
    """Store a profile; it replaces the earlier one of its voice. Raises NotFound if the user or the voice is gone."""
    if not users.lock(connection, {user_id}):
        raise NotFound("This user was deleted.", code="user_not_found")
    if profile.voice is not None:
        voices.get(connection, user_id, profile.voice)
    remove(connection, user_id, profile.voice)
    values = {
        "user_id": user_id,
        "voice": profile.voice or "",
        "standing": profile.standing,
        "lines": profile.to_json()["lines"],
        "changed_at": profile.changed_at or time.time(),
        "instructions": profile.instructions,
    }
    connection.execute(insert(profiles).values(**values))


def remove(connection: Connection, user_id: int, voice: str | None) -> None:
    """Delete the person's choices on the card of a voice."""
    in_voice = profiles.c.user_id == user_id, profiles.c.voice == (voice or "")
    if connection.execute(delete(profiles).where(*in_voice)).rowcount:
        erasures.owe(connection, user_id)


def of_user(connection: Connection, user_id: int) -> Iterator[StoredProfile]:
    """Yield all profiles of a user, by voice."""
    rows = connection.execute(select(profiles).where(profiles.c.user_id == user_id).order_by(profiles.c.voice))
    yield from map(_stored, rows)


def restore(connection: Connection, user_id: int, line: dict[str, Any]) -> bool:
    """Store a profile that was exported; return False if its voice has one already.

    Raises InputError if the line is no profile, NotFound if its voice is missing.
    """
    voice = None if line.get("voice") is None else check_id(line["voice"], param="voice")
    choices = line.get("lines")
    if type(line.get("standing")) is not bool or not isinstance(choices, dict):
        raise InputError("'standing' must be true or false and 'lines' an object.", param="lines")
    if get(connection, user_id, voice).changed_at is not None:
        return False
    lines = {name: checked_choice(name, choice, with_text=(CORRECTED, CONFIRMED)) for name, choice in choices.items()}
    instructions = check_characters(str(line.get("instructions", "")), param="instructions")
    changed_at = line.get("changed_at") if isinstance(line.get("changed_at"), float) else None
    put(connection, user_id, StoredProfile(voice, line["standing"], lines, changed_at, instructions))
    return True


def checked_choice(name: str, value: Any, with_text: tuple[str, ...] = (CORRECTED,)) -> LineChoice:
    """Read a choice on the line ``name`` from JSON. ``with_text``: the states that may have a text. Raises InputError
    for an unknown state, a correction without a text, or a text that the state may not have."""
    check_id(name, param="name")
    state, text = (value.get("state"), value.get("text")) if isinstance(value, dict) else (None, None)
    if state not in STATES:
        raise InputError(f"'state' must be one of {', '.join(STATES)}.", param="state", code="invalid_state")
    if (state == CORRECTED and text is None) or (state not in with_text and text is not None):
        raise InputError("'text' goes with the state 'corrected', which needs it.", param="text")
    return LineChoice(state, None if text is None else check_text(text, param="text"))


def _stored(row: Any) -> StoredProfile:
    lines = {name: LineChoice(**choice) for name, choice in row.lines.items()}
    return StoredProfile(row.voice or None, row.standing, lines, row.changed_at, row.instructions)
