"""Checks that find faults in records before figures are computed from them, and the faults that they find.

*Broken* records cannot measure any judge; *notes* should be known to those who read the figures.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

BROKEN, NOTE = "broken", "note"


class OnLine(Protocol):
    @property
    def line(self) -> int: ...


SourceT = TypeVar("SourceT")
LineT = TypeVar("LineT", bound=OnLine)


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault that a check found, with the lines of the faulty records."""

    check: str
    level: str  # BROKEN or NOTE
    records: tuple[int, ...]  # their lines
    message: str

    def to_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "level": self.level,
            "count": len(self.records),
            "records": list(self.records),
            "message": self.message,
        }


@dataclass(frozen=True, slots=True)
class Check(Generic[SourceT]):
    """A check that looks for one kind of fault in records."""

    name: str
    level: str  # BROKEN or NOTE
    description: str
    find: Callable[[SourceT], tuple[str, Sequence[OnLine]] | None]  # a message and its records; None without a fault


def preflight(checks: Iterable[Check[SourceT]], source: SourceT) -> list[Finding]:
    findings = []
    for check in checks:
        if fault := check.find(source):
            message, records = fault
            findings.append(Finding(check.name, check.level, tuple(record.line for record in records), message))
    return findings


def item_check(name: str, level: str, description: str, holds: Callable[[LineT], object]) -> Check[Sequence[LineT]]:
    return _counting(name, level, description, lambda items: [item for item in items if holds(item)])


def repeat_check(name: str, level: str, description: str, key: Callable[[LineT], Hashable]) -> Check[Sequence[LineT]]:
    """Make a check that finds items with the same key."""

    def repeated(items: Sequence[LineT]) -> list[LineT]:
        times = Counter(map(key, items))
        return [item for item in items if times[key(item)] > 1]

    return _counting(name, level, description, repeated)


def conflict_check(
    name: str, level: str, description: str, key: Callable[[LineT], Hashable], value: Callable[[LineT], Hashable]
) -> Check[Sequence[LineT]]:
    """Make a check that finds items with the same key, but different values."""

    def conflicting(items: Sequence[LineT]) -> list[LineT]:
        values: dict[Hashable, set[Hashable]] = defaultdict(set)
        for item in items:
            values[key(item)].add(value(item))
        return [item for item in items if len(values[key(item)]) > 1]

    return _counting(name, level, description, conflicting)


def _counting(
    name: str, level: str, description: str, select: Callable[[Sequence[LineT]], Sequence[LineT]]
) -> Check[Sequence[LineT]]:
    def find(items: Sequence[LineT]) -> tuple[str, Sequence[LineT]] | None:
        faulty = select(items)
        return (f"{description} {len(faulty):,} of {len(items):,} items.", faulty) if faulty else None

    return Check(name, level, description, find)
