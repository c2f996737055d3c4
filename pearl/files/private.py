"""Files and folders that only their owner may read: histories, keys, drafts."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

FOLDER_MODE, FILE_MODE = 0o700, 0o600
OTHERS = 0o077

# what PEARL puts into PEARL_HOME; a folder with anything else in it may be shared on purpose
OWN = (
    "pearl.",
    "pearl-import-",
    "sample.key",
    "models",
    "generations.",
    "judge-replies.",
    "editor-replies.",
    "calibrations",
    "losses.",
    "mail",
)


def private_folder(folder: Path) -> None:
    """Make the folder, closed to others. One that exists is closed only if it is ours and holds nothing but PEARL's
    files, which are private in any case."""
    try:
        folder.mkdir(FOLDER_MODE, parents=True)
    except FileExistsError:
        if not folder.is_dir():
            raise
        with suppress(OSError):
            if all(entry.name.startswith(OWN) for entry in folder.iterdir()):
                _close(folder, FOLDER_MODE)


def private_file(path: Path) -> None:
    """Make the file, empty and closed to others, or close one that is ours. If neither can be done, opening it
    fails later.

    One that exists is never opened: closing it would drop the locks that SQLite holds on it in this process.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))
    with suppress(OSError):
        _close(path, FILE_MODE)


def _close(path: Path, mode: int) -> None:
    if not hasattr(os, "geteuid"):  # Windows, where the folders of a user are closed to others by themselves
        return
    status = path.stat()
    if status.st_uid == os.geteuid() and status.st_mode & OTHERS:
        path.chmod(mode)
