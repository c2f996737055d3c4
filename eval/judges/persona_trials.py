"""The questions to the personalised judge, trial by trial, and the records of its answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval.asking.json_lines import write_lines
from eval.asking.kept import Question
from eval.asking.verdict import Answer, Failed, Given, Verdict, certainty_of
from eval.judges.pairwise import orders
from eval.judges.persona_items import PersonaItem
from eval.judges.persona_prompt import Mode, question, shown
from eval.recorded.personalized.judgements import Judgement, Recording, parse_judgement
from eval.recorded.personalized.reading import Read
from eval.recorded.personalized.reply import LETTERS
from pearl.chat.base import Reply
from pearl.errors import InputError

OTHER = {Answer.A: Answer.B, Answer.B: Answer.A}  # what an answer is called in the other order
LETTER = {answer: letter for letter, answer in LETTERS.items()}


@dataclass(frozen=True, slots=True)
class PersonaTrials:
    """Item by item, run by run; ``order`` as for the authorship judge."""

    items: Sequence[PersonaItem]
    mode: Mode
    runs: int
    order: str
    seed: int

    def __iter__(self) -> Iterator[tuple[PersonaItem, int, bool]]:
        for item in self.items:
            for run in range(self.runs):
                for swapped in orders(self.order, item.id, run, self.seed):
                    yield item, run, swapped


@dataclass(frozen=True, slots=True)
class PersonaQuestions:
    """The questions of each mode in turn."""

    modes: Sequence[PersonaTrials]

    def __iter__(self) -> Iterator[Question]:
        for trials in self.modes:
            for item, run, swapped in trials:
                yield question(trials.mode, item, swapped=swapped, run=run)


@dataclass(frozen=True, slots=True)
class Told:
    """``lines`` are records as ``pearl eval personalized`` reads them, ``keys`` the item and the run of each, and
    whether it was swapped; ``failed``: why there is no reply, with counts. Those trials have no record."""

    lines: tuple[dict[str, Any], ...]
    keys: tuple[tuple[str, int, bool], ...]
    failed: Mapping[str, int]


def told(trials: PersonaTrials, replies: Iterator[Reply | Failed]) -> Told:
    """Takes a reply for each trial, and leaves the others."""
    lines, keys = [], []
    failed: Counter[str] = Counter()
    for (item, run, swapped), asked in zip(trials, PersonaQuestions([trials]), strict=True):
        reply = next(replies)
        if isinstance(reply, Failed):
            failed[reply.reason] += 1
            continue
        keys.append((item.id, run, swapped))
        lines.append(_line(trials.mode, item, run, swapped, asked, reply))
    return Told(tuple(lines), tuple(keys), dict(failed))


def _line(mode: Mode, item: PersonaItem, run: int, swapped: bool, asked: Question, reply: Reply) -> dict[str, Any]:
    first, second = shown(item, swapped=swapped)
    gold = OTHER.get(item.preferred, item.preferred) if swapped else item.preferred
    return {
        "id": f"{item.id} {'BA' if swapped else 'AB'} {run}",
        "ground_truth": LETTER[gold],
        **({"user_info": item.profile(mode.fields)} if mode.persona else {}),
        **({"question": item.question} if item.question else {}),
        "asst_A": first,
        "asst_B": second,
        "prompt": asked.messages[-1].content,
        "res": reply.text,
    }


def check_told(found: Told) -> None:
    """Raises InputError where there is no reply at all."""
    if not found.lines:
        raise InputError("There is no reply to evaluate; see why the calls failed.", code="no_reply")


def recording_of(mode: Mode, found: Told) -> Recording:
    judgements = tuple(parse_judgement(line, number) for number, line in enumerate(found.lines, start=1))
    return Recording(judgements, mode.asked, mode.persona, {})


def once(found: Told, recording: Recording) -> Recording:
    """The first record of each item, for checks that would take another order or run for a repetition."""
    firsts: dict[str, Judgement] = {}
    for (item, _, _), judgement in zip(found.keys, recording.judgements, strict=True):
        firsts.setdefault(item, judgement)
    return replace(recording, judgements=tuple(firsts.values()))


def flips(found: Told, read: Read) -> tuple[int, int]:
    """Count the runs whose answer changes with the order, and all runs answered in both orders."""
    answers: dict[tuple[str, int], list[Answer]] = defaultdict(list)
    for (item, run, swapped), verdict in zip(found.keys, read.verdicts, strict=True):
        if isinstance(verdict, Given):
            answers[item, run].append(OTHER.get(verdict.answer, verdict.answer) if swapped else verdict.answer)
    pairs = [pair for pair in answers.values() if len(pair) == 2]
    return sum(one is not other for one, other in pairs), len(pairs)


def write_records(path: Path, found: Told, read: Read) -> None:
    """Write the records with answer and certainty as they were read. Raises InputError."""
    recorded = (
        line | {"answer": _letter(verdict), "certainty": certainty_of(verdict)}
        for line, verdict in zip(found.lines, read.verdicts, strict=True)
    )
    write_lines(path, recorded, called=f"--records {path}")


def _letter(verdict: Verdict) -> str | bool:
    """The letter that published files use for an answer; False without one."""
    return LETTER[verdict.answer] if isinstance(verdict, Given) else False
