"""The questions to the authorship judge, trial by trial, and the verdict of each.

A trial is one question: an item, in one order, in one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import tee
from pathlib import Path

from eval.asking.json_lines import write_lines
from eval.asking.kept import Question
from eval.asking.reply import CUT_OFF
from eval.asking.verdict import Answer, Failed, Given, Invalid, Verdict, kind
from eval.judges.authorship_items import Item
from eval.judges.authorship_presets import Preset
from eval.judges.authorship_prompt import Variant, again, question
from eval.judges.authorship_reply import parse_authorship
from eval.judges.draws import orders
from pearl.chat.base import Reply


class Outcome(Enum):
    """The system that an answer takes, whatever the order was."""

    PROPOSED = "proposed"
    BASELINE = "baseline"
    TIE = "tie"


@dataclass(frozen=True, slots=True)
class Trial:
    """``swapped``: the baseline's text is POST ONE; ``place`` of the item."""

    place: int
    run: int
    swapped: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """``verdict`` is of the positions: A is POST ONE."""

    trial: Trial
    verdict: Verdict

    @property
    def outcome(self) -> Outcome | None:
        if not isinstance(self.verdict, Given):
            return None
        if self.verdict.answer is Answer.BOTH:
            return Outcome.TIE
        proposed = (self.verdict.answer is Answer.A) != self.trial.swapped
        return Outcome.PROPOSED if proposed else Outcome.BASELINE


@dataclass(frozen=True, slots=True)
class Trials:
    """Item by item, run by run; the questions are rendered one at a time, as often as they are needed."""

    items: Sequence[Item]
    variant: Variant
    preset: Preset
    seed: int

    def __iter__(self) -> Iterator[Trial]:
        for place, item in enumerate(self.items):
            for run in range(self.preset.runs):
                for swapped in orders(self.preset.order, item.id, run, self.seed):
                    yield Trial(place, run, swapped)

    def judged(self, replies: Iterable[Reply | Failed]) -> Iterator[Judged]:
        for trial, reply in zip(self, replies, strict=True):
            item = self.items[trial.place]
            yield Judged(trial, verdict_of(reply, (item.reference, *item.texts)))


@dataclass(frozen=True, slots=True)
class Questions:
    trials: Trials

    def __iter__(self) -> Iterator[Question]:
        trials = self.trials
        for trial in trials:
            yield question(trials.variant, trials.items[trial.place], swapped=trial.swapped, run=trial.run)


@dataclass(frozen=True, slots=True)
class AgainQuestions:
    """One for each reply in which no verdict can be read; ``replies`` gives them anew each time."""

    trials: Trials
    replies: Callable[[], Iterable[Reply | Failed]]

    def __iter__(self) -> Iterator[Question]:
        for asked, reply, unread in zip(Questions(self.trials), self.replies(), self._unread(), strict=True):
            if unread and isinstance(reply, Reply):
                yield again(asked, reply.text)

    def merged(self, seconds: Callable[[], Iterable[Reply | Failed]]) -> Iterator[Reply | Failed]:
        """The replies, with the second where the first cannot be read."""
        second = iter(seconds())
        for reply, unread in zip(self.replies(), self._unread(), strict=True):
            yield next(second) if unread else reply

    def _unread(self) -> Iterator[bool]:
        return (isinstance(judged.verdict, Invalid) for judged in self.trials.judged(self.replies()))


def verdict_of(reply: Reply | Failed, shown: Sequence[str]) -> Verdict:
    """A reply that ran out of tokens never came to its last line, whatever stands there."""
    if isinstance(reply, Failed):
        return reply
    return Invalid(CUT_OFF) if reply.finish_reason == "length" else parse_authorship(reply.text, shown)


def write_judged(path: Path, trials: Trials, replies: Iterable[Reply | Failed]) -> None:
    """A line a trial: the item, the run, what came first, what was read, and the reply. Raises InputError."""
    first, second = tee(replies)
    lines = (
        _line(trials.items[judged.trial.place], judged, reply)
        for judged, reply in zip(trials.judged(first), second, strict=True)
    )
    write_lines(path, lines, called=f"--judgements {path}")


def _line(item: Item, judged: Judged, reply: Reply | Failed) -> dict[str, object]:
    verdict = judged.verdict
    return {
        "item": item.id,
        "run": judged.trial.run,
        "first": "baseline" if judged.trial.swapped else "proposed",
        "verdict": kind(verdict),
        "reason": verdict.reason if isinstance(verdict, (Invalid, Failed)) else None,
        "outcome": judged.outcome.value if judged.outcome else None,
        "reply": reply.text if isinstance(reply, Reply) else None,
    }
