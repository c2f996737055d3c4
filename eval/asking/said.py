"""Formal statements of an answer in a reply: a field of a JSON object, a tag named like such a field, a TeX box.

A statement counts anywhere in the reply, unless the judge ascribes it to a text ("the post says {...}"), repeats it
from a text that it was shown, or denies it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from eval.asking.lines import QUOTATION, STATED, comparable, folded
from eval.asking.reply import DENIES, FENCE_LINE, json_objects

BOX = "box"  # the name of what a box says
VERDICT_WORDS = 3  # of a line that says a verdict and no reason: "TWEET ONE", "Somewhat exhibits style"
NEAR = 200  # characters in front and behind that tell what a statement is

_TAG = re.compile(r"<(?P<name>\w[\w -]{0,30})>(?P<content>[^<>{\n]{0,200})</(?P=name)>|</?(?P<alone>\w[\w -]{0,30})>")
_BOX = re.compile(r"(?:\\+b|\x08)oxed\s*\{([^{}]{1,200})\}|\\+f(?:rame)?box\s*\{([^{}]{1,200})\}")
_SPACE = re.compile(r"\\+(?:[ ,;:!]|q?quad\b)|(?<=\w)~(?=\w)")
_BESIDE = " \t*_`\"'”’“‘()[]|$"
# "Answer: Yes, " before the reason for it
_ANNOUNCED = re.compile(
    r"^[^\w\n]*(?:my |the )?(?:final |overall |total )?(?:answer|verdict|label|rating|score|probability|estimate|points"
    r"|judge?ment|decision|choice|preference|conclusion|output)\W{0,6}(?::|=|is\b)[^.,;–—\n]*(?:\.\d+)?",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.!?;,](?=\s)|[>}\0]|\b(?:so|thus|hence|therefore)\b(?=\s+\w)", re.IGNORECASE)
_CLAUSE_ENDS = re.compile(r"[\s*_`\"'”’)\]|$]*(?:[.,;:!(<{\0–—-]|(?:because|since|as|for)\b|\Z)")
_NOT_MEANT = re.compile(
    r"\b(?:says?|saying|reads?|contains?|claims?|states?|ends?|begins?|starts?|quotes?|repeats?|example|e\.g"
    r"|not|never|no|neither|nor|cannot|perhaps|maybe|possibly|might|could|either|whether|if|unless|rather\s+than"
    rf"|instead\s+of|wrong|reject)\b|n['’]t\b|[{DENIES}]",
    re.IGNORECASE,
)
_DENIED_BEHIND = re.compile(rf"[\s*_`\"'”’)\]|.]*[{DENIES}]")

Said = tuple[str, object]  # the name of a statement, and what it says
Found = tuple[int, int, Sequence[Said]]  # where it begins and ends


def field_name(name: str) -> str:
    """Normalise a field's name: "finalVerdict" and "My final verdict" become "verdict"."""
    words = re.split(r"[\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip()).casefold())
    return "_".join(word for word in words if word not in ("my", "the", "final", "overall"))


def statements(text: str, fields: Collection[str], shown: Sequence[str]) -> tuple[str, list[Said]]:
    """Find formal statements of an answer. Return the reply with each statement on its own line, after the mark STATED,
    and the statements' names and values. ``fields``: the names to look for; ``shown``: texts that the judge saw."""
    every: list[Said] = []
    names = {field_name(name) for name in fields}
    for find in (_tags, _objects, _boxes):  # what an object's strings hold goes with the object
        parts, end = [], 0
        for start, stop, said in find(text, names):
            own = said if _is_own(text, start, stop, shown) else []
            every += own
            parts += [text[end:start], *(f"\n{STATED}{_spelled(value)}\n" for _, value in own)]
            parts += [] if own else [QUOTATION]
            end = stop
        text = "".join((*parts, text[end:]))
        if find is _tags:  # around more lines, or around what says something itself
            text = _TAG.sub(lambda tag: f"\n{tag[0]}\n" if field_name(tag["alone"] or "") in names else tag[0], text)
    return text, every


def _is_own(text: str, start: int, stop: int, shown: Sequence[str]) -> bool:
    """True if a statement is the judge's own: not copied from a shown text, not denied, and not part of a sentence."""
    lead, tail = _around(text, start, stop)
    goes_on = bool(lead.strip(_BESIDE)) and not _CLAUSE_ENDS.match(tail)
    if goes_on or _NOT_MEANT.search(lead) or _DENIED_BEHIND.match(tail):
        return False
    return not any(folded(text[start:stop]) in comparable(source) for source in shown)


def _around(text: str, start: int, stop: int) -> tuple[str, str]:
    """The words before a place in its clause, or in a line above that ends with a colon, and the words after it on its
    line."""
    lead = text[max(start - NEAR, 0) : start]
    if not lead.rpartition("\n")[2].strip(_BESIDE):
        above = FENCE_LINE.sub("", lead).rstrip(f"{_BESIDE}\n")
        lead = above if above.endswith(":") else ""
    return _CLAUSE.split(lead.rpartition("\n")[2])[-1], text[stop : stop + NEAR].partition("\n")[0]


def _tags(text: str, names: Collection[str]) -> Iterator[Found]:
    for tag in _TAG.finditer(text):
        if tag["name"] and field_name(tag["name"]) in names:
            yield tag.start(), tag.end(), [(field_name(tag["name"]), tag["content"])]


def _objects(text: str, names: Collection[str]) -> Iterator[Found]:
    for found in json_objects(text):
        yield found.start, found.end, list(_fields(found.value, names))


def _fields(value: Mapping[str, object], names: Collection[str], depth: int = 3) -> Iterator[Said]:
    for name, item in value.items():
        inside = list(_fields(item, names, depth - 1)) if isinstance(item, dict) and depth else []
        yield from inside
        if not inside and field_name(name) in names:
            yield field_name(name), unboxed(item) if isinstance(item, str) else item


def _boxes(text: str, names: Collection[str]) -> Iterator[Found]:
    for box in _BOX.finditer(text):
        yield box.start(), box.end(), [(BOX, unboxed(box[0]))]


def unboxed(text: str) -> str:
    """Replace TeX boxes in the text by their contents, and TeX spaces by blanks."""
    return _SPACE.sub(" ", _BOX.sub(lambda box: box[1] or box[2], text)).strip()


def _spelled(value: object) -> str:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, float):
        return f"{value:.9f}".rstrip("0").rstrip(".")
    return " ".join(str(value).split()) if isinstance(value, (str, int)) else ""


def reasons(reply: str, names: Collection[str]) -> str:
    """Remove the verdict from a reply: lines that only announce or hold a verdict, and in JSON objects everything but
    the strings of fields other than ``names``."""
    for found in reversed(list(json_objects(reply))):
        values = [value for name, value in found.value.items() if field_name(name) not in names]
        strings = "\n".join(value for value in values if isinstance(value, str))
        reply = f"{reply[: found.start]}\n{strings}\n{reply[found.end :]}"
    lines = (_ANNOUNCED.sub("", line) for line in reply.splitlines())
    return "\n".join(line for line in lines if len(line.split()) > VERDICT_WORDS)
