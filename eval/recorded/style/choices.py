"""Choices about labels that papers/style-judges.txt leaves open, and the presets that make them.

The paper takes the raters' majority and says that "somewhat" and "very" are both present, but not which step is first.
If four raters say "not", three "somewhat" and three "very", the most common level is "not", while six of ten say that
the style is present. The paper does not say how "can't tell" and tied votes are counted, either.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eval.asking.choices import PaperChoice, Preset, Presets

LEVELS_FIRST, LABELS_FIRST = "levels_first", "labels_first"
LEFT_OUT, ABSENT_VOTE, OWN_VOTE = "left_out", "absent", "own"
NO_LABEL, CAUTIOUS = "no_label", "cautious"
DROPPED, TIES = "dropped", "tie"
PUBLISHED, LEARNED = "published", "learned"
NAME, DEFINITION = "name", "definition"
VOTES = PaperChoice(
    "votes",
    {
        LABELS_FIRST: "the label of each rating, then the one that most raters gave",
        LEVELS_FIRST: "the level that most raters gave, then the label it stands for",
    },
    "Of four not, three somewhat and three very, six of ten say present; the level that is most common says absent.",
)
CANT_TELL = PaperChoice(
    "cant_tell",
    {
        LEFT_OUT: "can't tell is no rating",
        ABSENT_VOTE: "can't tell is a vote for absent",
        OWN_VOTE: "can't tell is a level of its own: where it wins, the text has no label",
    },
    "The paper does not say.",
)
EVEN = PaperChoice(
    "even",
    {
        NO_LABEL: "an even vote gives no label, and is counted",
        CAUTIOUS: "an even vote gives the label that claims less: absent, or a tie",
    },
    "An even vote is no evidence; the paper does not say.",
)
HALF = PaperChoice(
    "half",
    {
        DROPPED: "a draw that was answered in one of the two orders only has no label",
        TIES: "a draw that was answered in one of the two orders only is a tie: the orders did not agree",
    },
    "The orders did not disagree, one is missing.",
)
BINS = PaperChoice(
    "bins",
    {
        PUBLISHED: "three labels as they were recorded, by the paper's bounds between scores (--labels 3)",
        LEARNED: "three labels by the two bounds that fit people's labels of other texts best, in five parts",
    },
    "The paper learned bounds, too, does not say how, and reports those set by hand, for they did better.",
)
STYLE_SHOWN = PaperChoice(  # to judges and writers
    "style_shown",
    {
        DEFINITION: "the styles with the definitions that raters read",
        NAME: "the styles by their names alone",
    },
    'The paper gave names, and its people a definition where they detect; "visual and spatial" can mean much.',
)
PRESETS = Presets(
    (VOTES, CANT_TELL, EVEN, HALF, BINS),
    (
        Preset(
            "corrected",
            "Labels first, so that two levels of one label do not split its votes; what is undecided has no label.",
            {"votes": LABELS_FIRST, "cant_tell": LEFT_OUT, "even": NO_LABEL, "half": DROPPED, "bins": PUBLISHED},
        ),
        Preset(
            "as_published",
            "The vote on the levels, which then become labels, as the text has it; what is undecided claims less.",
            {"votes": LEVELS_FIRST, "cant_tell": LEFT_OUT, "even": CAUTIOUS, "half": TIES, "bins": PUBLISHED},
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StyleOptions:
    """The values of all choices for a run."""

    preset: str
    votes: str
    half: str
    even: str  # of people's votes and of a judge's draws
    cant_tell: str
    bins: str


def chosen(preset: str, overrides: Iterable[str] | None = ()) -> StyleOptions:
    """The preset's values, with ``overrides`` (NAME=VALUE). Raises InputError for unknown names or values."""
    return StyleOptions(preset=preset, **PRESETS.chosen(preset, overrides))
