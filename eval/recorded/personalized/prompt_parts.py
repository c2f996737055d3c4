"""A recorded prompt taken apart: who was shown, which two texts, and what it asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HEADER = re.compile(r"^\[([^\[\]\n]{1,80})\][ \t]*$", re.MULTILINE)
_PROFILE = re.compile(r"\b(profile|persona)\b", re.IGNORECASE)
_TEXT = re.compile(
    r"(?:the start of )?(?:question-answer pair|response|answer|assistant|option)s? ([AB])\b", re.IGNORECASE
)
_QUESTION = re.compile(r"\b(question|article|post)\b", re.IGNORECASE)
_TIE = re.compile(r"\[\[C\]\]")
_TO_FIVE = re.compile(r"\b1 (?:to|-) 5\b(?![\d%])")
_CERTAINTY = re.compile(r"\b(certainty|confidence)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PromptParts:
    """The parts of a prompt below its headers; None for a missing header."""

    persona: str | None
    first: str | None
    second: str | None
    question: str | None
    tie: bool
    certainty: bool
    opened: bool
    to_five: bool


def take_apart(prompt: str) -> PromptParts:
    """The first of each kind counts: what looks like a header inside a text comes after the text's own."""
    parts: dict[str, str] = {}
    instructions, *headed = _HEADER.split(prompt)
    for header, text in zip(headed[::2], headed[1::2], strict=True):
        parts.setdefault(_kind(header), text.strip())
    # where the instructions stand behind the texts they cannot be told from the last one
    asks = instructions + parts.get("B", "") + parts.get("", "")
    return PromptParts(
        persona=parts.get("persona"),
        first=parts.get("A"),
        second=parts.get("B"),
        question=parts.get("question"),
        tie=bool(_TIE.search(asks)),
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
