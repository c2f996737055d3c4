"""A fault of records or items: two levels, one shape.

*Broken* records cannot measure any judge; *notes* are to be known when figures are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BROKEN, NOTE = "broken", "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """``records`` are line numbers."""

    check: str
    level: str
    records: tuple[int, ...]
    message: str

    def to_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "level": self.level,
            "count": len(self.records),
            "records": list(self.records),
            "message": self.message,
        }
