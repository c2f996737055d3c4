"""Export everything PEARL keeps of a user as one JSON object, or their history as a history file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Connection

from pearl.text.history.files import document_fields, format_line
from service.store import apart, calibrations, documents, drafts, feedback, profiles, voices
from service.store.replies import reply_lines
from service.store.users import User


def export_pieces(connection: Connection, user: User, home: Path) -> Iterator[bytes]:
    """Yield one JSON object with a user's data at one moment, in pieces, so that a long history is never whole in
    memory. ``home``: the folder with the replies that calibrations keep.

    Each of ``documents`` is a line of a history file. ``pearl import export`` reads the object.
    """
    marks = apart.marks(connection, user.id)
    yield b'{"object":"export","user_id":' + orjson.dumps(user.name)
    yield b',"created_at":' + orjson.dumps(time.time())
    lists: dict[str, Iterator[dict[str, Any]]] = {
        "voices": (asdict(voice) for voice in voices.list_counted(connection, user.id)),
        "documents": (
            {"user_id": user.name, **document_fields(document), **_mark(marks.get(document.id))}
            for document in documents.stream(connection, user.id)
        ),
        "drafts": drafts.lines_of_user(connection, user.id),
        "calibrations": (calibration.to_json() for calibration in calibrations.of_user(connection, user.id)),
        "calibration_replies": reply_lines(home, user.id),
        "feedback": map(_feedback_line, feedback.all_of_user(connection, user.id)),
        "profiles": (profile.to_json() for profile in profiles.of_user(connection, user.id)),
    }
    for name, items in lists.items():
        yield b',"' + name.encode() + b'":['
        for position, item in enumerate(items):
            yield (b"," if position else b"") + orjson.dumps(item)
        yield b"]"
    yield b"}\n"


def _feedback_line(entry: feedback.Feedback) -> dict[str, Any]:
    """Convert feedback to a line without its edit, which an import measures again from draft and document."""
    line = {"object": "feedback", **asdict(entry)}
    del line["edit"], line["mark"]
    return line if entry.mark.mine is None else {**line, "mine": entry.mark.mine}


def _mark(mark: apart.Mark | None) -> dict[str, Any]:
    return {} if mark is None else {name: value for name, value in asdict(mark).items() if value is not None}


def history_lines(connection: Connection, user: User) -> Iterator[str]:
    """Yield the lines of a history file, oldest document first, with their line breaks."""
    for document in documents.stream(connection, user.id):
        yield format_line(user.name, document) + "\n"
