"""The four ways of asking whether a style is there, and what the numbers on their scales stand for.

The thresholds are those of appendix H of papers/style-judges.txt, for two labels and for three. ⚠ Its footnotes 2 and 3
begin the scale of ten at 0, the prompt at 1: a 0 is none of the scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.recorded.style.choices import CAUTIOUS
from eval.recorded.style.labels import ABSENT, PRESENT
from pearl.errors import InputError
from pearl.options import known

NOT, SOMEWHAT, VERY = "not", "somewhat", "very"
LABELS: Mapping[int, tuple[str, ...]] = {2: (ABSENT, PRESENT), 3: (NOT, SOMEWHAT, VERY)}  # what claims less first


@dataclass(frozen=True, slots=True)
class Scale:
    """``present_from`` is the lowest score that stands for present; of three labels NOT and SOMEWHAT reach up to the
    two of ``up_to``. ``words``: the answers from the lowest to the highest, where they are no numbers."""

    name: str
    description: str
    lowest: float
    highest: float
    present_from: float
    up_to: tuple[float, float] | None
    words: tuple[str, ...] = ()

    def spelled(self, score: float) -> str:
        return self.words[int(score - self.lowest)] if self.words else f"{score:g}"


SCALES: Mapping[str, Scale] = {
    scale.name: scale
    for scale in (
        Scale("yes_no", "whether the style is there", 0, 1, 1, None, ("No", "Yes")),
        Scale(
            "likert_3",
            "three labels, of which two are present",
            1,
            3,
            2,
            (1, 2),
            ("Does not exhibit", "Somewhat exhibits", "Clearly exhibits"),
        ),
        Scale("likert_10", "1 to 10, present from 5", 1, 10, 5, (2.3, 5.6)),
        Scale("probability", "0.0 to 1.0, present from 0.5", 0, 1, 0.5, (0.33, 0.66)),
    )
}


def scales_named(names: Sequence[str], labels: int) -> tuple[Scale, ...]:
    """Each once. Raises InputError for an unknown one, and for one that cannot tell three labels apart."""
    scales = tuple(SCALES[known("scheme", name, SCALES)] for name in dict.fromkeys(names))
    for scale in scales:
        if labels == 3 and scale.up_to is None:
            raise InputError(f"--labels 3: {scale.name} only tells two apart; leave it out.", param="labels")
    return scales


def label_of(scale: Scale, score: float, labels: int = 2) -> str:
    """The one of ``LABELS[labels]`` that a score stands for."""
    if labels == 2:
        return PRESENT if score >= scale.present_from else ABSENT
    assert scale.up_to is not None
    least, middle = scale.up_to
    return NOT if score <= least else SOMEWHAT if score <= middle else VERY


def majority(counts: Mapping[str, int], even: str, labels: Sequence[str]) -> str | None:
    """The label of most draws. Of an even vote none, or with CAUTIOUS the one that claims less (first of ``labels``);
    none without any vote."""
    most = max(counts.values(), default=0)
    first = [label for label in labels if most and counts.get(label) == most]
    return first[0] if len(first) == 1 or (first and even == CAUTIOUS) else None
