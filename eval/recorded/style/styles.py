"""The styles that are looked for, the tasks texts are written for, and who asks for which (papers/style-judges.txt).

The definitions follow those that the people who rated were shown (appendix F.3), in our words. Fifteen styles were
asked of the systems that wrote; realism was only rated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pearl.errors import InputError
from pearl.texts import json_type

TASKS = ("email", "tweet", "summary")
REALISM = "realism"

STYLES: Mapping[str, str] = {
    "step-by-step instructional": (
        "Tells the reader what to do, one clear and exact action after the other, in the order they are to be done."
    ),
    "robotic and emotionless": "Flat and mechanical: no feeling, no warmth, hardly any variety of expression.",
    "legal precision": (
        "Wording that can be read in one way only, with terms that are defined and kept to, so that nobody misreads it."
    ),
    "rhyming and rhythmic": "Patterns of sound and a cadence that flows, often rhyme and metre; musical, memorable.",
    "sensory-focused": (
        "Speaks to the senses, to sight, hearing, smell, taste and touch, until the reader is in the midst of it."
    ),
    "encouraging and supportive": (
        "Kind and positive words that raise the reader's spirits and confidence, motivate and reassure."
    ),
    "poetic and lyrical": "Vivid images, figures of speech and sentences with a rhythm, to stir feelings and senses.",
    REALISM: "Natural and true to life: as another person would really write.",
    "scholarly-yet-friendly": (
        "Careful reasoning and references, told in plain words, with asides in the first person and comparisons that "
        "bring technical matters close."
    ),
    "visual and spatial": (
        "Explains through pictures, layout and where things stand: the structure that one sees carries the ideas."
    ),
    "storytelling": (
        "Scenes, dialogue and turns of a plot, also where all is fact; ideas come as anecdotes and little stories."
    ),
    "journalistic": (
        "Reports facts and what the writer saw for themselves, even-handed, with a narrator whom one recognises."
    ),
    "playful and whimsical": "Imaginative and light-hearted, with turns nobody expects; made to amuse and delight.",
    "inspirational and uplifting": (
        "Words that hearten and motivate, and a 'we' that takes the reader along; the writer is a guide at their side."
    ),
    "rich descriptions": (
        "Exact adjectives and concrete details of sound, smell and touch, so that the reader shares what was lived."
    ),
    "telegraphic brevity": (
        "Short, clipped sentences or mere phrases, without the little words such as articles, to say a thing quickly."
    ),
}

# ⚠ Figure 12 gives the second set "scholarly-yet-friendly", and appendix L.2 "rich descriptions"; with the latter each
# of the fifteen styles is in one set
PERSONAS: Mapping[str, tuple[str, str, str]] = {
    "0": ("poetic and lyrical", "storytelling", "scholarly-yet-friendly"),
    "1": ("inspirational and uplifting", "journalistic", "rich descriptions"),
    "2": ("robotic and emotionless", "telegraphic brevity", "legal precision"),
    "3": ("step-by-step instructional", "encouraging and supportive", "visual and spatial"),
    "4": ("playful and whimsical", "rhyming and rhythmic", "sensory-focused"),
}


def style_named(name: str) -> str | None:
    """The style as STYLES has it, whatever its capitals, hyphens and ampersands; None where there is none."""
    return _BY_FOLDED.get(_folded(name))


def check_style(name: str, *, param: str = "style") -> str:
    """The style of this name. Raises InputError that lists the styles."""
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
    """One of TASKS. Raises InputError."""
    if value not in TASKS:
        raise InputError(f"must be one of {', '.join(TASKS)}.", param="task", code="invalid_value")
    return str(value)


def names_style(text: str, styles: Iterable[str]) -> bool:
    """True when a text names one of the styles it should show."""
    words = f" {_folded(text)} "
    return any(f" {_folded(style)} " in words for style in styles)


def _folded(name: str) -> str:
    """Its words."""
    return " ".join(re.findall(r"\w+", name.casefold().replace("&", " and ")))


_BY_FOLDED = {_folded(name): name for name in STYLES}
