"""Record the drafts that the README shows: ``python docs/record_drafts.py``, then ``make docs``.

One of the sample user, and three of authors of the git project's history where the shared data are there (PEARL_SHARED,
or ../shared). Of the latter the evidence is kept as ids and scores: their texts are not ours to copy. The command
``pearl draft`` runs as a person would run it, in a PEARL_HOME of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "docs" / "assets"
PEARL = Path(sys.executable).parent / "pearl"
SAMPLE = ("Dev asks if the parcel came; it did, with the wrong chains and six inner tubes missing", "sample", "email")
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
        write("sample-draft.json", _draft(environment, *SAMPLE))
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


def _draft(environment: dict[str, str], request: str, user: str, voice: str | None = None) -> dict[str, Any]:
    words = ["draft", request, "--user", user, *(("--voice", voice) if voice else ())]
    answer = json.loads(_pearl(environment, *words, "--json", "-"))
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
