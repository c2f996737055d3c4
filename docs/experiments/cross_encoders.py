"""What a cross-encoder adds to the shipped head on four kinds of text and what it costs: MiniLM, an adapter of MPNet.

    python docs/experiments/cross_encoders.py DATA FOLDER    writes docs/experiments/cross_encoders.json

DATA is as in ../shared/data/README.md. FOLDER holds scores of some train users of each domain, from `pearl train
score`, as NAME-train.parquet: no cross-encoder learns from these users, but the shipped head did from those of
coreboot. Of git the users are dev's, with gains that another script computed. Every cross-encoder has the same minutes
of one core on the same groups, RelevanceCE all of them, the others a quarter for relevance and the rest for gains by
likeness. What is done is kept in FOLDER.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from published import COMMITS_HEAD, GAINS, published_gains, scored_of

from pearl.records import Document
from pearl.settings import EMBEDDED, MPNET
from pearl.split import DEV, TRAIN, users_of
from pearl.stats import Bootstrap
from retriever.calibrated.artifact import CROSS_ENCODER, artifact_retriever, read_manifest
from retriever.history.word_weights import WordWeights
from retriever.models.cross_encoder import REQUEST_WORDS, CrossEncoderModel, Reading
from retriever.models.encoder import SentenceEncoder
from retriever.models.files import model_fingerprint
from training.choose.measure import best_of, better_in, measure, measure_domains
from training.data.records import Example, Group, clusters_of
from training.data.selection import SelectionOptions, select, select_groups
from training.data.split import BY_USERS
from training.fit.activations import pairs_to_watch
from training.fit.adapter import save_adapter
from training.fit.cross_encoder import CrossEncoderOptions, fit_cross_encoder, new_cross_encoder, restart
from training.fit.embeddings import KeptEncoder
from training.fit.features import texts_of
from training.fit.head import calibrated, plain
from training.fit.kept import save_cross_encoder
from training.fit.relevance import TAU, relevance_groups
from training.gains.corpus import Corpus, histories_of
from training.gains.proxy import ProxyScales, unlabelled_examples
from training.recipes.domains import DOMAINS

OUT = Path(__file__).with_suffix(".json")
MINUTES = 7.0
RELEVANCE_SHARE = 0.25
USERS, PROXIES = 10, 3  # train users of a domain, and past texts of each that are labelled by likeness
CANDIDATES = 8
OF_GIT = 20  # requests, one of a user
WATCHED = 6  # groups that a training is stopped by
WEIGHTS = (0.25, 0.5)
READ = 32  # documents of a draft


@dataclass(frozen=True, slots=True)
class Arm:
    """A cross-encoder: its base, and what it learns. ``rate`` is the highest learning rate."""

    name: str
    base: str
    rate: float
    lora: int | None = None
    relevance_only: bool = False

    @property
    def options(self) -> CrossEncoderOptions:
        reading = Reading(96, own_requests=not self.relevance_only)  # RelevanceCE learns from texts alone
        return CrossEncoderOptions(reading, self.rate, epochs=4, batch=4, lora=self.lora, evaluations=1)


ARMS = (
    Arm("MiniLM", EMBEDDED, 2e-4),
    Arm("MPNet, adapter", MPNET, 1e-3, lora=8),
    Arm("RelevanceCE, MiniLM", EMBEDDED, 2e-4, relevance_only=True),
    Arm("RelevanceCE, MPNet, adapter", MPNET, 1e-3, lora=8, relevance_only=True),
)


def other_gains(file: Path) -> list[Example]:
    """A request of each of git's dev users in gains that another script computed, with some of its candidates."""
    chosen: dict[str, Example] = {}
    for example in published_gains(file)[DEV]:
        if example.user_id not in chosen:
            count = len(example.documents)
            places = sorted(random.Random(example.request_id).sample(range(count), min(CANDIDATES, count)))
            documents = tuple(example.documents[place] for place in places)
            chosen[example.user_id] = replace(example, documents=documents, gains=example.gains[places])
    return list(chosen.values())[:OF_GIT]


