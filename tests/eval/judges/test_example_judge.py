"""The judge of docs/extending.md, as it stands there, against an endpoint."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer
from typer.testing import CliRunner

from eval.commands.judge.made import register

PAGE = (Path(__file__).parents[3] / "docs" / "extending.md").read_text(encoding="utf-8")
SOURCE = re.search(r"^`eval/judges/formality.py`, new:\n\n```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[1]
PAIRS = [{"a": f"Good evening, madam {n}.", "b": "Hiya!"} for n in range(5)]


@pytest.fixture
def formality(monkeypatch):
    module = ModuleType("formality")
    monkeypatch.setitem(sys.modules, "formality", module)
    exec(compile(SOURCE, "formality.py", "exec"), module.__dict__)
    app = typer.Typer(rich_markup_mode=None)
    register(app, module.JUDGE)
    return app


def test_it_takes_at_most_80_lines():
    assert len(SOURCE.splitlines()) <= 80


def test_its_command_judges_in_both_orders(formality, judge_endpoint, write_lines, tmp_path, monkeypatch):
    monkeypatch.setenv("PEARL_HOME", str(tmp_path))

    def says(body):
        text = body["messages"][-1]["content"]
        return "It is plain.\nMy verdict: " + ("TEXT A" if text.index("Good") < text.index("Hiya") else "TEXT B")

    judge_endpoint.says = says
    words = ["--items", write_lines(PAIRS, "pairs.jsonl")]
    words += ["--runs", 2, "--judgements", tmp_path / "judged.jsonl"]
    run = CliRunner().invoke(formality, [*map(str, words), "--json", "-"])
    assert run.exit_code == 0
    found = json.loads(run.stdout)
    assert (found["judge"], found["a"]["value"], found["flip_rate"]["value"]) == ("mock", 1, 0)
    assert found["verdicts"] == {"A": 10, "B": 10}
    assert " --runs 2 " in found["command"]
    assert len(judge_endpoint.bodies) == 20
    line = json.loads((tmp_path / "judged.jsonl").read_text().splitlines()[1])
    assert (line["item"], line["swapped"], line["verdict"]) == ("line 1", True, "B")
    table = CliRunner().invoke(formality, [*map(str, words)]).stdout
    assert "a is more formal" in table
