"""The whole training, from histories to an artifact, readable top to bottom in ``train_retriever``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rich.console import Console

from pearl.budget import Budget
from pearl.errors import InputError
from pearl.history.split import DEV, TEST, TRAIN
from pearl.records import Document
from retriever.calibrated.artifact import CROSS_ENCODER, Artifact, read_manifest, write_manifest, write_signals
from retriever.calibrated.retriever import CalibratedParts
from retriever.history.word_weights import WordWeights
from retriever.models.encoder import SentenceEncoder
from retriever.models.files import model_fingerprint
from retriever.models.hardware import device_named
from training.account import Stages, described
from training.choices import CROSS_ENCODER_CHOICES, SEARCH, preset_values
from training.data.division import Division
from training.data.histories import untimed_users
from training.data.records import check_gains
from training.data.selection import KEPT_SHARE, check_normalize
from training.data.split import BY_USERS, PARTS
from training.files import alone_in, check_replaceable, replaced
from training.fit.adapter import save_adapter
from training.fit.cross_encoder import CrossEncoderOptions, check_base, new_cross_encoder
from training.fit.embeddings import KeptEncoder
from training.fit.kept import CrossEncoderFit, save_cross_encoder
from training.fit.level import LevelFit, fit_level
from training.fit.material import FitMaterial, embedded, material_of, proxies_of
from training.fit.relevance import fit_relevance
from training.fit.stages import FirstStage, SecondStage, fit_first_stage, fit_second_stage
from training.gains.corpus import Corpus, Origin, extents_of, histories_of, left_unscored, origins_of, read_corpora
from training.gains.groups import read_groups
from training.gains.labels import SplitScoring, check_work, scored_before, write_gains_of
from training.gains.proxy import ProxyScales
from training.options import CALIBRATED, DISTILL, RELEVANCE, TrainingOptions
from training.templates import auxiliary_template

# the share of the budget that has passed when a step ends; what is measured with is scored last, and measured in what
# is left: a cross-encoder reads a pair in a sixth of the time that scoring it takes. The first requests to train on and
# to choose by are scored however small the budget is: an artifact that says not to use it says more than an error
SCORED_TRAIN, SCORED_DEV, EMBEDDED_BY, FITTED, WRITTEN, SCORED_TEST = 0.32, 0.42, 0.52, 0.80, 0.88, 0.95
RELEVANCE_SHARE = 0.25  # of the time for the cross-encoder
LONGEST_NAME = 60  # characters of a folder's name, four bytes each at most, of which a file system takes 255


def fit_retriever(options: TrainingOptions, console: Console) -> Artifact:
    """An artifact from what ``work`` holds of scores: to fit again otherwise, or on some of the histories.

    Scores of the test split, if ``scores`` names any, are not learned from; ``finish.measured`` measures with them.
    """
    if options.groups is not None:
        if options.loss == DISTILL:
            raise InputError("--groups: --loss distill learns from all requests; leave one out.", param="groups")
        chosen = read_groups(options.groups).options
        options = replace(
            options,
            normalize=chosen.normalize,
            share=chosen.share,
            positives=chosen.positives,
            negatives=chosen.negatives,
        )
    corpora, model, options = _read(options)
    check_work(corpora, options)
    with alone_in(options.work, "work"):
        scored = scored_before(corpora, options)
        options, division, budget = scored.options, scored.division, Budget(options.budget_minutes)
        artifact = fit_artifact(corpora, division, _kept(model, options), options, budget, console, scored.origins)
        if division.learned == TEST or not scored.test:
            return artifact  # what is learned from is not measured with
        write_gains_of(scored.test, TEST, corpora, options)
        training = artifact.training | {"test_requests": len(scored.test)}
        write_manifest(options.out, replace(artifact, training=training))
        return read_manifest(options.out)


def train_retriever(options: TrainingOptions, console: Console, share: float = 1.0) -> Artifact:
    """The artifact without theta and figures, which are measured with it, within this share of the options' budget.

    What an interrupted run has computed in ``work`` is not computed again. Raises InputError for histories that
    nothing can be learned from.
    """
    budget = Budget(options.budget_minutes and options.budget_minutes * share)
    auxiliary_template(options.template)
    corpora, model, options = _read(options)
    with alone_in(options.work, "work"):
        encoder = _kept(model, options)
        scoring = SplitScoring(corpora, options, budget, console)
        examples = {
            TRAIN: scoring.examples(TRAIN, 0.0, SCORED_TRAIN, least=1),
            DEV: scoring.examples(DEV, SCORED_TRAIN, SCORED_DEV, least=1),
        }
        if not any(examples.values()):
            examples[TEST] = scoring.examples(TEST, SCORED_DEV, EMBEDDED_BY, least=1)
        division = Division.of(examples, left_unscored(corpora, examples, options.work), scoring.way)
        write_gains_of(division.dev, DEV, corpora, options)
        origins = origins_of(corpora, tuple(examples), options.work)
        artifact = fit_artifact(corpora, division, encoder, options, budget, console, origins)
        if division.learned == TEST:
            return artifact  # what is learned from is not measured with
        tested = scoring.examples(TEST, WRITTEN, SCORED_TEST)
        write_gains_of(tested, TEST, corpora, options)
        notes = artifact.training["notes"]
        if not tested and left_unscored(corpora, (TEST,), options.work):
            notes = [*notes, "the budget ended before a request was scored to measure with: there are no figures"]
            _say(notes[-1], console)
        scored = extents_of(origins_of(corpora, (*examples, TEST), options.work))
        training = artifact.training | {"test_requests": len(tested), "notes": notes, "scored": scored}
        write_manifest(options.out, replace(artifact, training=training))
        return read_manifest(options.out)


def _read(options: TrainingOptions) -> tuple[list[Corpus], SentenceEncoder, TrainingOptions]:
    """The histories, the encoder, and the options with no more tokens than the base reads. Raises InputError for what
    would show after hours."""
    check_normalize(options.normalize)
    check_replaceable(options.out, options.work)
    of_the_cross_encoder = {
        f"--loss {RELEVANCE}": options.loss == RELEVANCE,
        f"--choose weight={options.weight}": options.weight != SEARCH,
        f"--lora {options.lora}": options.lora is not None,
        "--keep-cross-encoder": options.keep_cross_encoder,
    }
    preset = preset_values(options.preset)
    for name in CROSS_ENCODER_CHOICES:
        of_the_cross_encoder[f"--choose {name}"] = getattr(options, name) != preset[name]
    for option, is_given in of_the_cross_encoder.items():
        if options.first_stage_only and is_given:
            raise InputError(
                f"--first-stage-only: there is no cross-encoder for {option}; leave one out.", param="first_stage_only"
            )
    if options.keep_cross_encoder and options.weight == 0:
        raise InputError(
            "--keep-cross-encoder: under --choose weight=0 the cross-encoder counts for nothing; leave one out.",
            param="keep_cross_encoder",
        )
    if options.loss == RELEVANCE and options.weight not in (SEARCH, 1.0):
        raise InputError(
            f"--loss relevance: the cross-encoder stands alone, so --choose weight={options.weight:g} says "
            "nothing; leave one out.",
            param="weight",
        )
    if options.loss == DISTILL and options.share not in (KEPT_SHARE, 1.0):
        raise InputError("--share: --loss distill learns from all requests; leave one out.", param="share")
    options = options.as_its_loss_asks()
    device_named(options.device)
    encoder = SentenceEncoder(options.encoder)
    encoder.load()
    if not options.first_stage_only:
        window = check_base(options.base, options.frozen_layers, options.lora)
        options = replace(options, max_tokens=min(options.max_tokens, window))
    corpora = read_corpora(options.histories)
    documents = [document for corpus in corpora for own in corpus.histories.values() for document in own]
    if not any(document.request for document in documents):
        raise InputError(
            f"--history: none of {len(documents):,} documents has the request that it answered; make requests with "
            "'pearl train requests' first.",
            param="history",
            code="no_requests",
        )
    return corpora, encoder, options


def _kept(encoder: SentenceEncoder, options: TrainingOptions) -> KeptEncoder:
    return KeptEncoder(encoder, options.work / "embeddings", model_fingerprint(options.encoder))


def fit_artifact(
    corpora: Sequence[Corpus],
    division: Division,
    encoder: KeptEncoder,
    options: TrainingOptions,
    budget: Budget,
    console: Console,
    origins: Mapping[str, Origin],
) -> Artifact:
    """Fit both stages on scored examples and write the artifact; ``origins``: of the scores, by the corpora's names."""
    check_gains(division.train, "what is trained on")
    notes = [*_split_by_time(corpora, division.way), *division.notes, *_left_out(corpora, division), *_untimed(corpora)]
    for note in notes:
        _say(note, console)
    histories = histories_of(corpora, division.learned, division.way, options.seed)
    words = WordWeights.of_histories(histories.values())
    proxies = proxies_of(corpora, division, options)
    scored = [*division.train, *division.dev]
    proxies = embedded(proxies, scored, encoder, budget.until(EMBEDDED_BY), console)
    scales = ProxyScales.fit(division.train, encoder, words)
    console.print(
        f"{len(division.train):,} scored requests to train on and {len(division.dev):,} to choose by; "
        f"{len(proxies.learned):,} labelled by likeness to what was written (with the gain: "
        + ", ".join(f"{corpus.name} r = {scales.of(corpus.name).pearson_r:.2f}" for corpus in corpora)
        + ").",
        highlight=False,
        soft_wrap=True,
    )
    material = material_of(division, proxies, scales, encoder, words, options, console)
    first = fit_first_stage(material, options.loss, options.selection, console, tau=options.tau, y0=options.y0)
    second: SecondStage | None = None
    if not options.first_stage_only and budget.seconds_until(FITTED) != 0.0:
        second = _fit_second(corpora, histories, material, first, options, budget)
    elif not options.first_stage_only:
        if options.is_cross_encoder_alone:
            raise InputError(
                "--budget-minutes ran out before the cross-encoder, which is all there is with --choose weight=1 and "
                "under --loss relevance; allow more minutes.",
                param="budget_minutes",
            )
        notes.append("the budget ended before the cross-encoder: the first stage alone")
        _say(notes[-1], console)
    level: LevelFit | None = None
    chosen_by = division.asked != division.learned  # of what it learned from a forest knows the gains
    if options.loss == CALIBRATED and chosen_by and (second is None or second.cascade.weight == 0):
        learned = [*material.warm, *material.train]
        level = fit_level(first.head, first.anchor.y0, first.anchor.tau, learned, material.dev, options.seed)
    stages = Stages(first, second, level)
    artifact = described(corpora, division, material, scales, stages, encoder, options, origins)
    spent = {"minutes": round(budget.elapsed_minutes(), 1), "notes": notes}
    artifact = replace(artifact, training=artifact.training | spent)
    _write(artifact, stages, material, words, options)
    return read_manifest(options.out)


