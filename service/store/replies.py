"""The chat model's replies that calibrations keep: a file per user in PEARL_HOME, used by one calibration at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from pearl.errors import InputError, PearlError
from pearl.models.asking.kept import LOCK_TIMEOUT_S, ReplyStore, open_replies
from pearl.text.files.whole import private_folder
from service.store.users import User

FOLDER = "calibrations"
MAIL = "mail"  # how far the mail accounts of each user were read (service/mail/state.py)


@contextmanager
def kept_replies(home: Path, user: User) -> Iterator[ReplyStore]:
    """Open the kept replies of the user's calibrations, and lock them while the block runs. If the block raises an
    error that says that the user was deleted, delete them. Raises InputError while another calibration for the user
    runs, and for a damaged file."""
    from filelock import FileLock, Timeout  # every command that deletes loads this module

    private_folder(home)
    private_folder(home / FOLDER)
    lock = FileLock(home / FOLDER / f"{user.id}.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise InputError(
            f"Another calibration of '{user.name}' is running; wait for its end.", param="user", code="in_use"
        ) from error
    gone = False
    try:
        with open_replies(home / FOLDER / f"{user.id}.sqlite") as store:
            yield store
    except PearlError as error:
        gone = error.code == "user_not_found"
        raise
    finally:
        lock.release()
        if gone:
            forget_replies(home, user.id)


def forget_replies(home: Path, user_id: int | None = None) -> None:
    """Delete the files of a deleted user, or of all users: another database may give a user the same number."""
    for folder in (FOLDER, MAIL):
        for path in (home / folder).glob("*" if user_id is None else f"{user_id}.*"):
            path.unlink(missing_ok=True)


def empty_replies(home: Path, user_id: int) -> None:
    """Delete and overwrite the user's kept replies, which quote documents; a running calibration goes on."""
    try:
        with suppress(FileNotFoundError), _opened(home, user_id) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            with connection:
                connection.execute("DELETE FROM replies")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error:  # damaged
        forget_replies(home, user_id)


def reply_lines(home: Path, user_id: int) -> Iterator[dict[str, Any]]:
    """Yield the replies stored for the user, as an export shows them."""
    with suppress(FileNotFoundError, sqlite3.Error), _opened(home, user_id) as connection:
        for text, finish_reason in connection.execute("SELECT text, finish_reason FROM replies ORDER BY key"):
            yield {"text": text, "finish_reason": finish_reason}


@contextmanager
def _opened(home: Path, user_id: int) -> Iterator[sqlite3.Connection]:
    path = home / FOLDER / f"{user_id}.sqlite"
    if not path.exists():
        raise FileNotFoundError(path)
    with closing(sqlite3.connect(path, timeout=LOCK_TIMEOUT_S)) as connection:
        yield connection
