"""The whole training, from histories to an artifact, readable top to bottom in ``train_retriever``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from rich.console import Console

from pearl.clock import Budget
from pearl.errors import InputError
from pearl.models.runtime.ray_workers import Cluster
from pearl.records import Document
from pearl.text.history.partition import DEV, TEST, TRAIN
from pearl.text.usable import counted
from retriever.calibrated.artifact import CROSS_ENCODER, Artifact, read_manifest, write_manifest, write_signals
from retriever.calibrated.retriever import CalibratedParts
from retriever.history.word_weights import WordWeights
from retriever.models.encoder import SentenceEncoder
from retriever.models.hardware import device_named
from retriever.templates import auxiliary_template
from training.choose.measure import LEAST_REQUESTS
from training.config import CALIBRATED, DISTILL, RELEVANCE
from training.data.histories import Corpus, read_corpora, untimed_users
from training.data.records import Example, check_gains
from training.data.split import BY_USERS, PARTS, DataSplit
from training.files import alone_in, check_replaceable, replaced
from training.fit.cross_encoder import CrossEncoderOptions, check_base, new_cross_encoder
from training.fit.kept import CrossEncoderFit, save_cross_encoder
from training.fit.level import fit_level
from training.fit.material import FitMaterial, material_of
from training.fit.relevance import fit_relevance
from training.fit.stages import FirstStage, SecondStage, fit_first_stage, fit_second_stage
from training.gains.corpus import ScoreProvenance, extents_of, histories_of, left_unscored, origins_of
from training.gains.groups import read_groups
from training.gains.labels import SplitScoring, check_work, scored_before, write_gains_of
from training.manifest import Stages, make_manifest
from training.run import EMBEDDED_BY, FITTED, SCORED_DEV, SCORED_TEST, SCORED_TRAIN, WRITTEN, Run, TrainingOptions

RELEVANCE_SHARE = 0.25  # of the time for the cross-encoder


def fit_retriever(options: TrainingOptions, console: Console) -> Artifact:
    """Fit a retriever on the scores that the working folder keeps, and write its artifact.

    Scores of the test split, if ``scores`` names any, are not learned from; ``finish.measured`` measures with them.
    """
    if options.groups is not None:
        if options.loss == DISTILL:
            raise InputError("--groups: loss=distill learns from all requests; leave one out.")
        chosen = read_groups(options.groups).options
        options = replace(
            options,
            normalize=chosen.normalize,  # type: ignore[arg-type]  # which the file was checked for
            share=chosen.share,
            positives=chosen.positives,
            negatives=chosen.negatives,
        )
    run = _begun(options, console)
    check_work(run)
    with alone_in(options.work, "work"):
        scored = scored_before(run)
        run = replace(run, options=scored.options)
        artifact = fit_artifact(run, scored.division, scored.origins)
        if scored.division.learned == TEST or not scored.test:
            return artifact  # what is learned from is not measured with
        return _to_measure(run, artifact, scored.test)


def train_retriever(options: TrainingOptions, console: Console, budget: Budget | None = None) -> Artifact:
    """Train a retriever from histories within ``budget`` (by default that of the options), and write its artifact.

    Theta and the test figures are measured later. What an interrupted run left in ``work`` is not computed again.
    Raises InputError for histories that nothing can be learned from.
    """
    auxiliary_template(options.template)
    run = _begun(options, console, budget)
    work = options.work
    with alone_in(work, "work"), closing(SplitScoring(run)) as scoring:
        if (planned := scoring.planned(DEV)) < LEAST_REQUESTS:
            said = f"Too little history: {counted(planned, 'request')} to choose by, fewer than {LEAST_REQUESTS}."
            run.console.print(f"{said} The artifact will say not to use it.", highlight=False, soft_wrap=True)
        examples = {TRAIN: scoring.examples(TRAIN, 0.0, SCORED_TRAIN, least=1)}
        in_time = not examples[TRAIN] or run.budget.seconds_until(1.0) != 0.0  # else it is chosen by what it learned
        examples[DEV] = scoring.examples(DEV, SCORED_TRAIN, SCORED_DEV, least=int(in_time))
        if not any(examples.values()):
            examples[TEST] = scoring.examples(TEST, SCORED_DEV, EMBEDDED_BY, least=1)
        division = DataSplit.of(examples, left_unscored(run.corpora, examples, work), scoring.way)
        write_gains_of(run, DEV, division.dev)
        artifact = fit_artifact(run, division, origins_of(run.corpora, tuple(examples), work))
        if division.learned == TEST:
            return artifact  # what is learned from is not measured with
        tested = scoring.examples(TEST, WRITTEN, SCORED_TEST)
        notes = artifact.training["notes"]
        if not tested and left_unscored(run.corpora, (TEST,), work):
            notes = [*notes, "the budget ended before a request was scored to measure with: there are no figures"]
            run.say(notes[-1])
        scored = extents_of(origins_of(run.corpora, (*examples, TEST), work))
        return _to_measure(run, artifact, tested, notes=notes, scored=scored)


def _to_measure(run: Run, artifact: Artifact, tested: Sequence[Example], **more: Any) -> Artifact:
    """Write the files of test gains, and into the artifact's manifest the number of test requests and ``more``."""
    write_gains_of(run, TEST, tested)
    training = artifact.training | {"test_requests": len(tested)} | more
    write_manifest(run.options.out, replace(artifact, training=training))
    return read_manifest(run.options.out)


