"""Notes in an archive, unpacked while they are read: Joplin's ``.jex``, or a zip file with notes or zip files in it."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path, PurePosixPath

from pearl.errors import InputError
from service.importers.archive import DAMAGED, is_zip, open_zip
from service.importers.notes.joplin import SUFFIX as JOPLINS
from service.importers.notes.joplin import unpack
from service.importers.notes.kinds import OFFICE_SUFFIXES, SUFFIXES
from service.process.temporary import Unpacking, temporary_folder

PART = ".zip"


def is_packed(source: Path) -> bool:
    """True for an archive. Raises InputError for a zip file that breaks off."""
    if not source.is_file() or source.suffix.lower() in OFFICE_SUFFIXES:  # which are zip files as well
        return False
    return source.suffix.lower() == JOPLINS or is_zip(source)


@contextmanager
def unpacked(*sources: Path) -> Iterator[Path]:
    """The folder of what archives hold, while in use; a single source that is none as it is.

    Raises InputError for an archive that cannot be read to its end.
    """
    if not is_packed(sources[0]):
        yield sources[0]
        return
    with temporary_folder() as folder:
        for source in sources:
            try:
                if source.suffix.lower() == JOPLINS:
                    unpack(source, folder)
                else:
                    _unzip(source, folder, Unpacking(source, folder, source.stat().st_size))
            except (*DAMAGED, tarfile.TarError) as error:
                raise InputError(
                    f"{source}: cannot be read: {error}; export it again.", code="unreadable_file"
                ) from error
        yield folder


def packed_whole(folder: Path) -> Path:
    """The folder that was packed whole, if the archive holds nothing else: it is meant itself."""
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _unzip(source: Path, folder: Path, unpacking: Unpacking, *, parts: bool = True) -> None:
    """Unpack the notes, and those of the zip files in it."""
    with open_zip(source) as packed:
        for member in packed.infolist():
            suffix = PurePosixPath(member.filename.lower()).suffix
            hidden = any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(member.filename).parts)
            if member.is_dir() or hidden or suffix not in (*SUFFIXES, *((PART,) if parts else ())):
                continue
            with packed.open(member) as stream:
                taken = unpacking.unpack(stream)
            if suffix == PART:
                _unzip(taken, folder, unpacking, parts=False)
                taken.unlink()
                continue
            path = folder / member.filename
            if not path.is_relative_to(folder):  # on Windows, with the letter of a drive
                raise InputError(
                    f"{source}: holds '{member.filename}', a path that leads out of it.", code="unsafe_path"
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            taken.replace(path)
            with suppress(ValueError, OverflowError):  # of a time that no calendar has
                time = datetime(*member.date_time).timestamp()
                os.utime(path, (time, time))
