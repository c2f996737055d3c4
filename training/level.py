"""The level of an artifact that there is already: learned again from other kinds of text than its choice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rich.console import Console

from pearl.budget import Budget
from pearl.errors import InputError
from retriever.calibrated.artifact import Artifact, artifact_retriever, load_artifact, write_manifest, write_signals
from retriever.models.encoder import SentenceEncoder
from retriever.models.files import model_fingerprint
from training.choose.measure import floors, helps_of
from training.choose.operating_point import dropped_words, without_thetas
from training.data.division import Division
from training.data.records import check_gains
from training.files import alone_in, check_outside, check_place, replaced
from training.fit.embeddings import KeptEncoder
from training.fit.features import with_signals
from training.fit.level import fit_level
from training.fit.material import Proxies, embedded, proxies_of
from training.gains.corpus import Origin, read_corpora
from training.gains.labels import check_work, scored_before
from training.gains.proxy import ProxyScales
from training.options import TrainingOptions
from training.progress import progress_of


def set_level(options: TrainingOptions, console: Console) -> dict[str, Any]:
    """Fit a level on scored requests of any kinds of text and write it into the artifact ``options.out``, if r on those
    to choose by is surely higher with it. Returns the report.

    With the level the floors and the probability of helping are chosen again, and a theta that is a number becomes
    never; r on held-out users is to be measured again, and what the artifact gains stays as it is. Raises InputError
    for an artifact with a cross-encoder or of another encoder, for gains of another model, and where nothing is left to
    choose by.
    """
    folder, encoder = options.out, SentenceEncoder(options.encoder)
    artifact_retriever(folder, encoder)  # which refuses another encoder than the artifact's
    artifact, parts = load_artifact(folder.resolve())
    if parts.cross_encoder is not None:
        raise InputError(
            f"{folder}: has a cross-encoder, whose score says how much a document helps; a level is for an artifact "
            "without one.",
            code="has_cross_encoder",
        )
    encoder.load()
    check_place("model", folder)
    check_outside(options.work, folder)
    corpora = read_corpora(options.histories)
    check_work(corpora, options)
    with alone_in(options.work, "work"):
        scored = scored_before(corpora, replace(options, normalize=artifact.normalize))
        division = scored.division
        _check_division(division, artifact, next(iter(scored.origins.values())))
        check_gains(division.train, "what is learned from")
        kept = KeptEncoder(encoder, options.work / "embeddings", model_fingerprint(options.encoder))
        proxies = Proxies(proxies_of(corpora, division, scored.options).learned, [])
        needed, go_on = [*division.train, *division.dev], Budget(options.budget_minutes).until(1.0)
        proxies = embedded(proxies, needed, kept, go_on, console)
        scales = ProxyScales.fit(division.train, kept, parts.words)
        learned = [*map(scales.label, proxies.learned), *division.train]
        with progress_of("signals", len(learned) + len(division.dev), console) as advance:
            learned, dev = (with_signals(part, kept, parts.words, advance) for part in (learned, division.dev))
    fitted = fit_level(parts.head, artifact.y0, artifact.tau, learned, dev, options.seed, parts.level)
    report = fitted.report | {"histories": [path.name for path in options.histories], "proxies": len(proxies.learned)}
    if fitted.level is None:
        return report
    gains = [example.gains for example in dev]
    floor, ask_below = floors(fitted.dev_scores, gains, [example.domain for example in dev])
    artifact, dropped = without_thetas(artifact, "the level of scores", keep_all=True)
    with replaced(folder) as new:
        write_signals(new, replace(parts, level=fitted.level))
        changed = replace(
            artifact,
            floor=floor,
            ask_below=None if artifact.ask_below is None else ask_below,
            helps=helps_of(fitted.dev_scores, gains),
            figures={name: figure for name, figure in artifact.figures.items() if name != "pearson_r"},
            training=artifact.training | {"level": report},
        )
        write_manifest(new, changed)
    if dropped:
        console.print(dropped_words(dropped), highlight=False, markup=False, soft_wrap=True)
    return report


def _check_division(division: Division, artifact: Artifact, origin: Origin) -> None:
    """Raises InputError where nothing can be said of the level by these scores."""
    if division.asked == division.learned:
        raise InputError(
            f"--scores: {'; '.join(division.notes)}; a level that is chosen by what it learned from always seems "
            "right. Give scores of the train split and of the dev split.",
            param="scores",
            code="nothing_to_choose_by",
        )
    known = artifact.training.get("auxiliary")
    content = artifact.training.get("auxiliary_fingerprint", {}).get("content")
    # weights that are known by their digest may lie anywhere
    if known not in (None, origin.aux) and not (content and content == origin.fingerprint.get("content")):
        raise InputError(
            f"--scores: are gains under '{origin.aux}', and the artifact's scores stand for gains under '{known}'; "
            f"score with --aux {known}.",
            param="scores",
            code="other_scores",
        )