def _begun(options: TrainingOptions, console: Console, budget: Budget | None = None) -> Run:
    """Begin a run: check the options, read the histories, load the encoder. Raises InputError for what cannot work."""
    budget = budget or Budget(options.budget_minutes)
    check_replaceable(options.out, options.work)
    if options.first_stage_only and options.loss == RELEVANCE:
        raise InputError("--choose loss=relevance fits what first_stage_only=yes leaves out.")
    options = options.as_its_loss_asks()
    device_named(options.own_device)
    if options.ray:
        Cluster.read(options.ray, options.device).connect()
    encoder = SentenceEncoder(options.encoder)
    encoder.load()
    if not options.first_stage_only:
        window = check_base(options.base, options.frozen_layers)
        options = replace(options, max_tokens=min(options.max_tokens, window))
    corpora = read_corpora(options.histories)
    documents = [document for corpus in corpora for own in corpus.histories.values() for document in own]
    if not any(document.request for document in documents):
        raise InputError(
            f"--history: none of {len(documents):,} documents has the request that it answered; make requests with "
            "'pearl train requests' first."
        )
    return Run(options, corpora, encoder, budget, console)


def fit_artifact(run: Run, division: DataSplit, origins: Mapping[str, ScoreProvenance]) -> Artifact:
    """Fit both stages on scored examples and write the artifact; ``origins``: how each corpus was scored."""
    options, budget, corpora = run.options, run.budget, run.corpora
    check_gains(division.train, "what is trained on")
    notes = [*_split_by_time(corpora, division.way), *division.notes, *_left_out(corpora, division), *_untimed(corpora)]
    for note in notes:
        run.say(note)
    histories = histories_of(corpora, division.learned, division.way, options.seed)
    material = material_of(run, division, WordWeights.of_histories(histories.values()))
    first = fit_first_stage(run, material)
    if first.cut_short:
        notes.append(f"the budget ended before every tau and y0 was tried: {len(first.tried)} were")
        run.say(notes[-1])
    second: SecondStage | None = None
    if not options.first_stage_only and budget.seconds_until(FITTED) != 0.0:
        second = _fit_second(run, histories, material, first)
    elif not options.first_stage_only:
        if options.is_cross_encoder_alone:
            raise InputError(
                "--budget-minutes ran out before the cross-encoder, which is all there is with --choose weight=1 and "
                "under loss=relevance; allow more minutes."
            )
        notes.append("the budget ended before the cross-encoder: the first stage alone")
        run.say(notes[-1])
    stages = Stages(first, second)
    chosen_by = division.asked != division.learned  # of what it learned from a forest knows the gains
    levels = options.loss == CALIBRATED and chosen_by and (second is None or second.cascade.weight == 0)
    if levels and budget.seconds_until(WRITTEN) == 0.0:
        notes.append("the budget ended before the level: it says less of how much the chosen document helps")
        run.say(notes[-1])
    elif levels:
        learned = [*material.warm, *material.train]
        stages = replace(stages, level=fit_level(first.head, first.anchor, learned, material.dev, options.seed))
    artifact = make_manifest(run, division, origins, material, stages)
    spent = {"minutes": round(budget.elapsed_minutes(), 1), "notes": notes}
    _write(replace(artifact, training=artifact.training | spent), stages, material.scales.words, options)
    return read_manifest(options.out)


