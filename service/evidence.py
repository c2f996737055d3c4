"""The account of a retrieval in a draft's answer: the documents that went into the prompt, and notes on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pearl.prompts import Prompt
from pearl.records import Note, Retrieval, ScoredDocument
from pearl.texts import counted
from retriever.base import MARGIN_FROM, Calibration

TIME_LIMIT = Note("time_limit", "Retrieval ran out of time: the documents are in the first stage's order.")
NOT_EMBEDDED = "{} not embedded yet: their documents are ranked by words and age alone. It goes on."


def evidence(
    ranking: Sequence[ScoredDocument],
    chosen: Sequence[ScoredDocument],
    prompt: Prompt,
    calibration: Calibration,
    voice: str | None,
    *,
    left_out: Sequence[ScoredDocument] = (),
    cut_short: bool = False,
    not_embedded: int = 0,
) -> Retrieval:
    """The answer's account of the retrieval: the documents that went into the prompt, and notes on them.

    ``left_out``: documents above the floor that had a place but for their distance from the best one or from the
    request; ``not_embedded``: number of texts that had no embedding in time.
    """
    used = chosen[: len(prompt.used)]
    top_score = ranking[0].score if ranking else None
    below = calibration.is_below_threshold(top_score)
    notes = (
        *_notes(ranking, chosen, prompt, voice, left_out),
        *((TIME_LIMIT,) if cut_short else ()),
        *(
            (
                Note(
                    "not_embedded",
                    NOT_EMBEDDED.format(f"{counted(not_embedded, 'text')} {'is' if not_embedded == 1 else 'are'}"),
                ),
            )
            if not_embedded
            else ()
        ),
    )
    return Retrieval(tuple(used), top_score, calibration.threshold, below, notes)


def _notes(
    ranking: Sequence[ScoredDocument],
    chosen: Sequence[ScoredDocument],
    prompt: Prompt,
    voice: str | None,
    left_out: Sequence[ScoredDocument],
) -> Iterator[Note]:
    where = f"the voice '{voice}'" if voice else "the history"
    if not ranking:
        yield Note("generic", f"There are no documents in {where}: the draft is generic.")
    elif not chosen and left_out:
        yield Note("unrelated", f"No document in {where} has to do with the request: the draft is generic.")
    elif not chosen:
        yield Note("below_floor", f"No document in {where} is close enough to help: the draft is generic.")
    elif left_out and len(ranking) < MARGIN_FROM:  # a short history, where no margin counts
        yield Note("unrelated", f"Left out {counted(len(left_out), 'document')} unrelated to the request.")
    elif left_out:
        yield Note("far_behind", f"Left out {counted(len(left_out), 'document')} far behind the best one.")
    if len(prompt.used) < len(chosen):
        missing = counted(len(chosen) - len(prompt.used), "document")
        yield Note("no_room", f"The model's context had no room for {missing}.")
    if prompt.shortened:
        yield Note("shortened", f"Cut {counted(prompt.shortened, 'document')} to fit the model's context.")
