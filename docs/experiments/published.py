"""What the paper's configuration, a cross-encoder alone, learns in few steps, and what three remedies add to it.

    python docs/experiments/published.py DATA FOLDER     writes docs/experiments/published.json

DATA holds commits/git.jsonl.gz and commits/coreboot.jsonl.gz, FOLDER the scores of their train and dev users, from
`pearl train score`, as NAME-train.parquet and NAME-dev.parquet. Every run has the same number of steps over the same
scored requests, so that what a machine does in a minute does not count. What a run has done is kept in FOLDER.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pearl.settings import EMBEDDED
from pearl.split import TRAIN, users_of
from pearl.stats import Bootstrap
from retriever.baselines.bm25 import BM25Retriever
from retriever.baselines.dense import DenseRetriever
from retriever.history.word_weights import WordWeights
from retriever.models.encoder import SentenceEncoder
from retriever.models.files import model_fingerprint
from training.choose.measure import best_of
from training.data.records import Example, Group, clusters_of
from training.data.selection import SelectionOptions, select, select_groups
from training.data.split import BY_USERS
from training.fit.cross_encoder import CrossEncoderOptions, fit_cross_encoder, logits_of, new_cross_encoder, restart
from training.fit.embeddings import KeptEncoder
from training.fit.features import texts_of
from training.fit.head import calibrated, plain
from training.fit.relevance import TAU, relevance_groups
from training.gains.corpus import Corpus, histories_of
from training.gains.proxy import ProxyScales, unlabelled_examples
from training.gains.scores import read_scores, scored_examples

OUT = Path(__file__).with_suffix(".json")
NAMES = ("git", "coreboot")
STEPS = 24  # of 16 groups
WARM_STEPS = 8
ASKED = 60  # requests of dev, at random
PROXIES = 2  # texts of each training user


@dataclass(frozen=True, slots=True)
class Run:
    """The published configuration but for what a remedy changes: ``rate``, groups by proxy, a start from relevance."""

    name: str
    rate: float = 2e-5
    proxies: bool = False
    warm_start: bool = False


RUNS = (
    Run("as published"),
    Run("with a rate of 2e-4", rate=2e-4),
    Run("and with labels by proxy, from relevance", rate=2e-4, proxies=True, warm_start=True),
)


def examples_of(corpus: Corpus, file: Path) -> list[Example]:
    return [
        replace(each, user_id=f"{corpus.name}:{each.user_id}", domain=corpus.name)
        for each in scored_examples(corpus.histories, read_scores(file)[0])
    ]


def proxy_groups(corpora: Sequence[Corpus], train: Sequence[Example], folder: Path) -> list[Group]:
    """Groups of past texts, labelled by likeness to what was written."""
    encoder = SentenceEncoder(EMBEDDED)
    encoder.load()
    kept = KeptEncoder(encoder, folder / "fit" / "embeddings", model_fingerprint(EMBEDDED))
    histories = histories_of(corpora, TRAIN, BY_USERS, 0)
    weights = WordWeights.count(f"{each.request or ''} {each.text}" for own in histories.values() for each in own)
    scales = ProxyScales.fit(train, kept, weights)
    found = [
        each
        for corpus in corpora
        for each in unlabelled_examples(
            corpus.name, users_of(corpus.histories, TRAIN), targets=PROXIES, candidates=12, least=5, seed=0
        )
    ]
    kept.prepare(texts_of(found))
    return select([scales.label(each) for each in found], SelectionOptions()).groups


def shuffled(groups: Sequence[Group]) -> list[Group]:
    return random.Random(0).sample(list(groups), len(groups))


def train(run: Run, material: dict[str, list[Group]], y0: float, folder: Path) -> tuple[Any, dict[str, Any]]:
    """The model after STEPS steps, and what its training says."""
    options = CrossEncoderOptions(
        max_tokens=128, rate=run.rate, epochs=1, frozen_layers=1 if run.warm_start else 0, evaluations=4, patience=9
    )
    model = new_cross_encoder(EMBEDDED, options)
    if run.warm_start:
        fit_cross_encoder(
            model,
            limited(material["relevance"], WARM_STEPS),
            material["relevance"][-40:],
            plain(TAU),
            options,
            folder / "relevance",
        )
        restart(model)
    groups = material["proxy"] + material["true"] * 2 if run.proxies else material["true"] * 9
    report = fit_cross_encoder(
        model, limited(shuffled(groups)), material["dev"], calibrated(y0, 5.0), options, folder / "second"
    )
    return model, report


def limited(groups: Sequence[Group], steps: int = STEPS) -> list[Group]:
    return list(groups[: steps * CrossEncoderOptions().batch])


def main() -> None:
    data, folder = Path(sys.argv[1]), Path(sys.argv[2])
    corpora = [Corpus.read(data / "commits" / f"{name}.jsonl.gz") for name in NAMES]
    scored = {
        split: [each for corpus in corpora for each in examples_of(corpus, folder / f"{corpus.name}-{split}.parquet")]
        for split in ("train", "dev")
    }
    chosen = select(scored["train"], SelectionOptions())
    y0 = float(np.median(chosen.positive_gains))
    dev = random.Random(0).sample(scored["dev"], ASKED)
    material = {
        "true": chosen.groups,
        "proxy": proxy_groups(corpora, scored["train"], folder),
        "relevance": relevance_groups(histories_of(corpora, TRAIN, BY_USERS, 0), 0),
        "dev": select_groups(dev, positives=1, negatives=5),
    }
    gains, draws = [each.gains for each in dev], Bootstrap(clusters_of(dev))

    def row(name: str, scores: Sequence[Any], **more: Any) -> dict[str, Any]:
        return {"name": name, "top1_gain": draws.mean(best_of(scores, gains)[1]).to_json(), **more}

    rows = []
    for retriever in (BM25Retriever(), DenseRetriever(SentenceEncoder(EMBEDDED))):
        rows.append(row(retriever.name, [retriever.index(each.documents).scores(each.request) for each in dev]))
    found = {
        "command": "python docs/experiments/published.py DATA FOLDER",
        "steps": STEPS,
        "requests": {split: len(each) for split, each in scored.items()} | {"asked": len(dev)},
        "groups": {name: len(groups) for name, groups in material.items()},
        "rows": rows,
    }
    for run in RUNS:
        kept = folder / "published" / f"{run.name.replace(' ', '-')}.json"
        if not kept.exists():
            model, report = train(run, material, y0, kept.with_suffix(""))
            losses = [report["dev_loss_before"], *report["dev_losses"]]
            scores = [logits_of(model, each.request, each.documents) for each in dev]
            kept.parent.mkdir(parents=True, exist_ok=True)
            told = {"run": asdict(run), "seconds": report["seconds"], "losses": [round(each, 4) for each in losses]}
            kept.write_text(json.dumps(row(run.name, scores, **told)), encoding="utf-8")
        rows.append(json.loads(kept.read_text(encoding="utf-8")))
        OUT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")  # what there is, if this one was the last


if __name__ == "__main__":
    main()
