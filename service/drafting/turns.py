"""The turns of a conversation, and the choice of the turns that belong to the current request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pearl.models.prompts import Exchange
from pearl.records import ScoredDocument
from retriever.base import UNCALIBRATED, Calibration

FOLLOW_UPS = 6  # of the user's turns behind the first only this many are looked at, the last ones
# A turn is a new subject if its best document scores this much higher for the turn alone than for the turn together
# with the requests before it; docs/experiments.md says where the number comes from.
NEW_SUBJECT = 0.25


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of a conversation before the message to answer."""

    messages: tuple[str, ...] = ()  # the user's, oldest first
    exchanges: tuple[Exchange, ...] = ()  # requests with their answers, oldest first


NOTHING_BEFORE = Conversation()


def conversation(turns: Sequence[tuple[str, str]]) -> Conversation:
    """Group (role, text) turns, oldest first, into requests with answers. Consecutive messages of the user are one
    request; an answer before any message has no request."""
    messages: list[str] = []
    exchanges: list[Exchange] = []
    waiting: list[str] = []
    for role, text in turns:
        if not text.strip():
            continue
        if role == "user":
            messages.append(text)
            waiting.append(text)
        else:
            exchanges.append(Exchange("\n\n".join(waiting) or None, text))
            waiting = []
    return Conversation(tuple(messages), tuple(exchanges))


def in_context(
    earlier: Sequence[str],
    message: str,
    rank: Callable[[str], list[ScoredDocument]],
    calibration: Calibration,
) -> tuple[str, list[ScoredDocument]]:
    """Combine a message with the user's ``earlier`` messages to one request; return the request and its ranking.

    A message that scores better alone, by NEW_SUBJECT, begins a new request; any other message continues the request
    before it, and both are ranked together. Only a trained retriever's scores can begin a new request.
    """
    if len(earlier) > FOLLOW_UPS:
        earlier = [earlier[0], *earlier[len(earlier) - FOLLOW_UPS + 1 :]]
    if not earlier:
        return message, rank(message)
    request, *rest = earlier
    for turn in (*rest, message):
        together = f"{request}\n\n{turn}"
        ranking = rank(together)
        if calibration != UNCALIBRATED and ranking:
            alone = rank(turn)
            if alone[0].score >= ranking[0].score + NEW_SUBJECT:
                together, ranking = turn, alone
        request = together
    return request, ranking
