"""Choices where papers/personalized-judge.txt, the paper's code and its tables disagree, with presets of the
choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.asking.choices import PaperChoice, Preset, Presets

RECORDED, PUBLISHED, STRICT = "recorded", "published", "strict"
WRONG, DROPPED, DROPPED_UNLESS_TIE = "wrong", "dropped", "dropped_unless_tie"
_RULE = "The published code takes the first letter and the first number of a reply, whatever they stand in."
_OWN_PARSER = "our own parser on the raw reply, if there is one: a verdict must be given, not just begin the reply"
READING = PaperChoice(
    "reading",
    {
        RECORDED: "the answer and the certainty as the file has them; where it has none, by our own parser",
        PUBLISHED: "the same; where the file has none, by the published code's rule",
        STRICT: _OWN_PARSER,
    },
    _RULE,
)
READING_REPLIES = PaperChoice("reading", {PUBLISHED: "by the published code's rule", STRICT: _OWN_PARSER}, _RULE)
UNPARSED = PaperChoice(
    "unparsed",
    {
        WRONG: "a record without an answer is counted and wrong",
        DROPPED: "a record without an answer is left out",
        DROPPED_UNLESS_TIE: "left out where no tie is offered, wrong where one is: so are the tables of the paper",
    },
    "The paper's tables treat unread replies in two ways, and its text in none.",
)
HUNDRED, FIVE = "hundred", "five"
SCALE = PaperChoice(
    "scale",
    {
        HUNDRED: "certainty from 1 to 100, in five bands",
        FIVE: "certainty from 1 to 5; each step counts as 20 of 100",
    },
    "The paper asks for 1 to 100; the authors' code has another prompt with 1 to 5, which no table uses.",
)
ONCE, FOUR_TIMES = "once", "four_times"
TRIES = PaperChoice(
    "tries",
    {
        ONCE: "a reply without a readable answer is counted as such",
        FOUR_TIMES: "the question is asked again until an answer can be read, four times at most",
    },
    "The paper regenerates at most 4 times; the authors' code does so for two of its four data sets.",
)
ASKED, NOT_ASKED = "asked", "not_asked"
TIE_CERTAINTY = PaperChoice(
    "tie_certainty",
    {ASKED: "with --tie a certainty is asked for, too", NOT_ASKED: "with --tie no certainty is asked for"},
    "The paper does not let a judge that may call a tie verbalise its certainty.",
)
BLIND_CERTAINTY = PaperChoice(
    "blind_certainty",
    {ASKED: "without a persona a certainty is asked for, too", NOT_ASKED: "without one no certainty is asked for"},
    "The authors' prompt without a persona asks for a verdict alone.",
)
DESCRIBED, IN_CODE = "described", "in_code"
KEY = PaperChoice(
    "key",
    {
        DESCRIBED: "--ablate key tells education, location and race or ethnicity",
        IN_CODE: "--ablate key tells age, education, party and ideology, of personas with a party (OpinionQA)",
    },
    "The paper names three features; for OpinionQA the authors' code tells others, for PRISM the same.",
)
KEY_FIELDS: Mapping[str, Sequence[str]] = {
    DESCRIBED: ("education", "region", "living country", "birth country", "location", "race", "ethnicity"),
    IN_CODE: ("age", "education", "party", "ideology"),
}
ASKING_CORRECTED = {
    "scale": HUNDRED,
    "tries": ONCE,
    "tie_certainty": ASKED,
    "blind_certainty": ASKED,
    "key": DESCRIBED,
}
ASKING_AS_PUBLISHED = {
    "scale": HUNDRED,
    "tries": FOUR_TIMES,
    "tie_certainty": NOT_ASKED,
    "blind_certainty": NOT_ASKED,
    "key": IN_CODE,
}
CORRECTED = {"reading": STRICT, "unparsed": WRONG}
AS_PUBLISHED = {"reading": PUBLISHED, "unparsed": DROPPED_UNLESS_TIE}
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
