"""Record the drafts that the documentation shows: ``python docs/record_drafts.py``, then ``make docs``.

For the README one request twice, for the sample user and for a user without a history, by the embedded model and, if
PEARL_LLM_MODEL is set, by that of the endpoint. For docs/drafting.md those of three authors of the git project, if
the shared data are there (PEARL_SHARED, or ../shared): their evidence is kept as ids and scores, for the texts are not
ours to copy. The command ``pearl draft`` runs as a person would run it, in a PEARL_HOME of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from service.sample import REQUEST, USER, VOICES

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "docs" / "assets"
PEARL = Path(sys.executable).parent / "pearl"
VOICE, NOBODY = "email", "nobody"
AUTHORS = (
    ("git-read-tree: add a flag that resets unmerged entries", "g0000"),
    ("transport-helper: report when the helper died", "g0120"),
    ("t/helper: do not leak memory in test-tool", "g0033"),
)


def main() -> None:
    ASSETS.mkdir(exist_ok=True)
    history = Path(os.environ.get("PEARL_SHARED", ROOT.parent / "shared")) / "data" / "commits" / "git.jsonl.gz"
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "PEARL_HOME": home}
        _load_sample(environment)
        write("side-by-side.json", _side_by_side(environment))
        if history.exists():
            _pearl(environment, "import", "jsonl", str(history))
            found = [_without_texts(_draft(environment, *author)) for author in AUTHORS]
            write("git-drafts.json", found)


def _load_sample(environment: dict[str, str]) -> None:
    code = (
        "from pearl.settings import load_settings\n"
        "from service.commands.common import open_database\n"
        "from service.sample import load_sample\n"
        "settings = load_settings()\n"
        "with open_database(settings) as database: load_sample(database, settings)\n"
    )
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


def _side_by_side(environment: dict[str, str]) -> dict[str, Any]:
    """The request with and without the history: the same command, for the sample user and for one without texts."""
    _pearl(environment, "keys", "create", "--user", NOBODY)
    _pearl(environment, "voices", "set", VOICE, "--user", NOBODY, "--template", VOICES[VOICE])
    endpoint = environment.get("PEARL_LLM_MODEL")
    models = {"embedded": "SmolLM2-135M, embedded", **({"openai": endpoint} if endpoint else {})}
    recorded = [
        {
            "model": name,
            "without_history": _draft(environment, REQUEST, NOBODY, VOICE, llm)["draft"],
            "with_history": _draft(environment, REQUEST, USER, VOICE, llm)["draft"],
        }
        for llm, name in models.items()
    ]
    command = f'pearl draft "{REQUEST}" --user {USER} --voice {VOICE}'
    return {"command": command, "request": REQUEST, "recorded": recorded}


def _draft(
    environment: dict[str, str], request: str, user: str, voice: str | None = None, llm: str = "embedded"
) -> dict[str, Any]:
    words = ["draft", request, "--user", user, *(("--voice", voice) if voice else ())]
    answer = json.loads(_pearl(environment, *words, "--llm", llm, "--json", "-"))
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
