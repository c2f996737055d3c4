"""Which documents of a short history have to do with a request: where RELATED_FROM of retriever/base.py comes from.

    python docs/experiments/short_histories.py HISTORY.jsonl.gz ...     writes docs/experiments/short_histories.json

A history is two to seven texts in a row of a person, one history a person. It is asked the person's next request (own),
one of somebody else in the same file (same kind), and one of each other file (foreign). A file is called by its folder.
The threshold is chosen on users of train and dev: the highest that keeps KEPT of the own documents. What is shown is
counted on users of test. The split is the trainer's.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval.stats.proportions import wilson_json
from pearl.history import read_histories
from pearl.records import Document, Request, ScoredDocument
from pearl.settings import EMBEDDED
from pearl.split import TEST, split_of
from pearl.templates import DEFAULT_TEMPLATE, load_template
from retriever.base import MARGIN_FROM, RELATED_FROM, Calibration, Retriever, choose
from retriever.models.encoder import SentenceEncoder
from retriever.registry import make_retriever

OUT = Path(__file__).with_suffix(".json")
PEOPLE = 30  # of each file and half at most
KEPT = 0.85
OWN, SAME_KIND, FOREIGN = "own", "same kind", "foreign"
GRID = tuple(round(0.02 * step, 2) for step in range(13))
K = load_template(DEFAULT_TEMPLATE).k


@dataclass(frozen=True, slots=True)
class Asked:
    """A short history's ranking for a request; ``whose``: OWN, SAME_KIND or FOREIGN."""

    kind: str
    whose: str
    ranking: Sequence[ScoredDocument]


def short_histories(
    histories: Mapping[str, Sequence[Document]], chance: random.Random
) -> Iterator[tuple[list[Document], Document]]:
    """Some documents in a row, and the next one, which has a request."""
    for user in chance.sample(sorted(histories), len(histories)):
        written = sorted(histories[user], key=lambda each: each.timestamp or 0)
        size = chance.randint(2, MARGIN_FROM - 1)
        if places := [place for place in range(size, len(written)) if written[place].request]:
            place = chance.choice(places)
            yield written[place - size : place], written[place]


def asked(half: Mapping[str, Mapping[str, Sequence[Document]]], retriever: Retriever) -> list[Asked]:
    """Every short history of one half of the users, by file, with the requests it is asked."""
    chance = random.Random(1)
    drawn = {kind: list(short_histories(people, chance))[:PEOPLE] for kind, people in half.items()}
    found = []
    for kind, histories in drawn.items():
        for place, (documents, following) in enumerate(histories):
            requests = [(OWN, following), (SAME_KIND, histories[place - 1][1])]
            requests += [(FOREIGN, chance.choice(others)[1]) for other, others in drawn.items() if other != kind]
            for whose, target in requests:
                request = Request(target.request or "", following.timestamp)
                found.append(Asked(kind, whose, retriever.rank(request, documents)))
    return found


def kept(cases: Sequence[Asked], kind: str, whose: str, threshold: float) -> float:
    """The share of documents whose relatedness reaches the threshold."""
    values = [
        each.relatedness or 0.0 for case in cases if (case.kind, case.whose) == (kind, whose) for each in case.ranking
    ]
    return sum(value >= threshold for value in values) / len(values)


def shown(cases: Sequence[Asked], calibration: Calibration) -> dict[str, Any]:
    """How many documents are shown without a look at what they have to do with the request, which share of them still
    is with it, and how many requests are left without any. ``after`` counts those that take a free place, too."""
    before = after = still = 0
    left = [0, 0]
    for case in cases:
        blind = choose([replace(each, relatedness=None) for each in case.ranking], K, calibration)
        looking = {id(each.document) for each in choose(case.ranking, K, calibration)}
        before, after = before + len(blind), after + len(looking)
        still += sum(id(each.document) in looking for each in blind)
        left = [left[0] + (not blind), left[1] + (not looking)]
    return {
        "requests": len(cases),
        "documents": {"before": before, "after": after, "still_shown": wilson_json(still, before)},
        "without_documents": {"before": left[0], "after": left[1], "share_after": wilson_json(left[1], len(cases))},
    }


def main() -> None:
    retriever = make_retriever(EMBEDDED, SentenceEncoder())
    files = {path.parent.name: read_histories(path) for path in map(Path, sys.argv[1:])}
    halves: dict[bool, list[Asked]] = {
        is_test: asked(
            {
                kind: {user: own for user, own in histories.items() if (split_of(user) == TEST) == is_test}
                for kind, histories in files.items()
            },
            retriever,
        )
        for is_test in (False, True)
    }
    grid = [
        {"threshold": threshold}
        | {
            whose: sum(kept(halves[False], kind, whose, threshold) for kind in files) / len(files)
            for whose in (OWN, SAME_KIND, FOREIGN)
        }
        for threshold in GRID
    ]
    tested = [
        {"kind": kind, "whose": whose}
        | shown([each for each in halves[True] if (each.kind, each.whose) == (kind, whose)], retriever.calibration)
        for kind in files
        for whose in (OWN, SAME_KIND, FOREIGN)
    ]
    chosen = max(row["threshold"] for row in grid if row[OWN] >= KEPT)
    OUT.write_text(
        json.dumps(
            {
                "command": "python docs/experiments/short_histories.py HISTORY ...",
                "chosen": chosen,
                "threshold": RELATED_FROM,
                "chosen_on": grid,
                "tested": tested,
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    main()
