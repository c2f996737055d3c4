"""Folders of weights that are made once on a machine, whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from pearl.errors import PearlError
from pearl.files.private import private_folder
from pearl.files.whole import NO_ROOM


def made_once(home: Path, name: str, make: Callable[[Path], None]) -> Path:
    """Return the folder ``models/NAME`` below ``home``; let ``make`` fill it if it is missing.

    If several processes ask at once, one makes it and the others wait. Raises PearlError for a full or read-only disk.
    """
    folder = home / "models" / name
    if not folder.exists():
        try:
            private_folder(home)
            _make(folder, make)
        except OSError as error:
            raise PearlError(
                f"{name} cannot be unpacked into {folder.parent} ({error.strerror or error}); make room there "
                "or set PEARL_HOME to another folder. Nothing was left half-written.",
                code="disk_full" if error.errno in NO_ROOM else "not_writable",
            ) from error
    return folder


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    """Make the folder under another name, and rename it when it is whole."""
    from filelock import FileLock

    partial = folder.with_name(f".{folder.name}.partial")
    folder.parent.mkdir(exist_ok=True)
    with FileLock(folder.with_name(f".{folder.name}.lock")):
        if folder.exists():
            return
        shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
        try:
            partial.mkdir()
            make(partial)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
