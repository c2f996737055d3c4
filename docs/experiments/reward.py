"""Reward models of all variants, seeds and bases on pairs that no training saw.

    python docs/experiments/reward.py TRAIN.json PAIRS.json WORK    writes docs/experiments/reward.json

Trains and measures what ``WORK`` does not hold yet, with the defaults of ``pearl train reward`` unless a row says
others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).with_suffix(".json")
SEEDS = (0, 1, 2)
ROWS = {
    "MiniLM, PR": ("minilm", "PR", ()),
    "MiniLM, P": ("minilm", "P", ()),
    "MiniLM, R": ("minilm", "R", ()),
    "MiniLM, PR, last layer": ("last", "PR", ("--layers", "last")),
    "MPNet, PR": ("mpnet", "PR", ()),
    "MPNet, P": ("mpnet", "P", ()),
    "MPNet, R": ("mpnet", "R", ()),
}


def pearl(*words: str, **settings: str) -> None:
    """Run a command; settings by their names in the environment."""
    command = [sys.executable, "-c", "from pearl.cli import main; main()", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | settings)


def measured(train: str, pairs: str, work: Path, row: str, seed: int) -> dict[str, Any]:
    """Train if that is not done yet, then measure once."""
    folder, variant, more = ROWS[row]
    model, result = work / f"{folder}-{variant}-{seed}", work / f"{folder}-{variant}-{seed}-pairs.json"
    base = "mpnet" if folder == "mpnet" else "minilm"
    if not (model / "artifact.json").exists():
        words = ("--variant", variant, "--base", base, "--seed", str(seed), "--work", str(work / f"w-{folder}"), *more)
        pearl("train", "reward", "--data", train, "--test", pairs, "--out", str(model), *words)
    if not result.exists():
        pearl("eval", "quality", "--pairs", pairs, "--model", str(model), "--json", str(result))
    found, name = json.loads(result.read_text()), str(model)
    figures = json.loads((model / "artifact.json").read_text())["figures"]
    return {
        "seed": seed,
        "accuracy": found["intervals"]["accuracy"],
        "less_shorter": found["differences"]["shorter"],
        "equal_length": found["equal_length"]["accuracy"][name],
        "length_regressed": found["length_regressed"]["accuracy"][name],
        "dev": {key: figures[key] for key in ("dev_accuracy", "dev_pearson_r") if key in figures},
    }


def main() -> None:
    train, pairs, work = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    rows = [{"model": row, "runs": [measured(train, pairs, work, row, seed) for seed in SEEDS]} for row in ROWS]
    OUT.write_text(
        json.dumps({"pairs": Path(pairs).name, "trained_on": Path(train).name, "models": rows}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
