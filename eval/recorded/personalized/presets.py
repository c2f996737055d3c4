"""Points on which the paper, its code and its tables disagree: named choices, and the presets that make them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pearl.options import known

RECORDED, STRICT = "recorded", "strict"
READINGS = {
    RECORDED: "the answer and the certainty as the file has them; where it has none, by the rule of the published code",
    STRICT: "our own parser on the raw reply, where the file has it: a verdict must be given, not just begin the reply",
}
WRONG, DROPPED, DROPPED_UNLESS_TIE = "wrong", "dropped", "dropped_unless_tie"
UNPARSED = {
    WRONG: "a record without an answer is counted and wrong",
    DROPPED: "a record without an answer is left out",
    DROPPED_UNLESS_TIE: "left out where no tie is offered, wrong where one is: so are the tables of the paper",
}


@dataclass(frozen=True, slots=True)
class Preset:
    """``histogram``: certainties outside are drawn at its ends."""

    name: str
    description: str
    reading: str
    unparsed: str
    histogram: tuple[int, int] = (1, 100)


PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("recorded", "The file's own reading of the replies, and every record counted.", RECORDED, WRONG),
        Preset(
            "as_published",
            "What papers/personalized-judge.txt prints: unread replies left out, certainties drawn from 40 to 90.",
            RECORDED,
            DROPPED_UNLESS_TIE,
            (40, 90),
        ),
        Preset("corrected", "Raw replies read again by our parser, and every record counted.", STRICT, WRONG),
    )
}
DEFAULT = "recorded"


def preset_named(name: str) -> Preset:
    return PRESETS[known("preset", name, PRESETS)]


def chosen(preset: str, reading: str | None, unparsed: str | None) -> Preset:
    """The preset with its choices overridden by those given."""
    base = preset_named(preset)
    return Preset(
        base.name,
        base.description,
        known("reading", reading or base.reading, READINGS),
        known("unparsed", unparsed or base.unparsed, UNPARSED),
        base.histogram,
    )
