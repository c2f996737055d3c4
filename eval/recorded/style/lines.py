"""Parsing recorded judgements of style: JSON Lines, optionally gzipped, with one answer of a judge per line. The
commands ``pearl judge style-detect`` and ``pearl judge style-rank`` write them with ``--judgements``.

``{"kind": "detection" | "ranking", "item", "task", "style", "scheme", "judge", "draw", "verdict", "score"?, "label"?,
"order"?, "response"?, "generator"?, "generator_a"?, "generator_b"?, "persona"?, "request"?, "judge_persona"?, "reply"?,
"reason"?}``; a ranking's ``persona`` is the persona whose styles are asked for. Other fields are ignored and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eval.asking.json_lines import check_fields, optional_id, optional_number, optional_string
from eval.asking.verdict import KINDS, SCORED
from eval.recorded.style.labels import ABSENT, DETECTION, LABELS, PRESENT, RANKING, THREE, TIE, A, B
from eval.recorded.style.styles import styles_key
from pearl.errors import InputError
from pearl.text.usable import check_id

Part = tuple[int, str]  # a draw, and which order or response of it

ABOUT = ("task", "persona", "generator", "generator_a", "generator_b", "request")
NAMED = ("item", "task", "scheme", "judge", "draw", "verdict")
FIELDS = frozenset(
    {"kind", "style", "score", "order", "response", "judge_persona", "label", "reply", "reason", *ABOUT, *NAMED}
)
ANSWERS = {"A": A, "B": B, TIE: TIE}
REFLECTED = "_reflected"  # behind the name of a scheme: what was said in the second round
VERDICTS = {DETECTION: (ABSENT, PRESENT, *KINDS[6:]), RANKING: (*KINDS, SCORED)}


@dataclass(frozen=True, slots=True)
class About:
    """The fields that all judgements of an item have in common, such as the task and the request."""

    task: str
    persona: str | None
    generators: tuple[str, ...]  # writers of the text, or of both
    request: str | None  # that both texts answer; texts for one request are not independent of each other

    @property
    def generator(self) -> str | None:
        """The model that wrote the text (or both texts); None if unknown, or if two models wrote them."""
        return self.generators[0] if len(set(self.generators)) == 1 else None


@dataclass(frozen=True, slots=True)
class Key:
    """The item, style, judge and scheme (way of asking) of a judgement. All draws with the same key form one unit."""

    kind: str
    item: str
    style: str
    scheme: str
    judge: str
    judge_persona: str | None


@dataclass(frozen=True, slots=True)
class Line:
    key: Key
    about: About
    part: Part
    said: str | float | None
    verdict: str
    reply: str
    score: float | None
    level: str | None  # one of THREE


def parse_line(value: dict[str, Any]) -> Line:
    """Parse a recorded judgement. Raises InputError with ``param`` set to the field."""
    kind = _among(value, "kind", LABELS)
    check_fields(value, *NAMED)
    item, task, scheme, judge = (check_id(value[name], param=name) for name in ("item", "task", "scheme", "judge"))
    generators = tuple(filter(None, (optional_id(value, name) for name in ("generator", "generator_a", "generator_b"))))
    return Line(
        key=Key(kind, item, style_key(value), scheme, judge, optional_id(value, "judge_persona")),
        about=About(task, optional_id(value, "persona"), generators, optional_string(value, "request")),
        part=_part(value, kind),
        said=_said(value, kind),
        verdict=_among(value, "verdict", VERDICTS[kind]),
        reply=optional_string(value, "reply") or "",
        score=optional_number(value, "score"),
        level=value["label"] if value.get("label") in THREE else None,
    )


def style_key(value: Mapping[str, Any]) -> str:
    """A canonical name of a line's style or styles; empty for a line without a style, such as a judgement of
    helpfulness. Raises InputError for what is no string, and for blanks."""
    style = value.get("style")
    names = [] if style in (None, "") else style if isinstance(style, list) else [style]
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise InputError("must be a style or an array of styles.", param="style")
    return styles_key(names)


def _among(value: Mapping[str, Any], name: str, names: Iterable[str]) -> str:
    check_fields(value, name)
    if value[name] not in tuple(names):
        raise InputError(f"must be one of {', '.join(names)}.", param=name)
    return str(value[name])


def _part(value: dict[str, Any], kind: str) -> Part:
    """The draw, and in a ranking which part of it: the order of the texts, or the text that was scored."""
    draw = value.get("draw")
    if isinstance(draw, bool) or not isinstance(draw, int) or draw < 0:
        raise InputError("must be a whole number, 0 or more.", param="draw")
    if kind == DETECTION:
        return draw, ""
    if value.get("response") is not None:
        return draw, _among(value, "response", (A, B))
    return draw, _among(value, "order", ("ab", "ba"))


def _said(value: dict[str, Any], kind: str) -> str | float | None:
    """The label, corrected for the order of the texts, or the score of a text; None without an answer."""
    verdict = _among(value, "verdict", VERDICTS[kind])
    if kind == DETECTION:
        return verdict if verdict in (ABSENT, PRESENT) else None
    if value.get("response") is not None:
        return optional_number(value, "score")
    answer = ANSWERS.get(verdict)
    if value["order"] == "ba" and answer in (A, B):
        return A if answer == B else B
    return answer
