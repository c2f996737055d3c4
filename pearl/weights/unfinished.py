"""A file that grows beside its place until it is whole, and the disk space that it needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from pearl.errors import PearlError
from pearl.files.whole import NO_ROOM


@dataclass(frozen=True, slots=True)
class ResumeNote:
    """The state of an unfinished file."""

    source: str
    bytes: int = 0  # whole ones at the beginning
    parts: int = 0  # packages that are in it


class Unfinished:
    """A folder with the file, a note of how far it is whole, and what a source needs for a while."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "weights"
        self._note = folder / "note.json"

    def resume(self, source: str) -> ResumeNote:
        """Return how far the file from that source is; begin an empty one if there is none, or one of another source.
        Cut off what lies behind the note's bytes."""
        note = self._read()
        if note is None or note.source != source:
            return self.begin(ResumeNote(source))
        with self.file.open("r+b") as file:
            file.truncate(note.bytes)
        return note

    def _read(self) -> ResumeNote | None:
        """Return the note, if there is one and the file has as much as it says."""
        try:
            note = ResumeNote(**orjson.loads(self._note.read_bytes()))
            return note if self.file.stat().st_size >= note.bytes else None
        except (OSError, TypeError, orjson.JSONDecodeError):
            return None

    def begin(self, note: ResumeNote) -> ResumeNote:
        """Empty the folder and note that nothing is there."""
        self.clear()
        self.folder.mkdir(parents=True)
        self.file.touch()
        self.write(note)
        return note

    def write(self, note: ResumeNote) -> None:
        written = self._note.with_suffix(".new")
        written.write_bytes(orjson.dumps(asdict(note)))
        written.replace(self._note)

    def clear_useless(self) -> None:
        """Delete the folder if a later run could not go on from it."""
        note = self._read()
        if note is None or not note.bytes:
            self.clear()

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


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
