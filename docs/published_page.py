"""What the personalised judge's paper prints, beside what its authors' recordings give.

docs/results/personalized-published.json has them: ``pearl eval personalized --preset as_published --json -``, shortened
by ``jq '{command, preset, choices, files: [.files[] | {file, n, accuracy, high, low}]}'``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = Mapping[str, Any]
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
PRINTED: Mapping[str, tuple[str, str, str]] = {
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


@dataclass(frozen=True, slots=True)
class Cell:
    """``printed`` in the paper, and ``ours`` from the recordings, in the same form."""

    judge: str
    figure: str
    printed: str
    ours: str

    @property
    def same(self) -> str:
        if self.printed == self.ours:
            return "yes"
        return "the rate" if self.printed.partition(" ")[0] == self.ours.partition(" ")[0] else "no"


def cells(files: Sequence[Json]) -> Iterator[Cell]:
    """Every printed figure that a recording can check."""
    found = {}
    for each in files:
        name = Path(each["file"]).name
        part = max((part for part in FILES if name.startswith(part)), key=len)
        found[FILES[part]] = each
    for judge, (accuracy, high, low) in PRINTED.items():
        each = found[judge]
        yield Cell(judge, "accuracy", accuracy, f"{each['accuracy']:.3f}")
        for figure, printed, name in (("certainty 80 or more", high, "high"), ("the others", low, "low")):
            if printed:
                part = each[name]
                rate = "-" if part["accuracy"] is None else f"{part['accuracy']:.3f}"
                yield Cell(judge, figure, printed, f"{rate} ({part['correct']}/{part['total']})")
