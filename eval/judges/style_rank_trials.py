"""The questions to the style ranking judge, trial by trial, and its answers.

A trial is one question: an item in one draw, with text b first, or alone, or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eval.asking.kept import Question
from eval.asking.reply import CUT_OFF
from eval.asking.verdict import Failed, Invalid, Points, Score, Verdict, kind
from eval.judges.style_rank_items import RankItem
from eval.judges.style_rank_presets import Preset
from eval.judges.style_rank_prompt import Scheme, question
from eval.judges.style_rank_reply import parse_choice, parse_points
from pearl.chat.base import Reply


@dataclass(frozen=True, slots=True)
class Trial:
    """``second``: text b is Output (a), or the one that is scored; ``place`` of the item."""

    place: int
    draw: int
    second: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """``said`` is of the positions where two texts were shown: A is Output (a)."""

    trial: Trial
    said: Verdict | Points


@dataclass(frozen=True, slots=True)
class Trials:
    """Item by item, draw by draw; the questions are rendered one at a time, as often as they are needed."""

    items: Sequence[RankItem]
    scheme: Scheme
    preset: Preset
    draws: int

    def __iter__(self) -> Iterator[Trial]:
        for place in range(len(self.items)):
            for draw in range(self.draws):
                yield Trial(place, draw, False)
                yield Trial(place, draw, True)

    def judged(self, replies: Iterable[Reply | Failed]) -> Iterator[Judged]:
        for trial, reply in zip(self, replies, strict=True):
            yield Judged(trial, self._said(self.items[trial.place], trial, reply))

    def _said(self, item: RankItem, trial: Trial, reply: Reply | Failed) -> Verdict | Points:
        """A reply that ran out of tokens may have gone on to take back what it says."""
        if isinstance(reply, Failed):
            return reply
        if reply.finish_reason == "length":
            return Invalid(CUT_OFF)
        if self.scheme.pairs:
            return parse_choice(reply.text, (item.request, *item.texts))
        return parse_points(reply.text, (item.request, item.texts[trial.second]))


@dataclass(frozen=True, slots=True)
class Questions:
    trials: Trials

    def __iter__(self) -> Iterator[Question]:
        trials = self.trials
        for trial in trials:
            item = trials.items[trial.place]
            yield question(trials.scheme, item, trials.preset.style_shown, second=trial.second, draw=trial.draw)


def judgement_lines(
    trials: Trials, judge: str, judged: Iterable[Judged], replies: Iterable[Reply | Failed]
) -> Iterator[dict[str, Any]]:
    """One a trial, as ``pearl eval style`` reads them. What helpfulness was judged by is of no style."""
    scheme = trials.scheme
    for each, reply in zip(judged, replies, strict=True):
        item, said = trials.items[each.trial.place], each.said
        styles = list(item.styles) if scheme.styled else []
        yield {
            "kind": "ranking",
            "item": item.id,
            "task": item.task,
            "style": styles[0] if len(styles) == 1 else styles or None,
            "scheme": scheme.name,
            "judge": judge,
            **item.about,
            "draw": each.trial.draw,
            **_which(scheme, each.trial),
            "verdict": kind(said),
            "score": said.value if isinstance(said, Score) else None,
            "reason": said.reason if isinstance(said, (Invalid, Failed)) else None,
            "reply": reply.text if isinstance(reply, Reply) else None,
        }


def _which(scheme: Scheme, trial: Trial) -> dict[str, str]:
    if scheme.pairs:
        return {"order": "ba" if trial.second else "ab"}
    return {"response": "b" if trial.second else "a"}
