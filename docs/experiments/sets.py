"""What documents gain together, and whether choosing the second and third by what they add gains anything.

    python docs/experiments/sets.py FOLDER     writes docs/experiments/sets.json

FOLDER holds DOMAIN-dev.jsonl.gz and DOMAIN-test.jsonl.gz of `pearl train sets --documents 5 --split dev` and `test`, 20
and 40 users at most, with two targets of each where the users are few. A document's likeness to those chosen
before it is taken off its score, times a penalty; the penalty is that with which three documents gain most on
dev's users, each domain counting as much as any other, and test's users are looked at once.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.retrieval.gains import GainsRecord, clusters, read_gains
from pearl.stats import Bootstrap
from retriever.history.lexical import words
from retriever.models.encoder import SentenceEncoder

OUT = Path(__file__).with_suffix(".json")
SIZE = 3  # documents in a prompt
# of a score, for a likeness of 1: below 0 what is alike is preferred; the last leaves likeness alone to decide
PENALTIES = (-2.0, -1.0, -0.5, 0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 1000.0)
SHIPPED = "words"  # of both kinds the one that costs nothing where documents are chosen
KINDS = (SHIPPED, "cosine")
PARTS = 3  # of the pairs, by likeness, as many in each
WITHIN = "within the margin"  # what scores further behind the best is not shown
MARGIN = 0.5015650272369386  # that shipped when this was measured
HALF = 0.5  # of score and likeness each, as the first maximal marginal relevance had them

Floats = NDArray[np.float64]
Rule = Callable[["Pool"], list[int]]


@dataclass(frozen=True, slots=True)
class Pool:
    """A record, its documents' places best first, and how alike the documents at two places are, by kind."""

    record: GainsRecord
    order: tuple[int, ...]
    likeness: dict[str, Floats]

    @property
    def scores(self) -> Floats:
        return np.array(self.record.scores)

    def gain(self, chosen: Sequence[int]) -> float:
        """The gain of the chosen documents together."""
        return self.record.gains[chosen[0]] if len(chosen) == 1 else self.record.sets[frozenset(chosen)]

    def sets(self, size: int) -> list[frozenset[int]]:
        return [places for places in self.record.sets if len(places) == size]


def pool_of(record: GainsRecord, encoder: SentenceEncoder) -> Pool:
    if record.scores is None or not record.sets:
        raise SystemExit("a record has no sets; make the file with 'pearl train sets'")
    texts = [document.text for document in record.documents]
    vectors = encoder.encode_documents(texts).astype(np.float64)
    own = [set(words(text)) for text in texts]
    overlap = [[len(one & two) / max(len(one | two), 1) for two in own] for one in own]
    order = np.argsort(-np.array(record.scores), kind="stable")
    # the first of every set is the best: of two with one score it is the one that the sets say
    (best,) = frozenset.intersection(*record.sets)
    places = (best, *(int(place) for place in order if place != best))
    return Pool(record, places, {"words": np.array(overlap), "cosine": vectors @ vectors.T})


def greedy(pool: Pool, scores: Floats, likeness: Floats, penalty: float, margin: float = np.inf) -> list[int]:
    """The best, then one after the other what scores most less the penalty for its greatest likeness to those; what
    lies behind the best by more than the margin is left out."""
    chosen = [pool.order[0]]
    worth = [place for place in pool.order if scores[place] >= scores[pool.order[0]] - margin]
    while len(chosen) < min(SIZE, len(worth)):
        rest = [place for place in worth if place not in chosen]
        chosen.append(max(rest, key=lambda place: scores[place] - penalty * likeness[place, chosen].max()))
    return chosen


def penalised(kind: str, penalty: float, margin: float = np.inf) -> Rule:
    return lambda pool: greedy(pool, pool.scores, pool.likeness[kind], penalty, margin)


def mmr(pool: Pool) -> list[int]:
    spread = np.ptp(pool.scores) or 1.0
    return greedy(pool, HALF * (pool.scores - pool.scores.min()) / spread, pool.likeness["cosine"], 1 - HALF)


def top(size: int) -> Rule:
    return lambda pool: list(pool.order[:size])


def gains(pools: Sequence[Pool], rule: Rule) -> Floats:
    return np.array([pool.gain(rule(pool)) for pool in pools])


def interval(draws: Bootstrap, values: Floats) -> dict[str, float]:
    found = draws.mean(values).to_json()
    assert found is not None
    return {name: round(value, 3) for name, value in found.items()}


