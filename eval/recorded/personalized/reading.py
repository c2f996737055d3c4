"""Verdicts from recorded judgements, by one of the readings of ``eval.recorded.personalized.presets``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eval.asking.reply import CERTAINTY_OUT_OF_RANGE, NO_VERDICT
from eval.asking.verdict import KINDS, Given, Invalid, Verdict, certainty_of, is_correct, kind
from eval.recorded.personalized.judgements import RecordedJudgement, Recording
from eval.recorded.personalized.presets import DROPPED, PUBLISHED, RECORDED, STRICT, WRONG
from eval.recorded.personalized.reply import HIGHEST, LOWEST, ReplyForm, parse_published, parse_reply
from pearl.stats.bootstrap import Floats, drawn


@dataclass(frozen=True, slots=True)
class RecordingVerdicts:
    """A recording with a verdict for each record; ``counted`` are the places of those the accuracy is over."""

    recording: Recording
    verdicts: tuple[Verdict, ...]
    counted: tuple[int, ...]

    @property
    def kinds(self) -> dict[str, int]:
        """The number of verdicts of each kind, over all records."""
        numbers = Counter(map(kind, self.verdicts))
        return {name: numbers[name] for name in KINDS}

    @property
    def correct(self) -> Floats:
        """1 or 0 of each counted record, (N,)."""
        judgements = self.recording.judgements
        return np.array([is_correct(self.verdicts[i], judgements[i].gold) for i in self.counted], float)

    @property
    def certainty(self) -> Floats:
        """The certainty of each counted record, (N,); NaN where it has none."""
        return np.array([certainty_of(self.verdicts[i]) for i in self.counted], float)  # None becomes NaN

    @property
    def names(self) -> tuple[str, ...]:
        """The cluster of each counted record: whose persona it is, or the record alone; where all are of one persona,
        the two texts, which may be shown in either order and again."""
        records = [(i, self.recording.judgements[i]) for i in self.counted]
        personas = [f"persona {record.persona}" if record.persona else f"record {i}" for i, record in records]
        texts = [f"texts {sorted(record.texts)}" if record.texts else f"record {i}" for i, record in records]
        return drawn(personas, texts)

    @property
    def resampled(self) -> str:
        """The kind of what the clusters are."""
        if len(set(self.names)) == len(self.names):
            return "records"
        return "personas" if any(name.startswith("persona ") for name in self.names) else "pairs of texts"


def read_verdicts(recording: Recording, reading: str, unparsed: str) -> RecordingVerdicts:
    """The verdicts by a reading; ``unparsed`` says which of them count."""
    verdicts = tuple(verdict_of(judgement, recording.asked, reading) for judgement in recording.judgements)
    return RecordingVerdicts(recording, verdicts, counted(verdicts, recording.asked, unparsed))


def counted(verdicts: Sequence[Verdict], asked: ReplyForm, unparsed: str) -> tuple[int, ...]:
    """The places of the verdicts that the accuracy is over."""
    dropped = unparsed == DROPPED or (unparsed != WRONG and not asked.tie)
    return tuple(i for i, verdict in enumerate(verdicts) if isinstance(verdict, Given) or not dropped)


def read_reply(reply: str, asked: ReplyForm, shown: Sequence[str], reading: str) -> Verdict:
    return _on_scale(parse_published(reply, asked)) if reading == PUBLISHED else parse_reply(reply, asked, shown)


def verdict_of(judgement: RecordedJudgement, asked: ReplyForm, reading: str) -> Verdict:
    counts = judgement.certainty is not None and (asked.certainty or asked.recorded)
    certainty = judgement.certainty * asked.step if judgement.certainty is not None and counts else None
    if judgement.reply is None or (judgement.letter is not None and reading != STRICT):
        answer = asked.offered.get(judgement.letter or "")
        return _on_scale(Invalid(NO_VERDICT, certainty) if answer is None else Given(answer, certainty))
    if certainty is None or (asked.certainty and judgement.letter is not None):
        return read_reply(judgement.reply, asked, _shown(judgement), reading)
    # the reply need not say the certainty that was recorded beside it
    verdict = read_reply(judgement.reply, replace(asked, certainty=False), _shown(judgement), reading)
    return _on_scale(Given(verdict.answer, certainty)) if isinstance(verdict, Given) else verdict


def _shown(judgement: RecordedJudgement) -> tuple[str, ...]:
    return tuple(text for text in (judgement.prompt, *(judgement.texts or ())) if text)


def _on_scale(verdict: Verdict) -> Verdict:
    """A certainty that is none of the scale is no certainty; the answer that was recorded beside it stays."""
    certainty = certainty_of(verdict)
    if certainty is None or LOWEST <= certainty <= HIGHEST:
        return verdict
    return Given(verdict.answer) if isinstance(verdict, Given) else Invalid(CERTAINTY_OUT_OF_RANGE)


def disagreements(recording: Recording) -> dict[str, Any]:
    """Line numbers of records whose fields contradict the raw reply, read again, or each other."""
    asked = recording.asked
    answers, certainties, acc, raw = [], [], [], 0
    for judgement in recording.judgements:
        recorded = verdict_of(judgement, asked, RECORDED)
        if judgement.acc is not None and judgement.acc != is_correct(recorded, judgement.gold):
            acc.append(judgement.line)
        if judgement.reply is None:
            continue
        raw += 1
        again = parse_reply(judgement.reply, asked, _shown(judgement))
        if kind(again) != kind(recorded):
            answers.append(judgement.line)
        elif asked.certainty and isinstance(again, Given) and again.certainty != certainty_of(recorded):
            certainties.append(judgement.line)
    return {"raw_replies": raw, "answer": answers, "certainty": certainties, "acc": acc}
