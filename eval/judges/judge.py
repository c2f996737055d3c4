"""A judge as a declaration: its questions, the parsing of its replies, and the figures computed from its verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from eval.asking.bench import JudgeSession
from eval.asking.choices import NO_CHOICES, Presets
from eval.asking.reply import CUT_OFF
from eval.asking.verdict import Answer, Failed, Given, Invalid, Votes, kind, reason_of, verdict_kinds
from eval.judges.items import Item, Items
from eval.report.checks import Check, Finding, preflight
from eval.report.tables import Json, Table
from pearl.models.asking.kept import Question
from pearl.models.chat.base import Decoding, Message, Reply

ItemT = TypeVar("ItemT", bound=Item)
OptionsT = TypeVar("OptionsT")
KeyT = TypeVar("KeyT")
Messages: TypeAlias = tuple[Message, ...]
DRAWS_APART = 1_000_000  # of the same question asked again; no run has such a number
OTHER = {Answer.A: Answer.B, Answer.B: Answer.A}  # what an answer is called in the other order


@dataclass(frozen=True, slots=True)
class Trial(Generic[ItemT]):
    """One question to a judge. ``place``: the item's index; ``run``: number of the repetition; ``swapped``: the item's
    second text is shown first; ``way``: how the judge is asked, if there are several ways."""

    place: int
    item: ItemT
    run: int
    swapped: bool = False
    way: Any = None

    def shown(self, texts: tuple[str, str]) -> tuple[str, str]:
        """Return the item's two texts in the order of this trial."""
        return texts[::-1] if self.swapped else texts


@dataclass(frozen=True, slots=True)
class Judgement(Generic[ItemT]):
    """The verdict of one trial (question to a judge); A is the text that was shown first."""

    trial: Trial[ItemT]
    verdict: Any

    def of_item(self) -> Any:
        """Return the verdict in terms of the item: A is the item's first text, whatever the order shown."""
        if isinstance(self.verdict, Votes):
            return replace(self.verdict, by_rule=tuple(map(self._of_item, self.verdict.by_rule)))
        return self._of_item(self.verdict)

    def _of_item(self, verdict: Any) -> Any:
        if self.trial.swapped and isinstance(verdict, Given):
            return replace(verdict, answer=OTHER.get(verdict.answer, verdict.answer))
        return verdict


def verdict_counts(judgements: Iterable[Judgement[ItemT]]) -> dict[str, dict[str, int]]:
    """Count the verdicts of each kind, and the reasons why replies are invalid or missing."""
    return verdict_kinds(judgement.verdict for judgement in judgements)


def grouped(
    judgements: Iterable[Judgement[ItemT]], key: Callable[[Trial[ItemT]], KeyT]
) -> dict[KeyT, list[Judgement[ItemT]]]:
    """Group the judgements by a key of their trials; keys are in order of first occurrence."""
    groups: dict[KeyT, list[Judgement[ItemT]]] = {}
    for judgement in judgements:
        groups.setdefault(key(judgement.trial), []).append(judgement)
    return groups


@dataclass(frozen=True, slots=True)
class Round(Generic[ItemT]):
    """The judgements of trials that were asked together; ``replies()`` iterates over the replies from the start."""

    judgements: tuple[Judgement[ItemT], ...]
    replies: Callable[[], Iterable[Reply | Failed]]

    def with_texts(self) -> Iterator[tuple[Judgement[ItemT], str | None]]:
        """Yield each judgement with the text of its reply, or None if the call failed."""
        for judgement, reply in zip(self.judgements, self.replies(), strict=True):
            yield judgement, None if isinstance(reply, Failed) else reply.text


@dataclass(frozen=True, slots=True)
class Judgements(Generic[ItemT]):
    """The result of a run. ``findings``: faults that the checks of the items found; ``first``, ``again``: the rounds of
    questions; ``model``: the judge's identity; ``elicitation``: calls, tokens and cost."""

    items: Items[ItemT]
    findings: Sequence[Finding]
    first: Round[ItemT]
    again: Round[ItemT] | None
    model: str
    elicitation: Mapping[str, Any]

    def about_items(self) -> dict[str, Any]:
        """Return what is known of the items, as JSON: counts of lines and unknown fields, and faults."""
        return {
            "lines": self.items.lines,
            **self.items.about,
            "passed_over": dict(self.items.passed_over),
            "preflight": [finding.to_json() for finding in self.findings],
        }

    @property
    def every(self) -> tuple[Judgement[ItemT], ...]:
        return self.first.judgements


def judgement_lines(judgements: Judgements[ItemT], options: object) -> Iterator[dict[str, Any]]:
    """Yield a record for each trial: item, run, order, verdict or why there is none, and reply."""
    for judgement, text in judgements.first.with_texts():
        yield {
            "item": judgement.trial.item.id,
            "run": judgement.trial.run,
            "swapped": judgement.trial.swapped,
            "verdict": kind(judgement.verdict),
            "reason": reason_of(judgement.verdict),
            "reply": text,
        }


@dataclass(frozen=True, slots=True)
class SecondRound(Generic[ItemT, OptionsT]):
    """A follow-up question to a reply: ``ask`` returns its messages, or None if there is nothing to ask.

    ``name``: its key in the JSON; ``label``: its name in the progress display. ``replaces``: whether the second reply
    counts in place of the first. ``times``: the most rounds, each following the replies of the round before; the same
    question asked again is sampled again.
    """

    name: str
    label: str
    wanted: Callable[[OptionsT], bool]
    ask: Callable[[Judgement[ItemT], str, OptionsT], Messages | None]
    replaces: bool
    decoding: Decoding | None = None
    times: int = 1


