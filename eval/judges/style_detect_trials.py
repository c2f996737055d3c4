"""The questions to the style detection judge, trial by trial, and its answers.

A trial is one question: an item on a scale in one draw, as whoever the judge is told to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eval.asking.kept import Question
from eval.asking.reply import CUT_OFF
from eval.asking.verdict import Failed, Invalid, Points, Score, kind
from eval.judges.style_detect_items import StyleItem
from eval.judges.style_detect_presets import DetectChoices
from eval.judges.style_detect_prompt import question, reflection
from eval.judges.style_detect_reply import parse_detection
from eval.judges.style_scales import Scale, label_of
from pearl.chat.base import Reply


@dataclass(frozen=True, slots=True)
class Trial:
    """``place`` of the item; ``judge_persona``: None for an expert."""

    place: int
    scale: Scale
    judge_persona: str | None
    draw: int


@dataclass(frozen=True, slots=True)
class Judged:
    trial: Trial
    said: Points

    def label(self, labels: int) -> str | None:
        return label_of(self.trial.scale, self.said.value, labels) if isinstance(self.said, Score) else None


@dataclass(frozen=True, slots=True)
class Trials:
    """Scale by scale, item by item; the questions are rendered one at a time, as often as they are needed."""

    items: Sequence[StyleItem]
    choices: DetectChoices
    scales: Sequence[Scale]
    draws: int
    judge_personas: Sequence[str | None] = (None,)

    def __iter__(self) -> Iterator[Trial]:
        for scale in self.scales:
            for place in range(len(self.items)):
                for persona in self.judge_personas:
                    for draw in range(self.draws):
                        yield Trial(place, scale, persona, draw)

    def judged(self, replies: Iterable[Reply | Failed]) -> Iterator[Judged]:
        return self.read(self, replies)

    def read(self, trials: Iterable[Trial], replies: Iterable[Reply | Failed]) -> Iterator[Judged]:
        for trial, reply in zip(trials, replies, strict=True):
            yield Judged(trial, _said(self.items[trial.place], trial.scale, reply))


def _said(item: StyleItem, scale: Scale, reply: Reply | Failed) -> Points:
    """A reply that ran out of tokens may have gone on to take back what it says."""
    if isinstance(reply, Failed):
        return reply
    return Invalid(CUT_OFF) if reply.finish_reason == "length" else parse_detection(reply.text, scale, (item.text,))


@dataclass(frozen=True, slots=True)
class Questions:
    trials: Trials

    def __iter__(self) -> Iterator[Question]:
        for trial in self.trials:
            item = self.trials.items[trial.place]
            yield question(self.trials.choices, trial.scale, item, draw=trial.draw, judge_persona=trial.judge_persona)


@dataclass(frozen=True, slots=True)
class Reflections:
    """The second round: one question for each draw with an answer; ``first`` are the judgements of all."""

    trials: Trials
    first: Sequence[Judged]

    @property
    def answered(self) -> Iterator[Judged]:
        return (judged for judged in self.first if isinstance(judged.said, Score))

    def __iter__(self) -> Iterator[Question]:
        for judged in self.answered:
            trial = judged.trial
            assert isinstance(judged.said, Score)
            yield reflection(
                self.trials.choices,
                trial.scale,
                self.trials.items[trial.place],
                judged.said.value,
                draw=trial.draw,
                judge_persona=trial.judge_persona,
            )

    def judged(self, replies: Iterable[Reply | Failed]) -> Iterator[Judged]:
        return self.trials.read((judged.trial for judged in self.answered), replies)


@dataclass(frozen=True, slots=True)
class JudgedRound:
    """``judged`` in order, and how to go through the replies once more; ``suffix`` of the scheme's name."""

    judged: Sequence[Judged]
    replies: Callable[[], Iterable[Reply | Failed]]
    suffix: str = ""


def judgement_lines(trials: Trials, judge: str, rounds: Iterable[JudgedRound], labels: int) -> Iterator[dict[str, Any]]:
    """One a trial and round, as ``pearl eval style`` reads them: the verdict is always one of the two labels; with
    three there is ``label``, too."""
    for each in rounds:
        for judged, reply in zip(each.judged, each.replies(), strict=True):
            yield _line(trials.items[judged.trial.place], judge, judged, each.suffix, labels) | {
                "reply": reply.text if isinstance(reply, Reply) else None
            }


def _line(item: StyleItem, judge: str, judged: Judged, suffix: str, labels: int) -> dict[str, Any]:
    trial, said = judged.trial, judged.said
    return {
        "kind": "detection",
        "item": item.id,
        "task": item.task,
        "style": item.style,
        "scheme": trial.scale.name + suffix,
        "judge": judge,
        **item.about,
        **({"judge_persona": trial.judge_persona} if trial.judge_persona else {}),
        "draw": trial.draw,
        "verdict": kind(said) if not isinstance(said, Score) else judged.label(2),
        **({"label": judged.label(labels)} if labels != 2 else {}),
        "score": said.value if isinstance(said, Score) else None,
        "reason": said.reason if isinstance(said, (Invalid, Failed)) else None,
    }
