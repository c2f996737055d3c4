"""The description of its retrieval in a draft's answer: the documents that went into the prompt, and notes on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pearl.clock import Clock
from pearl.models.prompts import Prompt
from pearl.records import Document, Note, Retrieval, ScoredDocument
from pearl.text.usable import counted
from retriever.base import is_short
from service.drafting.deciding import DecisionPoint
from service.store.voices import Voice

TIME_LIMIT = Note("time_limit", "Retrieval ran out of time: the documents are in the first stage's order.")
FOR_TIME = "this machine reads slowly, and the first word is to come within PEARL_FIRST_WORD_S"
NOT_READ = Note(
    "not_read",
    "The encoder knows no word of the request, so the documents' scores say little; PEARL_ENCODER can name one that "
    "knows the language.",
)
NOT_EMBEDDED = "{} not embedded yet: their documents are ranked by words and age alone. It goes on."


@dataclass(frozen=True, slots=True)
class Shortlist:
    """The ranking for a request, and the documents chosen from it."""

    voice: Voice
    point: DecisionPoint
    request: str  # as it follows from the conversation
    ranking: list[ScoredDocument]  # best first
    chosen: list[ScoredDocument]  # of `most`, those to show
    most: list[ScoredDocument]  # the best k without those below the floor
    below_floor: int  # documents among the best k that are below the floor
    clock: Clock
    kept_here: int  # documents left out because their voices are local only
    texts: tuple[Document, ...] = ()  # of the voice that the model may see, oldest first


def evidence(shortlist: Shortlist, voice: str | None, prompt: Prompt | None = None) -> Retrieval:
    """Describe a draft's retrieval: the documents in the prompt with their scores, and notes on them. Without a prompt,
    describe all documents that were chosen."""
    ranking, chosen, calibration = shortlist.ranking, shortlist.chosen, shortlist.point.calibration
    used = chosen if prompt is None else chosen[: len(prompt.used)]
    top_score = ranking[0].score if ranking else None
    below = calibration.is_below_threshold(top_score)
    notes = list(_notes(shortlist, voice, prompt))
    if kept_here := shortlist.kept_here:
        texts = counted(kept_here, "document")
        notes.append(Note("local_only", f"Left out {texts} of voices that are local only."))
    if shortlist.clock.cut_short:
        notes.append(TIME_LIMIT)
    if shortlist.clock.not_read:
        notes.append(NOT_READ)
    if not_embedded := shortlist.clock.not_embedded:
        texts = f"{counted(not_embedded, 'text')} {'is' if not_embedded == 1 else 'are'}"
        notes.append(Note("not_embedded", NOT_EMBEDDED.format(texts)))
    return Retrieval(
        tuple(used), top_score, calibration.threshold, below, tuple(notes), prompt.form if prompt else None
    )


def _notes(shortlist: Shortlist, voice: str | None, prompt: Prompt | None) -> Iterator[Note]:
    ranking, chosen = shortlist.ranking, shortlist.chosen
    left_out = [candidate for candidate in shortlist.most if candidate not in chosen]
    where = f"the voice '{voice}'" if voice else "the history"
    if not ranking:
        yield Note("generic", f"There are no documents in {where}: the draft is generic.")
    elif not chosen and left_out:
        yield Note("unrelated", f"No document in {where} has to do with the request: the draft is generic.")
    elif not chosen:
        yield Note("below_floor", f"No document in {where} is close enough to help: the draft is generic.")
    elif left_out and is_short(ranking):  # where no margin counts
        yield Note("unrelated", f"Left out {counted(len(left_out), 'document')} unrelated to the request.")
    elif left_out:
        yield Note("far_behind", f"Left out {counted(len(left_out), 'document')} far behind the best one.")
    if chosen and shortlist.below_floor:
        yield Note("below_floor", f"Left out {counted(shortlist.below_floor, 'document')} not close enough to help.")
    if prompt is None:
        return
    if len(prompt.used) < len(chosen):
        missing = counted(len(chosen) - len(prompt.used), "document")
        why = FOR_TIME if prompt.for_time else "the model's context had no room for it"
        yield Note("no_room", f"Left out {missing}: {why}.")
    if prompt.shortened:
        why = FOR_TIME if prompt.for_time else "to fit the model's context"
        yield Note("shortened", f"Cut {counted(prompt.shortened, 'document')}: {why}.")
