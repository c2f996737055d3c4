"""The voice card: a person's habits with example texts, their choice on each habit, and what their edits change."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from pearl.errors import NotFound
from pearl.records import Document
from pearl.stats.bootstrap import Bootstrap
from pearl.style.manner.edges import usual_ends
from pearl.style.manner.ends import RecipientManner, manners_by_recipient
from pearl.style.manner.habits import Habit, habits, occasions
from pearl.style.manner.rates import Push, edit_effects
from pearl.style.manner.reference import ANY, OF_TEMPLATE, shipped
from pearl.style.manner.usual_rates import LEAST_DRAFTS, UsualRates
from pearl.text.usable import counted
from pearl.text.words import folded
from service.histories.kept import KeptByPerson
from service.store import profiles, samples, users, voices
from service.store.database import Database
from service.store.drafts import edges_in, texts_of
from service.store.paging import AT_ONCE
from service.store.profiles import CONFIRMED, CORRECTED, DELETED, LISTED, STRUCK, LineChoice, StoredProfile
from service.store.samples import LONGEST, MANNER
from service.store.tables import documents as documents_table
from service.store.tables import drafts, feedback
from service.store.tables import profiles as profiles_table
from service.store.tables import voices as voices_table

MOST_TEXTS = 500  # the newest ones; manners change, and a longer history takes too long to read
MOST_PAIRS = 500  # of drafts and sent texts, the newest ones, that say what edits change
MOST_BYTES = 50_000_000  # of the cards in memory
LEAST_FOR_TREND = 6
SHOWN = ("voice", "texts", "occasions", "left_out", "needs", "compared_with", "standing")  # as they are


@dataclass(frozen=True, slots=True)
class CardLine:
    """A line of the voice card: a habit, and its owner's choice on it."""

    name: str
    state: str  # its owner's choice: one of profiles.STATES
    text: str  # the habit in words, or as its owner corrected it
    instruction: str  # the same, to a model
    habit: Habit | None  # None: no longer in the texts, but confirmed or corrected

    def to_json(self) -> dict[str, Any]:
        measured: dict[str, Any] = dict.fromkeys(("rate", "usual", "unit", "direction"))
        measured |= {"texts": 0, "occasions": 0, "examples": []}
        if self.habit is not None:
            measured = {name: value for name, value in self.habit.to_json().items() if name in measured}
        return {"name": self.name, "state": self.state, "text": self.text, "instruction": self.instruction, **measured}


@dataclass(frozen=True, slots=True)
class SentPair:
    """A draft and the text that was sent from it."""

    draft: str  # its first LONGEST characters
    sent: str  # the same
    edit: dict[str, Any]  # of the whole texts: words kept, added and removed, distance, machine_share
    created_at: float

    @property
    def whole(self) -> bool:
        """True if neither text was cut at LONGEST characters; if one was, their ends differ without an edit."""
        return max(len(self.draft), len(self.sent)) < LONGEST


@dataclass(frozen=True, slots=True)
class Profile:
    """A voice card: a person's manner of writing in one voice, or in all of their history."""

    voice: str | None  # None: the whole history
    texts: int  # that were read
    occasions: int  # days on which they were written
    left_out: int  # texts in a language that the usual rates do not cover
    needs: str | None  # what is missing for habits to be found; None: nothing
    compared_with: str  # the source of the usual rates
    standing: bool  # the lines are standing instructions
    edges: dict[str, dict[str, Any] | None]  # the usual greeting and sign_off
    habits: tuple[Habit, ...]
    lines: tuple[CardLine, ...]
    outcomes: dict[str, int]  # number of drafts by outcome
    sent: tuple[SentPair, ...]  # oldest first
    pushes: tuple[Push, ...]  # traits that the edits change
    recipients: tuple[RecipientManner, ...]  # those with enough texts

    @property
    def instructions(self) -> str:
        """The card's lines as instructions to a model, one per line, without struck lines."""
        return "\n".join(line.instruction for line in self.lines if line.state != STRUCK)

    def to_json(self) -> dict[str, Any]:
        return {
            "object": "profile",
            **{name: getattr(self, name) for name in SHOWN},
            "edges": self.edges,
            "lines": [line.to_json() for line in self.lines],
            "edits": edits_json(self.sent, self.outcomes),
            "pushes": [push.to_json() for push in self.pushes],
            "recipients": [manner.to_json() for manner in self.recipients],
        }


