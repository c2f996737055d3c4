"""Heads on signals, fitted on four kinds of text, beside the one of two projects' commits that shipped before.

    python docs/experiments/crossed.py DATA WORK     writes docs/experiments/crossed.json

DATA is as in ../shared/data/README.md. Three of the mailing list's people are dev users, and decide nothing, so the
users to train on and to choose by are divided into three folds, and each is scored by a head that was fitted without
them: all of the chat and the list, and dev's of the commits, for the former head learned from the others. Both are
compared without a level, which the former learned from these users, and with one fitted out of fold. Embeddings are
kept in WORK, where the recipe left them.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from published import COMMITS_HEAD, kept_scores

from pearl.settings import EMBEDDED
from pearl.split import DEV, TEST, TRAIN, users_of
from pearl.stats import Bootstrap
from retriever.calibrated.artifact import SHIPPED, artifact_retriever, load_artifact
from retriever.calibrated.head import Floats, SignalHead
from retriever.history.word_weights import WordWeights
from retriever.models.encoder import SentenceEncoder
from retriever.models.files import model_fingerprint
from training.choose.measure import best_of, measure, qualities
from training.data.records import Example
from training.data.selection import select_requests
from training.fit.embeddings import KeptEncoder
from training.fit.features import texts_of, with_signals
from training.fit.head import HeadOptions, calibrated, fit_head, new_head
from training.fit.level import forest_of
from training.gains.corpus import Corpus
from training.gains.proxy import ProxyScales, unlabelled_examples
from training.recipes.domains import CANDIDATES, DOMAINS

OUT = Path(__file__).with_suffix(".json")
MESSAGES = ("lean", "everything")
PROXIES, LEAST = 30, 8
FOLDS = 3
Y0 = 8.6  # nats, the median of the positives
Scores = Mapping[int, Floats]  # by the places of the requests
Levels = tuple[Scores, Scores]  # without a level, and with one


@dataclass(frozen=True, slots=True)
class Way:
    """A way to fit: the temperature, members, times that a true gain counts, and the share of requests kept."""

    name: str
    tau: float = 20.0
    members: int = 8
    true: int = 1
    share: float = 1.0


WAYS = (
    Way("true gains thrice, 10 nats, two thirds of the requests, four members", 10.0, 4, 3, 2 / 3),
    Way("true gains once, 20 nats, two thirds of the requests, four members", 20.0, 4, 1, 2 / 3),
    Way("true gains once, 20 nats, all requests, eight members: what ships"),
)


def fold_of(example: Example) -> int:
    return int(hashlib.sha256(f"{example.domain}/{example.user_id}".encode()).hexdigest(), 16) % FOLDS


@dataclass(frozen=True, slots=True)
class Material:
    """Requests with true gains, those by proxy, and the places of the former that are compared, by kind of text."""

    scored: Sequence[Example]
    likened: Sequence[Example]
    compared: Mapping[str, Sequence[int]]

    def learned(self, fold: int, way: Way) -> list[Example]:
        parts = [[one for one in own if fold_of(one) != fold] for own in (self.likened, self.scored)]
        if way.share < 1:
            parts = [select_requests(own, way.share) for own in parts]
        likened, scored = parts
        return likened + scored * way.true

    def asked(self, fold: int) -> list[int]:
        return [place for own in self.compared.values() for place in own if fold_of(self.scored[place]) == fold]


def material_of(corpora: Mapping[str, Corpus], kept: KeptEncoder) -> Material:
    scored: list[Example] = []
    compared: dict[str, Sequence[int]] = {}
    for name, corpus in corpora.items():
        parts = [kept_scores(corpus, split) for split in (TRAIN, DEV)]
        first = len(scored) + (0 if name in MESSAGES else len(parts[0]))
        scored += [*parts[0], *parts[1]]
        compared[name] = range(first, len(scored))
    learned = {name: users_of(corpus.histories, TRAIN) for name, corpus in corpora.items()}
    past = [
        one
        for name, users in learned.items()
        for one in unlabelled_examples(name, users, targets=PROXIES, candidates=CANDIDATES, least=LEAST, seed=0)
    ]
    kept.prepare(texts_of([*scored, *past]))
    words = WordWeights.of_histories(own for users in learned.values() for own in users.values())
    scored = with_signals(scored, kept, words)
    scales = ProxyScales.fit(scored, kept, words)
    return Material(scored, [scales.label(one) for one in with_signals(past, kept, words)], compared)


def on_test(corpora: Mapping[str, Corpus], kept: KeptEncoder) -> dict[str, Any]:
    """The artifact that ships beside the head of commits, as the service has them."""
    scored: list[Example] = []
    compared: dict[str, Sequence[int]] = {}
    for name, corpus in corpora.items():
        first = len(scored)
        scored += kept_scores(corpus, TEST)
        compared[name] = range(first, len(scored))
    kept.prepare(texts_of(scored))
    both: list[Scores] = []
    for folder in (SHIPPED, COMMITS_HEAD):
        retriever = artifact_retriever(folder, kept)
        both.append({place: retriever.index(one.documents).scores(one.request) for place, one in enumerate(scored)})
    return row(Material(scored, [], compared), *both)


def fitted(examples: Sequence[Example], way: Way) -> SignalHead:
    options = HeadOptions(members=way.members)
    module = new_head(examples, options)
    fit_head(module, examples, calibrated(Y0, way.tau), options)
    return module.frozen()


def crossed(material: Material, way: Way, y0: float, head_of: Callable[[list[Example]], SignalHead]) -> Levels:
    """The scores of the requests compared, out of fold."""
    bare, with_level = {}, {}
    for fold in range(FOLDS):
        examples = material.learned(fold, way)
        head = head_of(examples)
        level = forest_of(head, y0, way.tau, examples, 0)
        for place in material.asked(fold):
            signals = material.scored[place].signals
            bare[place] = head.logits(signals)
            with_level[place] = level.moved(head, signals, bare[place])
    return bare, with_level


def row(material: Material, scores: Scores, before: Scores) -> dict[str, Any]:
    """The figures of each kind of text and their mean, beside those of the former head."""
    told: dict[str, Any] = {"kinds": {}}
    above, fits = [], []
    for name, places in material.compared.items():
        gains = [material.scored[place].gains for place in places]
        draws = Bootstrap([material.scored[place].user_id for place in places])
        own, others = ([them[place] for place in places] for them in (scores, before))
        fits.append(measure(own, gains))
        difference = draws.mean(best_of(own, gains)[1] - best_of(others, gains)[1])
        told["kinds"][name] = asdict(fits[-1]) | {"above": difference.to_json()}
        above.append(qualities(draws, own, gains) - qualities(draws, others, gains))
    for figure in ("share", "pearson_r", "quality"):
        told[figure] = float(np.mean([getattr(fit, figure) for fit in fits]))
    return told | {"higher_in": float((np.mean(above, axis=0) > 0).mean())}


def main() -> None:
    data, work = Path(sys.argv[1]), Path(sys.argv[2])
    corpora = {domain.name: Corpus.read(data / domain.file) for domain in DOMAINS}
    encoder = SentenceEncoder(EMBEDDED)
    encoder.load()
    kept = KeptEncoder(encoder, work / "fit" / "embeddings", model_fingerprint(EMBEDDED))
    material = material_of(corpora, kept)
    manifest, parts = load_artifact(COMMITS_HEAD)
    before = crossed(material, replace(WAYS[-1], tau=manifest.tau), manifest.y0, lambda _: parts.head)
    compared = material.compared
    report: dict[str, Any] = {
        "command": "python docs/experiments/crossed.py DATA WORK",
        "requests": {name: len(own) for name, own in compared.items()},
        "users": {name: len({material.scored[place].user_id for place in own}) for name, own in compared.items()},
        "likened": len(material.likened),
        "test": on_test(corpora, kept),
        "rows": [{"name": "the head of commits", "levels": [row(material, own, own) for own in before]}],
    }
    for way in WAYS:
        own = crossed(material, way, Y0, partial(fitted, way=way))
        levels = [row(material, scores, base) for scores, base in zip(own, before, strict=True)]
        report["rows"].append({"name": way.name, "levels": levels})
    OUT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