def _fit_second(
    run: Run, histories: Mapping[str, Sequence[Document]], material: FitMaterial, first: FirstStage
) -> SecondStage:
    """Fit the cross-encoder: first on relevance, if the options want a warm start, then on gains."""
    options = run.options
    fitting = CrossEncoderOptions(
        options.reading,
        rate=options.rate,
        epochs=options.epochs,
        frozen_layers=options.frozen_layers,
        repeated=CrossEncoderOptions().repeated if options.proxies else 1,
        seed=options.seed,
    )
    if options.warm_start or options.loss == RELEVANCE:
        left = run.budget.seconds_until(FITTED)
        seconds = None if left is None else left * (1.0 if options.loss == RELEVANCE else RELEVANCE_SHARE)
        start = fit_relevance(run, histories, fitting, seconds)
    else:
        start = CrossEncoderFit(new_cross_encoder(options.base, fitting, options.own_device), {"steps": 0})
    return fit_second_stage(run, start, first, material, fitting)


def _write(artifact: Artifact, stages: Stages, words: WordWeights, options: TrainingOptions) -> None:
    """Write the artifact's folder atomically."""
    head, second = stages.first.head, stages.second
    with replaced(options.out) as folder:
        if second is not None and second.cascade.weight > 0:
            save_cross_encoder(second.model, folder / CROSS_ENCODER)
        level = None if stages.level is None else stages.level.level
        write_signals(folder, CalibratedParts(words, head, level=level))
        write_manifest(folder, artifact)


def _split_by_time(corpora: Sequence[Corpus], way: str) -> list[str]:
    if way == BY_USERS:
        return []
    users = sum(len(corpus.histories) for corpus in corpora)
    return [
        f"too few users for a split by users ({users:,}), so each history is split by time: its first "
        f"{PARTS[TRAIN].last:.0%} are trained on, its texts until {PARTS[DEV].last:.0%} are chosen by, the last are "
        "measured with; the figures hold for later texts of the same users, not for anybody else"
    ]


def _left_out(corpora: Sequence[Corpus], division: DataSplit) -> list[str]:
    """Return notes on domains without a scored request to learn from or to choose by, if there are several domains."""
    if len(corpora) == 1:
        return []
    notes = []
    for corpus in corpora:
        users = f"'{corpus.name}' ({len(corpus.histories):,} users)"
        if not any(example.domain == corpus.name for example in division.train):
            notes.append(f"{users} has no scored request to learn from")
        if not any(example.domain == corpus.name for example in division.dev):
            notes.append(f"{users} has no scored request to choose by, so its figures are unknown")
    return notes


def _untimed(corpora: Sequence[Corpus]) -> list[str]:
    untimed = {corpus.name: untimed_users(corpus.histories) for corpus in corpora}
    return [
        f"{len(users):,} users of '{name}' have a document without a timestamp ('{users[0]}' is one): which of their "
        "texts are targets and which candidates was chosen at random"
        for name, users in untimed.items()
        if users
    ]
