"""``pearl likeness``"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

TEXT = "Hello Tomas, the rota is yours, and the kettle is on at ten, so come by when the tide lets you; mind the step. "


@pytest.fixture
def history(run_pearl: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))
    lines = [
        {"user_id": "ann", "id": f"m{n}", "timestamp": 1000 + n, "voice": "email", "text": f"{TEXT * 3}Day {n}."}
        for n in range(6)
    ]
    path = tmp_path / "h.jsonl"
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    assert run_pearl("import", "jsonl", path).status == 0


def test_a_text_in_a_file(run_pearl: Any, history: None, tmp_path: Path) -> None:
    file = tmp_path / "reply.txt"
    file.write_text(TEXT * 2)
    found = run_pearl("likeness", file, "--user", "ann", "--voice", "email", "--json", "-").json
    assert (found["object"], found["verdict"], found["words"]) == ("likeness", "yours", 48)
    assert found["history"] == {"texts": 6, "words": 444, "left_out": 0}
    assert run_pearl("likeness", file).out.endswith("% (yours), 48 words\n")
    file.write_text("Mind the tide.")
    assert run_pearl("likeness", file).out == "Too short to say: 3 words; 30 are needed.\n"


def test_bad_input_is_one_line(run_pearl: Any, history: None, tmp_path: Path) -> None:
    file = tmp_path / "reply.txt"
    file.write_text(TEXT)
    for words, says in (
        ([file, "--voice", "blog"], "blog"),
        ([file, "--user", "ben"], "ben"),
        ([tmp_path / "none.txt"], "none.txt"),
    ):
        run = run_pearl("likeness", *words)
        assert (run.status, says in run.err, run.err.count("\n")) == (2, True, 1)
