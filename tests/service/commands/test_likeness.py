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
    for more in ((), ("--voice", "pearl")):
        assert run_pearl("likeness", file, *more).out.endswith("% (yours), 48 words\n")
    file.write_text("Mind the tide.")
    assert run_pearl("likeness", file).out == "Too short to say: 3 words; 30 are needed.\n"


GERMAN = "Hallo Tomas, der Plan gehört dir; komm vorbei, wenn die Flut dich lässt, und gib acht auf die Stufe. "


LEFT_OUT = "6 texts in a language that the impostors ({}) do not write."
TOO_SMALL = f"Too small a history to say: 0 texts with 0 words; 5 with 300 are needed. Left out: {LEFT_OUT}\n"


@pytest.mark.parametrize(
    ("own", "out", "err"), [(6, "% (yours), 48 words\n", f"Left out of the history: {LEFT_OUT}\n"), (0, TOO_SMALL, "")]
)
def test_texts_in_another_language_are_said(
    run_pearl: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: int, out: str, err: str
) -> None:
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))
    texts = [*(f"{TEXT * 3}Day {n}." for n in range(own)), *(f"{GERMAN * 3}Tag {n}." for n in range(6))]
    lines = [{"user_id": "ann", "id": f"m{n}", "timestamp": 1000 + n, "text": text} for n, text in enumerate(texts)]
    (tmp_path / "h.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    run_pearl("import", "jsonl", tmp_path / "h.jsonl")
    (tmp_path / "reply.txt").write_text(TEXT * 2)
    found = run_pearl("likeness", tmp_path / "reply.txt", "--json", "-").json
    run = run_pearl("likeness", tmp_path / "reply.txt")
    assert run.out.endswith(out.format(found["impostors"]))
    assert run.err == err.format(found["impostors"]) + (f"{found['note']}\n" if found["note"] else "")
    assert (found["note"] is not None) == (own > 0)  # the impostors are mail's, who are few


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
