"""`pearl calibrate` with the embedded model on one author's real commit messages: what comes out.

    PEARL_HOME=work/calibrating python docs/experiments/calibrating.py HISTORY.jsonl.gz AUTHOR

Drafts 30 past texts of the author from one document each, of at most 80 tokens, and revises them: 60 calls. Replies are
kept in PEARL_HOME, so an interrupted run goes on. Writes calibrating.json beside this file, without texts.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

VOICE = "commits"
TEXTS = 30
OUT = Path(__file__).with_suffix(".json")


def pearl(*words: str) -> str:
    """The standard output of a command."""
    command = [str(Path(sys.executable).with_name("pearl")), *words]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def main() -> None:
    source, author = Path(sys.argv[1]), sys.argv[2]
    os.environ |= {"PEARL_MAX_DRAFT_TOKENS": "80", "PEARL_LLM": "embedded"}
    with TemporaryDirectory() as folder, gzip.open(source, "rt", encoding="utf-8") as lines:
        own = Path(folder) / "author.jsonl"
        own.write_text("".join(line for line in lines if json.loads(line)["user_id"] == author), encoding="utf-8")
        pearl("import", "jsonl", str(own), "--voice", VOICE)
    pearl("voices", "set", VOICE, "--user", author, "--template", "commit", "-k", "1")
    found = json.loads(pearl("calibrate", "--user", author, "--voice", VOICE, "--texts", str(TEXTS), "--json", "-"))
    for name in ("id", "user", "asked", "estimate"):
        del found[name]
    OUT.write_text(json.dumps({"history": source.name} | found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