class ProfileCache(KeptByPerson[Profile]):
    """A cache of the voice cards that :func:`profile_of` makes."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, _read, size=_size, most_bytes=MOST_BYTES, stamp=_stamp)


def _read(connection: Connection, user_id: int, voice: str | None) -> Callable[[], Profile]:
    card = profile_of(connection, user_id, voice)
    return lambda: card


def _stamp(connection: Connection, user_id: int) -> Hashable:
    """Return a value that changes with the sources of a card other than the history."""
    changes = [(drafts, drafts.c.created_at), (feedback, feedback.c.created_at)]
    counts = [
        tuple(connection.execute(select(func.count(), func.max(time)).where(table.c.user_id == user_id)).one())
        for table, time in changes
    ]
    chosen = [
        select(voices_table.c.name, voices_table.c.template).where(voices_table.c.user_id == user_id),
        select(profiles_table.c.voice, profiles_table.c.changed_at).where(profiles_table.c.user_id == user_id),
    ]
    return (*counts, *(frozenset(map(tuple, connection.execute(rows))) for rows in chosen))


def _size(card: Profile) -> int:
    return 100_000 + 4 * sum(len(pair.draft) + len(pair.sent) for pair in card.sent)


def profile_of(connection: Connection, user_id: int, voice: str | None) -> Profile:
    """Make a voice card from the store as it is now. Raises NotFound for an unknown voice."""
    template = voices.get(connection, user_id, voice).template if voice is not None else ""
    documents = samples.newest_samples(connection, user_id, voice, replace(MANNER, texts=MOST_TEXTS))
    usual_rates = _usual_rates(connection, user_id, documents, template)
    stored = profiles.get(connection, user_id, voice)
    sent = sent_pairs(connection, user_id, voice)
    shown = habits(documents, usual_rates)
    return Profile(
        voice,
        len(documents),
        occasions(documents),
        shown.left_out,
        shown.needs,
        usual_rates.source,
        stored.standing,
        usual_ends(documents),
        shown.listed,
        tuple(_lines(shown.listed, stored)),
        outcomes_of(connection, user_id, voice),
        tuple(sent),
        tuple(edit_effects([(pair.draft, pair.sent) for pair in sent if pair.whole][-MOST_PAIRS:])),
        manners_by_recipient(documents),
    )


def choose_line(connection: Connection, user_id: int, card: Profile, name: str, choice: LineChoice) -> Profile:
    """Store the person's choice on a line of the card; return the changed card. Raises NotFound for an unknown line.

    The ``card`` was read before the transaction, since a long history takes seconds; choices made since are read again.
    """
    stored = _locked(connection, user_id, card)
    line = next((candidate for candidate in _lines(card.habits, stored) if candidate.name == name), None)
    if line is None and name not in stored.lines:
        raise NotFound(
            f"The card has no line '{name}'; `pearl profile` and GET /v1/profile list its lines.",
            param="name",
            code="line_not_found",
        )
    if choice.state == CONFIRMED and line is not None:
        choice = replace(choice, text=line.instruction)
    lines = {other: earlier for other, earlier in stored.lines.items() if other != name}
    if choice.state != LISTED:
        lines[name] = choice
    return _keep(connection, user_id, card, replace(stored, lines=lines))


def use_as_instructions(connection: Connection, user_id: int, card: Profile, standing: bool) -> Profile:
    """Make the lines of a card ``standing`` instructions, or stop that; return the card, which was read before."""
    return _keep(connection, user_id, card, replace(_locked(connection, user_id, card), standing=standing))


def _locked(connection: Connection, user_id: int, card: Profile) -> StoredProfile:
    """Lock the user until the transaction ends, and return the choices on the card's voice."""
    users.lock(connection, {user_id})
    return profiles.get(connection, user_id, card.voice)


