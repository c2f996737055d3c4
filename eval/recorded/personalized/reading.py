"""Parsing recorded judgements into verdicts, in one of the ways that ``eval.recorded.personalized.presets`` lists."""

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
    """A recording, the verdict parsed from each record, and which records count for the accuracy."""

    recording: Recording
    verdicts: tuple[Verdict, ...]
    counted: tuple[int, ...]  # indices of the records that the accuracy is over

    @property
    def kinds(self) -> dict[str, int]:
        """The number of verdicts of each kind, over all records."""
        numbers = Counter(map(kind, self.verdicts))
        return {name: numbers[name] for name in KINDS}

    @property
    def correct(self) -> Floats:
        """Return 1 for each counted record whose answer is correct, else 0: (N,)."""
        judgements = self.recording.judgements
        return np.array([is_correct(self.verdicts[i], judgements[i].gold) for i in self.counted], float)

    @property
    def certainty(self) -> Floats:
        """The certainty of each counted record, (N,); NaN if the record has none."""
        return np.array([certainty_of(self.verdicts[i]) for i in self.counted], float)  # None becomes NaN

    @property
    def names(self) -> tuple[str, ...]:
        """The cluster of each counted record for resampling: its persona, or the record itself if it has none. If all
        records have the same persona, the cluster is the pair of texts in any order."""
        records = [(i, self.recording.judgements[i]) for i in self.counted]
        personas = [f"persona {record.persona}" if record.persona else f"record {i}" for i, record in records]
        texts = [f"texts {sorted(record.texts)}" if record.texts else f"record {i}" for i, record in records]
        return drawn(personas, texts)

    @property
    def resampled(self) -> str:
        """Return what is resampled for intervals: "records", "personas" or "pairs of texts"."""
        if len(set(self.names)) == len(self.names):
            return "records"
        return "personas" if any(name.startswith("persona ") for name in self.names) else "pairs of texts"


def read_verdicts(recording: Recording, reading: str, unparsed: str) -> RecordingVerdicts:
    """Parse a verdict from each record. ``reading``: how to parse; ``unparsed``: whether a record without an answer is
    counted as wrong or left out."""
    verdicts = tuple(verdict_of(judgement, recording.form, reading) for judgement in recording.judgements)
    return RecordingVerdicts(recording, verdicts, counted(verdicts, recording.form, unparsed))


def counted(verdicts: Sequence[Verdict], form: ReplyForm, unparsed: str) -> tuple[int, ...]:
    """The indices of the verdicts that count for the accuracy; ``unparsed`` says whether verdicts without an answer
    count, as wrong."""
    dropped = unparsed == DROPPED or (unparsed != WRONG and not form.tie)
    return tuple(i for i, verdict in enumerate(verdicts) if isinstance(verdict, Given) or not dropped)


def read_reply(reply: str, form: ReplyForm, shown: Sequence[str], reading: str) -> Verdict:
    return _on_scale(parse_published(reply, form)) if reading == PUBLISHED else parse_reply(reply, form, shown)


def verdict_of(judgement: RecordedJudgement, form: ReplyForm, reading: str) -> Verdict:
    counts = judgement.certainty is not None and (form.certainty or form.recorded)
    certainty = judgement.certainty * form.step if judgement.certainty is not None and counts else None
    if judgement.reply is None or (judgement.letter is not None and reading != STRICT):
        answer = form.offered.get(judgement.letter or "")
        return _on_scale(Invalid(NO_VERDICT, certainty) if answer is None else Given(answer, certainty))
    if certainty is None or (form.certainty and judgement.letter is not None):
        return read_reply(judgement.reply, form, _shown(judgement), reading)
    # the reply need not say the certainty that was recorded beside it
    verdict = read_reply(judgement.reply, replace(form, certainty=False), _shown(judgement), reading)
    return _on_scale(Given(verdict.answer, certainty)) if isinstance(verdict, Given) else verdict


def _shown(judgement: RecordedJudgement) -> tuple[str, ...]:
    return tuple(text for text in (judgement.prompt, *(judgement.texts or ())) if text)


def _on_scale(verdict: Verdict) -> Verdict:
    """Remove a certainty outside 1 to 100 from a verdict; an answer stays."""
    certainty = certainty_of(verdict)
    if certainty is None or LOWEST <= certainty <= HIGHEST:
        return verdict
    return Given(verdict.answer) if isinstance(verdict, Given) else Invalid(CERTAINTY_OUT_OF_RANGE)


def disagreements(recording: Recording) -> dict[str, Any]:
    """The lines of records whose fields contradict each other, or contradict the raw reply."""
    form = recording.form
    answers, certainties, acc, raw = [], [], [], 0
    for judgement in recording.judgements:
        recorded = verdict_of(judgement, form, RECORDED)
        if judgement.acc is not None and judgement.acc != is_correct(recorded, judgement.gold):
            acc.append(judgement.line)
        if judgement.reply is None:
            continue
        raw += 1
        again = parse_reply(judgement.reply, form, _shown(judgement))
        if kind(again) != kind(recorded):
            answers.append(judgement.line)
        elif form.certainty and isinstance(again, Given) and again.certainty != certainty_of(recorded):
            certainties.append(judgement.line)
    return {"raw_replies": raw, "answer": answers, "certainty": certainties, "acc": acc}
