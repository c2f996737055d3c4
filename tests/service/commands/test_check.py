"""``pearl check``"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

REQUEST = "Tell Nan that the costume rails will be ready on Friday"
DRAFT = "Nan, the costume rails are ready on Friday at 10:30. We are collecting winter coats again for anyone cold.\n"
COATS = "We are collecting winter coats again for anyone cold."


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))
    draft, sample = tmp_path / "draft.txt", tmp_path / "coats.txt"
    draft.write_text(DRAFT)
    sample.write_text(f"{COATS}\n")
    return draft, sample


def test_claims_without_any_user(run_pearl: Any, files: tuple[Path, Path]) -> None:
    draft, sample = files
    answer = run_pearl("check", draft, "--request", f"{REQUEST} for Ilse", "--sample", sample, "--json", "-").json
    assert answer == {
        "claims": [
            {"kind": "unsupported", "text": "10:30", "start": 46, "end": 51, "from": None},
            {"kind": "carried_over", "text": COATS[:-1], "start": 53, "end": 105, "from": str(sample)},
            {"kind": "dropped", "text": "Ilse", "start": None, "end": None, "from": None},
        ],
        "not_read": [],
    }
    shown = run_pearl("check", draft, "--request", REQUEST, "--sample", sample)
    assert f"Friday at [?10:30?]. [={COATS[:-1]}=]." in shown.out
    assert f"carried_over: {COATS[:-1]!r} (carried over from {sample})" in shown.err
    assert not (draft.parent / "home").exists()


def test_what_is_firmer_than_asked_is_marked(run_pearl: Any, files: tuple[Path, Path]) -> None:
    files[0].write_text("Hi Nan, we will be late.\n")
    shown = run_pearl("check", files[0], "--request", "Tell Nan we might be late")
    assert (shown.out, shown.err) == (
        "Hi Nan, [+we will be late+].\n",
        "stronger: 'we will be late' (firmer than the request)\n",
    )


def test_lines_stay_lines_and_what_is_not_read_is_said(run_pearl: Any, files: tuple[Path, Path]) -> None:
    files[0].write_text("Cześć Marku,\n\nrowery są gotowe, czekają w piwnicy.")
    shown = run_pearl("check", files[0], "--request", "napisz do Marka, że rowery są gotowe w piwnicy")
    assert shown.out == f"{files[0].read_text()}\n"
    assert "Note: numbers in words are not read in Polish." in shown.err


def test_the_samples_of_a_user_are_those_a_draft_would_be_shown(
    run_pearl: Any, files: tuple[Path, Path], tmp_path: Path
) -> None:
    history = tmp_path / "history.jsonl"
    history.write_bytes(orjson.dumps({"user_id": "ann", "id": "c1", "timestamp": 1, "voice": "mail", "text": COATS}))
    assert run_pearl("import", "jsonl", history).status == 0
    for more in (("--user", "ann"), ("--user", "ann", "--voice", "mail"), ("--voice", "mail")):
        answer = run_pearl("check", files[0], "--request", REQUEST, *more, "--json", "-").json
        assert [claim["from"] for claim in answer["claims"]] == [None, "c1"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--request", REQUEST, "--user", "nobody"), "nobody"),
        (("--request", REQUEST, "--sample", "missing.txt"), "--sample missing.txt: No such file"),
        ((), "Missing option '--request'"),
        (("--request", ""), "'--request' is empty"),
        (("--request", " \n\u200b"), "'--request' is empty"),
        (("--request", " ", "--user", "ann"), "'--request' is empty"),
    ],
)
def test_what_cannot_be_checked_is_said(
    run_pearl: Any, files: tuple[Path, Path], more: tuple[str, ...], message: str
) -> None:
    done = run_pearl("check", files[0], *more)
    assert done.status == 2
    assert message in done.err