def _keep(connection: Connection, user_id: int, card: Profile, stored: StoredProfile) -> Profile:
    """Store the choices; return the card with them. Standing instructions are stored as the lines are now: they do not
    change by themselves, and no draft has to wait for them. Raises TooLarge if they are too long."""
    card = replace(card, standing=stored.standing, lines=tuple(_lines(card.habits, stored)))
    instructions = voices.check_instructions(card.instructions, param="lines") if stored.standing else ""
    profiles.put(connection, user_id, replace(stored, changed_at=None, instructions=instructions))
    return card


def _usual_rates(connection: Connection, user_id: int, documents: Sequence[Document], template: str) -> UsualRates:
    """Return the usual rates of habits: of the model's drafts for requests of these texts, if there are enough, or else
    of many authors."""
    requests = {document.request for document in documents if document.request}
    written = (
        select(_beginning(drafts.c.request), _beginning(drafts.c.text), drafts.c.retrieval)
        .where(drafts.c.user_id == user_id, drafts.c.text != "")
        .order_by(drafts.c.created_at.desc())
        .execution_options(yield_per=AT_ONCE)
    )
    texts: list[str] = []
    if requests:
        with connection.execute(written) as rows:
            own = (edges_in(evidence).without(text) for request, text, evidence in rows if request in requests)
            texts = list(islice(own, MOST_TEXTS))
    if len(texts) >= LEAST_DRAFTS:
        return UsualRates.of_drafts(texts)
    return UsualRates.of_authors(shipped(OF_TEMPLATE.get(template, ANY)))


def _lines(measured: Sequence[Habit], stored: StoredProfile) -> list[CardLine]:
    lines = []
    known = {habit.name: habit for habit in measured}
    for name in [*known, *(name for name in stored.lines if name not in known)]:
        habit, choice = known.get(name), stored.lines.get(name, LineChoice(LISTED))
        if choice.state == DELETED or (habit is None and choice.text is None):
            continue
        kept = choice.text if choice.state == CORRECTED or habit is None else None
        text, instruction = (kept, kept) if kept is not None else (habit.text, habit.instruction) if habit else ("", "")
        lines.append(CardLine(name, choice.state, text, instruction, habit))
    return lines


def sent_pairs(connection: Connection, user_id: int, voice: str | None) -> list[SentPair]:
    """The drafts of a voice that were sent, changed or not, with the sent texts; oldest first."""
    sent = _beginning(documents_table.c.text).label("sent")
    rows = connection.execute(
        select(drafts.c.text, drafts.c.retrieval, sent, feedback.c.edit, feedback.c.created_at)
        .join(feedback, feedback.c.draft_id == drafts.c.id)
        .join(documents_table, documents_table.c.seq == feedback.c.document_seq)
        .where(drafts.c.user_id == user_id, *_in(voice))
        .order_by(feedback.c.created_at, feedback.c.id)
    )
    return [
        SentPair(
            texts_of(row.text, row.retrieval)[row.edit.get("variant", 0)][:LONGEST], row.sent, row.edit, row.created_at
        )
        for row in rows
        if row.edit
    ]


def _beginning(text: ColumnElement[str]) -> ColumnElement[str]:
    return func.substr(text, 1, LONGEST)


def outcomes_of(connection: Connection, user_id: int, voice: str | None) -> dict[str, int]:
    """Count the drafts of a voice that were accepted, edited and rejected."""
    outcomes = select(feedback.c.outcome).join(drafts, drafts.c.id == feedback.c.draft_id)
    counts = Counter(connection.scalars(outcomes.where(drafts.c.user_id == user_id, *_in(voice))))
    return {outcome: counts[outcome] for outcome in ("accepted", "edited", "rejected")}


def _in(voice: str | None) -> tuple[Any, ...]:
    return () if voice is None else (drafts.c.voice == voice,)


