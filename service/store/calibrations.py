"""Calibrations: theta, margin and k chosen on a user's own past texts, for a voice, a retriever and a chat model."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select

from pearl.errors import NotFound
from service.store import users, voices
from service.store.tables import calibrations

ONE = select(calibrations).where(
    *(calibrations.c[name] == bindparam(name) for name in ("user_id", "voice", "retriever", "model"))
)


@dataclass(frozen=True, slots=True)
class CalibrationKey:
    """The voice, retriever and chat model that a calibration holds for."""

    voice: str | None  # None: the whole history
    retriever: str  # its fingerprint
    model: str


@dataclass(frozen=True, slots=True)
class StoredCalibration:
    """A calibration as the store keeps it."""

    id: str
    key: CalibrationKey
    settings: dict[str, Any]  # `threshold` (theta), `margin` and `k`: those that were better than their defaults
    figures: dict[str, Any] = field(default_factory=dict)  # by how much, and on how many texts
    created_at: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the fields, including the key's, as one flat object."""
        return {"id": self.id, **asdict(self.key), "settings": self.settings, "figures": self.figures} | {
            "created_at": self.created_at
        }


def put(connection: Connection, user_id: int, calibration: StoredCalibration) -> None:
    """Store a calibration; it replaces one with the same key. Raises NotFound if the user or the voice is gone."""
    if not users.lock(connection, {user_id}):
        raise NotFound("This user was deleted during the calibration; nothing is kept.", code="user_not_found")
    key = calibration.key
    if key.voice is not None:
        voices.get(connection, user_id, key.voice)
    connection.execute(delete(calibrations).where(calibrations.c.user_id == user_id, *_is(key)))
    connection.execute(
        insert(calibrations).values(
            id=calibration.id,
            user_id=user_id,
            voice=key.voice or "",
            retriever=key.retriever,
            model=key.model,
            settings=calibration.settings,
            figures=calibration.figures,
            created_at=calibration.created_at or time.time(),
        )
    )


def find(connection: Connection, user_id: int, key: CalibrationKey) -> StoredCalibration | None:
    """The calibration for a voice, retriever and chat model; None if there is none."""
    row = connection.execute(
        ONE, {"user_id": user_id, "voice": key.voice or "", "retriever": key.retriever, "model": key.model}
    ).first()
    return None if row is None else _stored(row)


def of_voice(connection: Connection, user_id: int, voice: str | None) -> list[StoredCalibration]:
    """The calibrations of a voice, or of the whole history, the newest first."""
    in_voice = calibrations.c.user_id == user_id, calibrations.c.voice == (voice or "")
    rows = connection.execute(select(calibrations).where(*in_voice).order_by(calibrations.c.created_at.desc()))
    return [_stored(row) for row in rows]


def of_user(connection: Connection, user_id: int) -> list[StoredCalibration]:
    """All calibrations of a user, the oldest first."""
    query = select(calibrations).where(calibrations.c.user_id == user_id).order_by(calibrations.c.created_at)
    return [_stored(row) for row in connection.execute(query)]


def _is(key: CalibrationKey) -> tuple[Any, ...]:
    columns = calibrations.c
    return columns.voice == (key.voice or ""), columns.retriever == key.retriever, columns.model == key.model


def _stored(row: Any) -> StoredCalibration:
    key = CalibrationKey(row.voice or None, row.retriever, row.model)
    return StoredCalibration(row.id, key, row.settings, row.figures, row.created_at)
