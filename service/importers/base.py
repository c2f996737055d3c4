"""What an importer is, and what it yields."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol

from pearl.errors import InputError
from pearl.records import Document

ENTRY_POINT_GROUP = "pearl.importers"


@dataclass(frozen=True, slots=True)
class Found:
    """A document of a user, and where in the source it stands (``file:line`` or the like)."""

    user: str
    document: Document
    where: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not imported.

    ``reason`` is a few words that the summary counts by ("not written by --me"). ``error`` tells what is wrong with
    the input itself; it is None for what is left out on purpose.
    """

    where: str
    reason: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What the person said: whose history it is, which identities in the source are theirs, and the voice."""

    user: str | None = None
    me: tuple[str, ...] = ()
    voice: str | None = None
    advance: Callable[[int], None] = lambda amount: None  # told of progress, in the unit of Importer.size


class Importer(Protocol):
    """One kind of source. ``summary`` is its line in ``pearl import --help``; ``examples`` stand below its options."""

    name: str
    summary: str
    examples: tuple[str, ...]
    needs_user: bool  # False where the source itself says whose document it is
    needs_me: bool  # True where the source holds other people's texts too

    def size(self, source: Path) -> int | None:
        """The total that ``advance`` counts up to, None where it cannot be told beforehand."""
        ...

    def read(self, source: Path, options: Options) -> Iterator[Found | LeftOut]:
        """Stream the source in its order. Raises InputError when there is nothing to read at all."""
        ...


def importer_names() -> list[str]:
    return sorted(point.name for point in entry_points(group=ENTRY_POINT_GROUP))


def load_importer(name: str) -> Importer:
    """Raises InputError that lists the names there are."""
    for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        importer: Importer = point.load()()
        return importer
    raise InputError(f"There is no importer '{name}'; there are {', '.join(importer_names())}.", code="unknown_importer")
