"""A result: what made it, its figures, and the tables that show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eval.report.head import Head
from eval.report.tables import Json, Table


@dataclass(frozen=True, slots=True)
class Report:
    """``tables`` are made from the JSON alone, so that a result file can be shown again."""

    head: Head
    figures: Mapping[str, Any]
    tables: Callable[[Json], Iterable[Table]]

    def to_json(self) -> dict[str, Any]:
        return {**self.head.to_json(), **self.figures}
