"""Points of papers/style-judges.txt about detection, printed, open or wrong: named choices, and their presets.

⚠ A judge was given the mere name of a style, while the people whose labels it is measured by read a definition,
and were told to look at the manner and not at the content. ⚠ Two prompts for summaries call the text something else
(table 9: "EMAIL" for the scale of ten, "SUMMARY TO SUMMARY" for the labels). They stay to be had: such a heading stands
right above the text and says what it is, and the figures for summaries were made with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from eval.recorded.style.choices import CAUTIOUS, EVEN, NO_LABEL
from pearl.options import known

NAME, DEFINITION = "name", "definition"
STYLE_SHOWN = {
    NAME: "the style by its name alone",
    DEFINITION: "with the definition that the people who rated were shown, and their task: the manner, not the content",
}
PRINTED, TASK = "printed", "task"
HEADINGS = {
    PRINTED: "the headings of table 9, two of which name something else than the summary below them",
    TASK: "the text is called what it is",
}


@dataclass(frozen=True, slots=True)
class DetectChoices:
    """Keys of STYLE_SHOWN, HEADINGS and EVEN."""

    name: str
    description: str
    style_shown: str
    headings: str
    even: str

    def to_json(self) -> dict[str, str]:
        return {"style_shown": self.style_shown, "headings": self.headings, "even": self.even}


PRESETS: Mapping[str, DetectChoices] = {
    each.name: each
    for each in (
        DetectChoices(
            "as_published",
            "The style by name, and the headings as they are printed; an even vote claims less.",
            NAME,
            PRINTED,
            CAUTIOUS,
        ),
        DetectChoices(
            "corrected",
            "What people were shown, too, and the text called what it is; an even vote decides nothing.",
            DEFINITION,
            TASK,
            NO_LABEL,
        ),
    )
}
DEFAULT = "corrected"


def chosen(preset: str, style_shown: str | None, headings: str | None, even: str | None) -> DetectChoices:
    """The preset with its choices overridden by those given. Raises InputError for unknown ones."""
    base = PRESETS[known("preset", preset, PRESETS)]
    return replace(
        base,
        style_shown=known("style-shown", style_shown or base.style_shown, STYLE_SHOWN),
        headings=known("headings", headings or base.headings, HEADINGS),
        even=known("even", even or base.even, EVEN.values),
    )