def edits_json(sent: Sequence[SentPair], outcomes: dict[str, int]) -> dict[str, Any]:
    """Sum up the edits of sent drafts: words kept, added and removed, the mean distance, its means by month, and its
    trend (the newer half's mean minus the older half's)."""
    if not sent:
        return {"drafts": 0, **outcomes, "distance": None, "machine_share": None, "trend": None, "months": []}
    bootstrap = Bootstrap([str(number) for number in range(len(sent))])
    distances = [pair.edit["distance"] for pair in sent]
    newer = [float(index >= len(sent) // 2) for index in range(len(sent))]
    older = [1 - weight for weight in newer]
    late, early = (
        bootstrap.ratio([distance * part for distance, part in zip(distances, half, strict=True)], half)
        for half in (newer, older)
    )
    months: dict[str, list[float]] = {}
    for pair, distance in zip(sent, distances, strict=True):
        months.setdefault(datetime.fromtimestamp(pair.created_at, UTC).strftime("%Y-%m"), []).append(distance)
    return {
        "drafts": len(sent),
        **outcomes,
        **{name: sum(pair.edit[name] for pair in sent) for name in ("words_kept", "words_added", "words_removed")},
        "distance": bootstrap.mean(distances).to_json(),
        "machine_share": bootstrap.mean([pair.edit["machine_share"] for pair in sent]).to_json(),
        "trend": (late - early).to_json() if len(sent) >= LEAST_FOR_TREND else None,
        "months": [
            {"month": month, "drafts": len(changes), "distance": sum(changes) / len(changes)}
            for month, changes in months.items()
        ],
    }


MARKS = re.compile("[\u0300-\u036f]+")
FORMATS = ("json", "text", "prompt", "skill")


def as_text(profile: Profile) -> str:
    """The card as text for a person: its lines with their states and examples, and what edits change."""
    where = f"the voice '{profile.voice}'" if profile.voice else "the whole history"
    parts = [
        f"Manner of {where}: {counted(profile.texts, 'text')} of {counted(profile.occasions, 'day')}, against "
        f"{profile.compared_with}."
    ]
    for name, edge in profile.edges.items():
        if edge is not None:
            begin = "begin" if name == "greeting" else "end"
            parts.append(f"* {edge['texts']:,} of {edge['of']:,} texts {begin} “{edge['text']}”.")
    if profile.needs:
        parts.append(profile.needs)
    elif profile.left_out:
        parts.append(f"Left out: {counted(profile.left_out, 'text')} in a language that they do not write.")
    for line in profile.lines:
        parts.append(f"- {line.text}" + ("" if line.state == "listed" else f" [{line.state}]"))
        if line.habit is not None:
            parts.append(f"    {line.name}: in {line.habit.texts:,} texts of {line.habit.occasions:,} days, such as")
            parts += [f"    {example.id}: {example.excerpt}" for example in line.habit.examples]
    parts += [f"- {manner.text} [{counted(manner.texts, 'text')}]" for manner in profile.recipients]
    for push in profile.pushes:
        if push.p_corrected < 0.05:
            parts.append(
                f"* Your edits change {push.label}: {push.draft:.2f} to {push.sent:.2f} {push.unit} "
                f"(p {push.p_corrected:.3f}, corrected)."
            )
    return "\n".join(parts) + "\n"


def as_prompt(profile: Profile) -> str:
    """The card as instructions to a model, without the person's texts and their ids."""
    lines = [f"- {line.instruction}" for line in profile.lines if line.state != STRUCK]
    if not lines:
        return "No habit is known yet.\n"
    return "Write in this person's manner:\n" + "\n".join(lines) + "\n"


def as_skill(profile: Profile) -> str:
    """The card as a SKILL.md: a header with name and description, then the instructions."""
    voice = profile.voice or "writing"
    letters = MARKS.sub("", unicodedata.normalize("NFKD", folded(f"{voice}-voice")))  # "für" as "fur"
    name = re.sub(r"[^a-z0-9]+", "-", letters).strip("-") or "voice"
    about = " ".join(
        f"Use when drafting {voice} for this person: their habits, measured over {profile.texts:,} texts.".split()
    )
    return f"---\nname: {name}\ndescription: {about!r}\n---\n\n# Voice\n\n{as_prompt(profile)}"


def shown_as(profile: Profile, format: str) -> str:
    """Format the card in one of FORMATS other than JSON."""
    return {"text": as_text, "prompt": as_prompt, "skill": as_skill}[format](profile)
