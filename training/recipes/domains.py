"""The recipe from four kinds of text to the shipped artifact and the tables of docs/results.md: ``make train``.

    python training/recipes/domains.py --data ../shared/data --work work/domains

Flat on purpose: every step is a command that can be run by hand. What is done already in ``--work`` is not done again.
The gains of a chat, a mailing list and the commits of two projects, 133,794 pairs, were scored once, on a GPU, and are
kept in training/recipes/scores: ids and likelihoods, no texts. A file that is not there is scored again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pearl.cli.options import write_json
from pearl.settings import EMBEDDED
from pearl.text.history.partition import DEV, SPLITS, TEST, TRAIN
from retriever.calibrated.artifact import MANIFEST, SHIPPED

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path("docs/results")
KEPT = Path("training/recipes/scores")
BASELINES = ("bm25", "dense", "dense-requests", "recent")
UPR = "likelihood"  # reads every document with a language model: minutes of a GPU, most of an hour of two cores
COMMITS = ("git", "coreboot")
CANDIDATES = 20
DECIDING = 60  # requests of dev that theta is chosen on
# what ships learns from all requests: a head on signals has use for those that nothing helps, too
CHOICES = ("--choose", "first_stage_only=yes", "--choose", "share=1", "--choose", "tau=20")


@dataclass(frozen=True, slots=True)
class Extent:
    """The part of a split that is scored: targets per user, number of users, and least candidates per request."""

    targets: int
    users: int
    least: int


@dataclass(frozen=True, slots=True)
class Domain:
    """One kind of text: its history file, and how that is scored in each split."""

    name: str
    file: str
    template: str
    extents: Mapping[str, Extent]


DOMAINS = (
    Domain(
        "lean",
        "chat/lean.jsonl.gz",
        "comment",
        {"train": Extent(8, 268, 8), "dev": Extent(5, 81, 8), "test": Extent(4, 217, 12)},
    ),
    Domain(
        "everything",
        "mail/everything.jsonl.gz",
        "comment",
        {"train": Extent(40, 15, 8), "dev": Extent(40, 3, 8), "test": Extent(16, 24, 12)},
    ),
    Domain(
        "git",
        "commits/git.jsonl.gz",
        "commit",
        {"train": Extent(16, 117, 8), "dev": Extent(8, 44, 8), "test": Extent(4, 101, 12)},
    ),
    Domain(
        "coreboot",
        "commits/coreboot.jsonl.gz",
        "commit",
        {"train": Extent(16, 127, 8), "dev": Extent(8, 50, 8), "test": Extent(4, 94, 12)},
    ),
)


def pearl(*words: object) -> None:
    """Run a ``pearl`` command in another process, as a user does; the recipe ends if it fails."""
    line = [str(word) for word in words]
    sys.stderr.write(f"\n$ pearl {' '.join(line)}\n")
    subprocess.run([sys.executable, "-c", "from pearl.cli.main import main; main()", *line], check=True)


def repeated(option: str, values: Sequence[object]) -> list[object]:
    return [part for value in values for part in (option, value)]


def has_figures(artifact: Path) -> bool:
    """True if the artifact was measured on test users."""
    manifest = artifact / MANIFEST
    return manifest.exists() and bool(json.loads(manifest.read_text(encoding="utf-8"))["figures"])


def compact(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures from a report of ``pearl eval retrieval`` that the documentation shows."""

    def rows(name: str, figures: Sequence[str]) -> list[dict[str, Any]]:
        return [{figure: row.get(figure) for figure in ("model", *figures)} for row in report[name]]

    return {
        **{name: report[name] for name in ("command", "n", "users")},
        **{name: rows(name, ("top1_gain", "share_of_best", "pearson_r")) for name in ("models", "baselines")},
        "differences": rows("differences", ("top1_gain",)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=Path, default=Path("work/domains"))
    parser.add_argument("--out", type=Path, default=SHIPPED)
    parser.add_argument("--device", default="cpu", help="for scores that are not kept: cpu or cuda")
    parser.add_argument("--drafted", type=int, default=200, help="draft at most this many test requests")
    options = parser.parse_args()
    work, data, out = options.work, options.data, options.out.resolve()
    os.chdir(ROOT)  # names in the results are relative to the repository

    # equation 1, for each domain with the template that goes with it
    for domain in DOMAINS:
        for split, extent in domain.extents.items():
            wanted = KEPT / f"{domain.name}-{split}.parquet"
            if not wanted.exists():
                scope = (f"users={extent.users or 'all'}", f"least_candidates={extent.least}")
                told: list[object] = ["--split", split, *repeated("--choose", scope)]
                chosen = (f"targets={extent.targets}", f"candidates={CANDIDATES}", "partition=rolling")
                told += repeated("--choose", chosen)
                # in the precision of the others, for those of two are not mixed
                told += repeated(
                    "--choose", [f"template={domain.template}", f"device={options.device}", "dtype=bfloat16"]
                )
                scored = work / wanted.name  # its parts stay in the work folder
                pearl("train", "score", "--history", data / domain.file, *told, "--out", scored)
                shutil.copyfile(scored, wanted)

    # on all of them, which writes the gains to measure with; on all but one; and under other losses
    models = work / "models"

    def fit(name: Path, domains: Sequence[Domain], *more: object, splits: Sequence[str] = (TRAIN, DEV)) -> None:
        scores = [KEPT / f"{domain.name}-{split}.parquet" for domain in domains for split in splits]
        words = repeated("--history", [data / domain.file for domain in domains]) + repeated("--scores", scores)
        pearl("train", "fit", *words, "--work", work / "fit", *CHOICES, *more, "--out", name)

    gains = {domain.name: work / "fit" / f"gains-{TEST}-{domain.name}.jsonl.gz" for domain in DOMAINS}
    if not (all(path.exists() for path in gains.values()) and has_figures(out)):
        fit(out, DOMAINS, splits=SPLITS)
    if out == SHIPPED:  # how likely a document helps, by what eight retrievers choose from long histories
        subprocess.run([sys.executable, "docs/experiments/chosen.py", str(data), str(work / "chosen")], check=True)
    for loss, name in (("kl", "plain-kl"), ("distill", "distill")):
        if not (models / name / MANIFEST).exists():
            fit(models / name, DOMAINS, "--choose", f"loss={loss}")
    for left_out in DOMAINS:
        name = f"without-{left_out.name}"
        if not (models / name / MANIFEST).exists():
            fit(models / name, [domain for domain in DOMAINS if domain is not left_out])

    # retrieval and calibration, over all kinds of text and on each
    shipped = EMBEDDED if out == SHIPPED else out
    every = repeated("--gains", list(gains.values()))
    compared = repeated("--model", [shipped, models / "plain-kl", models / "distill", *BASELINES])
    pearl("eval", "retrieval", *every, *compared, "--model", UPR, "--json", RESULTS / "retrieval.json")
    pearl("eval", "calibration", *every, *compared, "--json", RESULTS / "calibration.json")
    reports = []
    for domain in DOMAINS:
        report = work / f"retrieval-{domain.name}.json"
        tried = (shipped, models / f"without-{domain.name}", *BASELINES, UPR, "dense-sum", "random")
        named = repeated("--model", tried)
        pearl("eval", "retrieval", "--gains", gains[domain.name], *named, "--json", report)
        reports.append({"domain": domain.name, **compact(json.loads(report.read_text()))})
    write_json(str(RESULTS / "domains.json"), {"domains": reports})

    # what the embedded model writes with it: drafts as the service writes them, from all that was there before
    written = repeated("--history", [data / domain.file for domain in DOMAINS if domain.name in COMMITS])
    written += ["--template", "commit"]
    revised = work / "revision-dev.json"
    pearl("eval", "revision", *written, "--split", DEV, "--limit", DECIDING, "--model", out, "--json", revised)
    pearl("train", "threshold", "--model", out, "--revision", revised)
    written += ["--split", TEST, "--limit", options.drafted]
    drafts = (*repeated("--model", [shipped, *BASELINES, "random"]), "--k-shot", "--json", RESULTS / "generation.json")
    pearl("eval", "generation", *written, *drafts)
    revision = ("--json", RESULTS / "revision.json", "--picture", RESULTS / "revision.svg")
    pearl("eval", "revision", *written, "--model", shipped, *revision)
    subprocess.run([sys.executable, "docs/generate.py"], check=True)


if __name__ == "__main__":
    main()
