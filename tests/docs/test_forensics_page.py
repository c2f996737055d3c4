"""docs/forensics.md: its Python runs, and what it says of the public package is in the result file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from eval.recorded.forensics.measures import MEASURES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "forensics.md").read_text(encoding="utf-8")
VOTES = {"p": {"pref": "a"}, "t": {"pref": "a"}}


def test_the_python_runs_in_five_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:  # type: ignore[no-untyped-def]
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 5
    pair = {"response_a": {"text": "x"}, "response_b": {"text": "y"}, "annotations": VOTES}
    annotators = {"p": {"name": "people"}, "t": {"description": "is kind", "type": "principle"}}
    (tmp_path / "pairs.json").write_text(json.dumps({"annotators": annotators, "comparisons": [pair]}))
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "forensics.md", "exec"), {})
    assert capsys.readouterr().out.startswith("is kind {'value': 1.0")


def test_every_figure_is_explained() -> None:
    assert [measure.name for measure in MEASURES if f"| `{measure.name}` |" not in PAGE] == []


def test_the_public_package_gives_the_same_numbers() -> None:
    result = json.loads((DOCS / "results" / "forensics_public.json").read_text(encoding="utf-8"))
    assert result["numbers"] > 300
    assert {name for name, gap in result["largest_difference"].items() if gap > 1e-8} == {
        "strength low",
        "strength high",
    }
    assert max(result["largest_difference"].values()) < 0.01  # the package's intervals have no seed


def test_the_picture_is_small() -> None:
    assert (DOCS / "assets" / "forensics.png").stat().st_size < 150_000
