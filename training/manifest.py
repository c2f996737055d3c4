"""The manifest of a trained retriever: its configuration, the values chosen on the dev split, and its training data."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from pearl.records import Request
from pearl.text.history.partition import DEV, partition, users_of
from retriever.base import content, order, relatedness_of
from retriever.calibrated.artifact import Artifact
from retriever.calibrated.head import Cascade, Floats
from retriever.history.signals import NAMES, SignalIndex
from retriever.history.word_weights import WordWeights
from retriever.models.files import model_fingerprint
from training.choose.measure import ASKED, compare_with_baselines, floors, helps_of, measure
from training.data.histories import fingerprint
from training.data.split import DataSplit
from training.fit.level import LevelFit
from training.fit.material import FitMaterial
from training.fit.stages import FirstStage, SecondStage
from training.gains.corpus import ScoreProvenance, extents_of
from training.run import WRITTEN, Run

USERS, BEFORE, MOST_BEFORE = 40, 8, 200  # of a history, whose latest requests are asked, and texts before each
LIBRARIES = ("torch", "transformers", "sentence-transformers", "numpy")


@dataclass(frozen=True, slots=True)
class Stages:
    """The fitted stages of a retriever. ``second``: the cross-encoder, None if none was trained; ``level``: estimates
    how much the best document helps, None if none was fitted."""

    first: FirstStage
    second: SecondStage | None
    level: LevelFit | None = None

    @property
    def dev_scores(self) -> list[Floats]:
        if self.level is not None:
            return self.level.dev_scores
        return self.first.dev_scores if self.second is None else self.second.dev_scores

    @property
    def cascade(self) -> Cascade:
        return Cascade() if self.second is None else self.second.cascade


def make_manifest(
    run: Run, division: DataSplit, origins: Mapping[str, ScoreProvenance], material: FitMaterial, stages: Stages
) -> Artifact:
    """Make the manifest of a trained retriever. ``origins``: how each history file was scored, by its corpus name."""
    options = run.options
    first, second, cascade, scores = stages.first, stages.second, stages.cascade, stages.dev_scores
    gains = [example.gains for example in material.dev]
    floor, ask_below = floors(scores, gains, [example.domain for example in material.dev])
    unrelated = question_floors(run, material.scales.words)
    worth = compare_with_baselines(
        scores, material.dev, run.encoder, own=division.asked != division.learned, seed=options.seed
    )
    return Artifact(
        name=options.out.name,
        encoder=run.encoder.name,
        y0=first.anchor.y0,
        tau=first.anchor.tau,
        normalize=options.normalize,
        max_tokens=options.max_tokens,
        signals=NAMES,
        own_requests=options.own_requests,
        request_words=options.request_words,
        floor=floor,
        ask_below=ask_below,
        helps=helps_of(scores, gains),
        ask_unrelated=min(unrelated.values(), default=None),
        reranked=cascade.most,
        weight=cascade.weight,
        do_not_use=worth.doubts,
        training={
            "config": options.record(),
            "changed": options.changed,
            "auxiliary": options.aux,
            "auxiliary_fingerprint": next((origin.fingerprint for origin in origins.values()), {}),
            "scored": extents_of(origins),
            "base": None if options.first_stage_only else options.base,
            "base_content": "" if options.first_stage_only else model_fingerprint(options.base),
            "template": ", ".join(sorted({origin.template for origin in origins.values()})),
            "groups": None if options.groups is None else fingerprint(options.groups),
            "budget_minutes": options.budget_minutes,
            "histories": [
                {"file": path.name, "sha256": corpus.fingerprint, "users": len(corpus.histories)}
                | _of_domain(corpus.name, origins.get(corpus.name), material, scores)
                for path, corpus in zip(options.histories, run.corpora, strict=True)
            ],
            "requests": {"train": len(material.train), "dev": len(material.dev), "proxy": len(material.warm)},
            "proxy_scales": {corpus.name: asdict(material.scales.of(corpus.name)) for corpus in run.corpora},
            "heads": first.tried,
            "relevance": None if second is None else second.relevance,
            "second_stage": None if second is None else second.report,
            "level": None if stages.level is None else stages.level.report,
            "dev": asdict(measure(scores, gains)),
            "worth": asdict(worth),
            "split": {"by": division.way, "learned": division.learned, "asked": division.asked},
            "versions": {name: version(name) for name in LIBRARIES},
            "test_requests": 0,
        }
        | ({"ask_unrelated": unrelated} if unrelated else {}),
    )


def question_floors(run: Run, words: WordWeights) -> dict[str, float]:
    """Return for each history file a threshold: if a request is less related to the user's texts, the user is asked a
    question. At most the share ASKED of dev users' latest requests lies below it. Histories with too few dev users, or
    with texts not embedded in time, are left out."""
    floors = {}
    for path, corpus in zip(run.options.histories, run.corpora, strict=True):
        parts = [partition(user, own, targets=1, least=BEFORE) for user, own in users_of(corpus.histories, DEV).items()]
        usable = [part for part in parts if part and part.temporal]
        if len(usable) * ASKED < 1:
            continue
        some = random.Random(run.options.seed).sample(usable, min(USERS, len(usable)))
        asked = [(target, before[-MOST_BEFORE:]) for part in some for target, before in part.requests()]
        texts = {text for target, before in asked for own in (target, *before) for text in content(own) if text}
        run.encoder.prepare(sorted(texts), go_on=run.budget.until(WRITTEN))
        if not all(map(run.encoder.knows, texts)):
            continue
        related = []
        for target, before in asked:
            request = Request(target.request or "", target.timestamp)
            cosines = SignalIndex(before, run.encoder, words).relatedness(request)
            related.append(relatedness_of(order(before, cosines, cosines)) or 0.0)
        floors[path.name] = round(sorted(related)[int(ASKED * len(related))], 4)
    return floors


def _of_domain(
    name: str, origin: ScoreProvenance | None, material: FitMaterial, scores: Sequence[Floats]
) -> dict[str, Any]:
    """Describe one domain of an artifact: its numbers of requests, and its figures on dev."""
    parts = {"train": material.train, "dev": material.dev, "proxy": material.warm}
    own = [place for place, example in enumerate(material.dev) if example.domain == name]
    figures = measure([scores[place] for place in own], [material.dev[place].gains for place in own]) if own else None
    return {
        "domain": name,
        "template": None if origin is None else origin.template,
        "requests": {part: sum(example.domain == name for example in examples) for part, examples in parts.items()},
        "dev": None if figures is None else asdict(figures),
    }
