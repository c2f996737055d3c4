"""The kept replies of calibrations: one file a user, beside the database, for one calibration at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pearl.asking.kept import ReplyStore, open_replies
from pearl.errors import InputError, PearlError
from pearl.private_files import private_folder
from service.store.users import User

FOLDER = "calibrations"


@contextmanager
def kept_replies(home: Path, user: User) -> Iterator[ReplyStore]:
    """The replies of the user's calibrations. Raises InputError while another calibration of theirs runs, and for a
    damaged file.

    The lock goes with its process, however that ends. Nothing stays where an error says that the user was deleted.
    """
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
        with open_replies(home / FOLDER / f"{user.id}.sqlite", option=None) as store:
            yield store
    except PearlError as error:
        gone = error.code == "user_not_found"
        raise
    finally:
        lock.release()
        if gone:
            forget_replies(home, user.id)


def forget_replies(home: Path, user_id: int) -> None:
    """Delete what was kept for a user who is gone."""
    for path in (home / FOLDER).glob(f"{user_id}.*"):
        path.unlink(missing_ok=True)
