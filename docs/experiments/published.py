"""What the paper's configuration, a cross-encoder alone, learns in the time that two cores have, and what remedies add.

    python docs/experiments/published.py DATA FOLDER     writes docs/experiments/published.json

DATA is as in ../shared/data/README.md; commits/git_gains.jsonl.gz in it holds gains that another script computed, so
nothing has to be scored: its train users are learned from, dev's stop a training, and its test users are measured
once. FOLDER holds scores of some train users of the other kinds of text, from `pearl train score`, as
NAME-train.parquet; they say what a likeness is worth in nats. What a run has done is kept in FOLDER.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from pearl.records import Document, Request
from pearl.settings import EMBEDDED
from pearl.split import DEV, SPLITS, TEST, TRAIN, split_of, users_of
from pearl.stats import Bootstrap
from retriever.base import Retriever
from retriever.calibrated.artifact import read_manifest
from retriever.calibrated.head import Floats
from retriever.history.word_weights import WordWeights
from retriever.models.cross_encoder import Reading
from retriever.models.encoder import SentenceEncoder
from retriever.models.files import model_fingerprint
from retriever.registry import make_retriever
from training.choose.measure import best_of
from training.data.records import Example, Group, clusters_of
from training.data.selection import SelectionOptions, select, select_groups
from training.data.split import BY_USERS
from training.fit.cross_encoder import (
    CrossEncoderOptions,
    fit_cross_encoder,
    logits_of,
    new_cross_encoder,
    restart,
    save_trained,
)
from training.fit.embeddings import KeptEncoder
from training.fit.features import texts_of
from training.fit.head import calibrated, plain
from training.fit.relevance import TAU, relevance_groups
from training.gains.corpus import Corpus, histories_of
from training.gains.proxy import ProxyScales, unlabelled_examples
from training.gains.scores import read_scores, scored_examples
from training.recipes.domains import DOMAINS, KEPT, ROOT

OUT = Path(__file__).with_suffix(".json")
GAINS = "commits/git_gains.jsonl.gz"
BASELINES = ("random", "bm25", "dense", "dense-requests", EMBEDDED)
COMMITS_HEAD = Path(__file__).with_name("commits")  # what shipped when this was measured
PUBLISHED_TAU = 5.0
EPOCHS = 3  # of the true gains
WATCHED = 60  # groups of dev that a training is stopped by
PROXIES, CANDIDATES = 5, 12  # texts of a train user labelled by likeness, and documents of each
OF_DOMAIN = 600  # groups by proxy
RELEVANCE_STEPS = 100
MEASURED = (DEV, TEST)
BATCH = CrossEncoderOptions().batch
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Run:
    """The published configuration but for what a remedy changes. ``recipe``: all else as the recipe that ships has it,
    documents with the requests that they answered, the head's anchor and temperature, a start from relevance."""

    name: str
    rate: float = 2e-4
    proxies: bool = True
    recipe: bool = False

    @property
    def options(self) -> CrossEncoderOptions:
        reading = Reading(128, own_requests=self.recipe)
        return CrossEncoderOptions(reading, self.rate, frozen_layers=1 if self.recipe else 0, patience=9)


RUNS = (
    Run("as published", rate=2e-5, proxies=False),
    Run("with a rate of 2e-4", proxies=False),
    Run("as the recipe reads, anchors and begins, with labels by proxy", recipe=True),
)
BESIDE = (0.25, 0.5)  # weights of the last one beside the head


def published_gains(file: Path) -> dict[str, list[Example]]:
    """The requests of git, by split, with gains that another script computed."""
    examples: dict[str, list[Example]] = {split: [] for split in SPLITS}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            documents = tuple(
                Document(own["id"], own["text"], own["timestamp"], own["request"]) for own in line["documents"]
            )
            request, gains = Request(line["request"], line["timestamp"]), np.array(line["gain"], np.float32)
            user = f"git:{line['user_id']}"
            examples[split_of(line["user_id"])].append(
                Example(user, line["id"], request, line["target"], documents, gains, domain="git")
            )
    return examples


def scored_of(corpus: Corpus, file: Path) -> list[Example]:
    """Scored requests, named by their corpus."""
    return [
        replace(example, user_id=f"{corpus.name}:{example.user_id}", domain=corpus.name)
        for example in scored_examples(corpus.histories, read_scores(file)[0])
    ]


def kept_scores(corpus: Corpus, split: str) -> list[Example]:
    """The scored requests that the recipe keeps."""
    return scored_of(corpus, ROOT / KEPT / f"{corpus.name}-{split}.parquet")


