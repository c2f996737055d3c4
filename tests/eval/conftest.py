"""What tests of the eval commands share: the real command line, and gains files."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eval.text_metrics import BertScore
from pearl.cli import main


@dataclass(frozen=True)
class Run:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def pearl_eval(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """`pearl eval` with these words."""

    def run(*words: object) -> Run:
        monkeypatch.setattr(sys, "argv", ["pearl", "eval", *map(str, words)])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
        captured = capsys.readouterr()
        return Run(status, captured.out, captured.err)

    return run


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., Path]:
    """A JSON Lines file, compressed where its name says so, of objects, and of strings as they are."""

    def to_file(lines: Sequence[Any], name: str = "gains.jsonl") -> Path:
        content = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines).encode()
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        return path

    return to_file


@pytest.fixture(scope="session")
def bertscore() -> BertScore:
    """With the real embedded encoder, loaded once."""
    return BertScore()
