"""What retrievers choose from long histories, for more requests than a table of all candidates can have.

    python docs/experiments/chosen.py DATA WORK     writes docs/experiments/chosen.json

DATA is as in ../shared/data/README.md. For each request every retriever names its first document among the latest
``MOST`` before it, and only those are scored: five pairs a request, where a table of gains has twenty. What the best
possible choice would gain is not known then. On dev users' documents, of all kinds of text together, the probability
that a document helps is fitted and written into the artifact that ships; then test users say what is gained. WORK
keeps embeddings and scores; what is done is not done again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from pearl.records import Document, Request
from pearl.settings import EMBEDDED
from pearl.stats.bootstrap import Bootstrap
from pearl.text.history.partition import DEV, TEST
from retriever.base import Calibration, Scores
from retriever.calibrated.artifact import SHIPPED, read_manifest, read_whole, write_manifest
from retriever.models.encoder import SentenceEncoder
from retriever.models.files import model_fingerprint
from retriever.models.load_auxiliary import load_auxiliary
from retriever.registry import ENTRIES, make_retriever
from retriever.templates import auxiliary_template
from training.choose.measure import helps_of
from training.data.embeddings import KeptEncoder
from training.data.histories import Corpus
from training.gains.scoring import prepared, score_units
from training.gains.units import GainOptions, ScoringUnit, partitions, target_texts
from training.recipes.domains import DOMAINS, Domain

OUT = Path(__file__).with_suffix(".json")
DEV_REQUESTS = 50  # of each domain
TEST_REQUESTS = 150  # of each
LEAST, MOST = 12, 200  # candidates of a request
COMMAND = "python docs/experiments/chosen.py DATA WORK"
NAMES = tuple(entry.name for entry in ENTRIES if entry.served)


@dataclass(frozen=True, slots=True)
class Chosen:
    """``first``: the place of each retriever's first document; ``scores``: of the one that ships, for all documents."""

    user_id: str
    target: Document
    documents: Sequence[Document]
    first: dict[str, int]
    scores: Scores

    @property
    def places(self) -> list[int]:
        """The places of the documents that any retriever puts first."""
        return sorted(set(self.first.values()))


Rows = tuple[list[Chosen], list[dict[int, float]]]  # requests, and the gains by the places of what is chosen for each


def requests_of(corpus: Corpus, options: GainOptions) -> Iterator[tuple[str, Document, Sequence[Document]]]:
    """A target of each user, then a second one of each, and so on; with its candidates."""
    asked = [
        [(part.user_id, *request) for request in part.requests()] for part in partitions(corpus.histories, options)
    ]
    for turn in zip_longest(*asked):
        for user, target, before in filter(None, turn):
            yield user, target, before[-MOST:]


def chosen(corpus: Corpus, options: GainOptions, encoder: KeptEncoder, requests: int) -> list[Chosen]:
    some = list(islice(requests_of(corpus, options), requests))
    texts = [document for _, target, documents in some for document in (target, *documents)]
    encoder.prepare([text for document in texts for text in (document.text, document.request) if text])
    retrievers = {name: make_retriever(name, encoder) for name in NAMES}
    rows = []
    for user, target, documents in some:
        request = Request(target.request or "", target.timestamp)
        scores = {name: retriever.index(documents).scores(request) for name, retriever in retrievers.items()}
        first = {name: int(np.argmax(mine)) for name, mine in scores.items()}
        rows.append(Chosen(user, target, documents, first, scores[EMBEDDED]))
    return rows


def gains_of(corpus: Corpus, options: GainOptions, rows: Sequence[Chosen], work: Path) -> list[dict[int, float]]:
    """Nats of the documents that any retriever puts first, by their places, for each request."""
    units = []
    for number, row in enumerate(rows):
        documents = tuple(row.documents[place] for place in row.places)
        pair = row.target, frozenset(document.id for document in documents)
        units.append(ScoringUnit(f"{number:06d}-0000", row.user_id, documents, (pair,)))
    scorer, description = prepared(
        load_auxiliary(EMBEDDED),
        auxiliary_template(options.template),
        options,
        corpus.histories,
        target_texts(units),
        corpus.fingerprint,
    )
    folder = work / f"{corpus.name}-{options.split}.parts"
    score_units(units, scorer, folder, description)
    gains = []
    for unit, row in zip(units, rows, strict=True):
        table = pq.read_table(folder / f"{unit.name}.parquet").to_pylist()
        known = {line["document_id"]: line["log_p_with"] - line["log_p_without"] for line in table}
        gains.append({place: known[row.documents[place].id] for place in row.places})
    return gains


