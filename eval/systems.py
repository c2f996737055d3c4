"""What each system shows the chat model for a request: a retriever's best documents, strangers' documents, or none."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, zip_longest

import numpy as np

from eval.gains import GainsRecord
from eval.overlap import containment, kept_documents
from eval.scoring import Floats, score_records
from eval.stance import STANCES, stance
from pearl.errors import InputError
from pearl.records import Document, ScoredDocument
from retriever.base import Retriever, choose, oldest_first, order

ZERO_SHOT, K_SHOT = "zero-shot", "k-shot"
MODEL, BASELINE, TRIVIAL = "model", "baseline", "trivial"  # kinds of systems


@dataclass(frozen=True, slots=True)
class Case:
    """A record to write for, and the text the user really wrote for it.

    ``owner`` is whose history it is; that of a record that does not say is nobody else's.
    """

    record: GainsRecord
    owner: str
    target: str


@dataclass(frozen=True, slots=True)
class Shown:
    """``documents`` go into the prompt, best first; ``top`` is the best of all and s1, if a retriever ranked them."""

    documents: tuple[Document, ...] = ()
    top: ScoredDocument | None = None


@dataclass(frozen=True, slots=True)
class System:
    """A way to get a draft, and what it shows for each case. One that asks no chat model has its ``texts`` ready.

    ``kind``: MODEL is on trial, BASELINE is what it must beat, TRIVIAL says what the figures are worth. ``threshold``
    is a retriever's theta, None for never.
    """

    name: str
    kind: str
    shown: tuple[Shown, ...]
    texts: tuple[str, ...] | None = None
    threshold: float | None = None


def cases(records: Sequence[GainsRecord]) -> list[Case]:
    """The records that have a target."""
    return [
        Case(record, f"record {place}" if record.user_id is None else f"user {record.user_id}", record.target)
        for place, record in enumerate(records)
        if record.target is not None and record.target.strip()
    ]


def sample(found: Sequence[Case], limit: int | None, seed: int) -> list[Case]:
    """At most ``limit`` cases in their order, one of every user before a second of any."""
    if limit is None or limit >= len(found):
        return list(found)
    generator = random.Random(seed)
    places: dict[str, list[int]] = defaultdict(list)
    for place, case in enumerate(found):
        places[case.owner].append(place)
    rounds = [generator.sample(mine, len(mine)) for mine in places.values()]
    generator.shuffle(rounds)
    spread = chain.from_iterable(zip_longest(*rounds))
    chosen = [place for place in spread if place is not None][:limit]
    return [found[place] for place in sorted(chosen)]


def without_near_duplicates(found: Sequence[Case], threshold: float) -> list[Case]:
    """The cases without the documents that repeat their target; those left without any document are left out."""
    kept = ((case, kept_documents(case.record, threshold)) for case in found)
    return [replace(case, record=_only(case.record, keep)) for case, keep in kept if any(keep)]


def _only(record: GainsRecord, keep: Sequence[bool]) -> GainsRecord:
    return replace(record, documents=tuple(compress(record.documents, keep)), gains=tuple(compress(record.gains, keep)))


def retrieved(name: str, retriever: Retriever, found: Sequence[Case], k: int, *, kind: str) -> System:
    """What the service would show with this retriever. Raises InputError for a score that is not finite."""
    records = [case.record for case in found]
    scored = score_records(name, retriever, records)
    rankings = [_ranking(record, scores) for record, scores in zip(records, scored.scores, strict=True)]
    shown = tuple(
        Shown(tuple(each.document for each in choose(ranking, k, retriever.calibration)), ranking[0])
        for ranking in rankings
    )
    return System(name, kind, shown, threshold=retriever.calibration.threshold)


def _ranking(record: GainsRecord, scores: Floats) -> list[ScoredDocument]:
    places = oldest_first(record.documents)
    return order([record.documents[place] for place in places], scores[places].astype(np.float32))


def zero_shot_system(found: Sequence[Case]) -> System:
    """The request alone (ZSHOT-NP of section 5.1)."""
    return System(ZERO_SHOT, BASELINE, tuple(Shown() for _ in found))


def k_shot_system(
    found: Sequence[Case],
    everyone: Sequence[Case],
    k: int,
    seed: int,
    *,
    balanced: bool,
    near_duplicates: float | None = None,
) -> System:
    """The same k random documents for every request, each of another user (KSHOT-NP of section B.3).

    One that is of the request's own user, or that contains a share of its target of ``near_duplicates``, gives its
    place to the next. ``balanced`` takes turns between the stances.
    """
    drawn = _strangers(everyone, seed)
    if balanced:
        groups = [[each for each in drawn if stance(each[1].text) == label] for label in STANCES]
        drawn = [each for each in chain.from_iterable(zip_longest(*groups)) if each is not None]
    shown = []
    for case in found:
        others = [document for owner, document in drawn if owner != case.owner]
        if near_duplicates is not None:
            others = [each for each in others if containment(case.target, each.text) < near_duplicates]
        if not others:
            raise InputError(
                "--k-shot needs documents of other users, and the file has none; leave it out.", param="k_shot"
            )
        shown.append(Shown(tuple(others[:k])))
    return System(K_SHOT, BASELINE, tuple(shown))


def _strangers(everyone: Sequence[Case], seed: int) -> list[tuple[str, Document]]:
    """One random document of each user, in random order."""
    generator = random.Random(seed)
    theirs: dict[str, list[Document]] = defaultdict(list)
    for case in everyone:
        theirs[case.owner] += case.record.documents
    drawn = [(owner, generator.choice(documents)) for owner, documents in theirs.items() if documents]
    generator.shuffle(drawn)
    return drawn


def copied(system: System) -> System:
    """The retriever's best document as the draft, word for word."""
    texts = tuple(shown.top.document.text if shown.top else "" for shown in system.shown)
    return System(f"copy of {system.name}", TRIVIAL, system.shown, texts)


def constant(text: str, size: int) -> System:
    """The same few words for every request."""
    return System(f"always {text}", TRIVIAL, tuple(Shown() for _ in range(size)), (text,) * size)
