"""Drafts of each kind of text, by the documents that each retriever shows, beside what people really wrote.

    python docs/experiments/drafts_of_kinds.py ../shared/data work/drafts --limit 50
    python docs/experiments/drafts_of_kinds.py ../shared/data work/drafts --limit 15 --likelihood --kind lean

The latest texts of test users, whom no training saw, are drafted again from all before them. Drafts are kept. Writes
docs/results/drafts-kinds.json, and with --likelihood drafts-upr.json, which a page shows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pearl.cli.options import write_json

RESULTS = Path(__file__).parents[1] / "results"
KINDS = {  # the history, its template, and texts of each user: few people write to the list and the office
    "lean": ("chat/lean.jsonl.gz", "message", 1),
    "everything": ("mail/everything.jsonl.gz", "message", 2),
    "git": ("commits/git.jsonl.gz", "commit", 1),
    "coreboot": ("commits/coreboot.jsonl.gz", "commit", 1),
    "posts": ("posts/18f.jsonl.gz", "post", 3),  # of all users: too few for splits, and no training has this kind
}
MODELS = ("embedded", "bm25", "dense-requests", "dense-sum", "recent", "random")
LIKELIHOOD = ("embedded", "likelihood")  # which reads each history with a language model, so it has fewer requests
SHOWN = ("model", "rouge1", "rouge2", "bertscore", "likeness")
DIGITS = 4
COMPARED = ("zero-shot", "embedded", "copy of embedded")  # with the best baseline


def wanted(model: str) -> bool:
    """True for all but the copies of what a baseline chose."""
    return model in COMPARED or not model.startswith("copy of")


def report(kind: str, data: Path, work: Path, limit: int, models: Sequence[str]) -> dict[str, Any]:
    """The figures of ``pearl eval generation`` for one kind of text."""
    history, template, targets = KINDS[kind]
    out = work / f"drafts-{kind}-{limit}-{models[-1]}.json"
    if not out.exists():
        told = ["--history", data / history, "--targets", targets, "--limit", limit]
        told += [] if kind == "posts" else ["--split", "test"]
        told += ["--template", template, *(part for model in models for part in ("--model", model))]
        told += ["--max-in-flight", 1, "--generations", work / "kept.sqlite", "--json", out]
        told += ["--no-zero-shot"] if models == LIKELIHOOD else []
        line = ["eval", "generation", *map(str, told)]
        subprocess.run([sys.executable, "-c", "from pearl.cli.main import main; main()", *line], check=True)
    figures: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return figures


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return round(value, DIGITS) if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--limit", type=int, default=50, help="Requests of each kind.")
    parser.add_argument("--likelihood", action="store_true", help="Documents by UPR, beside PEARL's alone.")
    parser.add_argument("--kind", action="append", choices=tuple(KINDS), help="Kind of text, repeatable; else all.")
    options = parser.parse_args()
    models, out = (LIKELIHOOD, "drafts-upr.json") if options.likelihood else (MODELS, "drafts-kinds.json")
    options.work.mkdir(parents=True, exist_ok=True)
    kinds = []
    for kind in options.kind or KINDS:
        figures = report(kind, options.data, options.work, options.limit, models)
        rows = {
            part: [{name: row[name] for name in SHOWN if name in row} for row in figures[part] if wanted(row["model"])]
            for part in ("models", "baselines")
        }
        differences = [row for row in figures["differences"] if row["model"] in COMPARED]
        own = {name: figures[name] for name in ("command", "n", "users")}
        kinds.append({"kind": kind, **own, **rows, "differences": differences})
    head = {name: figures[name] for name in ("llm", "k", "max_tokens")}
    write_json(str(RESULTS / out), rounded({**head, "kinds": kinds}))


if __name__ == "__main__":
    main()
