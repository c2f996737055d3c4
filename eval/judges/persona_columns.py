"""The personalised judge's answers as columns, a row a trial, so that two modes of one trial stand side by side.

Dimensions in comments: N trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eval.asking.verdict import Answer, Given, Verdict, certainty_of, is_correct
from eval.judges.persona_trials import OTHER, PersonaTrials, Told
from eval.recorded.personalized.reading import Read
from pearl.stats import Floats

SIDES = {Answer.A: 1.0, Answer.B: -1.0}  # of a tie 0


@dataclass(frozen=True, slots=True)
class Columns:
    """(N,) each, 1 or 0. ``there``: there is a reply, ``answered``: with an answer, ``counted``: the accuracy is over
    it; ``certainty`` is NaN where there is none; ``taken`` 1 where it is the item's A, -1 where its B."""

    there: Floats
    answered: Floats
    counted: Floats
    correct: Floats
    certainty: Floats
    taken: Floats

    @classmethod
    def of(cls, trials: PersonaTrials, said: Told, read: Read) -> Columns:
        """``read`` is what was read of all that was said."""
        places = {(item.id, run, swapped): place for place, (item, run, swapped) in enumerate(trials)}
        columns = np.zeros((6, len(places)))
        columns[4] = np.nan
        counted = set(read.counted)
        judgements = zip(said.keys, read.verdicts, read.recording.judgements, strict=True)
        for number, (key, verdict, judgement) in enumerate(judgements):
            certainty = certainty_of(verdict)
            columns[:, places[key]] = (
                1,
                isinstance(verdict, Given),
                number in counted,
                is_correct(verdict, judgement.gold),
                np.nan if certainty is None else certainty,
                _side(verdict, swapped=key[2]),
            )
        return cls(*columns)


@dataclass(frozen=True)
class Heard:
    """One way of asking: the trials, what was said, and what was read of it."""

    trials: PersonaTrials
    told: Told
    read: Read

    @cached_property
    def columns(self) -> Columns:
        return Columns.of(self.trials, self.told, self.read)


def personas(trials: PersonaTrials) -> list[str]:
    """Whose each trial is, whatever the judge is told: the person, or the item alone. (N,)"""
    return [f"persona {item.profile(None)}" if item.persona else f"item {item.id}" for item, _run, _swapped in trials]


def golds(trials: PersonaTrials) -> Floats:
    """1 where the person chose A, -1 where B, else 0. (N,)"""
    return np.array([SIDES.get(item.preferred, 0.0) for item, _run, _swapped in trials])


def _side(verdict: Verdict, *, swapped: bool) -> float:
    if not isinstance(verdict, Given):
        return 0.0
    return SIDES.get(OTHER.get(verdict.answer, verdict.answer) if swapped else verdict.answer, 0.0)
