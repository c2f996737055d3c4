"""Cross-encoders trained on a GPU, on true gains of four kinds of text: MPNet, an adapter of it, MiniLM, the paper's.
And the head, fitted again on the same gains.

    python docs/experiments/on_gpu.py DATA WORK     writes docs/experiments/on_gpu.json

DATA is as in ../shared/data/README.md. The gains are those that the recipe keeps. docs/experiments/on_gpu holds the
logits of each cross-encoder, numbers without a text; one without logits there is trained, and has SECONDS of a GPU,
which four shared. What shipped then, the head of two projects' commits, is in docs/experiments/commits. Embeddings are
kept in WORK.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from published import COMMITS_HEAD, kept_scores, relevance, retriever_then, shuffled
from rich.console import Console

from pearl.settings import EMBEDDED, MPNET
from pearl.split import DEV, SPLITS, TEST, TRAIN, users_of
from pearl.stats import Bootstrap
from retriever.calibrated.artifact import read_manifest
from retriever.calibrated.head import Floats
from retriever.history.word_weights import WordWeights
from retriever.models.cross_encoder import REQUEST_WORDS, Reading
from retriever.models.encoder import SentenceEncoder
from retriever.models.files import model_fingerprint
from training.choose.measure import best_of, better_in, measure_domains
from training.data.records import Example, Group, clusters_of
from training.data.selection import SelectionOptions, select, select_groups
from training.data.split import BY_USERS
from training.fit.cross_encoder import (
    CrossEncoderOptions,
    fit_cross_encoder,
    new_cross_encoder,
    restart,
)
from training.fit.embeddings import KeptEncoder
from training.fit.features import texts_of, with_signals
from training.fit.head import HeadOptions, calibrated, plain
from training.fit.level import fit_level
from training.fit.material import Material
from training.fit.relevance import TAU
from training.fit.stages import fit_first_stage
from training.gains.corpus import Corpus, histories_of
from training.gains.proxy import ProxyScales, unlabelled_examples
from training.options import CALIBRATED
from training.recipes.domains import DOMAINS

OUT = Path(__file__).with_suffix(".json")
KEPT = Path(__file__).with_suffix("")
NAMES = tuple(domain.name for domain in DOMAINS)
COMMITS = ("git", "coreboot")
HEAD = "head fitted again"
HEAD_OPTIONS, TRUE_REPEATED = HeadOptions(members=4), 3  # as heads were fitted then
UNLABELLED = 2500  # requests of a domain
BASELINES = ("bm25", "dense", "dense-requests", "dense-sum", "recent")
WEIGHTS = (0.25, 0.5)
SECONDS, RELEVANCE_SHARE = 180.0, 0.35
EPOCHS = 3  # of the true gains, at most
RELEVANCE, HELD, WATCHED = 2000, 120, 60  # groups of a domain, groups of all and of each to stop by
READ = 256  # pairs at a time
MEASURED = (DEV, TEST)
Json = dict[str, Any]
Scores = Sequence[Floats]
Examples = Mapping[tuple[str, str], list[Example]]  # by domain and split


@dataclass(frozen=True, slots=True)
class Arm:
    """A cross-encoder, and what it learns from. ``published``: the text of a document alone, tau 5 and all weights,
    without a warm start; ``start``: the warm start is measured, too; ``teacher``: heads learn what it says of
    unlabelled texts."""

    name: str
    base: str
    rate: float
    domains: tuple[str, ...] = NAMES
    lora: int | None = None
    published: bool = False
    start: bool = False
    teacher: bool = False

    @property
    def options(self) -> CrossEncoderOptions:
        if self.published:
            return CrossEncoderOptions(Reading(512, own_requests=False), self.rate, frozen_layers=0, patience=99)
        return CrossEncoderOptions(Reading(160), self.rate, lora=self.lora, patience=99)

    @property
    def tau(self) -> float:
        return 5.0 if self.published else 10.0


ARMS = (
    Arm("as published", MPNET, 2e-5, COMMITS, published=True),
    Arm("MiniLM", EMBEDDED, 2e-4, start=True),
    Arm("MPNet", MPNET, 5e-5, start=True, teacher=True),
    Arm("MPNet, adapter", MPNET, 5e-4, lora=8, teacher=True),
)


def run(arm: Arm, corpora: Mapping[str, Corpus], examples: Examples, folder: Path) -> tuple[Json, dict[str, Floats]]:
    """Train, and read what is measured with: what was trained, as JSON, and the logits by split."""
    options = arm.options
    model: Any = new_cross_encoder(arm.base, options, "cuda")
    chosen = [select(examples[name, TRAIN], SelectionOptions()) for name in arm.domains]
    y0 = float(np.median([gain for one in chosen for gain in one.positive_gains]))
    told: Json = {"y0": y0}
    read: dict[str, Floats] = {}
    if not arm.published:
        groups = relevance([corpora[name] for name in arm.domains], RELEVANCE)
        seconds = RELEVANCE_SHARE * SECONDS
        first = fit_cross_encoder(
            model, groups[HELD:], groups[:HELD], plain(TAU), options, folder / "relevance", seconds=seconds
        )
        told["relevance"] = steps_of(first)
        if arm.start:
            alone = replace(options.reading, own_requests=False)  # as it has learned
            told["relevance_own_requests"] = alone.own_requests
            read |= {f"relevance_{split}": read_all(model, every(examples, split), alone) for split in MEASURED}
        restart(model)
    true: list[Group] = shuffled([group for one in chosen for group in shuffled(one.groups)] * EPOCHS)
    watched = [
        group
        for name in arm.domains
        for group in shuffled(select_groups(examples[name, DEV], positives=1, negatives=5))[:WATCHED]
    ]
    left = SECONDS * (1.0 if arm.published else 1.0 - RELEVANCE_SHARE)
    loss = calibrated(y0, arm.tau)
    told["gains"] = steps_of(fit_cross_encoder(model, true, watched, loss, options, folder / "gains", seconds=left))
    told["gib"] = torch.cuda.max_memory_allocated() / 2**30
    read |= {split: read_all(model, every(examples, split), options.reading) for split in MEASURED}
    if arm.teacher:
        read["unlabelled"] = read_all(model, unlabelled(corpora), options.reading)
    return told, read


def kept_or_run(arm: Arm, corpora: Mapping[str, Corpus], examples: Examples, work: Path) -> tuple[Json, Any]:
    """The outcome of :func:`run`, which is kept in halves of a float."""
    name = arm.name.replace(", ", "-").replace(" ", "-").lower()
    described, said = KEPT / "arms" / f"{name}.json", KEPT / "arms" / f"{name}.npz"
    if not described.exists():
        made, read = run(arm, corpora, examples, work / name)
        halves: dict[str, Any] = {part: own.astype(np.float16) for part, own in read.items()}
        np.savez_compressed(said, **halves)
        described.write_text(json.dumps(made), encoding="utf-8")
    return json.loads(described.read_text(encoding="utf-8")), np.load(said)


def steps_of(report: Json) -> Json:
    losses = [report["dev_loss_before"], *report["dev_losses"]]
    return {name: report[name] for name in ("groups", "steps", "seconds")} | {"losses": losses}


def read_all(model: Any, texts: Sequence[Example], reading: Reading) -> Floats:
    """The logits of all their documents, one after the other."""
    pairs = [reading.pair(example.request.text, document) for example in texts for document in example.documents]
    with torch.autocast("cuda", torch.bfloat16):
        said = model.predict(pairs, batch_size=READ, show_progress_bar=False, activation_fn=torch.nn.Identity())
    return np.asarray(said, np.float32).reshape(-1)


def material_of(
    domains: Sequence[str], words: WordWeights, examples: Examples, kept: KeptEncoder
) -> tuple[Material, dict[str, list[Example]]]:
    """The examples of these domains with their signals, and those of all that are measured with."""
    dev, test = ({name: with_signals(examples[name, split], kept, words) for name in NAMES} for split in MEASURED)
    train = [one for name in domains for one in with_signals(examples[name, TRAIN], kept, words)]
    asked = [one for name in domains for one in dev[name]]
    measured = {DEV: list(chain(*dev.values())), TEST: list(chain(*test.values()))}
    chosen = select(train, SelectionOptions())
    return Material(train, asked, [], [], replace(chosen, requests=chosen.requests * TRUE_REPEATED)), measured


def words_of(domains: Sequence[str], corpora: Mapping[str, Corpus]) -> WordWeights:
    return WordWeights.of_histories(histories_of([corpora[name] for name in domains], TRAIN, BY_USERS, 0).values())


def refitted(material: Material, measured: Mapping[str, Sequence[Example]]) -> tuple[dict[str, Scores], Json]:
    """The scores of a head on signals, and of its level, and what was chosen on dev."""
    first = fit_first_stage(material, CALIBRATED, SelectionOptions(), Console(stderr=True), HEAD_OPTIONS)
    anchor, head = first.anchor, first.head
    fitted = fit_level(head, anchor.y0, anchor.tau, [*material.warm, *material.train], material.dev, 0)
    level = fitted.level

    def said(example: Example) -> Floats:
        logits = head.logits(example.signals)
        return logits if level is None else level.moved(head, example.signals, logits)

    scores: dict[str, Scores] = {split: list(map(said, own)) for split, own in measured.items()}
    return scores, asdict(anchor) | {"level": fitted.report["kept"], "higher_in": fitted.report["higher_in"]}


def unlabelled(corpora: Mapping[str, Corpus]) -> list[Example]:
    """Past texts of training users, as many of each domain as there are, up to a limit; their gains are 0."""
    chosen: list[Example] = []
    for name in NAMES:
        own = unlabelled_examples(
            name, users_of(corpora[name].histories, TRAIN), targets=30, candidates=16, least=5, seed=0
        )
        chosen += random.Random(0).sample(own, min(UNLABELLED, len(own)))
    return chosen


def labelled(
    examples: Sequence[Example], arms: Sequence[Arm], logits: Mapping[str, Any], y0: Mapping[str, float]
) -> list[Example]:
    """The examples with the gains that cross-encoders say, on average."""
    ends = np.cumsum([len(one.documents) for one in examples])[:-1]
    nats = [logits[arm.name]["unlabelled"].astype(np.float32) * arm.tau + y0[arm.name] for arm in arms]
    gains = np.split(np.mean(nats, axis=0, dtype=np.float32), ends)
    return [replace(one, gains=own) for one, own in zip(examples, gains, strict=True)]


def every(examples: Examples, split: str) -> list[Example]:
    return [example for name in NAMES for example in examples[name, split]]


def row(name: str, scores: Scores, head: Scores, own: Sequence[Example]) -> Json:
    """The figures over all requests of a split and by domain, beside those of the head."""
    gains, domains, users = [example.gains for example in own], [example.domain for example in own], clusters_of(own)
    mean, fits = measure_domains(scores, gains, domains)
    told: Json = {
        "name": name,
        "share": round(mean.share, 3),
        "pearson_r": round(mean.pearson_r, 3),
        "better_in": round(better_in(scores, head, gains, users, 0), 3),
        "domains": {},
    }
    for domain, fit in fits.items():
        places = [place for place, other in enumerate(domains) if other == domain]
        true = [gains[place] for place in places]
        draws = Bootstrap([users[place] for place in places])
        got, before = (best_of([them[place] for place in places], true)[1] for them in (scores, head))
        told["domains"][domain] = {
            "top1_gain": draws.mean(got).to_json(),
            "above_head": draws.mean(got - before).to_json(),
            "pearson_r": round(fit.pearson_r, 3),
        }
    return told


def above(scores: Mapping[str, Scores], name: str, others: Sequence[str], own: Sequence[Example]) -> Json:
    """The gain of a scorer above that of others on commits, over the requests of both projects."""
    places = [place for place, example in enumerate(own) if example.domain in COMMITS]
    gains, draws = [own[place].gains for place in places], Bootstrap(clusters_of([own[place] for place in places]))
    got = {one: best_of([scores[one][place] for place in places], gains)[1] for one in (name, *others)}
    return {other: draws.mean(got[name] - got[other]).to_json() for other in others}


def overall(scores: Scores, own: Sequence[Example]) -> Json:
    """The figures of ``pearl eval retrieval`` over all requests."""
    draws, gains = Bootstrap(clusters_of(own)), [example.gains for example in own]
    top, got = best_of(scores, gains)
    above = got - np.array([each.mean() for each in gains])
    return {
        "top1_gain": draws.mean(got).to_json(),
        "share_of_best": draws.ratio(got, [each.max() for each in gains]).to_json(),
        "win_rate": draws.mean((np.sign(above) + 1) / 2).to_json(),
        "pearson_r": draws.pearson(top, got).to_json(),
    }


def longer(own: Sequence[Example]) -> Json:
    """The share of each kind's requests that have more words than the cross-encoders read."""
    words = {name: [len(one.request.text.split()) for one in own if one.domain == name] for name in NAMES}
    return {name: float(np.mean(np.array(counts) > REQUEST_WORDS)) for name, counts in words.items()}


