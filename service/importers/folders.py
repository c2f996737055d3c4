"""The files of a folder, without what symbolic links lead to: a link may point at anything on the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LINKED = "symbolic link"


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A file in a folder, or a symbolic link to a file or folder."""

    path: Path
    name: str  # relative to the folder, "/" between the parts
    is_link: bool


def folder_entries(folder: Path, hidden: bool = True) -> list[FolderEntry]:
    """Regular files and symbolic links in order; without ``hidden`` none with a dot before a part of its name."""
    return sorted(_entries(folder, hidden), key=lambda entry: entry.path)


def _entries(folder: Path, hidden: bool) -> Iterator[FolderEntry]:
    for where, folders, files in os.walk(folder):
        if not hidden:
            folders[:] = [name for name in folders if not name.startswith(".")]
        for name in (*files, *folders):
            path = Path(where) / name
            if (hidden or not name.startswith(".")) and (path.is_symlink() or path.is_file()):
                yield FolderEntry(path, path.relative_to(folder).as_posix(), path.is_symlink())
