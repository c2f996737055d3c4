"""Points that papers/style-judges.txt leaves open about labels: named choices, and the presets that make them.

The paper counts the raters of a text by majority and says that "somewhat" and "very" are both present, but not which
comes first: of four "not", three "somewhat" and three "very" the level that is most common is "not", while six of ten
say that the style is there. Nor does it say what becomes of "can't tell", and of an even vote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pearl.options import known

LEVELS_FIRST, LABELS_FIRST = "levels_first", "labels_first"
VOTES = {
    LEVELS_FIRST: "the level that most raters gave, then the label it stands for",
    LABELS_FIRST: "the label of each rating, then the one that most raters gave",
}
LEFT_OUT, ABSENT_VOTE, OWN_VOTE = "left_out", "absent", "own"
CANT_TELL = {
    LEFT_OUT: "can't tell is no rating",
    ABSENT_VOTE: "can't tell is a vote for absent",
    OWN_VOTE: "can't tell is a level of its own: where it wins, the text has no label",
}
NO_LABEL, CAUTIOUS = "no_label", "cautious"
EVEN = {
    NO_LABEL: "an even vote gives no label, and is counted",
    CAUTIOUS: "an even vote gives the label that claims less: absent, or a tie",
}
DROPPED, TIES = "dropped", "tie"
HALF = {
    DROPPED: "a draw that was answered in one of the two orders only has no label",
    TIES: "a draw that was answered in one of the two orders only is a tie: the orders did not agree",
}


@dataclass(frozen=True, slots=True)
class StyleChoices:
    """Keys of VOTES, CANT_TELL, EVEN and HALF; ``even`` is of the draws of a judge too."""

    name: str
    description: str
    votes: str
    half: str
    even: str
    cant_tell: str = LEFT_OUT

    def to_json(self) -> dict[str, str]:
        return {"votes": self.votes, "cant_tell": self.cant_tell, "even": self.even, "half": self.half}


PRESETS: Mapping[str, StyleChoices] = {
    each.name: each
    for each in (
        StyleChoices(
            "as_published",
            "The vote on the levels, which then become labels, as the text has it; what is not decided claims less.",
            votes=LEVELS_FIRST,
            half=TIES,
            even=CAUTIOUS,
        ),
        StyleChoices(
            "corrected",
            "Labels first, so that two levels of one label do not split its votes; what is not decided has no label.",
            votes=LABELS_FIRST,
            half=DROPPED,
            even=NO_LABEL,
        ),
    )
}
DEFAULT = "corrected"


def chosen(
    preset: str,
    *,
    votes: str | None = None,
    cant_tell: str | None = None,
    even: str | None = None,
    half: str | None = None,
) -> StyleChoices:
    """The preset with its choices overridden by those given. Raises InputError for unknown ones."""
    base = PRESETS[known("preset", preset, PRESETS)]
    return replace(
        base,
        votes=known("votes", votes or base.votes, VOTES),
        cant_tell=known("cant-tell", cant_tell or base.cant_tell, CANT_TELL),
        even=known("even", even or base.even, EVEN),
        half=known("half", half or base.half, HALF),
    )
