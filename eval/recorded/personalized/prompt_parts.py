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
    found: dict[str, str] = {}
    headers = list(_HEADER.finditer(prompt))
    for place, header in enumerate(headers):
        end = headers[place + 1].start() if place + 1 < len(headers) else len(prompt)
        found.setdefault(_kind(header[1]), prompt[header.end() : end].strip())
    instructions = prompt[: headers[0].start()] if headers else prompt
    # where the instructions stand behind the texts they cannot be told from the last one
    asks = instructions + found.get("B", "") + found.get("", "")
    return PromptParts(
        persona=found.get("persona"),
        first=found.get("A"),
        second=found.get("B"),
        question=found.get("question"),
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