def measured(rows: Sequence[Chosen], gains: Sequence[dict[int, float]], calibration: Calibration) -> dict[str, Any]:
    """The gain of each retriever and that of the one that ships against each other's; the correlation of its score with
    the gain, and how often documents help beside how often it says so."""
    users = [row.user_id for row in rows]
    bootstrap = Bootstrap(users)
    own = {name: np.array([gain[row.first[name]] for row, gain in zip(rows, gains, strict=True)]) for name in NAMES}
    ships, scores = own[EMBEDDED], [row.scores.max() for row in rows]
    each = [(row, place, gain) for row, mine in zip(rows, gains, strict=True) for place, gain in mine.items()]
    documents = Bootstrap([row.user_id for row, _, _ in each])
    said = [calibration.relevance(float(row.scores[place])) for row, place, _ in each]
    return {
        "requests": len(rows),
        "users": len(set(users)),
        "documents": len(each),
        "helps": documents.mean([gain > 0 for _, _, gain in each]).to_json(),
        "said_to_help": documents.mean(said).to_json(),
        "first_helps": bootstrap.share(ships > 0).to_json(),
        "first_said_to_help": bootstrap.mean([calibration.relevance(float(score)) for score in scores]).to_json(),
        "pearson_r": bootstrap.pearson(scores, ships).to_json(),
        "spearman_rho": bootstrap.spearman(scores, ships).to_json(),
        "rows": [
            {
                "name": name,
                "top1_gain": bootstrap.mean(values).to_json(),
                "same_choice": round(float(np.mean([row.first[name] == row.first[EMBEDDED] for row in rows])), 3),
                "ships_less_this": bootstrap.mean(ships - values).to_json(),
                "ships_by_this": bootstrap.ratio(ships, values).to_json() if values.sum() > 0 else None,
            }
            for name, values in own.items()
        ],
    }


def scored(domain: Domain, split: str, kept: KeptEncoder, data: Path, work: Path) -> Rows:
    """The requests of a split of a domain, with the gains of what is chosen."""
    corpus = Corpus.read(data / domain.file)
    options = GainOptions(domain.template, split=split, partition="rolling", least_candidates=LEAST)
    rows = chosen(corpus, options, kept, DEV_REQUESTS if split == DEV else TEST_REQUESTS)
    return rows, gains_of(corpus, options, rows, work)


def with_helps(dev: Sequence[Rows]) -> dict[str, Any]:
    """Fit the probability that a document helps on dev's requests of all domains, and write it into the artifact."""
    pairs = [pair for rows, gains in dev for pair in zip(rows, gains, strict=True)]
    scores = [row.scores[row.places] for row, _ in pairs]
    helps = helps_of(scores, [np.array([own[place] for place in row.places]) for row, own in pairs])
    assert helps is not None, "better-scored documents help more"
    extent = {"requests": len(pairs), "documents": sum(map(len, scores))}
    artifact = read_whole(SHIPPED)
    training = artifact.training | {"helps": {"command": COMMAND, "split": DEV, **extent}}
    write_manifest(SHIPPED, replace(artifact, helps=helps, training=training))
    return asdict(helps) | extent


def main() -> None:
    data, work = Path(sys.argv[1]), Path(sys.argv[2])
    encoder = SentenceEncoder(EMBEDDED)
    encoder.load()
    kept = KeptEncoder(encoder, work / "embeddings", model_fingerprint(EMBEDDED))
    helps = with_helps([scored(domain, DEV, kept, data, work) for domain in DOMAINS])
    calibration = read_manifest(SHIPPED).calibration
    domains = {domain.name: measured(*scored(domain, TEST, kept, data, work), calibration) for domain in DOMAINS}
    report = {"command": COMMAND, "candidates": MOST, "helps": helps, "domains": domains}
    OUT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
