"""Points that papers/pearl.txt leaves open about its judge: named choices, and the presets that make them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eval.judges.draws import BOTH, ORDERS, RANDOM
from pearl.options import known

COUNTED, DROPPED = "counted", "dropped"
UNPARSED = {
    COUNTED: "a judgement without an answer is a share of its own",
    DROPPED: "a judgement without an answer is left out",
}


@dataclass(frozen=True, slots=True)
class Preset:
    name: str
    description: str
    runs: int
    order: str
    unparsed: str


PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("corrected", "Both orders, and every judgement counted.", 3, BOTH, COUNTED),
        Preset("as_published", "Table 2: one random order a run, unread replies left out.", 3, RANDOM, DROPPED),
    )
}
DEFAULT = "corrected"


def chosen(preset: str, runs: int | None, order: str | None, unparsed: str | None) -> Preset:
    """The preset with its choices overridden by those given. Raises InputError for unknown ones."""
    base = PRESETS[known("preset", preset, PRESETS)]
    return Preset(
        base.name,
        base.description,
        runs or base.runs,
        known("order", order or base.order, ORDERS),
        known("unparsed", unparsed or base.unparsed, UNPARSED),
    )
