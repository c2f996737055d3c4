"""The published presets of ``pearl train reward`` on LAMP, within the minutes given to each.

    python docs/experiments/reward_published.py TRAIN.json PAIRS.json WORK MINUTES

Writes docs/experiments/reward_published.json. ModernBERT is not at hand, so MiniLM is fitted in its place; all else is
as published. What ``WORK`` holds already is not done again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from reward import pearl

OUT = Path(__file__).with_suffix(".json")
PRESETS = ("as_published_paper", "as_published_code")
TOLD = ("scores", "pairs", "epochs", "steps", "best_epoch", "dev_losses", "whole", "seconds")


def measured(train: str, pairs: str, work: Path, preset: str, minutes: str) -> dict[str, Any]:
    """Train if that is not done yet, then measure once."""
    model, result = work / preset, work / f"{preset}-pairs.json"
    if not (model / "artifact.json").exists():
        words = ("--variant", "PR", "--preset", preset, "--base", "minilm", "--dev-share", "0.05")
        pearl(
            "train",
            "reward",
            "--data",
            train,
            "--test",
            pairs,
            "--out",
            str(model),
            *words,
            "--budget-minutes",
            minutes,
        )
    if not result.exists():
        pearl("eval", "quality", "--pairs", pairs, "--model", str(model), "--json", str(result))
    artifact, report = (json.loads(file.read_text()) for file in (model / "artifact.json", result))
    return {
        "preset": preset,
        "base": artifact["base"],
        "choices": artifact["training"]["choices"],
        "minutes": float(minutes),
        "training": {name: artifact["training"][name] for name in TOLD},
        "figures": artifact["figures"],
        "accuracy": report["intervals"]["accuracy"],
        "equal_length": report["equal_length"]["accuracy"][str(model)],
        "length_regressed": report["length_regressed"]["accuracy"][str(model)],
    }


def main() -> None:
    train, pairs, work, minutes = sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4]
    rows = [measured(train, pairs, work, preset, minutes) for preset in PRESETS]
    made = {"pairs": Path(pairs).name, "trained_on": Path(train).name, "models": rows}
    OUT.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
