"""Points that papers/writing-quality-rewards.txt leaves open about experts' majorities."""

from __future__ import annotations

from eval.asking.choices import Choice, Preset, Presets

THREE, ANY = "three", "any"
PAIRWISE, MEDIAN = "pairwise", "median_rank"
RATERS = Choice(
    "raters",
    {
        THREE: "majorities are taken over triplets that exactly three experts ranked",
        ANY: "majorities are taken over all triplets; an even vote gives none",
    },
    "The paper has three experts for each triplet; the published file has two to four.",
)
MAJORITY = Choice(
    "majority",
    {
        PAIRWISE: "the version of a pair that more experts rank higher",
        MEDIAN: "the version of a pair with the better median rank; equal ones give no majority",
    },
    "The paper speaks of a majority rank and does not say how it is made.",
)
PRESETS = Presets(
    (RATERS, MAJORITY),
    (
        Preset("as_published", "Gives the paper's 66% over all pairs.", {"raters": THREE, "majority": PAIRWISE}),
        Preset("corrected", "Leaves no ranking out.", {"raters": ANY, "majority": PAIRWISE}),
    ),
)
