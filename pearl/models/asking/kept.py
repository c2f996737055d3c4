"""Raw replies of models, stored in an SQLite file, so that an interrupted run can continue and no reply is paid twice.

A reply's key is a SHA-256 of the schema's version, the model, the decoding, the sample's number and the messages.
Failures are not stored: the question is asked again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pearl.errors import InputError, StoreError
from pearl.models.chat.base import Decoding, Message, Reply
from pearl.records import Usage
from pearl.text.files.whole import FOLDER_MODE, private_file
from pearl.text.usable import storable

SCHEMA_VERSION = 1
APPLICATION_ID = 0x5045524A  # in the file's header: a database of something else is not written to
LOCK_TIMEOUT_S = 10.0
TABLE = (
    "CREATE TABLE replies (key BLOB PRIMARY KEY, text TEXT NOT NULL, finish_reason TEXT NOT NULL, "
    "prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, seconds REAL) WITHOUT ROWID"
)
ADD_SECONDS = "ALTER TABLE replies ADD COLUMN seconds REAL"  # to a file of before replies were timed


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt, and the number of the sample, since a model may be asked the same prompt several times."""

    messages: tuple[Message, ...]
    sample: int = 0  # number of the draw


def key_of(model: str, decoding: Decoding, question: Question) -> bytes:
    """Return the key under which the reply to a question is stored. ``model``: the identity of the model."""
    parts = [
        SCHEMA_VERSION,
        model,
        [decoding.max_tokens, decoding.temperature, decoding.top_p, list(decoding.stop), list(decoding.choices)],
        question.sample,
        [[message.role, message.content] for message in question.messages],
    ]
    # lone surrogates cannot be encoded; as escapes they can
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).digest()


class ReplyStore:
    """Replies in a file, and replies added but not yet committed; open it with :func:`open_replies`."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._new: dict[bytes, Reply] = {}  # not committed yet

    def __contains__(self, key: bytes) -> bool:
        return (
            key in self._new
            or self._connection.execute("SELECT 1 FROM replies WHERE key = ?", (key,)).fetchone() is not None
        )

    def get(self, key: bytes) -> Reply | None:
        if key in self._new:
            return self._new[key]
        row = self._connection.execute(
            "SELECT text, finish_reason, prompt_tokens, completion_tokens, seconds FROM replies WHERE key = ?", (key,)
        ).fetchone()
        return None if row is None else Reply(row[0], row[1], Usage(row[2], row[3]), row[4])

    def add(self, key: bytes, reply: Reply) -> None:
        """Add a reply. The caller must call :meth:`commit` within milliseconds, which writes the reply to the file."""
        self._new[key] = replace(reply, text=storable(reply.text))

    def commit(self) -> None:
        """Write the added replies to the file. Raises StoreError when it cannot be written."""
        if not self._new:
            return
        rows = [
            (
                *(key, reply.text, reply.finish_reason),
                *(reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.seconds),
            )
            for key, reply in self._new.items()
        ]
        try:
            with self._connection:
                self._connection.executemany("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise StoreError(f"{self._path}: a reply could not be kept: {error}.") from error
        self._new.clear()


@contextmanager
def open_replies(path: Path, option: str | None = None) -> Iterator[ReplyStore]:
    """Open a file of replies; create it if it is missing. Committed replies survive a kill of the process.

    Raises InputError if the file cannot be used or holds something else. ``option``: the option that named it, if any.
    """
    advice = "delete it to ask for its replies again" if option is None else f"give another --{option}"
    try:
        path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        if not path.exists():
            private_file(path)  # replies quote the texts that were asked about
        connection = sqlite3.connect(path, timeout=LOCK_TIMEOUT_S)
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{path}: cannot be used: {error}; {advice}.", param=option) from error
    with closing(connection):
        try:
            _prepare(connection, path, option, advice)
        except sqlite3.Error as error:
            raise InputError(f"{path}: {error}; {advice}.", param=option) from error
        replies = ReplyStore(connection, path)
        try:
            yield replies
        finally:
            replies.commit()


def _prepare(connection: sqlite3.Connection, path: Path, option: str | None, advice: str) -> None:
    """Create the table in a transaction that locks the file, since two runs may open a new file at once."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != APPLICATION_ID:
        raise InputError(f"{path}: is a database, but not of replies; {advice}.", param=option, code="not_replies")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")  # a kill loses nothing; only a power cut may lose the last ones
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            connection.execute(TABLE)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        elif "seconds" not in {column[1] for column in connection.execute("PRAGMA table_info(replies)")}:
            connection.execute(ADD_SECONDS)
