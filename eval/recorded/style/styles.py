"""The styles that are looked for, the tasks texts are written for, and who asks for which (papers/style-judges.txt).

The definitions follow those that the people who rated were shown (appendix F.3), in our words. Fifteen styles were
asked of the systems that wrote; realism was only rated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eval.asking.choices import PaperChoice, Preset, Presets, words_beside
from pearl.errors import InputError
from pearl.templates import fill
from pearl.text.usable import check_id, json_type

WORDS = words_beside(__file__)
TASKS: Mapping[str, str] = WORDS["tasks"]
STYLES: Mapping[str, str] = WORDS["styles"]  # with their definitions
REALISM = "realism"
ASKED_STYLES = tuple(style for style in STYLES if style != REALISM)  # of writers; realism was only rated

RICH, SCHOLARLY = "rich", "scholarly"
PERSONA_1 = PaperChoice(
    "persona_1",
    {RICH: 'its third style is "rich descriptions"', SCHOLARLY: 'its third style is "scholarly-yet-friendly"'},
    'Figure 12 has "scholarly-yet-friendly", appendix L.2 "rich descriptions"; only so each of fifteen is in one set.',
)
PERSONA_PRESETS = Presets(
    (PERSONA_1,),
    (
        Preset("corrected", "Each of the fifteen styles belongs to one persona.", {"persona_1": RICH}),
        Preset("as_published", "The personas as figure 12 has them.", {"persona_1": SCHOLARLY}),
    ),
)
PERSONAS: Mapping[str, tuple[str, str, str]] = {name: (a, b, c) for name, (a, b, c) in WORDS["personas"].items()}


def personas_by(persona_1: str) -> Mapping[str, tuple[str, str, str]]:
    """The styles of each persona, by the wording chosen for persona 1."""
    first, second, third = PERSONAS["1"]
    return {**PERSONAS, "1": (first, second, third if persona_1 == RICH else "scholarly-yet-friendly")}


def style_named(name: str) -> str | None:
    """The style as STYLES has it, whatever its capitals, hyphens and ampersands; None where there is none."""
    return _BY_FOLDED.get(_folded(name))


def styles_key(style: str | Sequence[str] | None) -> str:
    """One name for a style, or for several whatever their order: as STYLES has them, others last; empty for none."""
    names = [] if style is None else [style] if isinstance(style, str) else style
    if len(names) == 1 and all(map(style_named, parts := names[0].split(", "))):
        names = parts  # as ratings have what was judged for several
    known = list(STYLES)
    spelled = (style_named(name) or name for name in names)
    return ", ".join(sorted(spelled, key=lambda name: (known.index(name) if name in STYLES else len(known), name)))


def check_style(name: str, *, param: str = "style") -> str:
    """Return the style of this name. Raises InputError that lists the styles."""
    style = style_named(name)
    if style is None:
        raise InputError(f"'{name}' is none of {', '.join(STYLES)}.", param=param, code="unknown_style")
    return style


def check_styles(value: Any, *, needed: bool) -> tuple[str, ...]:
    """A style, or an array of them, each once and as STYLES has it. Raises InputError."""
    names = value if isinstance(value, list) else [] if value is None else [value]
    if needed and not names:
        raise InputError("names no style.", param="style", code="missing_field")
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                f"must be a style or an array of styles, not {json_type(name)}.", param="style", code="wrong_type"
            )
    return tuple(dict.fromkeys(map(check_style, names)))


def check_task(value: Any) -> str:
    """Return the task. Raises InputError for one that is none of TASKS."""
    if value not in tuple(TASKS):
        raise InputError(f"must be one of {', '.join(TASKS)}.", param="task", code="invalid_value")
    return str(value)


def names_style(text: str, styles: Iterable[str]) -> bool:
    """True when a text names one of the styles it should show."""
    words = f" {_folded(text)} "
    return any(f" {_folded(style)} " in words for style in styles)


def _folded(name: str) -> str:
    """Return the words of a name, case-folded, joined by spaces."""
    return " ".join(re.findall(r"\w+", name.casefold().replace("&", " and ")))


# roles a judge is told to play, which should not matter (appendix J.4, figures 20 and 21)
DEFAULT_PERSONAS = ("a human", "a typical person")  # what the others are compared with
PROTECTED: Mapping[str, Sequence[str]] = WORDS["protected"]


def role_of(persona: str, draw: int) -> str:
    """The system prompt of a draw: the three are dealt out in turn."""
    return fill(WORDS["roles"][draw % len(WORDS["roles"])], persona=persona)


def personas_of(named: Iterable[str], *, protected: bool) -> tuple[str, ...]:
    """The personas named, each once; with ``protected`` also the paper's, and its two defaults."""
    names = [check_id(name, param="as") for name in named]
    if protected:
        names += [*DEFAULT_PERSONAS, *(persona for group in PROTECTED.values() for persona in group)]
    return tuple(dict.fromkeys(names))


_BY_FOLDED = {_folded(name): name for name in STYLES}
