"""How much of a draft, and of its revision by the embedded model, stands word for word in the texts that were shown.

    python docs/experiments/copied.py DATA WORK [REQUESTS]     writes docs/experiments/copied.json

DATA is as in ../shared/data/README.md. The requests are a sample of those of docs/results/revision.json, drafted and
revised in the same way. WORK keeps every answer, so an interrupted run goes on.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from eval.commands.options import WritingOptions
from eval.commands.writing import ready
from pearl.asking.write import write_revised
from pearl.records import Document
from pearl.settings import EMBEDDED
from pearl.split import TEST
from pearl.stats import Bootstrap
from retriever.history.lexical import words
from training.recipes.domains import COMMITS, DOMAINS

OUT = Path(__file__).with_suffix(".json")
RUN = 4  # words


def runs(text: str) -> list[tuple[str, ...]]:
    own = words(text)
    return [tuple(own[place : place + RUN]) for place in range(len(own) - RUN + 1)]


def copied(text: str, shown: Sequence[Document]) -> float:
    """The share of the text's runs of words that one of the documents has, too."""
    theirs = {run for document in shown for run in runs(document.text)}
    return float(np.mean([run in theirs for run in runs(text)] or [0.0]))


def main() -> None:
    data, work = Path(sys.argv[1]), Path(sys.argv[2])
    options = WritingOptions(
        model=[EMBEDDED],
        history=[data / domain.file for domain in DOMAINS if domain.name in COMMITS],
        split=TEST,
        template="commit",
        limit=int(sys.argv[3]) if len(sys.argv) > 3 else 24,
        max_in_flight=1,
        generations=work / "generations.sqlite",
    )
    with ready(options) as room:
        briefs = room.plan.briefs(room.material.cases, room.systems[0])
        [(drafts, revisions)] = room.write(lambda desk: write_revised(desk, [briefs]))
    both = [
        (brief, draft.text, revision.text)
        for brief, draft, revision in zip(briefs, drafts, revisions, strict=True)
        if draft.text and revision.text
    ]
    draws = Bootstrap([str(place) for place in range(len(both))])  # one request of a user
    before, after = (draws.mean([copied(texts[place], texts[0].documents) for texts in both]) for place in (1, 2))
    report = {
        "command": f"python docs/experiments/copied.py DATA WORK {options.limit}",
        "requests": len(briefs),
        "read": len(both),
        "words": RUN,
        "draft": before.to_json(),
        "revision": after.to_json(),
        "more": (after - before).to_json(),
    }
    OUT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
