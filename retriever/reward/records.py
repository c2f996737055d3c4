"""Records of writing quality in the forms that are published: pairs, scored paragraphs and traces of edits.

A record is a pair of the WQ benchmark (``paragraph1``, ``paragraph2``, ``reference_preference``), a ``paragraph`` with
its score, or a chat (``messages``) that asks for a preference, a score or an edit. Reasons for a label are in
``rationale``, in the chat's answer, or behind its question. Files are JSON arrays or JSON Lines, gzipped or not.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from pearl.errors import InputError
from pearl.style.editing.edits import RefusedEdit, SpanEdit
from pearl.style.editing.reply import PARTS, read_reply
from pearl.text.usable import is_blank, json_type
from pearl.text.words import count_words
from retriever.reward.record_files import parse_objects

EQUAL = 0.1  # about equally long: lengths in words differ by at most this share of the longer text
MAX_WORDS = 20_000  # the benchmark's longest text has 3,000; more is no paragraph
LOWEST_SCORE, HIGHEST_SCORE = 1.0, 10.0
UNSTATED = "unstated"
ONE, TWO = re.compile(r"\nParagraph 1:\n"), re.compile(r"\n+Paragraph 2:\n")
SINGLE = re.compile(r"\nParagraph:\n")
EDITED = re.compile(r"\nHere is the paragraph you are editing:\n|\nThe draft:\n<draft>\n")  # published, and ours
ASKED = re.compile(r"\n+You must produce your answer in the following JSON format:")
THOUGHTS = re.compile(r"\n+Some Thoughts:")  # the published mark of reasons behind a question


@dataclass(frozen=True, slots=True)
class QualityPair:
    """Two paragraphs, with a label that says which is better written."""

    line: int
    first: str
    second: str
    preferred: int  # 1 or 2
    origin: str = UNSTATED
    rationale: str = ""  # the reasons, if the record gives them

    @property
    def better(self) -> str:
        return self.first if self.preferred == 1 else self.second

    @property
    def worse(self) -> str:
        return self.second if self.preferred == 1 else self.first

    @property
    def texts(self) -> frozenset[str]:
        """Both texts, without their order and outer white space, for finding copies of a pair."""
        return frozenset((self.first.strip(), self.second.strip()))

    @property
    def equally_long(self) -> bool:
        """True if the texts' lengths in words differ by at most EQUAL of the longer one."""
        lengths = count_words(self.first), count_words(self.second)
        return max(lengths) - min(lengths) <= EQUAL * max(lengths)


@dataclass(frozen=True, slots=True)
class ScoredParagraph:
    """A paragraph with its score. ``off_scale``: the score is out of range, as in parts of the published data."""

    line: int
    text: str
    score: float
    rationale: str = ""

    @property
    def off_scale(self) -> bool:
        return not LOWEST_SCORE <= self.score <= HIGHEST_SCORE


@dataclass(frozen=True, slots=True)
class EditTrace:
    """A draft, the edits proposed for it, and the text that results."""

    line: int
    draft: str
    edits: tuple[SpanEdit, ...]
    edited: str
    unmatched: tuple[RefusedEdit, ...] = ()  # spans that only Part 1 or only Part 2 has


QualityRecord = QualityPair | ScoredParagraph | EditTrace


def read_quality(path: Path) -> list[QualityRecord]:
    """Read a file's records. Raises InputError; the message names the file, the record and the field."""
    return list(parse_objects(path, parse_record))


def read_pairs(path: Path) -> list[QualityPair]:
    """Read the pairs among a file's records. Raises InputError if there are none."""
    pairs = [record for record in read_quality(path) if isinstance(record, QualityPair)]
    if not pairs:
        raise InputError(f"{path}: holds no pair (paragraph1, paragraph2, reference_preference).", code="no_pairs")
    return pairs


def paragraphs(record: QualityRecord) -> Iterator[str]:
    """Yield every text in a record."""
    if isinstance(record, QualityPair):
        yield from (record.first, record.second)
    elif isinstance(record, ScoredParagraph):
        yield record.text
    else:
        yield from (record.draft, record.edited)


def parse_record(value: dict[str, Any], line: int) -> QualityRecord:
    """Convert a JSON object to a record. Raises InputError with ``param`` set to the field."""
    if "messages" in value:
        return _chat(value["messages"], line)
    rationale = _rationale(value.get("rationale"), "rationale")
    if "paragraph1" in value or "paragraph2" in value:
        first, second = (_paragraph(value.get(field), field) for field in ("paragraph1", "paragraph2"))
        preferred = _preference(value.get("reference_preference"), "reference_preference")
        return QualityPair(line, first, second, preferred, _origin(value.get("origin")), rationale)
    if "paragraph" in value:
        field = next((field for field in ("zscore", "score", "zscore_int") if field in value), "score")
        score = _score(value.get(field), field)
        return ScoredParagraph(line, _paragraph(value["paragraph"], "paragraph"), score, rationale)
    has = ", ".join(sorted(value)) or "no field"
    needs = "needs paragraph1 and paragraph2, paragraph, or messages"
    raise InputError(f"{needs}; the record has {has}.", code="missing_field")


