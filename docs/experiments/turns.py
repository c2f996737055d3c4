"""How well the score tells a new subject from a follow-up: where NEW_SUBJECT of service/turns.py comes from.

    python docs/experiments/turns.py HISTORY.jsonl.gz ...     writes docs/experiments/turns.json

The sample user, and people of history files: a person's last six requests are asked of what they wrote before. A turn
is the request before it and then a follow-up, or another of those requests. The figure is the best score of the turn
alone less that of both together.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from pearl.records import Document, Request
from pearl.settings import EMBEDDED
from retriever.models.encoder import SentenceEncoder
from retriever.registry import make_retriever
from service.sample import sample_documents
from service.turns import NEW_SUBJECT

OUT = Path(__file__).with_suffix(".json")
PEOPLE, TURNS, KEPT_BACK, LONGEST = 14, 5, 6, 60
MARGINS = (0.0, NEW_SUBJECT, 0.5)
FOLLOW_UPS = (
    "Shorter please", "Make it warmer.", "Can you make it a bit more formal?", "Now in three sentences.", "Add a PS.",
    "Without the joke about the kettle.", "Please mention that we close at six.", "Again, but less cross", "Try again",
    "Thanks! Now add a line about the price.", "No, he meant next Saturday, not this one.", "one more version",
    "Too long. Cut it by half and drop the list.", "Use 'Hello' rather than 'Dear'.", "Could you start with thanks?",
    "sign it with my full name", "the second paragraph is too stiff, loosen it", "leave out the numbers",
    "ok but firmer on the money", "Put it into simpler words",
)  # fmt: skip


def people(path: Path, chance: random.Random) -> list[list[Document]]:
    """Some people of a history file, each with their documents, oldest first."""
    written: dict[str, list[Document]] = defaultdict(list)
    with gzip.open(path, "rt") as lines:
        for row in map(json.loads, lines):
            written[row["user_id"]].append(
                Document(row["id"], row["text"], float(row["timestamp"]), row.get("request"))
            )
    enough = [user for user, documents in written.items() if len(documents) >= PEOPLE]
    return [sorted(written[user], key=lambda each: each.timestamp or 0) for user in chance.sample(enough, PEOPLE)]


def main() -> None:
    chance = random.Random(1)
    retriever = make_retriever(EMBEDDED, SentenceEncoder())
    sample = sample_documents()
    kinds = {"sample user": [sample[: len(sample) - KEPT_BACK * back] for back in range(4)]}
    kinds |= {path.name.split(".")[0]: people(path, chance) for path in map(Path, sys.argv[1:])}
    figures = []
    for kind, histories in kinds.items():
        ahead: dict[str, list[float]] = {"follow_up": [], "new_subject": []}
        for documents in histories:
            asked = [document.request for document in documents[-KEPT_BACK:] if document.request]
            index = retriever.index(documents[:-KEPT_BACK][-LONGEST:])
            for _ in range(TURNS if len(asked) > 1 else 0):
                first, other = chance.sample(asked, 2)
                for name, turn in (("follow_up", chance.choice(FOLLOW_UPS)), ("new_subject", other)):
                    alone, together = (
                        float(index.scores(Request(text)).max()) for text in (turn, f"{first}\n\n{turn}")
                    )
                    ahead[name].append(alone - together)
        row: dict[str, object] = {"kind": kind, "n": len(ahead["follow_up"])}
        for name, values in ahead.items():
            percentiles = np.percentile(values, (5, 50, 99))
            row[name] = {
                "p5_p50_p99": [round(float(value), 3) for value in percentiles],
                "taken_as_new": {
                    str(margin): round(float(np.mean(np.array(values) >= margin)), 3) for margin in MARGINS
                },
            }
        figures.append(row)
    OUT.write_text(
        json.dumps({"command": "python docs/experiments/turns.py HISTORY ...", "kinds": figures}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
