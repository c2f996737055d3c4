"""Record the drafts that the documentation shows: ``python docs/record_drafts.py``, then ``make docs``.

For the README three requests, drawn by seed among the latest that the sample user answered, each with the letters
before it and without any, by the default model. For docs/drafting.md those of three authors of the git project, if the
shared data are there (PEARL_SHARED, or ../shared): their evidence is kept as ids and scores, for the texts are not
ours to copy. The command ``pearl draft`` runs as a person would run it, in a PEARL_HOME of its own; the model is that
of the usual PEARL_HOME (``pearl models get``).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pearl.records import Document
from pearl.weights.table import DEFAULT
from service.sample import VOICES, sample_documents

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "docs" / "assets"
PEARL = Path(sys.executable).parent / "pearl"
VOICE, NOBODY = "email", "nobody"
SEED, LATEST = 0, 15  # of the letters that have as many before them
AUTHORS = (
    ("git-read-tree: add a flag that resets unmerged entries", "g0000"),
    ("transport-helper: report when the helper died", "g0120"),
    ("t/helper: do not leak memory in test-tool", "g0033"),
)


def main() -> None:
    ASSETS.mkdir(exist_ok=True)
    history = Path(os.environ.get("PEARL_SHARED", ROOT.parent / "shared")) / "data" / "commits" / "git.jsonl.gz"
    weights = _pearl(dict(os.environ), "models", "path", DEFAULT).strip()
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "PEARL_HOME": home, "PEARL_LLM_MODEL": weights}
        write("side-by-side.json", _side_by_side(environment, Path(home)))
        if history.exists():
            _pearl(environment, "import", "jsonl", str(history))
            found = [_without_texts(_draft(environment, *author)) for author in AUTHORS]
            write("git-drafts.json", found)


def _side_by_side(environment: dict[str, str], home: Path) -> dict[str, Any]:
    """Requests with and without the history: the same command, for a user with the letters before and one without."""
    letters = sorted(
        (letter for letter in sample_documents() if letter.voice == VOICE), key=lambda letter: letter.timestamp
    )
    drawn = random.Random(SEED).sample(letters[-LATEST:], 3)
    _pearl(environment, "keys", "create", "--user", NOBODY)
    _pearl(environment, "voices", "set", VOICE, "--user", NOBODY, "--template", VOICES[VOICE])
    recorded = []
    for letter in drawn:
        user = f"before-{letter.id}"
        file = home / f"{user}.jsonl"
        lines = [_line(user, earlier) for earlier in letters[: letters.index(letter)]]
        file.write_text("".join(lines), encoding="utf-8")
        _pearl(environment, "import", "jsonl", str(file))
        _pearl(environment, "voices", "set", VOICE, "--user", user, "--template", VOICES[VOICE])
        recorded.append(
            {
                "answered": letter.id,
                "request": letter.request,
                "without_history": _draft(environment, letter.request, NOBODY, VOICE)["draft"],
                "with_history": _draft(environment, letter.request, user, VOICE)["draft"],
            }
        )
    return {"command": "python docs/record_drafts.py", "model": DEFAULT, "recorded": recorded}


def _line(user: str, letter: Document) -> str:
    row = {"user_id": user, "id": letter.id, "text": letter.text, "request": letter.request, "voice": letter.voice}
    return json.dumps({**row, "timestamp": letter.timestamp}) + "\n"


def _draft(environment: dict[str, str], request: str, user: str, voice: str | None = None) -> dict[str, Any]:
    words = ["draft", request, "--user", user, *(("--voice", voice) if voice else ())]
    answer = json.loads(_pearl(environment, *words, "--llm", "embedded", "--json", "-"))
    shown = " ".join(f'"{word}"' if " " in word else word for word in ("pearl", *words))
    return {"command": shown, "request": request, "user": user, "draft": answer}


def _pearl(environment: dict[str, str], *words: str) -> str:
    return subprocess.run([PEARL, *words], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def _without_texts(recorded: dict[str, Any]) -> dict[str, Any]:
    for document in recorded["draft"]["retrieval"]["documents"]:
        del document["excerpt"]
    return recorded


def write(name: str, value: Any) -> None:
    (ASSETS / name).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