def proxy_groups(corpora: Sequence[Corpus], true: Sequence[Example], kept: KeptEncoder) -> list[Group]:
    """Groups of past texts of train users, labelled by likeness to what was written; as many of each domain."""
    histories = histories_of(corpora, TRAIN, BY_USERS, 0)
    words = WordWeights.of_histories(histories.values())
    kept.prepare(texts_of(true))
    scales = ProxyScales.fit(true, kept, words)
    groups: list[Group] = []
    for corpus in corpora:
        mine = users_of(corpus.histories, TRAIN)
        targets = max(PROXIES, OF_DOMAIN // len(mine))
        examples = unlabelled_examples(corpus.name, mine, targets=targets, candidates=CANDIDATES, least=5, seed=0)
        some = random.Random(0).sample(examples, min(OF_DOMAIN, len(examples)))
        kept.prepare(texts_of(some))
        groups += shuffled(select([scales.label(example) for example in some], SelectionOptions()).groups)[:OF_DOMAIN]
    return groups


def relevance(corpora: Sequence[Corpus], most: int | None = None) -> list[Group]:
    """Groups of all domains in turns, ``most`` of each: the chat's would be most of them."""
    of_each = [relevance_groups(users_of(corpus.histories, TRAIN), 0)[:most] for corpus in corpora]
    return [group for turn in zip_longest(*of_each) for group in turn if group is not None]


def shuffled(groups: Sequence[Group]) -> list[Group]:
    return random.Random(0).sample(list(groups), len(groups))


def train(run: Run, material: Mapping[str, list[Group]], y0: float, folder: Path) -> tuple[Any, dict[str, Any]]:
    """The model, and what its training says."""
    model = new_cross_encoder(EMBEDDED, run.options)
    shipped = read_manifest(COMMITS_HEAD)
    loss = calibrated(shipped.y0, shipped.tau) if run.recipe else calibrated(y0, PUBLISHED_TAU)
    if run.recipe:
        first = material["relevance"]
        warm = first[WATCHED : WATCHED + RELEVANCE_STEPS * BATCH]
        fit_cross_encoder(model, warm, first[:WATCHED], plain(TAU), run.options, folder / "relevance")
        restart(model)
    true = material["true"] * EPOCHS
    groups, dev = shuffled(true + material["proxy"] if run.proxies else true), material["dev"]
    report = fit_cross_encoder(model, groups, dev, loss, run.options, folder / "second")
    return model, {name: report[name] for name in ("steps", "seconds", "dev_loss_before", "dev_losses")}


def read(model: Any, examples: Sequence[Example], reading: Reading) -> list[list[float]]:
    """The logits of each request's documents."""
    return [logits_of(model, example.request, example.documents, reading).tolist() for example in examples]


def row(name: str, scores: Mapping[str, Mapping[str, Sequence[Floats]]], git: Mapping[str, list[Example]]) -> Json:
    """The figures of a scorer on dev and test, ``above``: what it gains more than each baseline."""
    told: Json = {"name": name}
    for split in MEASURED:
        gains, draws = [example.gains for example in git[split]], Bootstrap(clusters_of(git[split]))
        top, gained = best_of(scores[name][split], gains)
        told[split] = {
            "top1_gain": draws.mean(gained).to_json(),
            "pearson_r": draws.pearson(top, gained).to_json(),
            "above": {
                other: draws.mean(gained - best_of(scores[other][split], gains)[1]).to_json()
                for other in BASELINES
                if other != name
            },
        }
    return told


def retriever_then(name: str, encoder: KeptEncoder) -> Retriever:
    """A retriever by its name; what ships is what shipped when this was measured."""
    return make_retriever(str(COMMITS_HEAD) if name == EMBEDDED else name, encoder)


def main() -> None:
    data, folder = Path(sys.argv[1]), Path(sys.argv[2])
    corpora = [Corpus.read(data / domain.file) for domain in DOMAINS]
    git = published_gains(data / GAINS)
    others = [scored_of(own, folder / f"{own.name}-{TRAIN}.parquet") for own in corpora if own.name != "git"]
    chosen = select(git[TRAIN], SelectionOptions())
    y0 = float(np.median(chosen.positive_gains))
    encoder = SentenceEncoder(EMBEDDED)
    encoder.load()
    kept = KeptEncoder(encoder, folder / "embeddings", model_fingerprint(EMBEDDED))
    material = {
        "true": chosen.groups,
        "proxy": proxy_groups(corpora, [*git[TRAIN], *chain.from_iterable(others)], kept),
        "relevance": relevance(corpora),
        "dev": shuffled(select_groups(git[DEV], positives=1, negatives=5))[:WATCHED],
    }
    kept.prepare(texts_of([*git[DEV], *git[TEST]]))
    scores: dict[str, dict[str, list[Floats]]] = {}
    for name in BASELINES:
        retriever = retriever_then(name, kept)
        scores[name] = {
            split: [retriever.index(own.documents).scores(own.request) for own in git[split]] for split in MEASURED
        }
    told: dict[str, Json] = {}
    for run in RUNS:
        own = folder / "published" / run.name.replace(" ", "-").replace(",", "")
        done = own / "logits.json"
        if not done.exists():
            model, trained = train(run, material, y0, own)
            save_trained(model, own)
            logits = {split: read(model, git[split], run.options.reading) for split in MEASURED}
            done.write_text(json.dumps({"run": asdict(run) | trained, **logits}), encoding="utf-8")
        said = json.loads(done.read_text(encoding="utf-8"))
        told[run.name] = said["run"]
        scores[run.name] = {split: [np.array(logits, np.float32) for logits in said[split]] for split in MEASURED}
    for weight in BESIDE:
        scores[f"PEARL's head and {weight:g} of it"] = {
            split: [
                (1 - weight) * head + weight * logits
                for head, logits in zip(scores[EMBEDDED][split], scores[RUNS[-1].name][split], strict=True)
            ]
            for split in MEASURED
        }
    report = {
        "command": "python docs/experiments/published.py DATA FOLDER",
        "requests": {split: len(own) for split, own in git.items()},
        "users": {split: len(set(clusters_of(own))) for split, own in git.items()},
        "groups": {name: len(groups) for name, groups in material.items()},
        "y0": y0,
        "rows": [told.get(name, {}) | row(name, scores, git) for name in scores],
    }
    OUT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