def main() -> None:
    data, work = Path(sys.argv[1]), Path(sys.argv[2])
    corpora = {domain.name: Corpus.read(data / domain.file) for domain in DOMAINS}
    examples = {(name, split): kept_scores(corpus, split) for name, corpus in corpora.items() for split in SPLITS}
    trained: list[Json] = []
    logits: dict[str, Any] = {}
    y0: dict[str, float] = {}
    for arm in ARMS:
        told, logits[arm.name] = kept_or_run(arm, corpora, examples, work)
        trained.append(asdict(arm) | told)
        y0[arm.name] = told["y0"]
    encoder = SentenceEncoder(EMBEDDED)
    encoder.load()
    kept = KeptEncoder(encoder, work / "embeddings", model_fingerprint(EMBEDDED))
    shipped = read_manifest(COMMITS_HEAD)
    report: Json = {
        "command": "python docs/experiments/on_gpu.py DATA WORK",
        "requests": {split: {name: len(examples[name, split]) for name in NAMES} for split in SPLITS},
        "users": {split: len(set(clusters_of(every(examples, split)))) for split in SPLITS},
        "pairs": {split: sum(len(one.documents) for one in every(examples, split)) for split in SPLITS},
        "seconds": SECONDS,
        "trainings": trained,
        "reading": {
            "request_words": REQUEST_WORDS,
            "longer": {},
            # what is kept was read before RelevanceCE was read as it had learned
            "relevance_own_requests": any(one["start"] and one.get("relevance_own_requests", True) for one in trained),
        },
        "heads": {},
        "overall": {},
        "published_above": {},
        "rows": {},
    }
    warm = unlabelled(corpora)
    kept.prepare(texts_of([one for split in SPLITS for one in every(examples, split)] + warm))
    heads: dict[str, dict[str, Scores]] = {}
    for left_out in NAMES:
        others = [name for name in NAMES if name != left_out]
        material, measured = material_of(others, words_of(others, corpora), examples, kept)
        heads[f"{HEAD} without {left_out}"], report["heads"][f"without {left_out}"] = refitted(material, measured)
    words = words_of(NAMES, corpora)
    material, measured = material_of(NAMES, words, examples, kept)
    warm = with_signals(warm, kept, words)
    scales = ProxyScales.fit(material.train, kept, words)
    likened = [scales.label(one) for one in warm]
    taught = labelled(warm, [arm for arm in ARMS if arm.teacher], logits, y0)
    for name, more in {
        HEAD: [],
        f"{HEAD}, and labels by likeness": likened,
        f"{HEAD}, and labels by MPNet": taught,
        f"{HEAD}, and both": likened + taught,
    }.items():
        heads[name], report["heads"][name] = refitted(replace(material, warm=more), measured)
    for split in MEASURED:
        own_examples = every(examples, split)
        ends = np.cumsum([len(one.documents) for one in own_examples])[:-1]
        scores: dict[str, Scores] = {}
        for name in (EMBEDDED, *BASELINES):
            retriever = retriever_then(name, kept)
            scores[name] = [retriever.index(one.documents).scores(one.request) for one in own_examples]
        scores |= {name: own[split] for name, own in heads.items()}
        head = scores[EMBEDDED]
        for arm in ARMS:
            scores[arm.name] = np.split(logits[arm.name][split].astype(np.float32), ends)
            if arm.start:
                scores[f"RelevanceCE of {arm.name}"] = np.split(
                    logits[arm.name][f"relevance_{split}"].astype(np.float32), ends
                )
            # on the head's scale, where one more is as many nats
            own_logits = [(own * arm.tau + y0[arm.name] - shipped.y0) / shipped.tau for own in scores[arm.name]]
            for weight in WEIGHTS:
                scores[f"head and {weight:g} {arm.name}"] = [
                    (1 - weight) * first + weight * second for first, second in zip(head, own_logits, strict=True)
                ]
        report["reading"]["longer"][split] = longer(own_examples)
        report["overall"][split] = {ARMS[0].name: overall(scores[ARMS[0].name], own_examples)}
        report["published_above"][split] = above(scores, ARMS[0].name, BASELINES, own_examples)
        report["rows"][split] = [row(name, own, head, own_examples) for name, own in scores.items()]
    OUT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
