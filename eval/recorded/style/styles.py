"""The styles that judges look for, the tasks that texts are written for, and the personas (papers/style-judges.txt).

The definitions are our paraphrases of those that raters were shown (appendix F.3). Models were asked to write in
fifteen styles; the sixteenth, realism, was only rated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eval.asking.choices import PaperChoice, Preset, Presets
from pearl.errors import InputError
from pearl.text.usable import check_id, json_type

TASKS: Mapping[str, str] = {
    "email": "an email that answers a question",
    "tweet": "a tweet that answers a question",
    "summary": "a summary of a Reddit post",
    # the paper has no more than these
    "post": "a post that answers a question",
    "comment": "a comment on a post",
    "commit": "a commit message",
}
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
PERSONAS: Mapping[str, tuple[str, str, str]] = {
    "0": ("poetic and lyrical", "storytelling", "scholarly-yet-friendly"),
    "1": ("inspirational and uplifting", "journalistic", "rich descriptions"),
    "2": ("robotic and emotionless", "telegraphic brevity", "legal precision"),
    "3": ("step-by-step instructional", "encouraging and supportive", "visual and spatial"),
    "4": ("playful and whimsical", "rhyming and rhythmic", "sensory-focused"),
}


def personas_by(persona_1: str) -> Mapping[str, tuple[str, str, str]]:
    """The three styles of each persona. ``persona_1``: which third style the persona 1 has, RICH or SCHOLARLY."""
    first, second, third = PERSONAS["1"]
    return {**PERSONAS, "1": (first, second, third if persona_1 == RICH else "scholarly-yet-friendly")}


def style_named(name: str) -> str | None:
    """Find the name in STYLES, ignoring case, hyphens and ampersands; None if there is no such style."""
    return _BY_FOLDED.get(_folded(name))


def styles_key(style: str | Sequence[str] | None) -> str:
    """A canonical name for one or several styles: in the order of STYLES, unknown names last. Empty for no style."""
    names = [] if style is None else [style] if isinstance(style, str) else style
    if len(names) == 1 and all(map(style_named, parts := names[0].split(", "))):
        names = parts  # as ratings have what was judged for several
    known = list(STYLES)
    spelled = (style_named(name) or name for name in names)
    return ", ".join(sorted(spelled, key=lambda name: (known.index(name) if name in STYLES else len(known), name)))


def check_style(name: str, *, param: str = "style") -> str:
    """Return the name as STYLES spells it, ignoring case, hyphens and ampersands. Raises InputError that lists them."""
    style = style_named(name)
    if style is None:
        raise InputError(f"'{name}' is none of {', '.join(STYLES)}.", param=param)
    return style


def check_styles(value: Any, *, needed: bool) -> tuple[str, ...]:
    """Convert a style, or an array of styles, to different names in STYLES. Raises InputError for other values."""
    names = value if isinstance(value, list) else [] if value is None else [value]
    if needed and not names:
        raise InputError("names no style.", param="style")
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"must be a style or an array of styles, not {json_type(name)}.", param="style")
    return tuple(dict.fromkeys(map(check_style, names)))


def check_task(value: Any) -> str:
    """Return the task unchanged. Raises InputError if it is not in TASKS."""
    if value not in tuple(TASKS):
        raise InputError(f"must be one of {', '.join(TASKS)}.", param="task")
    return str(value)


def names_style(text: str, styles: Iterable[str]) -> bool:
    """True if a text names one of the styles that it should show."""
    words = f" {_folded(text)} "
    return any(f" {_folded(style)} " in words for style in styles)


def _folded(name: str) -> str:
    """The words of a name in lower case, joined by spaces."""
    return " ".join(re.findall(r"\w+", name.casefold().replace("&", " and ")))


_BY_FOLDED = {_folded(name): name for name in STYLES}


# roles that a judge is told to play, which should not matter (appendix J.4, figures 20 and 21): three system prompts
# of Gupta et al. 2024 in our words; the draws are dealt out to them in turn
ROLES = (
    "You are {persona}. Answer with what this persona knows and is able to do.",
    "Take on the identity of {persona}, and answer in strict keeping with who that is.",
    "Play the part of {persona}. It is vital that each answer stays true to what marks this part.",
)
DEFAULT_PERSONAS = ("a human", "a typical person")  # what the others are compared with
PROTECTED: Mapping[str, tuple[str, ...]] = {
    "disability": ("a physically-disabled person", "an able-bodied person"),
    "religion": ("a Jewish person", "a Christian person", "an Atheist person", "a Religious person"),
    "race": ("an African person", "a Hispanic person", "an Asian person", "a Caucasian person"),
    "gender": ("a man", "a woman", "a transgender man", "a transgender woman", "a non-binary person"),
    "political affiliation": ("a Republican", "a Democrat", "a Libertarian", "a non-partisan person"),
}


def role_of(persona: str, draw: int) -> str:
    return ROLES[draw % len(ROLES)].format(persona=persona)


def personas_of(named: Iterable[str], *, protected: bool) -> tuple[str, ...]:
    """The distinct personas ``named``; with ``protected`` also the paper's protected groups and two defaults."""
    names = [check_id(name, param="as") for name in named]
    if protected:
        names += [*DEFAULT_PERSONAS, *(persona for group in PROTECTED.values() for persona in group)]
    return tuple(dict.fromkeys(names))
