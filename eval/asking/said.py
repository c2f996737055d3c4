"""Formal statements of a reply: a field of a JSON object, a tag named as what was asked for, a box of TeX.

Each counts wherever it stands, and is taken out of the text before its lines are read. What a text is said to hold
("the post says {...}"), and what a text that was shown does hold, is no statement of the judge's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from eval.asking.lines import QUOTATION, comparable, folded, own_lines, quotes_half
from eval.asking.reply import FENCE_LINE, json_objects

BOX = "box"  # the name of what a box says
DENIES = "?~¬≠\u2612\u2715-\u2718\u274c\u274e\U0001f44e\U0001f6ab"  # signs of doubt, crosses, a thumb down
# nothing but tags and signs, and none of those that deny or leave something out
SIGNS = re.compile(rf"(?:[^\w…{DENIES}]|</?\w[\w -]*>)*")

_TAG = re.compile(r"<(?P<closes>/?)(?P<name>\w[\w -]{0,30}?)(?:\s[^<>\n]*)?>")
_BOX = re.compile(r"(?:\\+b|\x08)oxed\s*\{([^{}]{1,200})\}|\\+f(?:rame)?box\s*\{([^{}]{1,200})\}")
_SPACE = re.compile(r"\\+(?:[ ,;:!]|q?quad\b)|(?<=\w)~(?=\w)")
_BESIDE = " \t*_`\"'”’“‘()[]|$"
VERDICT_WORDS = 3  # of a line that says a verdict and no reason: "TWEET ONE", "Somewhat exhibits style"
# "Answer: Yes, " before the reason for it
_ANNOUNCED = re.compile(
    r"^[^\w\n]*(?:my |the )?(?:final |overall |total )?(?:answer|verdict|label|rating|score|probability|estimate|points"
    r"|judge?ment|decision|choice|preference|conclusion|output)\W{0,6}(?::|=|is\b)[^.,;–—\n]*(?:\.\d+)?",
    re.IGNORECASE,
)
NEAR = 200  # characters in front and behind that tell what a statement is

_CLAUSE = re.compile(r"[.!?;,](?=\s)|[>}\0]|\b(?:so|thus|hence|therefore)\b(?=\s+\w)", re.IGNORECASE)
_CLAUSE_ENDS = re.compile(r"[\s*_`\"'”’)\]|]*(?:[.,;:!(<{\0–—-]|(?:because|since|as|for)\b|\Z)")
_OTHERS_SAY = re.compile(
    r"\b(?:says?|saying|reads?|contains?|claims?|states?|ends?|begins?|starts?|quotes?|repeats?|example|e\.g)\b",
    re.IGNORECASE,
)
_DOUBTED = re.compile(
    r"\b(?:not|never|no|neither|nor|cannot|perhaps|maybe|possibly|might|could|either|whether|if|unless|rather\s+than"
    r"|instead\s+of|wrong|reject)\b|n['’]t\b"
    rf"|[{DENIES}]",
    re.IGNORECASE,
)
_DENIED_BEHIND = re.compile(rf"[\s*_`\"'”’)\]|.]*[{DENIES}]")


@dataclass(frozen=True, slots=True)
class Said:
    """``value`` is a string, or what a field of an object holds; ``doubted``: it may be meant otherwise, so that it
    only speaks against another."""

    name: str
    value: object
    doubted: bool = False


Found = tuple[int, int, Sequence[Said | str]]  # where it begins and ends, and what it says or what to read there


def field_name(name: str) -> str:
    """The name of a field as ``fields`` spell it: "finalVerdict" and "My final verdict" are "verdict"."""
    words = re.split(r"[\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip()).casefold())
    return "_".join(word for word in words if word not in ("my", "the", "final", "overall"))


def statements(text: str, fields: Collection[str], shown: Sequence[str]) -> tuple[str, Mapping[str, Said]]:
    """The reply with a mark in the place of each statement, and the statement of each mark."""
    said: dict[str, Said] = {}
    names = {field_name(name) for name in fields}
    for find in (_tags, _objects, _boxes):  # what an object's strings hold goes with the object
        parts, end = [], 0
        for start, stop, found in find(text, names):
            lead, tail = _around(text, start, stop)
            if _OTHERS_SAY.search(lead) or any(folded(text[start:stop]) in comparable(source) for source in shown):
                continue
            parts.append(text[end:start])
            goes_on = bool(lead.strip(_BESIDE)) and not _CLAUSE_ENDS.match(tail)
            doubted = goes_on or bool(_DOUBTED.search(lead) or _DENIED_BEHIND.match(tail))
            for one in found:
                mark = one if isinstance(one, str) else f"\0{len(said)}\0"
                parts.append(mark)
                if isinstance(one, Said):
                    said[mark] = replace(one, doubted=doubted)
            end = stop
        text = "".join((*parts, text[end:]))
    return text, said


def own_parts(
    text: str, fields: Collection[str], shown: Sequence[str], is_label: Callable[[str], object]
) -> list[str | Said]:
    """The reply's own lines, as ``own_lines`` gives them, with its statements each in its place between them."""
    text, said = statements(text, fields, shown)
    parts: list[str | Said] = []
    for line in own_lines(text, lambda line: "\0" in line or is_label(line)):
        if "\0" not in line or quotes_half(line):
            parts.append(line)
            continue
        for piece in re.split(r"(\0\d+\0)", line):
            if piece in said:
                parts.append(said[piece])
            elif not SIGNS.fullmatch(piece):
                parts.append(piece.strip(" \t*_`$("))
    return parts