@dataclass(frozen=True, slots=True)
class Judge(Generic[ItemT, OptionsT]):
    """The declaration of a judge, from which its command is made.

    ``summary``, ``about_items``, ``examples``: the command's help; ``source``: the place in the papers. ``options``: a
    frozen dataclass, whose ``Annotated`` fields become options of the command; ``preset``, ``seed`` and the presets'
    choices are filled in. ``load``: reads the items, and returns them with the completed options. ``lines``: makes the
    records that ``--judgements``, or the option named ``output``, writes. ``whole``: whether a reply that was cut off
    is invalid. ``writes``: replies are texts, so people's labels do not apply. ``unlabelled``: returns why people's
    labels cannot be compared with these judgements, or None; ``styles``: returns the styles that an item is judged by,
    which are part of its name in files of labels.
    """

    name: str
    summary: str
    about_items: str
    options: type[OptionsT]
    load: Callable[[Path, OptionsT], tuple[Items[ItemT], OptionsT]]
    trials: Callable[[Sequence[ItemT], OptionsT], Iterable[Trial[ItemT]]]
    ask: Callable[[Trial[ItemT], OptionsT], Messages]
    read: Callable[[str, Trial[ItemT], OptionsT], Any]
    figures: Callable[[Judgements[ItemT], OptionsT], dict[str, Any]]
    tables: Callable[[Json], Iterable[Table]]
    lines: Callable[[Judgements[ItemT], OptionsT], Iterable[Mapping[str, Any]]] = judgement_lines
    source: str = ""
    examples: Sequence[str] = ()
    presets: Presets = NO_CHOICES
    checks: Sequence[Check[Sequence[ItemT]]] = ()
    max_tokens: int | Callable[[OptionsT], int] = 512
    again: SecondRound[ItemT, OptionsT] | None = None
    whole: Callable[[OptionsT], bool] = lambda options: True
    writes: bool = False
    unlabelled: Callable[[OptionsT], str | None] = lambda options: None
    styles: Callable[[ItemT, OptionsT], Sequence[str]] = lambda item, options: ()
    output: str = "judgements"
    output_help: str = "Write each judgement on a line."

    def verdict(self, reply: Reply | Failed, trial: Trial[ItemT], options: OptionsT) -> Any:
        if isinstance(reply, Failed):
            return reply
        if self.whole(options) and reply.finish_reason == "length":
            return Invalid(CUT_OFF)
        return self.read(reply.text, trial, options)


@dataclass(frozen=True, slots=True)
class Questions(Generic[ItemT, OptionsT]):
    """The questions of all trials, made anew in each iteration."""

    judge: Judge[ItemT, OptionsT]
    items: Sequence[ItemT]
    options: OptionsT

    def __iter__(self) -> Iterator[Question]:
        for trial in self.judge.trials(self.items, self.options):
            yield Question(self.judge.ask(trial, self.options), trial.run)


@dataclass(frozen=True, slots=True)
class SecondQuestions(Generic[ItemT, OptionsT]):
    """The questions of a second round, each following a reply of the first round."""

    again: SecondRound[ItemT, OptionsT]
    first: Round[ItemT]
    options: OptionsT
    number: int = 0

    def after_replies(self) -> Iterator[tuple[Judgement[ItemT], Reply | Failed, Messages | None]]:
        """Yield each judgement, its reply, and the question that follows, or None."""
        for judgement, reply in zip(self.first.judgements, self.first.replies(), strict=True):
            messages = self.again.ask(judgement, reply.text, self.options) if isinstance(reply, Reply) else None
            yield judgement, reply, messages

    def __iter__(self) -> Iterator[Question]:
        for judgement, _, messages in self.after_replies():
            if messages:
                yield Question(messages, judgement.trial.run + self.number * DRAWS_APART)

    def merged(self, seconds: Callable[[], Iterable[Reply | Failed]]) -> Iterator[Reply | Failed]:
        """Yield the replies of the first round, or the second reply where a second question was asked."""
        second = iter(seconds())
        for _, reply, messages in self.after_replies():
            yield next(second) if messages else reply


def run(
    judge: Judge[ItemT, OptionsT], items: Items[ItemT], options: OptionsT, bench: JudgeSession
) -> Judgements[ItemT]:
    """Ask every question that has no kept reply, and parse all replies. Raises as :meth:`JudgeSession.ask` does."""
    asked = bench.ask("judgements", Questions(judge, items.every, options))
    first = read_round(judge, judge.trials(items.every, options), options, asked.replies)
    elicitation, second, again = asked.to_json(), None, judge.again
    for number in range(1, again.times + 1) if again and again.wanted(options) else ():
        assert again
        questions = SecondQuestions(again, first, options, number if again.times > 1 else 0)
        bench = bench.after(asked, again.decoding)
        asked = bench.ask(again.label, questions)
        elicitation[f"{again.name}_{number + 1}" if again.times > 1 else again.name] = asked.to_json()
        if again.replaces:
            trials = judge.trials(items.every, options)
            first = read_round(judge, trials, options, partial(questions.merged, asked.replies))
        else:
            asked_again = [judgement.trial for judgement, _, messages in questions.after_replies() if messages]
            second = read_round(judge, asked_again, options, asked.replies)
    findings = preflight(judge.checks, items.every)
    return Judgements(items, findings, first, second, bench.model.identity, elicitation)


def read_round(
    judge: Judge[ItemT, OptionsT],
    trials: Iterable[Trial[ItemT]],
    options: OptionsT,
    replies: Callable[[], Iterable[Reply | Failed]],
) -> Round[ItemT]:
    """Parse the reply to each trial."""
    replied = zip(trials, replies(), strict=True)
    return Round(tuple(Judgement(trial, judge.verdict(reply, trial, options)) for trial, reply in replied), replies)
