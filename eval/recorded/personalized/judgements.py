"""Recorded judgements: JSON Lines, optionally gzipped, one reply of a personalised judge per line.

``{"ground_truth": "A" | "B" | "C", "answer": str | false, "certainty"?, "acc"?, "prompt"?, "res"?, "user_info"?,
"asst_A"?, "asst_B"?, "article"?, "question"?, "id"?, "similar_persona"?, "similar_question"?, "similar_response"?}``;
``answer`` is the letter parsed from the reply, ``res`` the reply itself, and one of the two is required; an ``answer``
of more than one character is taken for the reply. Other fields are ignored and counted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from eval.asking.json_lines import optional_id, optional_string, read_lines
from eval.asking.lines import folded
from eval.asking.verdict import Answer
from eval.recorded.personalized.reply import HIGHEST, ReplyForm, gold_answer
from pearl.errors import InputError
from pearl.text.usable import json_type

NEIGHBOUR = ("similar_persona", "similar_question", "similar_response")
TEXTS = ("prompt", "res", "user_info", "asst_A", "asst_B", "article", "question", *NEIGHBOUR)
FIELDS = frozenset({"ground_truth", "answer", "certainty", "acc", "id", "item", "swapped", *TEXTS})

_HEADER = re.compile(r"^\[([^\[\]\n]{1,80})\][ \t]*$", re.MULTILINE)
_PROFILE = re.compile(r"\b(profile|persona)\b", re.IGNORECASE)
_TEXT = re.compile(
    r"(?:the start of )?(?:question-answer pair|response|answer|assistant|option)s? ([AB])\b", re.IGNORECASE
)
_QUESTION = re.compile(r"\b(question|article|post)\b", re.IGNORECASE)
_OFFERED = re.compile(r"\[\[([BC])\]\]")
_TO_FIVE = re.compile(r"\b1 (?:to|-) 5\b(?![\d%])")
_CERTAINTY = re.compile(r"\b(certainty|confidence)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PromptParts:
    """A prompt, split at its headers (a missing part is None), and the form of reply that the prompt asks for."""

    persona: str | None
    first: str | None
    second: str | None
    question: str | None
    tie: bool | None  # None where the prompt spells no option in brackets
    certainty: bool
    opened: bool  # the prompt ends with [[
    to_five: bool  # certainty is from 1 to 5


@dataclass(frozen=True, slots=True)
class RecordedJudgement:
    """A line of a file of recorded judgements; an optional field that the line lacks is None."""

    line: int  # from 1
    id: str | None
    gold: Answer
    letter: str | None  # as recorded
    certainty: int | None  # as recorded
    acc: bool | None
    reply: str | None
    prompt: str | None
    shown: PromptParts | None  # the parts of the prompt
    user_info: str | None
    texts: tuple[str, str] | None
    question: str | None
    neighbour: tuple[str, ...]  # fields of the person who wrote the distractor

    @property
    def persona(self) -> str | None:
        """The persona shown in the prompt or, if there is none, the recorded persona."""
        return self.shown.persona if self.shown and self.shown.persona is not None else self.user_info

    @property
    def target(self) -> str | None:
        """The text that is the right answer; None for a tie."""
        return self.texts[0 if self.gold is Answer.A else 1] if self.texts and self.gold is not Answer.TIE else None

    @property
    def distractor(self) -> str | None:
        return self.texts[1 if self.gold is Answer.A else 0] if self.texts and self.gold is not Answer.TIE else None

    @property
    def not_chosen(self) -> tuple[str, ...]:
        """The texts that are not the right answer: the distractor or, for a tie, both texts."""
        return (self.texts or ()) if self.distractor is None else (self.distractor,)


@dataclass(frozen=True, slots=True)
class Recording:
    """The recorded judgements of a file, and the form of reply that most of its prompts ask for."""

    judgements: tuple[RecordedJudgement, ...]
    form: ReplyForm  # that most of the prompts ask for
    has_persona: bool
    passed_over: Mapping[str, int]  # count of each field that is not read


def read_recording(path: Path) -> Recording:
    """Read the judgements of a file. Raises InputError that names file, line and field of the first bad line."""
    records = read_lines(path, FIELDS, parse_judgement, "record")
    return recording_of(records.parsed, records.passed_over)


def recording_of(judgements: Sequence[RecordedJudgement], passed_over: Mapping[str, int] = {}) -> Recording:
    """Make a recording of judgements. Its form of reply is that of most prompts or, without prompts, of the answers."""
    shown = [judgement.shown for judgement in judgements if judgement.shown]
    ties = sum(judgement.gold is Answer.TIE for judgement in judgements)
    if not shown:
        has_certainty = any(judgement.certainty is not None for judgement in judgements)
        has_persona = any((judgement.user_info or "").strip() for judgement in judgements)
        return Recording(tuple(judgements), ReplyForm(ties > 0, has_certainty, opened=False), has_persona, passed_over)
    form = ReplyForm(
        # a third option that is spelt otherwise, but not a stray gold answer, nor where all options are spelt out
        tie=_most(parts.tie is True for parts in shown)
        or (20 * ties > len(judgements) and not _most(parts.tie is False for parts in shown)),
        certainty=_most(parts.certainty for parts in shown),
        opened=_most(parts.opened for parts in shown),
        highest=5 if _most(parts.to_five for parts in shown) else HIGHEST,
        recorded=_most(judgement.certainty is not None for judgement in judgements),
    )
    return Recording(tuple(judgements), form, _most(parts.persona is not None for parts in shown), passed_over)


def _most(truths: Iterable[bool]) -> bool:
    values = list(truths)
    return 2 * sum(values) > len(values)


def parse_judgement(value: dict[str, Any], line: int) -> RecordedJudgement:
    """Parse one line of a recording. Raises InputError with ``param`` set to the field."""
    fields = f"the record has {', '.join(sorted(value)) or 'no field'}."
    if "answer" not in value and "res" not in value:
        raise InputError(f"is missing, and so is 'res'; {fields}", param="answer")
    if "ground_truth" not in value:
        raise InputError(f"is missing; {fields}", param="ground_truth")
    texts = {name: optional_string(value, name) for name in TEXTS}
    shown = None if texts["prompt"] is None else take_apart(texts["prompt"])
    first, second = texts["asst_A"], texts["asst_B"]
    letter, reply = _letter(value.get("answer")), texts["res"]
    if letter is not None and len(letter) > 1:
        letter, reply = None, letter if reply is None else reply
    if shown:
        first, second = first or shown.first, second or shown.second
    return RecordedJudgement(
        line=line,
        id=optional_id(value),
        gold=gold_answer(value["ground_truth"], "ground_truth"),
        letter=letter,
        certainty=_certainty(value.get("certainty")),
        acc=_acc(value.get("acc")),
        reply=reply,
        prompt=texts["prompt"],
        shown=shown,
        user_info=texts["user_info"],
        texts=(first, second) if first is not None and second is not None else None,
        question=texts["article"] or texts["question"] or (shown.question if shown else None),
        neighbour=tuple(texts[name] or "" for name in NEIGHBOUR) if any(texts[name] for name in NEIGHBOUR) else (),
    )


def take_apart(prompt: str) -> PromptParts:
    """Split a prompt at its headers. If a header occurs twice, the first counts; the second may be part of a text."""
    parts: dict[str, str] = {}
    instructions, *headed = _HEADER.split(prompt)
    for header, text in zip(headed[::2], headed[1::2], strict=True):
        parts.setdefault(_kind(header), text.strip())
    # where the instructions stand behind the texts they cannot be told from the last one
    asks = instructions + parts.get("B", "") + parts.get("", "")
    options = set(_OFFERED.findall(asks))
    return PromptParts(
        persona=parts.get("persona"),
        first=parts.get("A"),
        second=parts.get("B"),
        question=parts.get("question"),
        tie="C" in options if options else None,
        certainty=bool(_CERTAINTY.search(asks)),
        opened=prompt.rstrip().endswith("[["),
        to_five=bool(_TO_FIVE.search(asks)),
    )


def _kind(header: str) -> str:
    if text := _TEXT.match(header):
        return text[1].upper()
    if _PROFILE.search(header):
        return "persona"
    return "question" if _QUESTION.search(header) else ""


def _letter(value: Any) -> str | None:
    if value is None or value is False:  # what the published code keeps of a reply it could not read
        return None
    if not isinstance(value, str):
        raise InputError(f"must be a string or false, not {json_type(value)}.", param="answer")
    return value.strip()


def _certainty(value: Any) -> int | None:
    """Parse a whole number, which may be a string. None for "NA", false and null."""
    if value is None or value is False:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, float):
        raise InputError(f"must be a whole number from 1 to {HIGHEST}, not {value:g}.", param="certainty")
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise InputError(f"must be a number or a string, not {json_type(value)}.", param="certainty")
    text = str(value).strip()
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 10 else None


def _acc(value: Any) -> bool | None:
    if value is not None and not (isinstance(value, bool) or value in (0, 1)):
        raise InputError("must be true or false.", param="acc")
    return None if value is None else bool(value)


LONG_ENOUGH = 20  # characters of a text that cannot stand somewhere else by chance
Fault: TypeAlias = tuple[str, list[RecordedJudgement]] | None  # the message of a check, and the records it is about


def fault(records: list[RecordedJudgement], recording: Recording, what: str) -> Fault:
    """The message 'N of M records WHAT', and the records that it is about; None without records."""
    return (f"{len(records):,} of {len(recording.judgements):,} records {what}", records) if records else None


def where(recording: Recording, holds: Callable[[RecordedJudgement], object]) -> list[RecordedJudgement]:
    return [record for record in recording.judgements if holds(record)]


def repeated(
    records: Iterable[RecordedJudgement], key: Callable[[RecordedJudgement], Hashable]
) -> list[list[RecordedJudgement]]:
    """Groups of two or more records with the same key; records with an empty key are left out."""
    groups: dict[Hashable, list[RecordedJudgement]] = defaultdict(list)
    for record in records:
        if key(record):
            groups[key(record)].append(record)
    return [group for group in groups.values() if len(group) > 1]


def together(groups: Iterable[list[RecordedJudgement]]) -> list[RecordedJudgement]:
    return sorted((record for group in groups for record in group), key=lambda record: record.line)


def is_survey(recording: Recording) -> bool:
    """True if at least half of the records show a pair of texts that another record shows, too, as in a survey."""
    pairs = [frozenset(map(folded, record.texts)) for record in recording.judgements if record.texts]
    times = Counter(pairs)
    return bool(pairs) and 2 * sum(times[pair] == 1 for pair in pairs) <= len(pairs)


def question_of(record: RecordedJudgement) -> Hashable:
    if record.texts is None:
        return None
    return folded(record.persona), folded(record.question), frozenset(map(folded, record.texts))


def tokens(text: str | None) -> list[str]:
    return re.findall(r"\w+", folded(text))


def persona_words(recording: Recording) -> Callable[[RecordedJudgement], frozenset[str]]:
    """Make a function that returns the distinctive words of a record's persona: words of four letters or more that
    occur in at most a tenth of the personas (or in only one persona)."""
    personas = {folded(record.persona) for record in recording.judgements} - {""}
    words_of = {persona: frozenset(word for word in tokens(persona) if len(word) > 3) for persona in personas}
    counts = Counter(word for words in words_of.values() for word in words)
    common = {word for word, count in counts.items() if count > max(1, len(personas) // 10)}
    return lambda record: words_of.get(folded(record.persona), frozenset()) - common