def _around(text: str, start: int, stop: int) -> tuple[str, str]:
    """The words that lead to a place in its clause, also from a line above that ends with a colon, and the words
    behind it on its line."""
    lead = text[max(start - NEAR, 0) : start]
    if not lead.rpartition("\n")[2].strip(_BESIDE):
        above = FENCE_LINE.sub("", lead).rstrip(f"{_BESIDE}\n")
        lead = above if above.endswith(":") else ""
    return _CLAUSE.split(lead.rpartition("\n")[2])[-1], text[stop : stop + NEAR].partition("\n")[0]


def _tags(text: str, names: Collection[str]) -> Iterator[Found]:
    """Tags around one line say it; around more lines, or what says something itself, they become lines."""
    opened: re.Match[str] | None = None
    tags = (tag for tag in _TAG.finditer(text) if field_name(tag["name"]) in names)
    for tag in (*tags, None):
        content = text[opened.end() : tag.start() if tag else None].strip() if opened else ""
        if opened and (tag is None or tag["closes"]):
            stop = tag.end() if tag else len(text)
            if re.search(r"[\n{]", content):
                yield opened.start(), opened.end(), [f"\n{opened[0]}\n"]
            else:
                yield opened.start(), stop, [Said(field_name(opened["name"]), content)]
                opened, tag = None, None
        if tag:
            opened = None if tag["closes"] else tag
            if tag["closes"]:
                yield tag.start(), tag.end(), [f"\n{tag[0]}\n"]


def _objects(text: str, names: Collection[str]) -> Iterator[Found]:
    for found in json_objects(text):
        yield found.start, found.end, list(_fields(found.value, names)) or [QUOTATION]


def _fields(value: Mapping[str, object], names: Collection[str], depth: int = 3) -> Iterator[Said]:
    for name, item in value.items():
        inside = list(_fields(item, names, depth - 1)) if isinstance(item, dict) and depth else []
        yield from inside
        if not inside and field_name(name) in names:
            yield Said(field_name(name), unboxed(item) if isinstance(item, str) else item)


def _boxes(text: str, names: Collection[str]) -> Iterator[Found]:
    for box in _BOX.finditer(text):
        yield box.start(), box.end(), [Said(BOX, unboxed(box[0]))]


def unboxed(text: str) -> str:
    """The text without the boxes and the spaces of TeX."""
    return _SPACE.sub(" ", _BOX.sub(lambda box: box[1] or box[2], text)).strip()


def reasons(reply: str, names: Collection[str]) -> str:
    """The reply without its verdict: its lines but those that only announce or hold one, and of its objects the strings
    of other fields than these ``names``."""
    for found in reversed(list(json_objects(reply))):
        values = [value for name, value in found.value.items() if field_name(name) not in names]
        strings = "\n".join(value for value in values if isinstance(value, str))
        reply = f"{reply[: found.start]}\n{strings}\n{reply[found.end :]}"
    lines = (_ANNOUNCED.sub("", line) for line in reply.splitlines())
    return "\n".join(line for line in lines if len(line.split()) > VERDICT_WORDS)