def learned_from(corpus: Corpus, measured: Collection[str]) -> dict[str, Sequence[Document]]:
    """The histories of train users who are not measured with."""
    mine = users_of(corpus.histories, TRAIN)
    return {user: own for user, own in mine.items() if f"{corpus.name}:{user}" not in measured}


def proxies(corpora: Sequence[Corpus], true: Sequence[Example], folder: Path) -> list[Example]:
    """Past texts of some train users of each domain, labelled by likeness to what was written; the scale of the labels
    is that of the ``true`` gains."""
    measured = {example.user_id for example in true}
    encoder = SentenceEncoder(EMBEDDED)
    encoder.load()
    kept = KeptEncoder(encoder, folder / "embeddings", model_fingerprint(EMBEDDED))
    histories = histories_of(corpora, TRAIN, BY_USERS, 0)
    words = WordWeights.of_histories(histories.values())
    scales = ProxyScales.fit(true, kept, words)
    examples: list[Example] = []
    for corpus in corpora:
        mine = learned_from(corpus, measured)
        some = random.Random(0).sample(sorted(mine), min(USERS, len(mine)))
        examples += unlabelled_examples(
            corpus.name,
            {user: mine[user] for user in some},
            targets=PROXIES * USERS // len(some),
            candidates=CANDIDATES,
            least=5,
            seed=0,
        )
    kept.prepare(texts_of(examples))
    return [scales.label(example) for example in examples]


def relevance(corpora: Sequence[Corpus], measured: Collection[str]) -> list[Group]:
    """Groups of all domains in turns: the chat's would be most of them."""
    of_each = [relevance_groups(learned_from(corpus, measured), 0) for corpus in corpora]
    return [group for turn in zip(*of_each, strict=False) for group in turn]


def trained(arm: Arm, material: dict[str, list[Group]], folder: Path) -> tuple[Any, dict[str, Any]]:
    """The cross-encoder after MINUTES, and what its training says."""
    anchor, seconds = read_manifest(COMMITS_HEAD), MINUTES * 60
    model = new_cross_encoder(arm.base, arm.options)
    share = 1.0 if arm.relevance_only else RELEVANCE_SHARE
    cpu = time.process_time()
    first = fit_cross_encoder(
        model,
        material["relevance"][WATCHED:],
        material["relevance"][:WATCHED],
        plain(TAU),
        arm.options,
        folder / "relevance",
        seconds=share * seconds,
    )
    told = {"relevance": losses(first)}
    if not arm.relevance_only:
        restart(model)
        second = fit_cross_encoder(
            model,
            material["gains"],
            material["dev"],
            calibrated(anchor.y0, anchor.tau),
            arm.options,
            folder / "second",
            seconds=(1 - share) * seconds,
        )
        told["gains"] = losses(second)
    return model, told | {"cpu_seconds": round(time.process_time() - cpu)}


def losses(report: dict[str, Any]) -> dict[str, Any]:
    values = [report["dev_loss_before"], *report["dev_losses"]]
    return {"steps": report["steps"], "losses": [round(value, 3) for value in values]}


def served(arm: Arm, model: Any, dev: Sequence[Example], folder: Path) -> tuple[list[list[float]], dict[str, float]]:
    """The logits of dev's documents as a service computes them; and milliseconds of a processor to read a draft's
    documents, MiB of memory that the model takes, and of the files that an artifact carries."""
    out, reading = folder / CROSS_ENCODER, arm.options.reading
    pairs = pairs_to_watch(dev, reading, 0)
    if arm.lora is None:
        save_cross_encoder(model, out, pairs)
    else:
        save_adapter(model, arm.base, out, pairs)
    before = resident()
    reader = CrossEncoderModel(out, reading)
    logits = [reader.logits(example.request, example.documents).tolist() for example in dev]
    memory = resident() - before
    documents = [document for example in dev for document in example.documents][:READ]
    return logits, {
        "cpu_ms": round(least_cpu(lambda: reader.logits(dev[0].request, documents)), 1),
        "memory_mib": round(memory),
        "carried_mib": round(sum(path.stat().st_size for path in out.iterdir()) / 2**20, 1),
    }


def least_cpu(work: Callable[[], object]) -> float:
    """Milliseconds of processor time, the least of five: other programs only add to it."""
    times = []
    for _ in range(5):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return 1000 * min(times)


