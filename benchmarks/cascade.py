"""What the cascade leaves out: its choice against reading every document with the cross-encoder.

Requests of users held back, who wrote at least 100 documents before; the candidates are the latest 150 of those. The
artifact is one with a cross-encoder, by ``pearl train fit --keep-cross-encoder``, whether or not dev is better for it.
Everything is read by torch, the runtime's reference, and scored as the cascade scores what it reads.

* recall: the share of the three best, when everything is read, that are among the three best of the cascade;
* gain: of the document that stands first, under SmolLM2 (equation 1), nats, the mean over the requests;
* read: how many documents the cross-encoder read; it ends early where the order at the top is settled;
* the choice also with half as many again to read, and where the order of the first stage says whom to read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from benchmarks.corpus import find_corpora
from benchmarks.figures import Figure, Measured, over_repetitions
from benchmarks.machine import ROOT
from benchmarks.retrieval import QUICK_SHAPES, KnownTexts, saved
from pearl.clock import Clock
from pearl.errors import InputError
from pearl.history import read_histories
from pearl.records import Document, Request
from pearl.split import TEST, users_of
from retriever.base import Positions, Scores, best_first, oldest_first
from retriever.calibrated.artifact import CROSS_ENCODER, SHIPPED, load_artifact
from retriever.calibrated.cascade import Cascade
from retriever.calibrated.retriever import CalibratedParts
from retriever.history.signals import SignalIndex
from retriever.models.auxiliary import load_auxiliary
from retriever.models.cross_encoder import CrossEncoderModel, Reading
from retriever.models.encoder import SentenceEncoder
from retriever.models.reference import PairModel
from training.gains.scoring import Scorer, few_shot_examples
from training.gains.units import ScoringOptions, Unit
from training.templates import auxiliary_template

TITLE = "What the cascade leaves out"
ARTIFACT = ROOT / "work" / "two-stages"
SCORES = "training/recipes/scores/git"
TRAINING = (
    f"pearl train fit --history ../shared/data/commits/git.jsonl.gz --scores {SCORES}-train.parquet "
    f"--scores {SCORES}-dev.parquet --keep-cross-encoder --out work/two-stages"
)
LEAST, MOST, PER_USER = 100, 150, 5  # candidates of a request, and requests of a user
QUICK_LEAST, QUICK_MOST, QUICK_USERS = 10, 12, 2
OPTIONS = ScoringOptions("commit")
QUICK_OPTIONS = replace(OPTIONS, target_tokens=16, document_tokens=32, request_tokens=16)
TOP = 3
THREE_BEST = "of the three best, in the cascade's three best"
MORE = 48


@dataclass(frozen=True, slots=True)
class Asked:
    """A text that a user wrote, and what they had written before, oldest first."""

    user_id: str
    target: Document
    documents: list[Document]


@dataclass(frozen=True, slots=True)
class Parts:
    """``reference`` reads everything."""

    first: CalibratedParts
    cross_encoder: CrossEncoderModel
    reference: PairModel
    reading: Reading
    cascade: Cascade


@dataclass(frozen=True, slots=True)
class Ranked:
    """The order of the documents by the cascade, by one that may read more, by one that reads in the first stage's
    order, and with all of them read; and how many the first two read."""

    asked: Asked
    ours: Positions
    more: Positions
    unguessed: Positions
    whole: Positions
    read: int
    more_read: int


def measure(quick: bool) -> Measured:
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        corpora = find_corpora(Path(folder))[: 1 if quick else None]
        parts = _quick_parts(Path(folder)) if quick else _parts()
        encoder = KnownTexts(SentenceEncoder())
        ranked, gains = [], []
        for corpus in corpora:
            histories = read_histories(corpus.path)
            some = [_rank(each, parts, encoder) for each in _asked(histories, quick)]
            gains += _gains(some, histories, QUICK_OPTIONS if quick else OPTIONS)
            ranked += some
    described = {
        "corpus": " and ".join(corpus.source for corpus in corpora),
        "requests": len(ranked),
        "users": len({each.asked.user_id for each in ranked}),
        "mean_candidates": round(fmean(len(each.asked.documents) for each in ranked)),
        "weight_of_the_cross_encoder": parts.cascade.weight,
    }
    return Measured(1, described, tuple(_figures(ranked, gains)))


def _asked(histories: dict[str, list[Document]], quick: bool) -> Iterator[Asked]:
    """The latest requests of the users with enough documents before them."""
    least, most = (QUICK_LEAST, QUICK_MOST) if quick else (LEAST, MOST)
    found = 0
    for user, unordered in users_of(histories, TEST).items():
        documents = [unordered[place] for place in oldest_first(unordered)]
        places = [place for place in range(least, len(documents)) if documents[place].request][-PER_USER:]
        for place in places[: 1 if quick else None]:
            yield Asked(user, documents[place], documents[max(0, place - most) : place])
        found += bool(places)
        if quick and found == QUICK_USERS:
            return


def _parts() -> Parts:
    """Raises InputError where there is no artifact with a cross-encoder."""
    if not (ARTIFACT / CROSS_ENCODER).exists():
        raise InputError(f"{ARTIFACT}: there is no artifact with a cross-encoder; train one: {TRAINING}")
    artifact, parts = load_artifact(ARTIFACT)
    if parts.cross_encoder is None:  # its weight is 0
        raise InputError(f"{ARTIFACT}: does not read with its cross-encoder; train one that does: {TRAINING}")
    reference = PairModel(ARTIFACT / CROSS_ENCODER, artifact.max_tokens)
    return Parts(
        parts,
        parts.cross_encoder,
        reference,
        artifact.reading,
        artifact.cascade,
    )


def _quick_parts(scratch: Path) -> Parts:
    _, parts = load_artifact(SHIPPED)
    folder = scratch / CROSS_ENCODER
    saved(QUICK_SHAPES[0], folder)
    reading = Reading(64)
    return Parts(parts, CrossEncoderModel(folder, reading), PairModel(folder, 64), reading, Cascade(8, 0.5))


def _rank(asked: Asked, parts: Parts, encoder: KnownTexts) -> Ranked:
    request = Request(asked.target.request or "", asked.target.timestamp)
    features = SignalIndex(asked.documents, encoder, parts.first.words).features(request)
    first, expected = parts.first.first_stage(features)

    def ranked(
        cascade: Cascade, expected: Scores, logits: Callable[[Sequence[Document]], Scores]
    ) -> tuple[Positions, int]:
        read: list[int] = []

        def some(parts: Iterable[Positions]) -> Generator[Scores, None, None]:
            for positions in parts:
                read.append(len(positions))
                yield logits([asked.documents[position] for position in positions])

        return best_first(cascade.scores(first, expected, some, Clock())), sum(read)

    def by_reference(documents: Sequence[Document]) -> Scores:
        return parts.reference.outputs([parts.reading.pair(request.text, document) for document in documents])[:, 0]

    fast = partial(parts.cross_encoder.logits, request)
    ours, ours_read = ranked(parts.cascade, expected, fast)
    more, more_read = ranked(replace(parts.cascade, most=MORE), expected, fast)
    unguessed, _ = ranked(replace(parts.cascade, reach=None), first, fast)
    whole, _ = ranked(replace(parts.cascade, most=len(first), reach=None), expected, by_reference)
    return Ranked(asked, ours, more, unguessed, whole, ours_read, more_read)


def _gains(
    ranked: Sequence[Ranked], histories: dict[str, list[Document]], options: ScoringOptions
) -> list[tuple[float, float, float]]:
    """Nats of the document that stands first, by either cascade and with all of them read."""
    template = auxiliary_template(options.template)
    examples = few_shot_examples(histories, options, {each.asked.target.text for each in ranked})
    scorer = Scorer(load_auxiliary("embedded"), template, examples, options)
    found = []
    for number, each in enumerate(ranked):
        first = [each.asked.documents[order[0]] for order in (each.ours, each.more, each.whole)]
        documents = {document.id: document for document in first}
        pairs = ((each.asked.target, frozenset(documents)),)
        rows = scorer.score(Unit(str(number), each.asked.user_id, tuple(documents.values()), pairs)).to_pylist()
        gain = {row["document_id"]: row["log_p_with"] - row["log_p_without"] for row in rows}
        ours, more, whole = (gain[document.id] for document in first)
        found.append((ours, more, whole))
    return found


def _figures(ranked: Sequence[Ranked], gains: Sequence[tuple[float, float, float]]) -> Iterator[Figure]:
    ours, more, whole = (fmean(column) for column in zip(*gains, strict=True))
    yield from _of_a_cascade("", "", [(each.ours, each.whole) for each in ranked], ours, whole)
    read = [each.read for each in ranked]
    yield over_repetitions("read", "documents read", "", [fmean(read)])
    settled = fmean(each.read < min(Cascade().most, len(each.asked.documents)) for each in ranked)
    yield over_repetitions("ended_early", "requests that ended early", "%", [100 * settled])
    words = f"as many read, in the first stage's order: {THREE_BEST}"
    yield over_repetitions(
        "unguessed_recall", words, "%", [100 * _recall((each.unguessed, each.whole) for each in ranked)]
    )
    words = f"up to {MORE} read: "
    yield from _of_a_cascade("more_", words, [(each.more, each.whole) for each in ranked], more, whole)
    yield over_repetitions("more_read", f"{words}documents read", "", [fmean(each.more_read for each in ranked)])


def _of_a_cascade(
    prefix: str, words: str, orders: Sequence[tuple[Positions, Positions]], gain: float, whole_gain: float
) -> Iterator[Figure]:
    goals = {} if prefix else {"recall": 95.0, "gain_difference": 1.0}
    recall = 100 * _recall(orders)
    yield over_repetitions(f"{prefix}recall", words + THREE_BEST, "%", [recall], at_least=goals.get("recall"))
    same = fmean(ours[0] == whole[0] for ours, whole in orders)
    yield over_repetitions(f"{prefix}same_first", f"{words}the same document first", "%", [100 * same])
    yield over_repetitions(f"{prefix}gain", f"{words}gain of the first document, cascade", "nats", [gain])
    if not prefix:
        yield over_repetitions("gain_all_read", "gain of the first document, all read", "nats", [whole_gain])
    difference = 100 * abs(gain - whole_gain) / abs(whole_gain)
    label = f"{words}difference of the gains"
    yield over_repetitions(f"{prefix}gain_difference", label, "%", [difference], at_most=goals.get("gain_difference"))


def _recall(orders: Iterable[tuple[Positions, Positions]]) -> float:
    return fmean(len(set(ours[:TOP]) & set(whole[:TOP])) / TOP for ours, whole in orders)
