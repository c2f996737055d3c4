"""The whole training, from histories to an artifact, readable top to bottom in ``train_retriever``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.metadata import version
from typing import Any

from rich.console import Console

from pearl.budget import Budget
from pearl.errors import InputError
from pearl.records import Document
from retriever.calibrated.artifact import CROSS_ENCODER, Artifact, read_manifest, write_manifest, write_signals
from retriever.calibrated.cascade import Cascade
from retriever.calibrated.retriever import CalibratedParts
from retriever.history.signals import NAMES
from retriever.history.word_weights import WordWeights
from retriever.models.cross_encoder import CrossEncoderModel
from retriever.models.encoder import SentenceEncoder
from retriever.models.files import model_fingerprint
from retriever.models.hardware import device_named
from training.choose.measure import floors, helps_of, measure
from training.choose.worth import worth_on
from training.data.division import Division
from training.data.histories import untimed_users
from training.data.records import Example, check_gains
from training.data.selection import check_normalize
from training.data.split import BY_TIME, BY_USERS, DEV, PARTS, TEST, TRAIN, part_of, users_of
from training.files import alone_in, check_replaceable, replaced
from training.fit.cross_encoder import CrossEncoderOptions, check_base
from training.fit.embeddings import KeptEncoder
from training.fit.expectation import Learned, learn_expectation
from training.fit.features import texts_of, thinned
from training.fit.first_stage import Data, compute_signals, fit_first_stage
from training.fit.second_stage import (
    RELEVANCE_SHARE,
    SecondStage,
    dev_pairs,
    fit_relevance,
    fit_second_stage,
    save_cross_encoder,
)
from training.gains.corpus import Corpus, check_scored, histories_of, left_unscored, scored_with
from training.gains.labels import Auxiliary, scored_split, splitting_of, write_gains_of
from training.gains.proxy import ProxyScale, unlabelled_examples
from training.options import RELEVANCE, TrainingOptions
from training.progress import progress_of
from training.templates import auxiliary_template

# the share of the budget that has passed when a step ends; what is measured with is scored last, in what is left
SCORED_TRAIN, SCORED_DEV, EMBEDDED_BY, FITTED, EXPECTED_BY = 0.32, 0.42, 0.52, 0.80, 0.88
MOST_PROXIES = 900  # of all users together, where they are split by time
LIBRARIES = ("torch", "transformers", "sentence-transformers", "numpy")


def fit_retriever(options: TrainingOptions, console: Console) -> Artifact:
    """An artifact from what ``work`` holds of scores: to fit again otherwise, or on some of the histories."""
    corpora, model = _read(options)
    if not options.work.is_dir():  # a mistyped one is not to be made
        check_scored(corpora, (TRAIN, DEV), options.work)
    with alone_in(options.work, "work"):
        check_scored(corpora, (TRAIN, DEV), options.work)
        encoder = _kept(model, options)
        made = scored_with(corpora, (TRAIN, DEV), options.work)
        aux, template, way = made or (options.aux, options.template, BY_USERS)
        options = replace(options, aux=aux, template=template)
        found = {
            split: [each for corpus in corpora for each in corpus.scored_before(split, options.work, options.normalize)]
            for split in (TRAIN, DEV)
        }
        division = Division.of(found, left_unscored(corpora, (TRAIN, DEV), options.work), way)
        return fit_artifact(corpora, division, encoder, options, Budget(options.budget_minutes), console)


def train_retriever(options: TrainingOptions, console: Console) -> Artifact:
    """The artifact without theta and figures, which are measured with it.

    What an interrupted run has computed in ``work`` is not computed again. Raises InputError for histories that
    nothing can be learned from.
    """
    budget = Budget(options.budget_minutes)
    auxiliary_template(options.template)
    corpora, model = _read(options)
    with alone_in(options.work, "work"):
        encoder = _kept(model, options)
        way = splitting_of(corpora, options)
        scored = partial(scored_split, corpora, way, options, Auxiliary(options), budget, console)
        found = {TRAIN: scored(TRAIN, 0.0, SCORED_TRAIN), DEV: scored(DEV, SCORED_TRAIN, SCORED_DEV)}
        if not any(found.values()):
            found[TEST] = scored(TEST, SCORED_DEV, EMBEDDED_BY)
        division = Division.of(found, left_unscored(corpora, found, options.work), way)
        write_gains_of(division.dev, DEV, corpora, options)
        artifact = fit_artifact(corpora, division, encoder, options, budget, console)
        if division.learned == TEST:
            return artifact  # what is learned from is not measured with
        tested = scored(TEST, EXPECTED_BY, 1.0)
        write_gains_of(tested, TEST, corpora, options)
        notes = artifact.training["notes"]
        if not tested and left_unscored(corpora, (TEST,), options.work):
            notes = [*notes, "the budget ended before a request was scored to measure with: there are no figures"]
            _say(notes[-1], console)
        training = artifact.training | {"test_requests": len(tested), "notes": notes}
        write_manifest(options.out, replace(artifact, training=training))
        return read_manifest(options.out)


def _read(options: TrainingOptions) -> tuple[list[Corpus], SentenceEncoder]:
    """The histories and the encoder. Raises InputError for what would show after hours."""
    check_normalize(options.normalize)
    check_replaceable(options.out, options.work)
    if options.first_stage_only and options.loss == RELEVANCE:
        raise InputError("--first-stage-only: under --loss relevance there is only the cross-encoder.", param="loss")
    device_named(options.device)
    encoder = SentenceEncoder(options.encoder)
    encoder.load()
    if not options.first_stage_only:
        check_base(options.base)
    corpora = [Corpus.read(path) for path in options.histories]
    documents = [each for corpus in corpora for own in corpus.histories.values() for each in own]
    if not any(document.request for document in documents):
        raise InputError(
            f"--history: none of {len(documents):,} documents has the request that it answered; make requests with "
            "'pearl train requests' first.",
            param="history",
            code="no_requests",
        )
    names = [corpus.name for corpus in corpora]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"--history: two files are named '{twice}'; rename one of them.", param="history")
    return corpora, encoder


def _kept(encoder: SentenceEncoder, options: TrainingOptions) -> KeptEncoder:
    return KeptEncoder(encoder, options.work / "embeddings", model_fingerprint(options.encoder))


def fit_artifact(
    corpora: Sequence[Corpus],
    division: Division,
    encoder: KeptEncoder,
    options: TrainingOptions,
    budget: Budget,
    console: Console,
) -> Artifact:
    """Fit both stages on scored examples and write the artifact."""
    check_gains(division.train, "what is trained on")
    notes = [*_split_by_time(corpora, division.way), *division.notes, *_untimed(corpora)]
    for note in notes:
        _say(note, console)
    train, dev = division.train, division.dev
    scale = ProxyScale.fit(train)
    histories = histories_of(corpora, division.learned, division.way, options.seed)
    proxies, more = (
        [each for corpus in corpora for each in _proxies(corpus, split, part, division.way, options)]
        for split, part in ((division.learned, 1), (division.asked, 3))
    )
    words = WordWeights.count(_texts(histories))
    proxies, more = _embedded((proxies, more), [*train, *dev], encoder, budget, console)
    warm, warm_dev = (list(map(scale.label, examples)) for examples in (proxies, more))
    data = Data(train, dev, thinned(warm, options.seed), warm_dev)
    console.print(
        f"{len(train):,} scored requests to train on and {len(dev):,} to choose by; {len(proxies):,} labelled by "
        f"overlap (r = {scale.pearson_r:.2f} with the gain).",
        highlight=False,
    )
    signals = compute_signals(data, encoder, words, console)
    head, anchor, heads = fit_first_stage(data, signals, options.loss, options.selection, console)
    scores = [head.logits(each.signals) for each in signals.dev]
    second: SecondStage | None = None
    relevance: dict[str, Any] | None = None
    fitting = CrossEncoderOptions(seed=options.seed)
    if budget.seconds_until(FITTED) == 0.0:
        if options.loss == RELEVANCE:
            raise InputError("--budget-minutes: over before the cross-encoder, which is all there is under relevance.")
        notes.append("the budget ended before the cross-encoder: the first stage alone")
        _say(notes[-1], console)
    elif not options.first_stage_only:
        model, relevance = _warm_started(corpora, histories, fitting, options, budget)
        left = budget.seconds_until(FITTED)
        second = fit_second_stage(
            model,
            head,
            data,
            signals,
            options.loss,
            options.selection,
            anchor,
            fitting,
            options.work,
            left,
            keep=options.keep_cross_encoder,
        )
        scores = second.dev_scores
    cascade = Cascade() if second is None else second.cascade
    gains = [each.gains for each in signals.dev]
    floor, ask_below = floors(scores, gains)
    worth = worth_on(scores, dev, encoder, own=division.asked != division.learned, seed=options.seed)
    artifact = Artifact(
        name=options.out.name,
        encoder=encoder.name,
        y0=anchor.y0,
        tau=anchor.tau,
        normalize=options.normalize,
        max_tokens=fitting.max_tokens,
        signals=NAMES,
        floor=floor,
        ask_below=ask_below,
        helps=helps_of(scores, gains),
        reranked=cascade.most,
        weight=cascade.weight,
        reach=cascade.reach,
        do_not_use=worth.doubts,
        training={
            "auxiliary": options.aux,
            "base": None if options.first_stage_only else options.base,
            "loss": options.loss,
            "template": options.template,
            "selection": {name: getattr(options, name) for name in ("share", "positives", "negatives")},
            "seed": options.seed,
            "budget_minutes": options.budget_minutes,
            "minutes": round(budget.elapsed_minutes(), 1),
            "histories": [
                {"file": path.name, "sha256": corpus.fingerprint, "users": len(corpus.histories)}
                for path, corpus in zip(options.histories, corpora, strict=True)
            ],
            "plans": {split: asdict(plan) for split, plan in options.plans.items()},
            "requests": {"train": len(train), "dev": len(dev), "proxy": len(proxies)},
            "proxy_scale": asdict(scale),
            "heads": heads,
            "relevance": relevance,
            "second_stage": None if second is None else second.report,
            "dev": asdict(measure(scores, gains)),
            "worth": worth.to_json(),
            "split": {"by": division.way, "learned": division.learned, "asked": division.asked},
            "versions": {name: version(name) for name in LIBRARIES},
            "test_requests": 0,
            "notes": notes,
        },
    )
    with replaced(options.out) as folder:
        learned: Learned | None = None
        if second is not None and cascade.weight > 0:
            save_cross_encoder(second.model, folder / CROSS_ENCODER, dev_pairs(data.dev, options.seed))
            if options.loss != RELEVANCE:  # which reads everything
                parts = CalibratedParts(words, head, CrossEncoderModel(folder / CROSS_ENCODER, fitting.max_tokens))
                learned = learn_expectation(histories, parts, encoder, budget.until(EXPECTED_BY), console, options.seed)
        write_signals(folder, words, head, None if learned is None else learned.expectation)
        write_manifest(folder, artifact if learned is None else _with(artifact, learned))
    return read_manifest(options.out)


def _with(artifact: Artifact, learned: Learned) -> Artifact:
    return replace(
        artifact,
        reach=artifact.weight * learned.beyond,
        training=artifact.training | {"expectation": learned.report},
    )


def _say(note: str, console: Console) -> None:
    console.print(f"Note: {note}.", highlight=False, markup=False, soft_wrap=True)


def _split_by_time(corpora: Sequence[Corpus], way: str) -> list[str]:
    if way == BY_USERS:
        return []
    users = sum(len(corpus.histories) for corpus in corpora)
    return [
        f"too few users for a split by users ({users:,}), so each history is split by time: its first "
        f"{PARTS[TRAIN].last:.0%} are trained on, its texts until {PARTS[DEV].last:.0%} are chosen by, the last are "
        "measured with; the figures hold for later texts of the same users, not for anybody else"
    ]


def _untimed(corpora: Sequence[Corpus]) -> list[str]:
    found = {corpus.name: untimed_users(corpus.histories) for corpus in corpora}
    return [
        f"{len(users):,} users of '{name}' have a document without a timestamp ('{users[0]}' is one): which of their "
        "texts are targets and which candidates was chosen at random"
        for name, users in found.items()
        if users
    ]


def _warm_started(
    corpora: Sequence[Corpus],
    histories: Mapping[str, Sequence[Document]],
    fitting: CrossEncoderOptions,
    options: TrainingOptions,
    budget: Budget,
) -> tuple[Any, dict[str, Any]]:
    left = budget.seconds_until(FITTED)
    seconds = None if left is None else left * (1.0 if options.loss == RELEVANCE else RELEVANCE_SHARE)
    folder = options.work / "-".join(("relevance", *(corpus.name for corpus in corpora)))
    return fit_relevance(options.base, histories, fitting, folder, seconds, options.device)


def _proxies(corpus: Corpus, split: str, part: int, way: str, options: TrainingOptions) -> list[Example]:
    histories = corpus.histories if way == BY_TIME else users_of(corpus.histories, split)
    return unlabelled_examples(
        corpus.name,
        histories,
        targets=(options.proxy_targets if way == BY_USERS else MOST_PROXIES // len(histories)) // part,
        candidates=options.candidates,
        least=options.plans[TRAIN].least,
        seed=options.seed,
        part=part_of(split, way),
    )


def _texts(histories: Mapping[str, Sequence[Document]]) -> list[str]:
    """The texts by which words are weighed: each request with its document."""
    return [f"{document.request or ''} {document.text}" for own in histories.values() for document in own]


def _embedded(
    proxies: Sequence[list[Example]], needed: Sequence[Example], encoder: KeptEncoder, budget: Budget, console: Console
) -> list[list[Example]]:
    """The proxies, each list's, whose texts could be embedded in time; what is needed is embedded in any case."""
    texts = texts_of(needed)
    known = set(texts)
    more = [text for text in texts_of([each for some in reversed(proxies) for each in some]) if text not in known]
    with progress_of("embedding", len(texts) + len(more), console) as advance:
        encoder.prepare(texts, advance)
        encoder.prepare(more, advance, budget.until(EMBEDDED_BY))
    return [[each for each in some if all(map(encoder.knows, texts_of([each])))] for some in proxies]