def resident() -> float:
    """MiB"""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * 4096 / 2**20


def row(
    name: str, scores: Sequence[Any], head: Sequence[Any], dev: Sequence[Example], cost: dict[str, float]
) -> dict[str, Any]:
    """The figures of scores on dev's requests; ``better_in``: the resamples of users in which the head is worse."""
    gains, domains, users = [own.gains for own in dev], [own.domain for own in dev], clusters_of(dev)
    mean, fits = measure_domains(scores, gains, domains)
    bootstrap = Bootstrap(users)
    chosen, other = best_of(scores, gains)[1], best_of(head, gains)[1]
    return {
        "name": name,
        "top1_gain": bootstrap.mean(chosen).to_json(),
        "above_head": bootstrap.mean(chosen - other).to_json(),
        "pearson_r": round(measure(scores, gains).pearson_r, 3),
        "mean_of_domains": round(mean.top1_gain, 2),
        "domains": {domain: round(fit.top1_gain, 2) for domain, fit in fits.items()},
        "better_in": round(better_in(scores, head, gains, users, 0), 3),
        **cost,
    }


def at_random(dev: Sequence[Example]) -> dict[str, Any]:
    """The gain that a document at random is expected to have."""
    means = np.array([own.gains.mean() for own in dev])
    interval: dict[str, Any] = Bootstrap(clusters_of(dev)).mean(means).to_json()
    return interval


def main() -> None:
    data, folder = Path(sys.argv[1]), Path(sys.argv[2])
    corpora = [Corpus.read(data / domain.file) for domain in DOMAINS]
    scored = [own for corpus in corpora for own in scored_of(corpus, folder / f"{corpus.name}-{TRAIN}.parquet")]
    dev = [own for own in scored if own.domain != "git"] + other_gains(data / GAINS)
    gains = select(proxies(corpora, scored, folder), SelectionOptions()).groups
    watched = random.Random(0).sample(dev, WATCHED)
    material = {
        "relevance": relevance(corpora, {own.user_id for own in scored}),
        "gains": random.Random(0).sample(gains, len(gains)),
        "dev": select_groups(watched, positives=1, negatives=3),
    }
    retriever = artifact_retriever(COMMITS_HEAD, SentenceEncoder(EMBEDDED))
    head = [retriever.index(own.documents).scores(own.request) for own in dev]
    report: dict[str, Any] = {
        "command": "python docs/experiments/cross_encoders.py DATA FOLDER",
        "minutes": MINUTES,
        "groups": {name: len(groups) for name, groups in material.items()},
        "requests": {domain.name: sum(own.domain == domain.name for own in dev) for domain in DOMAINS},
        "users": len(set(clusters_of(dev))),
        "random": at_random(dev),
        "candidates": CANDIDATES,
        "read": READ,
        "rows": [row("head", head, head, dev, {"cpu_ms": 0.0, "memory_mib": 0, "carried_mib": 0.0})],
        "trainings": [],
        "reading": {"request_words": REQUEST_WORDS, "relevance_own_requests": False},
    }
    runs = folder / f"cross_encoders-{MINUTES:g}-minutes-{USERS}-users"
    for arm in ARMS:
        own = runs / arm.name.replace(", ", "-").replace(" ", "-").lower()
        kept = own / "scores.json"
        if not kept.exists():
            model, told = trained(arm, material, own)
            said, cost = served(arm, model, dev, own)
            kept.write_text(json.dumps({"told": asdict(arm) | told, "cost": cost, "logits": said}), encoding="utf-8")
        saved = json.loads(kept.read_text(encoding="utf-8"))
        logits = [np.array(values, np.float32) for values in saved["logits"]]
        report["trainings"].append(saved["told"])
        report["rows"].append(row(arm.name, logits, head, dev, saved["cost"]))
        for weight in WEIGHTS:
            both = [(1 - weight) * one + weight * more for one, more in zip(head, logits, strict=True)]
            report["rows"].append(row(f"head and {weight:g} {arm.name}", both, head, dev, saved["cost"]))
        OUT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")  # what there is, if this one was the last


if __name__ == "__main__":
    main()
