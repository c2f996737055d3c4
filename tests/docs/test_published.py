"""What the personalised judge's paper prints, and what its authors' recordings give.

docs/results/personalized-published.json is of ``pearl eval personalized --preset as_published --json -``, shortened by
``jq '{command, preset, choices, files: [.files[] | {file, n, accuracy, high, low}]}'``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

RESULT = Path(__file__).parents[2] / "docs" / "results" / "personalized-published.json"
FILES = {  # a part of a file's name, and what the paper calls its judge and data
    "ap_all_features_all_features_command-r-plus": "PR, Command R+",
    "ap_all_features_all_features_gpt-3.5": "PR, GPT-3.5",
    "ap_all_features_all_features_gpt-4o": "PR, GPT-4",
    "ap_all_features_all_features_meta-llama": "PR, Llama 3",
    "ec_all_features_all_features_meta-llama": "EC, Llama 3",
    "ec_all_features_command-r-plus": "EC, Command R+",
    "ec_all_features_gpt-3.5": "EC, GPT-3.5",
    "ec_all_features_gpt-4o": "EC, GPT-4",
    "ec_all_features_with_tie_all_features_command-r-plus": "EC with a tie, Command R+",
    "ec_all_features_with_tie_all_features_gpt-3.5": "EC with a tie, GPT-3.5",
    "ec_all_features_with_tie_all_features_gpt-4o": "EC with a tie, GPT-4",
    "ec_all_features_with_tie_all_features_meta-llama": "EC with a tie, Llama 3",
    "ec_no_persona_all_features_command-r-plus": "EC without a persona, Command R+",
}
# tables 1 and 8: the accuracy; table 2: that at a certainty of 80 or more, and below, with right of all
PRINTED = {
    "PR, Llama 3": ("0.949", "0.948 (492/520)", "1.000 (5/5)"),
    "PR, GPT-3.5": ("0.796", "0.792 (375/473)", "0.667 (34/51)"),
    "PR, GPT-4": ("0.946", "0.942 (228/243)", "0.950 (266/280)"),
    "PR, Command R+": ("0.964", "0.958 (345/361)", "0.976 (160/164)"),
    "EC, Llama 3": ("0.507", "0.504 (240/478)", "0.548 (16/31)"),
    "EC, GPT-3.5": ("0.529", "0.530 (250/472)", "0.517 (14/29)"),
    "EC, GPT-4": ("0.591", "1.000 (4/4)", "0.588 (295/502)"),
    "EC, Command R+": ("0.541", "- (0/0)", "0.541 (276/510)"),
    "EC with a tie, Llama 3": ("0.376", "", ""),
    "EC with a tie, GPT-3.5": ("0.384", "", ""),
    "EC with a tie, GPT-4": ("0.417", "", ""),
    "EC with a tie, Command R+": ("0.430", "", ""),
    "EC without a persona, Command R+": ("0.498", "", ""),
}
HIGH, LOW = "certainty 80 or more", "the others"


@pytest.fixture(scope="module")
def compared() -> dict[tuple[str, str], tuple[str, str]]:
    """Each figure that the paper prints, and ours in the same form, by the judge and the figure's name."""
    given: dict[str, Any] = {}
    for each in json.loads(RESULT.read_text(encoding="utf-8"))["files"]:
        name = Path(each["file"]).name
        given[FILES[max((part for part in FILES if name.startswith(part)), key=len)]] = each
    found = {(judge, "accuracy"): (row[0], f"{given[judge]['accuracy']:.3f}") for judge, row in PRINTED.items()}
    for judge, (_, *parts) in PRINTED.items():
        for figure, name, printed in zip((HIGH, LOW), ("high", "low"), parts, strict=True):
            if printed:
                part = given[judge][name]
                rate = "-" if part["accuracy"] is None else f"{part['accuracy']:.3f}"
                found[judge, figure] = (printed, f"{rate} ({part['correct']}/{part['total']})")
    return found


def rate(shown: str) -> str:
    return shown.partition(" ")[0]


def test_the_recordings_give_most_published_figures(compared):
    assert {judge for judge, _ in compared} == set(PRINTED)
    same = [key for key, (printed, ours) in compared.items() if printed == ours]
    near = [key for key, pair in compared.items() if key not in same and rate(pair[0]) == rate(pair[1])]
    assert (len(compared), len(same), len(near)) == (29, 20, 6)
    assert compared["PR, GPT-4", LOW][0] == "0.950 (266/280)"
    assert ("PR, GPT-4", LOW) in same
    assert ("PR, GPT-4", HIGH) in near


def test_a_record_that_was_not_read_is_left_out(compared):
    assert compared["PR, GPT-3.5", LOW][1] == "0.667 (34/51)"  # 34/52 with it
