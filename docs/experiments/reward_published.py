"""The published presets of ``pearl train reward``, trained to their end on LAMP.

    python docs/experiments/reward_published.py TRAIN.json PAIRS.json WORK --mpnet FOLDER --device cuda --jobs 4

Writes docs/experiments/reward_published.json; what ``WORK`` holds already is not made again. ModernBERT is not at hand,
so smaller encoders are fitted in its place; all else is as published. On an H200 six trainings side by side took eight
minutes.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from reward import pearl

from pearl.options import write_json

OUT = Path(__file__).with_suffix(".json")
BASES = ("minilm", "mpnet")
# as many as a lent GPU had minutes for
SEEDS = {"as_published_paper": (0, 1), "as_published_code": (0,)}
TOLD = ("scores", "pairs", "epochs", "steps", "best_epoch", "dev_losses", "seconds")


def run(base: str, preset: str, seed: int, *, options: argparse.Namespace) -> dict[str, Any]:
    """Train and measure, each if that is not done yet."""
    model = options.work / f"{base}-{preset}-{seed}"
    trained, measured = model.with_name(f"{model.name}.json"), model.with_name(f"{model.name}-pairs.json")
    if not trained.exists():
        words = ("--variant", "PR", "--preset", preset, "--base", options.mpnet if base == "mpnet" else base)
        data = ("--data", options.train, "--test", options.pairs, "--dev-share", "0.05", "--seed", str(seed))
        pearl("train", "reward", *data, *words, "--device", options.device, "--out", str(model), "--json", str(trained))
    if not measured.exists():
        pearl("eval", "quality", "--pairs", options.pairs, "--model", str(model), "--json", str(measured))
    artifact, report = (json.loads(file.read_text()) for file in (trained, measured))
    return {
        "preset": preset,
        "base": base,
        "seed": seed,
        "training": {name: artifact["training"][name] for name in TOLD},
        "figures": artifact["figures"],
        "accuracy": report["intervals"]["accuracy"],
        "equal_length": report["equal_length"]["accuracy"][str(model)],
        "length_regressed": report["length_regressed"]["accuracy"][str(model)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("pairs")
    parser.add_argument("work", type=Path)
    parser.add_argument("--mpnet", default="mpnet", help="MPNet: its folder, or mpnet with the extra of that name.")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="Trainings side by side.")
    options = parser.parse_args()
    rows = [(base, preset, seed) for base in BASES for preset, seeds in SEEDS.items() for seed in seeds]
    with ThreadPoolExecutor(options.jobs) as pool:
        models = list(pool.map(lambda row: run(*row, options=options), rows))
    told = {"trained_on": Path(options.train).name, "pairs": Path(options.pairs).name, "models": models}
    write_json(str(OUT), told)


if __name__ == "__main__":
    main()
