"""Points on which papers/personalized-judge.txt, its code and its tables disagree: choices, and the presets."""

from __future__ import annotations

from collections.abc import Mapping

from eval.asking.choices import Choice, Preset, Presets

RECORDED, STRICT = "recorded", "strict"
WRONG, DROPPED, DROPPED_UNLESS_TIE = "wrong", "dropped", "dropped_unless_tie"
READING = Choice(
    "reading",
    {
        RECORDED: "the answer and the certainty as the file has them; where it has none, by the published code's rule",
        STRICT: "our own parser on the raw reply, if there is one: a verdict must be given, not just begin the reply",
    },
    "The published code takes the first letter and the first number of a reply, whatever they stand in.",
)
UNPARSED = Choice(
    "unparsed",
    {
        WRONG: "a record without an answer is counted and wrong",
        DROPPED: "a record without an answer is left out",
        DROPPED_UNLESS_TIE: "left out where no tie is offered, wrong where one is: so are the tables of the paper",
    },
    "The paper's tables treat unread replies in two ways, and its text in none.",
)
CORRECTED = {"reading": STRICT, "unparsed": WRONG}
AS_PUBLISHED = {"reading": RECORDED, "unparsed": DROPPED_UNLESS_TIE}
PRESETS = Presets(
    (READING, UNPARSED),
    (
        Preset(
            "recorded",
            "The file's own reading of the replies, and every record counted.",
            {"reading": RECORDED, "unparsed": WRONG},
        ),
        Preset("as_published", "The paper's tables; certainties are drawn from 40 to 90.", AS_PUBLISHED),
        Preset("corrected", "Raw replies read again by our parser, and every record counted.", CORRECTED),
    ),
)
HISTOGRAMS: Mapping[str, tuple[int, int]] = {"as_published": (40, 90)}  # certainties outside are drawn at the ends
WHOLE_SCALE = (1, 100)
