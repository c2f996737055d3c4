from __future__ import annotations

from pathlib import Path

import pytest

from eval.benchmarks.files import LONGEST_CELL, csv_rows
from pearl.errors import InputError


def test_a_quote_that_nobody_closes_is_told_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "responses.csv"
    path.write_text('key,answer\nann,"' + "y" * (LONGEST_CELL + 1), encoding="utf-8")
    with pytest.raises(InputError, match=r"responses.csv:\d+: is not CSV: .* Put a cell with quotes in quotes"):
        list(csv_rows(path, "key"))
