"""A calibration on the command line: prepare it, show its progress, and store and report its outcome."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rich.console import Console
from sqlalchemy import Connection

from pearl.clock import Budget
from pearl.errors import InputError
from pearl.models.asking.cost import CallEstimate, SpendingCap
from pearl.models.chat.base import ChatModel
from pearl.models.chat.choose import calls_at_once, make_chat_model, writer_of, writes_here
from pearl.models.runtime.progress import watched
from pearl.records import Prices
from pearl.settings import Settings
from pearl.text.templates import load_template
from pearl.text.usable import counted
from pearl.theta import score_words, theta_words
from retriever.models.encoder import SentenceEncoder
from service.calibrating.calibrating import CalibrationOutcome, affordable, calibrate, estimate
from service.calibrating.study import DraftMeasures, Study, past_texts
from service.calibrating.writer import CalibrationWriter, SpendingLimits
from service.drafting.deciding import LEAST_TEXTS
from service.process.masked_model import masked
from service.services import Services
from service.store import calibrations, documents, feedback, profiles, users, voices
from service.store.calibrations import CalibrationKey, StoredCalibration
from service.store.ids import new_id
from service.store.replies import kept_replies
from service.store.samples import Sample, newest_samples
from service.store.users import User
from service.store.voices import Voice


@dataclass(frozen=True, slots=True)
class Session:
    """The options of one run of ``pearl calibrate``."""

    settings: Settings
    user: str | None  # None: the only one
    voice: str | None  # None: the whole history
    texts: int  # at most, the latest first
    max_cost: float | None
    budget_minutes: float | None
    dry_run: bool = False
    bertscore: bool | None = None  # None: if it is installed


@dataclass(frozen=True, slots=True)
class CalibrationSubject:
    """The user, voice, retriever and chat model that a calibration is for."""

    user: User
    voice: Voice
    key: CalibrationKey
    local: frozenset[str] = frozenset()  # voices whose texts the model may not be shown

    def to_json(self) -> dict[str, Any]:
        return {
            "user": self.user.name,
            "voice": self.key.voice,
            "retriever": self.key.retriever,
            "model": self.key.model,
        }


def calibrate_user(session: Session) -> dict[str, Any]:
    """Calibrate for a user and store the outcome; return a report. A dry run only estimates. Raises PearlError."""
    settings, prices, console = session.settings, session.settings.prices, Console(stderr=True)
    SpendingCap(prices, session.max_cost)  # a cap without prices is an error before any work
    services = Services(settings, encoder=SentenceEncoder(settings.encoder))
    model = masked(settings, make_chat_model(settings, in_flight=settings.max_in_flight))
    try:
        services.database.migrate()
        subject = _subject(services, session, model)
        with kept_replies(settings.home, subject.user) as store:
            study, left_out = _study(services, session, subject, console)
            at_once = calls_at_once(settings, settings.max_in_flight)
            limits = SpendingLimits(prices, session.max_cost, Budget(session.budget_minutes), at_once)
            writer = CalibrationWriter(
                model, writer_of(settings), store, limits, partial(_check_still_there, services, subject)
            )
            if session.max_cost is not None:
                study = affordable(study, writer, prices, session.max_cost)
            report = subject.to_json() | {"texts": len(study.past), "left_out": left_out}
            survey = estimate(study, writer)
            report["estimate"] = survey.to_json(prices)
            _say_estimate(survey, len(study.past), prices, console)
            if session.dry_run:
                return report
            with watched(console) as writer.watch:
                outcome = asyncio.run(
                    _calibrated(study, writer, DraftMeasures(study.past, bertscore=session.bertscore))
                )
            stored = _store(services, subject, outcome)
        runs = writer.runs
        asked = {"calls": sum(run.calls for run in runs), "cost": _sum([run.cost for run in runs])}
        _say_outcome(subject, outcome, console)
        return report | {"asked": asked, "id": stored.id, "settings": stored.settings, **stored.figures}
    finally:
        asyncio.run(services.stop())


def _subject(services: Services, session: Session, model: ChatModel) -> CalibrationSubject:
    with services.database.read() as connection:
        user = users.chosen(connection, session.user)
        voice = profiles.instructed_voice(connection, user.id, session.voice)
        local = _local_voices(connection, session.settings, user)
    if session.voice in local:
        raise voices.kept_here(voice.name, f"'{model.name}' runs elsewhere")
    if local and session.voice is None:  # the card of the whole history may quote their texts
        voice = replace(voice, instructions="")
    key = CalibrationKey(session.voice, services.histories.retriever.fingerprint, model.name)
    return CalibrationSubject(user, voice, key, local)


def _local_voices(connection: Connection, settings: Settings, user: User) -> frozenset[str]:
    return frozenset() if writes_here(settings) else voices.local_only(connection, user.id)


def _study(
    services: Services, session: Session, subject: CalibrationSubject, console: Console
) -> tuple[Study, dict[str, int]]:
    """Read the texts to draft; return the study, and the number of texts left out by reason. Raises InputError if they
    are too few."""
    user, voice = subject.user, subject.voice
    services.embed(user.id)
    with services.database.read() as connection:
        there = documents.all_of_user(connection, user.id, subject.key.voice)
        history = [document for document in there if document.voice not in subject.local]
        samples = {document.id for document in newest_samples(connection, user.id, subject.key.voice, Sample())}
        sent = {entry.document_id for entry in feedback.all_of_user(connection, user.id) if entry.document_id}
    retriever = services.retriever_of(user.id)
    with console.status("Ranking the documents before each text..."):
        past, left_out = past_texts(
            history, retriever, session.texts, sent, {document.id for document in history} - samples
        )
    if len(past) < LEAST_TEXTS:
        why = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in sorted(left_out.items()))
        where = f"the voice '{subject.key.voice}'" if subject.key.voice else "the history"
        raise InputError(
            f"There are {counted(len(past), 'text')} to calibrate on in {where} of '{user.name}', fewer "
            f"than {LEAST_TEXTS}: each needs its request and a different text before it"
            + (f" (left out: {why})." if why else ".")
        )
    if kept_here := len(there) - len(history):
        left_out["local_only"] = kept_here
    template = load_template(voice.template)
    trained = retriever.calibration.with_model(subject.key.model)
    k = voice.k or template.k
    longest = session.settings.max_draft_tokens
    study = Study(tuple(past), template, voice.instructions.strip(), trained, k, voice.k is not None, longest)
    return study, dict(sorted(left_out.items()))


async def _calibrated(study: Study, writer: CalibrationWriter, measures: DraftMeasures) -> CalibrationOutcome:
    try:
        return await calibrate(study, writer, measures)
    finally:
        await writer.model.close()


def _store(services: Services, subject: CalibrationSubject, outcome: CalibrationOutcome) -> StoredCalibration:
    """Store the outcome. Raises InputError if the user or the voice was deleted during the calibration."""
    calibration = StoredCalibration(new_id("calibration"), subject.key, outcome.settings, outcome.figures, time.time())
    with services.database.write() as connection:
        users.lock(connection, {subject.user.id})
        _check_there(connection, subject)
        calibrations.put(connection, subject.user.id, calibration)
    return calibration


def _check_there(connection: Connection, subject: CalibrationSubject) -> None:
    """Check that the user and the voice still exist. Raises InputError if one was deleted during the calibration, even
    if a new voice has the same name."""
    if not users.history_versions(connection, {subject.user.id}):
        raise InputError(f"'{subject.user.name}' was deleted meanwhile; nothing is kept.", code="user_not_found")
    name, made = subject.key.voice, subject.voice.created_at
    made_at = {voice.name: voice.created_at for voice in voices.list_all(connection, subject.user.id)}
    if name is not None and made_at.get(name) != made:
        raise InputError(
            f"The voice '{name}' of '{subject.user.name}' was deleted during the calibration; nothing is stored."
        )


def _check_still_there(services: Services, subject: CalibrationSubject) -> None:
    """Check before a paid request that user and voice still exist, and that no voice was made local only."""
    with services.database.read() as connection:
        _check_there(connection, subject)
        if not _local_voices(connection, services.settings, subject.user) <= subject.local:
            raise InputError("A voice was made local only meanwhile; start again.")


def _sum(costs: list[float | None]) -> float | None:
    return None if None in costs else sum(cost or 0.0 for cost in costs)


def _say_estimate(survey: CallEstimate, texts: int, prices: Prices, console: Console) -> None:
    cost = prices.of(survey.most)
    price = "" if cost is None else f", which cost at most {cost:.4g}"
    console.print(
        f"{texts} texts: {survey.missing:,} calls at most{price}; {survey.kept:,} replies are kept from before.",
        highlight=False,
        soft_wrap=True,
    )


def _say_outcome(subject: CalibrationSubject, outcome: CalibrationOutcome, console: Console) -> None:
    settings, threshold = outcome.settings, outcome.figures["threshold"]
    theta = theta_words(threshold["value"], 2)
    if "threshold" not in settings:
        theta += " (its default: no other was better than by chance)"
    lines = [f"theta: {theta}, {threshold['share_revised']:.0%} of the drafts revised"]
    if unreadable := outcome.figures["unreadable_revisions"]:
        lines.append(f"{unreadable} of {outcome.figures['texts']} revisions had no readable edited draft")
    if "k" in settings:
        margin = "none" if settings["margin"] is None else score_words(settings["margin"], 2)
        lines.append(f"margin: {margin}, k: {settings['k']}")
    else:
        lines.append("margin and k: their defaults")
    lines.append(f"measured by {', '.join(outcome.figures['metrics'])}; stored for {subject.key.model}")
    lines += [f"not by {name}: {why}" for name, why in outcome.figures["metrics_left_out"].items()]
    console.print("\n".join(lines), highlight=False, soft_wrap=True)
