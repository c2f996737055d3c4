"""Disk space for weights: checked before a download, and named in the error when it runs out."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pearl.errors import PearlError
from pearl.files.whole import NO_ROOM

MB = 1_000_000


def check_room(folder: Path, needed: int) -> None:
    """Raise PearlError where the disk of the folder has fewer free bytes than needed."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise PearlError(
            f"{needed / MB:,.0f} MB of free space are needed in {folder.parent} and there are {free / MB:,.0f}; "
            "make room there, or set PEARL_HOME to another folder.",
            code="disk_full",
        )


@contextmanager
def written_to_disk(folder: Path, name: str) -> Iterator[None]:
    """Turn the failure to write into the folder into PearlError that says what to do."""
    try:
        yield
    except OSError as error:
        full = error.errno in NO_ROOM
        why = "the disk is full" if full else error.strerror or str(error)
        raise PearlError(
            f"{name} cannot be written into {folder} ({why}); "
            + (
                "make room and run the same command again: it goes on where it stopped. "
                f"'pearl models remove {name}' gives up what is there."
                if full
                else "mend that, or set PEARL_HOME to another folder."
            ),
            code="disk_full" if full else "not_writable",
        ) from error
