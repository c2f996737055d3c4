"""A judge's verdict: a typed union that is never coerced.

    Verdict
    ├── Given    one of the answers that were offered: A, B, tie, both, neither, not applicable
    ├── Score    a number of the scale that was offered
    ├── Invalid  there is a reply, and no answer can be read in it
    └── Failed   there is no reply

A tie is not the same as both, and a reply without an answer still counts as a record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from pearl.models.asking.patience import Failed as Failed


class Answer(Enum):
    """The answers a judge can give. A plain Enum, not a str one: a raw letter such as "A" never equals an answer."""

    A = "A"
    B = "B"
    TIE = "tie"
    BOTH = "both"
    NEITHER = "neither"
    NOT_APPLICABLE = "not_applicable"


ABSTAIN, INVALID, ERROR = "abstain", "invalid", "error"
# where answers are offered; no reply is read as abstaining, but recorded judgements may say so
KINDS = (*(answer.value for answer in Answer), ABSTAIN, INVALID, ERROR)
SCORED = "scored"


@dataclass(frozen=True, slots=True)
class Given:
    """An answer that was offered; ``certainty``: 1 to 100, or None if the judge stated none that is usable."""

    answer: Answer
    certainty: int | None = None


@dataclass(frozen=True, slots=True)
class Score:
    value: float


@dataclass(frozen=True, slots=True)
class Invalid:
    """A reply without a readable answer; ``reason``: a code of ``eval.asking.reply``; ``certainty``: as recorded."""

    reason: str
    certainty: int | None = None


Verdict: TypeAlias = Given | Invalid | Failed
Points: TypeAlias = Score | Invalid | Failed


@dataclass(frozen=True, slots=True)
class Votes:
    """A reply's verdicts on several rules, in the order in which the rules were asked. ``text_around``: the reply has
    other text, too; ``other_keys``: how many votes were for unknown rules."""

    by_rule: tuple[Verdict, ...]
    text_around: bool = False
    other_keys: int = 0


def kind(verdict: Verdict | Points) -> str:
    """Return the name of the verdict's kind: one of KINDS, or SCORED for a number."""
    match verdict:
        case Score():
            return SCORED
        case Given():
            return verdict.answer.value
        case Invalid():
            return INVALID
        case Failed():
            return ERROR


def reason_of(verdict: object) -> str | None:
    """Return the reason why a verdict is invalid or failed; None for an answer."""
    return verdict.reason if isinstance(verdict, (Invalid, Failed)) else None


def verdict_kinds(verdicts: Iterable[Verdict | Points]) -> dict[str, dict[str, int]]:
    """Count the verdicts by kind, and the invalid and failed verdicts by reason."""
    every = list(verdicts)
    return {
        "verdicts": counts(map(kind, every)),
        "invalid": counts(verdict.reason for verdict in every if isinstance(verdict, Invalid)),
        "failed": counts(verdict.reason for verdict in every if isinstance(verdict, Failed)),
    }


def counts(names: Iterable[str]) -> dict[str, int]:
    """Count how often each name occurs; names are in alphabetical order."""
    return dict(sorted(Counter(names).items()))


def certainty_of(verdict: Verdict) -> int | None:
    return verdict.certainty if isinstance(verdict, (Given, Invalid)) else None


def is_correct(verdict: Verdict, gold: Answer) -> bool:
    """True if the verdict is the gold answer; an invalid or failed reply is never correct."""
    return isinstance(verdict, Given) and verdict.answer is gold