def _chat(messages: Any, line: int) -> QualityRecord:
    """Read a pair, a score or a trace of edits from a chat: the user's question and the assistant's answer."""
    question, answer = (_said(messages, role) for role in ("user", "assistant"))
    if PARTS.search(answer):
        return _trace(question, answer, line)
    reply = _answered(answer)
    if "preference" in reply:
        first, second = (
            _paragraph(text, f"Paragraph {number}") for number, text in enumerate(_two_paragraphs(question), start=1)
        )
        preferred = _preference(reply["preference"], "preference")
        return QualityPair(line, first, second, preferred, rationale=_reasons(question, reply))
    if "score" in reply:
        text = _paragraph(_between(question, SINGLE, ASKED), "Paragraph")
        return ScoredParagraph(line, text, _score(reply["score"], "score"), _reasons(question, reply))
    raise InputError(
        "the assistant's message must be a JSON object with preference or score, or have Part 1 to Part 3.",
        param="messages",
    )


def _two_paragraphs(question: str) -> tuple[str | None, str | None]:
    """Return the two paragraphs in a question, each found by the mark before it; None if its mark is missing. Raises
    InputError if the second mark could be at several places."""
    both = _between(question, ONE, ASKED)
    if both is None:
        return None, None
    marks = list(TWO.finditer(both))
    marks = [mark for mark in marks if mark[0].startswith("\n\n")] or marks
    if len(marks) > 1:
        raise InputError(
            f"has {len(marks)} lines 'Paragraph 2:', so it cannot be told where the second one begins; give the pair "
            "as paragraph1, paragraph2 and reference_preference.",
            param="messages",
        )
    if not marks:
        return both, None
    return both[: marks[0].start()], both[marks[0].end() :]


def _answered(answer: str) -> dict[str, Any]:
    """Read the object in an answer, written as JSON or as a Python dict; an empty one if there is none."""
    try:
        value = orjson.loads(answer)
    except orjson.JSONDecodeError:
        try:
            value = ast.literal_eval(answer.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = None
    return value if isinstance(value, dict) else {}


def _reasons(question: str, reply: dict[str, Any]) -> str:
    """Return the reasons given in the answer, or behind the question; "" if there are none."""
    ends = [mark.end() for mark in ASKED.finditer(question)]
    behind = THOUGHTS.search(question, ends[-1]) if ends else None
    return _rationale(reply.get("reason", question[behind.end() :] if behind else None), "reason")


def _said(messages: Any, role: str) -> str:
    turns = messages if isinstance(messages, list) else []
    for turn in turns:
        if isinstance(turn, dict) and turn.get("role") == role and isinstance(turn.get("content"), str):
            return str(turn["content"])
    raise InputError(f"must hold a message of the {role}.", param="messages", code="missing_field")


def _between(text: str, start: re.Pattern[str], end: re.Pattern[str]) -> str | None:
    """Return the text between two marks, of which the last end mark counts; None if a mark is missing."""
    begun = start.search(text)
    ends = [mark for mark in end.finditer(text) if begun and mark.start() >= begun.end()]
    return text[begun.end() : ends[-1].start()] if begun and ends else None


def _trace(question: str, answer: str, line: int) -> EditTrace:
    begun = EDITED.search(question)
    if begun is None:
        raise InputError("the user's message holds no paragraph to edit.", param="messages", code="missing_field")
    try:
        reply = read_reply(answer)
    except InputError:
        reply = None
    if reply is None or reply.text is None:
        raise InputError("the assistant's message must have Part 1, Part 2 and Part 3.", param="messages")
    edits, unmatched = reply.edits()
    draft, edited = (
        _paragraph(question[begun.end() :].removesuffix("\n</draft>"), "paragraph"),
        _paragraph(reply.text, "Part 3"),
    )
    return EditTrace(line, draft, edits, edited, unmatched)


def _paragraph(value: Any, field: str) -> str:
    if value is None:
        raise InputError("is missing.", param=field, code="missing_field")
    if not isinstance(value, str):
        raise InputError(f"must be a string, not {json_type(value)}.", param=field, code="wrong_type")
    if is_blank(value):
        raise InputError("is empty.", param=field, code="empty_text")
    words = count_words(value)
    if words > MAX_WORDS:
        raise InputError(f"has {words:,} words; a paragraph has at most {MAX_WORDS:,}.", param=field, code="too_long")
    return value


def _rationale(reasons: Any, field: str) -> str:
    if reasons is None:
        return ""
    if not isinstance(reasons, str):
        raise InputError(f"must be a string, not {json_type(reasons)}.", param=field, code="wrong_type")
    return reasons.strip()


def _preference(value: Any, field: str) -> int:
    if value not in ("1", "2", 1, 2) or isinstance(value, bool):
        raise InputError("must be '1' or '2'.", param=field)
    return int(value)


def _score(value: Any, field: str) -> float:
    try:
        score = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        score = math.nan
    if not math.isfinite(score):
        raise InputError("must be a number.", param=field, code="wrong_type")
    return score


def _origin(value: Any) -> str:
    if value is None:
        return UNSTATED
    if not isinstance(value, str) or not value.strip():
        raise InputError("must be a string such as human-AI.", param="origin", code="wrong_type")
    return value.strip()
