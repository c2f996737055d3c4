"""Request selection (Algorithm 1), measured: heads that learn from all requests, and from those that are helped most.

    python docs/experiments/selection.py DATA WORK     writes docs/results/selection.json

DATA is as in ../shared/data/README.md; the gains are those that the recipe keeps. Everything but the share of requests
is as in the artifact that ships: signals, labels by likeness, y0, tau, members, epochs. Each head is fitted with
several seeds, because a seed alone moves the figures; a request's gain is the mean over them. The test users choose
nothing here. WORK keeps the embeddings, where the recipe left them, and what each head says.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from published import kept_scores
from rich.console import Console

from pearl.options import write_json
from pearl.settings import EMBEDDED
from pearl.split import DEV, TEST, TRAIN
from pearl.stats import Bootstrap, Estimate
from retriever.calibrated.artifact import SHIPPED, read_manifest
from retriever.calibrated.head import Floats
from retriever.history.word_weights import WordWeights
from retriever.models.encoder import SentenceEncoder
from retriever.models.files import model_fingerprint
from training.choose.measure import best_of
from training.data.division import Division
from training.data.records import Example, clusters_of
from training.data.selection import KEPT_SHARE, select_requests
from training.data.split import BY_USERS
from training.fit.embeddings import KeptEncoder
from training.fit.features import texts_of, thinned, with_signals
from training.fit.head import HeadOptions, fit_head, new_head
from training.fit.level import forest_of
from training.fit.material import embedded, proxies_of
from training.fit.stages import Anchor, loss_of
from training.gains.corpus import Corpus, histories_of
from training.gains.proxy import ProxyScales
from training.options import CALIBRATED, KL, TrainingOptions
from training.recipes.domains import DOMAINS, RESULTS, ROOT

OUT = ROOT / RESULTS / "selection.json"
LOSSES = (CALIBRATED, KL)
SHARES = (1.0, KEPT_SHARE)  # the first is what ships, the second the paper's
SEEDS = (0, 1, 2)
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Material:
    """Requests with their signals: labelled by likeness and scored ones to learn from, and those to measure with."""

    likened: list[Example]
    scored: list[Example]
    test: list[Example]


@dataclass(frozen=True, slots=True)
class Said:
    """The best score and the gain of the chosen document of each test request, by seed: (seeds, N) each. ``level``: the
    best score once the level has moved it."""

    top: Floats
    gains: Floats
    level: Floats


def material_of(corpora: Sequence[Corpus], kept: KeptEncoder) -> Material:
    console = Console(stderr=True)
    scored, dev, test = ([one for own in corpora for one in kept_scores(own, part)] for part in (TRAIN, DEV, TEST))
    division = Division(TRAIN, DEV, scored, dev, BY_USERS, ())
    options = TrainingOptions((), Path(), Path())  # the recipe's proxies
    past = embedded(proxies_of(corpora, division, options), [*scored, *test], kept, lambda: True, console).learned
    kept.prepare(texts_of(past))
    words = WordWeights.of_histories(histories_of(corpora, TRAIN, BY_USERS, 0).values())
    scales = ProxyScales.fit(scored, kept, words)
    likened = thinned(list(map(scales.label, past)), options.seed)
    return Material(*(with_signals(part, kept, words) for part in (likened, scored, test)))


def fitted(material: Material, loss: str, share: float, seed: int, anchor: Anchor) -> Said:
    options = HeadOptions(seed=seed)
    examples = select_requests(material.likened, share) + select_requests(material.scored, share)
    module = new_head(examples, options)
    fit_head(module, examples, loss_of(loss, anchor), options)
    head = module.frozen()
    level = forest_of(head, anchor.y0, anchor.tau, [*material.likened, *material.scored], seed)
    logits = [head.logits(one.signals) for one in material.test]
    moved = [level.moved(head, one.signals, own) for one, own in zip(material.test, logits, strict=True)]
    top, gains = best_of(logits, [one.gains for one in material.test])
    return Said(top, gains, np.array([own.max() for own in moved], np.float32))


def kept_or_fitted(material: Material, loss: str, share: float, anchor: Anchor, folder: Path) -> Said:
    """What heads of all seeds say, (seeds, N)."""
    parts = []
    for seed in SEEDS:
        file = folder / f"{loss}-{share:.2f}-{seed}.npz"
        if not file.exists():
            began = time.monotonic()
            said = fitted(material, loss, share, seed, anchor)
            folder.mkdir(parents=True, exist_ok=True)
            np.savez(file, top=said.top, gains=said.gains, level=said.level)
            sys.stderr.write(f"{file.stem}: {time.monotonic() - began:.0f} s\n")
        parts.append(np.load(file))
    return Said(*(np.stack([part[name] for part in parts]) for name in ("top", "gains", "level")))


def figures(own: Said, base: Said, best: Floats, users: Sequence[str]) -> Json:
    """The figures of some requests, and what they are above those of heads that learn from all requests."""
    draws = Bootstrap(users)

    def r(scores: Floats, gains: Floats) -> Estimate:
        each = [draws.pearson(one, chosen) for one, chosen in zip(scores, gains, strict=True)]
        return Estimate(
            float(np.mean([one.value for one in each])), np.mean([one.resampled for one in each], axis=0, dtype=float)
        )

    gain, before = (draws.mean(said.gains.mean(axis=0)) for said in (own, base))
    told: Json = {
        "top1_gain": {"value": gain.to_json(), "above": (gain - before).to_json()},
        "share_of_best": draws.ratio(own.gains.mean(axis=0), best).to_json(),
    }
    for name, scores, others in (("pearson_r", own.top, base.top), ("pearson_r_with_level", own.level, base.level)):
        mine, theirs = r(scores, own.gains), r(others, base.gains)
        told[name] = {"value": mine.to_json(), "above": (mine - theirs).to_json()}
    return told | {"top1_gain_by_seed": [float(one) for one in own.gains.mean(axis=1)]}


def main() -> None:
    data, work = Path(sys.argv[1]), Path(sys.argv[2])
    corpora = [Corpus.read(data / domain.file) for domain in DOMAINS]
    encoder = SentenceEncoder(EMBEDDED)
    encoder.load()
    material = material_of(corpora, KeptEncoder(encoder, work / "fit" / "embeddings", model_fingerprint(EMBEDDED)))
    manifest = read_manifest(SHIPPED)
    anchor = Anchor(manifest.y0, manifest.tau)
    users, kinds = clusters_of(material.test), np.array([one.domain for one in material.test])
    best = np.array([one.gains.max() for one in material.test])
    report: Json = {
        "command": "python docs/experiments/selection.py DATA WORK",
        "y0": anchor.y0,
        "tau": anchor.tau,
        "seeds": list(SEEDS),
        "learned": {"likened": len(material.likened), "scored": len(material.scored)},
        "requests": {domain.name: int((kinds == domain.name).sum()) for domain in DOMAINS},
        "rows": [],
    }
    base: dict[str, Said] = {}
    for share, loss in product(SHARES, LOSSES):
        said = kept_or_fitted(material, loss, share, anchor, work / "selection")
        base.setdefault(loss, said)
        row: Json = {"loss": loss, "share": round(share, 3), "kinds": {}}
        for name in ("all", *(domain.name for domain in DOMAINS)):
            places = np.flatnonzero((kinds == name) | (name == "all"))
            both = (Said(one.top[:, places], one.gains[:, places], one.level[:, places]) for one in (said, base[loss]))
            row["kinds"][name] = figures(*both, best[places], [users[place] for place in places])
        report["rows"].append(row)
    write_json(str(OUT), report)


if __name__ == "__main__":
    main()
