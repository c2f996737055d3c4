"""Real drafts to measure best-of-N on: drafts of people's own requests, each with what the person had written.

    pearl forensics pairs --history HISTORY.jsonl.gz --out PAIRS.json --targets 20 --template commit --llm embedded
    python docs/experiments/best_of.py DRAFTS.jsonl NUMBER PAIRS.json:HISTORY.jsonl.gz ...
    pearl eval best-of --drafts DRAFTS.jsonl --model embedded --candidates 2 --llm embedded --json best_of.json

Takes NUMBER drafts of at least 30 words from each file of pairs, and the texts of their people but for the one that the
person wrote for the same request. The texts stay on this machine.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from eval.asking.json_lines import write_lines
from pearl.history import read_histories

LEAST_WORDS = 30  # of a draft; below, likeness abstains

out, number, *sources = sys.argv[1:]
lists = []
for source in sources:
    pairs, history = source.rsplit(":", 1)
    texts = read_histories(Path(history), timestamp_required=True)
    kind = Path(history).name.partition(".")[0]
    mine: list[dict[str, object]] = []
    for pair in json.loads(Path(pairs).read_text(encoding="utf-8"))["comparisons"]:
        draft, told = pair["response_b"]["text"], pair["metadata"]
        if len(draft.split()) >= LEAST_WORDS and len(mine) < int(number):
            theirs = [document.text for document in texts[told["user"]] if document.text != pair["response_a"]["text"]]
            called = f"{kind} {len(mine) + 1}"
            mine.append({"id": called, "user_id": told["user"], "text": draft, "history": theirs})
    lists.append(mine)
write_lines(Path(out), (line for lines in zip(*lists, strict=True) for line in lines), called=out)
