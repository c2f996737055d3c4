"""Reading replies: what of a reply is the judge's own word, and which marks stand in it.

A judge repeats what it was shown: a text with a verdict inside it must not become the verdict. So what is quoted is set
aside before anything is read, and two different verdicts are none.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pearl.reasoning import OPENING_MARKS, without_reasoning

# why a reply is invalid
EMPTY = "empty"
CUT_OFF = "cut_off"  # it ended with its tokens, so it never came to its verdict
NO_VERDICT = "no_verdict"
NOT_OFFERED = "not_offered"
SEVERAL_VERDICTS = "several_verdicts"
NO_CERTAINTY = "no_certainty"
SEVERAL_CERTAINTIES = "several_certainties"
CERTAINTY_OUT_OF_RANGE = "certainty_out_of_range"
SCORE_OUT_OF_RANGE = "score_out_of_range"

CONTEXT = 12  # characters before a mark that tell a quotation from a judge's own words
OWN_WORDS = 4  # with fewer of them in front it is the judge that starts so

FENCE_LINE = re.compile(r"^[ \t]*(```|~~~)[^\n]*$", re.MULTILINE)
QUOTE_LINE = re.compile(r"^[ \t]*>[^\n]*$", re.MULTILINE)
_QUOTED = re.compile(r'"[^"\n]+"|“[^“”]+”|«[^«»]+»|「[^「」]+」')
_MARK = re.compile(r"\[\[([^\[\]]{1,60})\]\]")
_ONLY_MARKS = re.compile(r"[^\w\[\]]*(?:\[\[[^\[\]]{1,60}\]\][^\w\[\]]*){1,2}")
_STRING_OR_LAST_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])')
_NOT = re.compile(r"(?:\bnot|n[’']t|\bnever|\brather than|\binstead of)[ ,]+(?:\w+[ ,]+){0,3}$", re.IGNORECASE)


class _Visible(dict[int, int | None]):
    """Each character's number to itself, or to None if it is invisible; a category is looked up once."""

    def __missing__(self, number: int) -> int | None:
        unseen = chr(number) not in "\n\t" and unicodedata.category(chr(number)) in ("Cf", "Cc")
        self[number] = None if unseen else number
        return self[number]


_VISIBLE = _Visible()


def clean(reply: str) -> str:
    """NFKC-normalised, without invisible characters."""
    return unicodedata.normalize("NFKC", reply).translate(_VISIBLE)


def answer(reply: str) -> str:
    """The cleaned reply without the reasoning that it begins with. Where no mark opens it, one that closes may be
    repeated from a text that the judge was shown: then what stands above it may be the verdict."""
    text = clean(reply)
    return without_reasoning(text) if text.lstrip().lower().startswith(OPENING_MARKS) else text


def own_words(text: str) -> str:
    """The reply without quoted lines, quotations and code, unless they hold marks alone, as prompts show."""
    parts = FENCE_LINE.split(text)  # text, fence, inside, fence, text, ...
    if len(parts) > 1:
        outside = [part for place, part in enumerate(parts[0::2]) if place % 2 == 0 or _ONLY_MARKS.fullmatch(part)]
        text = "".join(outside if "".join(outside).strip() else parts[0::2])
    text = QUOTE_LINE.sub("", text)
    return _QUOTED.sub(lambda quotation: quotation[0] if _ONLY_MARKS.fullmatch(quotation[0]) else " ", text)


@dataclass(frozen=True, slots=True)
class Mark:
    """``[[content]]``, and where it ends in the text."""

    content: str
    end: int


def marks(text: str, shown: Sequence[str] = ()) -> Iterator[Mark]:
    """The marks that are neither denied ("not [[A]]") nor repeated from the texts ``shown`` to the judge."""
    known = [_folded(text_shown) for text_shown in shown]
    for mark in _MARK.finditer(text):
        before = text[max(mark.start() - 3 * CONTEXT, 0) : mark.start()]
        near = _folded(before)[-CONTEXT:]
        repeated = len(near.strip()) >= OWN_WORDS and any(near + mark[0].casefold() in source for source in known)
        if not repeated and not _NOT.search(before):
            yield Mark(mark[1].strip(" \n\t*_`'\".:"), mark.end())


def _folded(text: str) -> str:
    """However it was broken into lines."""
    return re.sub(r"\s+", " ", text).casefold()


def leading_object(text: str) -> tuple[dict[str, Any], str] | None:
    """The JSON object a reply begins with, in a fence or not, and what follows; None where it names a field twice. A
    comma behind the last field or element means nothing, and is passed over."""
    start = FENCE_LINE.sub("", text, count=1).lstrip() if text.lstrip().startswith("```") else text.lstrip()
    if not start.startswith("{"):
        return None
    start = _STRING_OR_LAST_COMMA.sub(lambda match: "" if match[0] == "," else match[0], start)
    try:
        value, end = json.JSONDecoder(object_pairs_hook=_without_repeats).raw_decode(start)
    except (ValueError, RecursionError):
        return None
    return value, start[end:]


def closing_object(text: str) -> tuple[str, str, dict[str, Any]] | None:
    """The flat JSON object a reply ends with, in a fence or not, behind what stands above it and its text."""
    body = text.rstrip().removesuffix("```").rstrip()
    start = body.rfind("{")
    above = body[: max(start, 0)].rstrip(" \t")
    if not above.endswith("\n") or (read := leading_object(body[start:])) is None or read[1]:
        return None
    lines = above.rstrip().splitlines()
    return "\n".join(lines[:-1] if lines and FENCE_LINE.fullmatch(lines[-1]) else lines), body[start:], read[0]


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a field stands twice")
    return dict(pairs)
