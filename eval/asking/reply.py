"""Telling a judge's own words in a reply from text that the judge quotes, so that no quoted verdict counts."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pearl.text.answers.reasoning import OPENING_MARKS, without_reasoning

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

DENIES = "?~¬≠\u0300-\u036f\u2612\u2715-\u2718\u274c\u274e\U0001f44e\U0001f6ab"  # doubt, strokes, crosses, a thumb down
CONTEXT = 12  # characters before a mark that tell a quotation from a judge's own words
OWN_WORDS = 4  # with fewer of them in front it is the judge that starts so

FENCE_LINE = re.compile(r"^[ \t]*(```|~~~)[^\n]*$", re.MULTILINE)
QUOTE_LINE = re.compile(r"^[ \t]*>[^\n]*$", re.MULTILINE)
_QUOTED = re.compile(r'"[^"\n]+"|“[^“”]+”|«[^«»]+»|「[^「」]+」')
_MARK = re.compile(r"\[\[([^\[\]]{1,60})\]\]")
_ONLY_MARKS = re.compile(r"[^\w\[\]]*(?:\[\[[^\[\]]{1,60}\]\][^\w\[\]]*){1,2}")
# a string of JSON, which stays as it is; one in other quotation marks; a comma behind the last field or element
_SPELLED_OTHERWISE = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?P<other>\'(?:[^\'\\]|\\.)*\'|“[^“”]*”)|,(?=\s*[}\]])|\b(?:True|False|None)\b', re.DOTALL
)
_AS_JSON = {",": " ", "True": "true", "False": "false", "None": "null"}
_TEX_WORDS = re.compile(
    r"\\+(?:text(?:bf|it|rm|sf|tt|sc|md|up|normal)?|math(?:bf|it|rm|sf|tt|normal)|operatorname|mbox|emph|underline"
    r"|textcolor\s*\{\w+\})"
    r"\s*\{([^{}]*)\}"
)
_TEX_MATH = re.compile(r"(?<!\$)\$\$?([^$\n]{1,300})\$\$?")
_ESCAPED = re.compile(r"\\+([][()%_#&*$])")
_BEGINS = re.compile(r"\{\s*[\"'“}]")
MOST_OBJECTS = 64  # of a reply; the braces of one with more are not read
_NOT = re.compile(r"(?:\bnot|n[’']t|\bnever|\brather than|\binstead of)[ ,]+(?:\w+[ ,]+){0,3}$", re.IGNORECASE)

# what takes back an answer above it, or says that there is none
TAKEN_BACK = re.compile(
    r"\b(?:wait|actually|second\s+thoughts?|reconsider\w*|correction|scratch\s+that|mistaken?|sorry|instead|rather|wrong"
    r"|revis\w+|should\s+(?:have\s+been|be)|chang\w+\s+(?:my|the)|take\s+(?:that|it)\s+back"
    r"|(?:cannot|can['’]t|could\s*n[o'’]t|unable)\W+(?:\w+\W+){0,2}"
    r"(?:tell|say|determine|judge|assess|evaluate|answer|decide|help|rate|score|provide|analy[sz]e))\b",
    re.IGNORECASE,
)


def clean(reply: str) -> str:
    """Normalise a reply (NFKC) and remove invisible characters."""
    text = unicodedata.normalize("NFKC", reply)
    unseen = {char for char in set(text) - {"\n", "\t"} if unicodedata.category(char) in ("Cf", "Cc")}
    return text.translate(dict.fromkeys(map(ord, unseen)))


def answer(reply: str) -> str:
    """Return the cleaned reply without a leading reasoning block. A closing mark alone removes nothing."""
    text = clean(reply)
    return plain(without_reasoning(text) if text.lstrip().lower().startswith(OPENING_MARKS) else text)


def plain(text: str) -> str:
    """Remove TeX commands and math signs around words, and Markdown's escapes."""
    if "\\" in text or "$" in text:
        for _ in range(2):  # a command within another
            text = _TEX_WORDS.sub(r"\1", text)
        text = _ESCAPED.sub(r"\1", _TEX_MATH.sub(r"\1", text))
    return text


def own_words(text: str) -> str:
    """Remove quoted lines from a judge's reply, and quotations and code unless they hold only ``[[...]]`` marks."""
    parts = FENCE_LINE.split(text)  # text, fence, inside, fence, text, ...
    if len(parts) > 1:
        outside = [part for place, part in enumerate(parts[0::2]) if place % 2 == 0 or _ONLY_MARKS.fullmatch(part)]
        text = "".join(outside if "".join(outside).strip() else parts[0::2])
    text = QUOTE_LINE.sub("", text)
    return _QUOTED.sub(lambda quotation: quotation[0] if _ONLY_MARKS.fullmatch(quotation[0]) else " ", text)


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark ``[[content]]`` in a reply; ``end``: the position in the text where it ends."""

    content: str
    end: int


def marks(text: str, shown: Sequence[str] = ()) -> Iterator[Mark]:
    """Yield the verdicts that a reply marks as ``[[...]]``, except verdicts denied ("not [[A]]") or copied from texts
    ``shown`` to the judge."""
    known = [_folded(text_shown) for text_shown in shown]
    for mark in _MARK.finditer(text):
        before = text[max(mark.start() - 3 * CONTEXT, 0) : mark.start()]
        near = _folded(before)[-CONTEXT:]
        repeated = len(near.strip()) >= OWN_WORDS and any(near + mark[0].casefold() in source for source in known)
        if not repeated and not _NOT.search(before):
            yield Mark(mark[1].strip(" \n\t*_`'\".:"), mark.end())


def _folded(text: str) -> str:
    """The text in lower case, with every run of whitespace as one blank."""
    return re.sub(r"\s+", " ", text).casefold()


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A JSON object in a reply, and the positions where it starts and ends."""

    value: dict[str, Any]
    start: int
    end: int


def json_objects(text: str) -> Iterator[JsonObject]:
    """Yield the outermost JSON objects of a reply, skipping those that cannot be parsed or name a field twice. Line
    breaks in strings, Python's literals and quotation marks, and trailing commas are accepted."""
    place = 0
    for _ in range(MOST_OBJECTS):
        if (begins := _BEGINS.search(text, place)) is None:
            return
        start, place = begins.start(), 0
        for spelled in (str, _as_json):
            try:
                value, end = _DECODER.raw_decode(spelled(text[start:]))
            except (ValueError, RecursionError):
                continue
            place = start + end
            yield JsonObject(value, start, place)
            break
        place = place or closing_brace(text, start)


def closing_brace(text: str, start: int) -> int:
    """Return the position after the brace that closes the brace at ``start``, or the text's length if there is none."""
    depth = 0
    for brace in re.finditer(r"[{}]", text[start:]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return start + brace.end()
    return len(text)


def _as_json(text: str) -> str:
    """The text with Python's strings and literals as JSON, and trailing commas as blanks, at unchanged length."""

    def spelled(match: re.Match[str]) -> str:
        if match["other"]:
            inside = re.sub(r"""\\['"]""", "''", match["other"][1:-1]).replace('"', "'")
            return f'"{inside}"'
        return _AS_JSON.get(match[0], match[0])

    return _SPELLED_OTHERWISE.sub(spelled, text)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a field stands twice")
    return dict(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_without_repeats, strict=False)
