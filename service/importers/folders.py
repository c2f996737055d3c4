"""The files of a folder, without what symbolic links lead to: a link may point at anything on the machine."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from pearl.errors import InputError
from service.importers.base import Remark

LINKED = "symbolic link"


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A file in a folder, or a symbolic link to a file or folder."""

    path: Path
    name: str  # relative to the folder, "/" between the parts
    is_link: bool


def folder_entries(folder: Path, hidden: bool = True) -> list[FolderEntry]:
    """Regular files and symbolic links in order; without ``hidden`` none with a dot before a part of its name.

    Raises InputError if the folder cannot be read.
    """
    return sorted(walk(folder, hidden), key=lambda entry: entry.path)


def walk(folder: Path, hidden: bool = True) -> Iterator[FolderEntry]:
    """Yield entries like :func:`folder_entries`, as they come. A folder in it that cannot be read is passed over.

    Raises InputError if ``folder`` itself cannot be read.
    """
    waiting = [folder]  # not by recursion, so that no depth is too deep
    while waiting:
        current = waiting.pop()
        try:
            with os.scandir(current) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if current is folder:
                raise InputError(f"{folder}: cannot be read: {error}", code="unreadable_file") from error
            continue
        for entry in listed:
            if not hidden and entry.name.startswith("."):
                continue
            path = Path(entry.path)
            if entry.is_symlink() or entry.is_file(follow_symlinks=False):
                yield FolderEntry(path, path.relative_to(folder).as_posix(), entry.is_symlink())
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)


def unread(source: Path, suffixes: Set[str], advice: str) -> Iterator[Remark]:
    """Yield a remark with the advice where a folder has files of these kinds, which hold texts but are not read."""
    kinds = (entry.path.suffix.lower() for entry in (walk(source, hidden=False) if source.is_dir() else ()))
    counts = Counter(kind for kind in kinds if kind in suffixes)
    if counts:
        yield Remark(f"Not read: {', '.join(f'{count:,} {kind}' for kind, count in counts.most_common())}; {advice}")
