"""Profiles: what a person says of the habits that were found in their texts, by voice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from pearl.errors import InputError, NotFound
from pearl.text.usable import check_characters, check_id, check_text
from service.store import erasures, users, voices
from service.store.tables import profiles
from service.store.voices import Voice

LISTED, CONFIRMED, CORRECTED, STRUCK, DELETED = "listed", "confirmed", "corrected", "struck", "deleted"
STATES = (LISTED, CONFIRMED, CORRECTED, STRUCK, DELETED)


@dataclass(frozen=True, slots=True)
class LineChoice:
    """A person's word on one line; ``text`` takes the place of the line's own where they corrected it, and stays when
    the texts show a confirmed line no longer."""

    state: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class StoredProfile:
    """The choices on a voice's lines, by the line's name. ``standing``: the lines are standing instructions, which
    ``instructions`` has as they were when their owner last changed something."""

    voice: str | None
    standing: bool = False
    lines: Mapping[str, LineChoice] = field(default_factory=dict)
    changed_at: float | None = None
    instructions: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"lines": {name: asdict(choice) for name, choice in self.lines.items()}}


def get(connection: Connection, user_id: int, voice: str | None) -> StoredProfile:
    """The choices on a voice, or on the whole history; none yet where nothing was chosen."""
    mine = profiles.c.user_id == user_id, profiles.c.voice == (voice or "")
    row = connection.execute(select(profiles).where(*mine)).first()
    return StoredProfile(voice) if row is None else _stored(row)


def instructed_voice(connection: Connection, user_id: int, name: str | None) -> Voice:
    """The voice as drafts are written in it, with the lines of its profile below its instructions where they stand;
    None: the whole history. Raises NotFound for an unknown voice."""
    voice = Voice("") if name is None else voices.get(connection, user_id, name)
    card = get(connection, user_id, name)
    lines = card.instructions if card.standing else ""
    return replace(voice, instructions="\n".join(filter(None, (voice.instructions, lines))))


def put(connection: Connection, user_id: int, profile: StoredProfile) -> None:
    """Keep a profile in place of the earlier one of its voice. Raises NotFound if user or voice are gone."""
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
    """Forget what the person said of a voice's lines."""
    mine = profiles.c.user_id == user_id, profiles.c.voice == (voice or "")
    if connection.execute(delete(profiles).where(*mine)).rowcount:
        erasures.owe(connection, user_id)


def of_user(connection: Connection, user_id: int) -> Iterator[StoredProfile]:
    """All profiles of a user, by voice."""
    rows = connection.execute(select(profiles).where(profiles.c.user_id == user_id).order_by(profiles.c.voice))
    yield from map(_stored, rows)


def restore(connection: Connection, user_id: int, line: dict[str, Any]) -> bool:
    """Keep a profile that was exported; False when there is one of its voice already.

    Raises InputError where the line is no profile, NotFound where its voice is not there.
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
    """A choice from JSON. Raises InputError for an unknown state, for a correction without its text, and for a text
    with a state other than ``with_text``; what is stored of a confirmed line has the text that was confirmed."""
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
