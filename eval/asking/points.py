"""Reading the points that a judge gives by a rubric: "Score: 4", declared as a grammar.

One line says them, the last, or the first where no other number follows; or the reply is a number and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf

from eval.asking.grammar import Grammar
from eval.asking.reply import SCORE_OUT_OF_RANGE
from eval.asking.verdict import Invalid, Points, Score

FIELDS = ("score", "total_score", "final_score", "total", "points")
# a word that turns from the answer above it
TURN = (
    r"wait|actually|instead|rather|second|(?:on|upon)\s+\w*\s*(?:thought|reflection)|reconsider\w*|chang\w+|mistaken?"
    r"|correction|revis\w+|scratch|sorry|wrong"
)

_TURN = re.compile(rf"\b(?:{TURN})\b", re.IGNORECASE)
_NUMBER = r"-?(?:0|[1-9][0-9]{0,3})(?:\.[0-9]{1,3})?"
_POINTS = (
    rf"(?P<points>{_NUMBER})(?:\s*/\s*(?P<of>{_NUMBER})|\s+(?:points?\s+)?out\s+of\s+(?P<out_of>{_NUMBER}))?"
    r"(?:\s*points?)?"
)
_SCORE = re.compile(
    r"[\s*_#`\"'“‘(\[{•|>]*(?:(?:so|thus|hence|therefore)\b\W{0,3})?(?:my\s+|the\s+)?"
    r"(?:(?:total|final|overall)\s+)*(?:score|points)\s*[*_]*\s*(?:[:=]|is\b)"
    rf"[\s*_`\"'“‘(\[{{<]*{_POINTS}[\s*_`\"'”’)\]}}>.,;:!=|–—-]*",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"[\s*_`\"'“‘(\[{{<]*{_POINTS}[\s*_`\"'”’)\]}}>.]*", re.IGNORECASE)


def points_up_to(highest: int) -> Grammar[Points]:
    """A grammar of 0 to ``highest`` points; those of another scale are out of range."""

    def on_scale(points: float) -> Points:
        return Score(float(points)) if 0 <= points <= highest else Invalid(SCORE_OUT_OF_RANGE)

    def verdict(line: re.Match[str]) -> Points:
        scale = line["of"] or line["out_of"]
        return on_scale(float(line["points"]) if scale is None or float(scale) == highest else inf)

    return Grammar(
        _SCORE,
        verdict,
        {f"Score: {points}": Score(float(points)) for points in range(highest + 1)},
        fields=FIELDS,
        leads=True,
        takes_back=_other_points,
        once=True,
        alone=_ALONE,
        number=on_scale,
    )


def _other_points(points: Points, below: Sequence[str]) -> bool:
    """True when another number follows, or a word that takes back the first."""
    own = {f"{points.value:g}"} if isinstance(points, Score) else set()
    return any(_TURN.search(line) or {*re.findall(r"(?<![\w.])[0-9]+", line)} - own for line in below)
