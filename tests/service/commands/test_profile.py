"""``pearl profile`` and the edits of ``pearl voices show``."""

from __future__ import annotations

import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from pearl.settings import load_settings
from service.commands.common import open_database
from service.sample import load_sample


@pytest.fixture
def history(run_pearl: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))
    lines = [
        {
            "user_id": "ann",
            "id": f"m{n}",
            "timestamp": 1000 + n * 86_400,
            "voice": "email",
            "text": f"Hello Tomas.\n\nThe rota is yours; day {n} suits Bea; come at ten.\n\nMind the tide,\nOtti",
        }
        for n in range(6)
    ]
    path = tmp_path / "h.jsonl"
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    assert run_pearl("import", "jsonl", path).status == 0


def test_the_card_in_words_as_json_and_as_a_skill(run_pearl: Any, history: None) -> None:
    text = run_pearl("profile", "--voice", "email").out
    assert "You use more semicolons than others" in text
    assert "m5: …lo Tomas. The rota is yours; day 5 suits Bea" in text
    card = run_pearl("profile", "--user", "ann", "--voice", "email", "--json", "-").json
    assert card["object"] == "profile"
    assert run_pearl("profile", "--voice", "email", "--format", "skill").out.startswith("---\nname: email-voice\n")
    prompt = run_pearl(
        "profile", "--voice", "email", "--strike", "semicolons", "--correct", "words=Short.", "--format", "prompt"
    ).out
    assert "- Short." in prompt
    assert "semicolons" not in prompt
    again = run_pearl("profile", "--voice", "email", "--restore", "semicolons", "--delete", "words", "--json", "-").json
    states = {line["name"]: line["state"] for line in again["lines"]}
    assert states["semicolons"] == "listed"
    assert "words" not in states
    assert run_pearl("profile", "--voice", "email", "--standing", "--json", "-").json["standing"] is True


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--voice", "blog"], "There is no voice 'blog'; `pearl voices list`"),
        (["--format", "poem"], "--format must be one of text, prompt, skill"),
        (["--strike", "kettles"], "The card has no line 'kettles'; `pearl profile`"),
        (["--correct", "words"], "--correct words: give LINE=TEXT"),
        (["--strike", "dashes", "--confirm", "dashes"], "--strike dashes: --confirm dashes is given too; give one"),
        (["--correct", "words=A.", "--correct", "words=B."], "--correct words=B.: --correct words=A. is given too"),
        (["--correct", "words=\udcff"], "'text' contains half of a surrogate pair"),
        (["--user", "ben"], "ben"),
    ],
)
def test_bad_input_is_one_line(run_pearl: Any, history: None, words: list[str], says: str) -> None:
    run = run_pearl("profile", *words)
    assert (run.status, says in run.err, run.err.count("\n")) == (2, True, 1)


def test_every_command_of_the_page_runs_for_the_sample_user(
    run_pearl: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))
    settings = load_settings()
    with open_database(settings) as database:
        load_sample(database, settings)
    page = (Path(__file__).parents[3] / "docs" / "voice.md").read_text(encoding="utf-8")
    for command in re.findall(r"^pearl (profile [^>\n]*)", page, flags=re.MULTILINE):
        run = run_pearl(*shlex.split(command, comments=True))
        assert run.status == 0, run.err


def test_voices_show_has_the_edits(run_pearl: Any, history: None) -> None:
    edits = run_pearl("voices", "show", "email", "--json", "-").json["edits"]
    assert (edits["drafts"], edits["distance"]) == (0, None)


def test_a_deleted_line_is_erased_from_the_files(run_pearl: Any, history: None, tmp_path: Any) -> None:
    assert run_pearl("profile", "--voice", "email", "--correct", "words=Mention the heron.").status == 0
    assert run_pearl("profile", "--voice", "email", "--delete", "words").status == 0
    with closing(sqlite3.connect(tmp_path / "home" / "pearl.db")) as database:
        assert database.execute("SELECT count(*) FROM erasures").fetchone() == (0,)
