"""Points that papers/style-judges.txt leaves open about ranking: named choices, and the presets that make them.

It says neither what becomes of a draw that was answered in one order only, nor of an even vote. The judges, and here
the people too (appendix G.4), were given the names of the styles; a name such as "visual and spatial" can mean much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from eval.judges.style_detect import DEFINITION, NAME
from eval.recorded.style.choices import CAUTIOUS, DROPPED, EVEN, HALF, NO_LABEL, TIES
from pearl.options import known

STYLE_SHOWN = {NAME: "the styles by their names alone", DEFINITION: "with the definition of each"}


@dataclass(frozen=True, slots=True)
class Preset:
    """Keys of HALF, STYLE_SHOWN and EVEN."""

    name: str
    description: str
    half: str
    style_shown: str
    even: str

    def to_json(self) -> dict[str, str]:
        return {"half": self.half, "style_shown": self.style_shown, "even": self.even}


PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("corrected", "Styles are defined; what is not decided has no label.", DROPPED, DEFINITION, NO_LABEL),
        Preset("as_published", "Styles by name; what is not decided is a tie.", TIES, NAME, CAUTIOUS),
    )
}
DEFAULT = "corrected"


def chosen(preset: str, half: str | None = None, style_shown: str | None = None, even: str | None = None) -> Preset:
    """The preset with its choices overridden by those given. Raises InputError for unknown ones."""
    base = PRESETS[known("preset", preset, PRESETS)]
    return replace(
        base,
        half=known("half", half or base.half, HALF.values),
        style_shown=known("style-shown", style_shown or base.style_shown, STYLE_SHOWN),
        even=known("even", even or base.even, EVEN.values),
    )