def sums(pools: Sequence[Pool], draws: Bootstrap, size: int) -> dict[str, Any]:
    """The gain of sets, against the sum of their documents' own gains and against the largest of those."""
    found: dict[str, Any] = {"size": size}
    ways: dict[str, Callable[[Pool, frozenset[int]], float]] = {
        "together": lambda pool, places: pool.record.sets[places],
        "sum": lambda pool, places: sum(pool.record.gains[place] for place in places),
        "largest": lambda pool, places: max(pool.record.gains[place] for place in places),
    }
    values = {name: np.array([np.mean([way(p, s) for s in p.sets(size)]) for p in pools]) for name, way in ways.items()}
    found |= {name: interval(draws, value) for name, value in values.items()}
    return found | {"together_less_sum": interval(draws, values["together"] - values["sum"])}


def pairs_by_likeness(pools: Sequence[Pool]) -> list[dict[str, Any]]:
    """The gain that a second document adds to the best one, and its own, by how alike the two are."""
    pairs = [(pool, *sorted(places - {pool.order[0]})) for pool in pools for places in pool.sets(2)]
    alike = np.array([pool.likeness["words"][pool.order[0], second] for pool, second in pairs])
    added = np.array([pool.gain([pool.order[0], second]) - pool.gain(pool.order[:1]) for pool, second in pairs])
    alone = np.array([pool.record.gains[second] for pool, second in pairs])
    bounds = np.quantile(alike, np.linspace(0, 1, PARTS + 1))
    rows = []
    for part, (low, high) in enumerate(itertools.pairwise(bounds), start=1):
        mine = (alike >= low) & ((alike < high) | (part == PARTS))
        draws = Bootstrap([pool.record.user_id or "" for (pool, _), own in zip(pairs, mine, strict=True) if own])
        figures = {"added": interval(draws, added[mine]), "alone": interval(draws, alone[mine])}
        rows.append({"from": round(float(low), 2), "to": round(float(high), 2), "pairs": int(mine.sum())} | figures)
    return rows


def chosen(pools: Sequence[Pool], draws: Bootstrap, kind: str, penalty: float, margin: float) -> dict[str, Any]:
    """The gain of three documents by each rule, and less that of the three best by score."""
    ways = {
        "the best alone": gains(pools, top(1)),
        "the best two": gains(pools, top(2)),
        "the best three": gains(pools, top(SIZE)),
        "random second and third": np.array(
            [float(np.mean([pool.record.sets[places] for places in pool.sets(SIZE)])) for pool in pools]
        ),
        "mmr, half and half": gains(pools, mmr),
        "penalty from dev": gains(pools, penalised(kind, penalty)),
        WITHIN: gains(pools, penalised(kind, 0.0, margin)),
        f"penalty from dev, {WITHIN}": gains(pools, penalised(kind, penalty, margin)),
        "the best three there are": np.array(
            [max(pool.record.sets[places] for places in pool.sets(SIZE)) for pool in pools]
        ),
    }
    today = ways["the best three"]
    return {
        name: {"gain": interval(draws, values), "less_best_three": interval(draws, values - today)}
        for name, values in ways.items()
    }


def main() -> None:
    folder, encoder = Path(sys.argv[1]), SentenceEncoder()
    domains = sorted(path.name.removesuffix("-test.jsonl.gz") for path in folder.glob("*-test.jsonl.gz"))
    read = {
        (domain, split): [pool_of(record, encoder) for record in read_gains(folder / f"{domain}-{split}.jsonl.gz")]
        for domain in domains
        for split in ("dev", "test")
    }
    rules = {(kind, size): penalised(kind, size) for kind in KINDS for size in PENALTIES}
    on_dev = {
        key: [float(gains(read[domain, "dev"], rule).mean()) for domain in domains] for key, rule in rules.items()
    }
    best = max((key for key in on_dev if key[0] == SHIPPED), key=lambda key: np.mean(on_dev[key]))
    rows = []
    for domain in domains:
        pools = read[domain, "test"]
        records = [pool.record for pool in pools]
        draws = Bootstrap(clusters(records).names)
        row: dict[str, Any] = {"domain": domain, "requests": len(pools), "users": clusters(records).users}
        row |= {"sums": [sums(pools, draws, size) for size in (2, SIZE)], "chosen": chosen(pools, draws, *best, MARGIN)}
        rows.append(row)
    everything = [pool for domain in domains for pool in read[domain, "test"]]
    found = {
        "command": "python docs/experiments/sets.py FOLDER",
        "documents": len(everything[0].record.documents),
        "fit": {
            "likeness": best[0],
            "penalty": best[1],
            "requests": {domain: len(read[domain, "dev"]) for domain in domains},
            "tried": [
                {"likeness": kind, "penalty": size, "gain": round(float(np.mean(values)), 3)}
                | {domain: round(value, 3) for domain, value in zip(domains, values, strict=True)}
                for (kind, size), values in on_dev.items()
            ],
        },
        "pairs": pairs_by_likeness(everything),
        "domains": rows,
    }
    OUT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