def _fit_second(
    corpora: Sequence[Corpus],
    histories: Mapping[str, Sequence[Document]],
    material: FitMaterial,
    first: FirstStage,
    options: TrainingOptions,
    budget: Budget,
) -> SecondStage:
    """The cross-encoder: a warm start on relevance, unless the paper's, then the gain."""
    fitting = CrossEncoderOptions(
        options.reading,
        rate=options.rate,
        epochs=options.epochs,
        frozen_layers=options.frozen_layers,
        repeated=CrossEncoderOptions().repeated if options.proxies else 1,
        lora=options.lora,
        seed=options.seed,
    )
    if options.warm_start or options.loss == RELEVANCE:
        left = budget.seconds_until(FITTED)
        seconds = None if left is None else left * (1.0 if options.loss == RELEVANCE else RELEVANCE_SHARE)
        # what is kept there says what it was made of, so names of one beginning only take each other's place
        folder = options.work / "-".join(("relevance", *(corpus.name for corpus in corpora)))[:LONGEST_NAME]
        start = fit_relevance(options.base, histories, fitting, folder, seconds, options.device)
    else:
        start = CrossEncoderFit(new_cross_encoder(options.base, fitting, options.device), {"steps": 0})
    return fit_second_stage(
        start,
        first,
        material,
        options.loss,
        options.selection,
        fitting,
        options.work,
        budget.seconds_until(FITTED),
        keep=options.keep_cross_encoder,
        weight=options.weight,
    )


def _write(
    artifact: Artifact,
    stages: Stages,
    material: FitMaterial,
    words: WordWeights,
    options: TrainingOptions,
) -> None:
    """Write the folder, whole or not at all."""
    head, second = stages.first.head, stages.second
    with replaced(options.out) as folder:
        if second is not None and second.cascade.weight > 0:
            if options.lora is None:
                save_cross_encoder(second.model, folder / CROSS_ENCODER)
            else:
                save_adapter(second.model, options.base, folder / CROSS_ENCODER)
        level = None if stages.level is None else stages.level.level
        write_signals(folder, CalibratedParts(words, head, level=level))
        write_manifest(folder, artifact)


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


def _left_out(corpora: Sequence[Corpus], division: Division) -> list[str]:
    """Notes on the domains of several that have no scored request to learn from, or none to choose by."""
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
