"""The choices where the paper and its authors' code build the data differently, and presets of these choices."""

from __future__ import annotations

from eval.asking.choices import PaperChoice, Preset, Presets

AT_MOST_10, BELOW_10 = "at_most_10", "below_10"
THOUSAND, ONE_MORE = "thousand", "one_more"
FIRST, RANDOM = "first", "random"
BELOW_2, BELOW_3 = "below_2", "below_3"
FIFTH, CAPPED = "fifth", "capped"
NEAREST, CONSTANT = "nearest", "constant"
PHRASES, SUBSTRING = "phrases", "substring"
CHOICES = (
    PaperChoice(
        "score_tie",
        {
            AT_MOST_10: "prism: two responses are a tie if their scores lie at most 10 apart",
            BELOW_10: "prism: a tie if they lie less than 10 apart",
        },
        "Appendix A.2 says smaller or equal; the authors' code says smaller.",
    ),
    PaperChoice(
        "samples",
        {
            THOUSAND: "prism: the first 1,000 pairs, unless --limit says otherwise",
            ONE_MORE: "prism: the first 1,001",
        },
        "The paper says 1,000; the loop of the authors' code ends one later.",
    ),
    PaperChoice(
        "refusals",
        {
            PHRASES: "prism: a response that begins by declining, or speaks of itself as a language model",
            SUBSTRING: "prism: one with 'language model', 'chatbot' or 'AI' anywhere in it, such as in MAIN",
        },
        "The paper filters refusals and does not say how; the authors' code looks for three substrings.",
    ),
    PaperChoice(
        "question",
        {
            RANDOM: "opinionqa: a random question with two options from each topic, and random respondents",
            FIRST: "opinionqa: the first question with at most three options, and the first respondents",
        },
        "The paper says random; the authors' code takes the first.",
    ),
    PaperChoice(
        "essay_tie",
        {
            BELOW_2: "empathic: essays are a tie if their empathy or their distress differs by less than 2",
            BELOW_3: "empathic: a tie below 3",
        },
        "Appendix A.2 says 2; the authors' code says 3.",
    ),
    PaperChoice(
        "tie_share",
        {
            FIFTH: "empathic: with ties=kept, at most a fifth of the items are ties",
            CAPPED: "empathic: with ties=kept, the first 101 ties, as in the published recordings",
        },
        "The paper holds ties to PRISM's ratio, about a fifth; the authors' code counts to a hundred.",
    ),
    PaperChoice(
        "distractor",
        {
            NEAREST: "reddit: another answer of the person whose profile is nearest, by the encoder's cosine",
            CONSTANT: "reddit: the answer on the last line of the file, for everybody",
        },
        "The paper takes the nearest persona; a loop of the authors' code leaves the last one for all.",
    ),
)


def _values(index: int) -> dict[str, str]:
    """Return the value with this index of every choice: 0 for the paper's, 1 for its authors' code's."""
    return {choice.name: list(choice.values)[index] for choice in CHOICES}


PRESETS = Presets(
    CHOICES,
    (
        Preset("corrected", "As the paper describes it.", _values(0)),
        Preset("as_published", "As the authors' code does it.", _values(1)),
    ),
)
