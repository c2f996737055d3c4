"""The recipe over four kinds of text: a chat, a mailing list and the commits of two projects, each left out once.

    python training/recipes/domains.py --data ../shared/data --work work/domains

Flat on purpose: every step is a command that can be run by hand. What is done already in ``--work`` is not done again.
What is trained on and chosen by was scored once, in over an hour, and is kept in training/recipes/scores: ids and
likelihoods, no texts. Theta and margin stay as they are without drafts: never, and everything is shown.
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

from pearl.options import write_json
from pearl.settings import MPNET

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path("docs/results")
KEPT = Path("training/recipes/scores")
BASELINES = ("embedded", "bm25", "dense", "dense-requests", "dense-sum", "recent", "random")
COSINES = ("dense", "dense-requests", "dense-sum")
ALL = "four"  # the model trained on every domain
PROXIES = 15  # texts of a user labelled by likeness; more of them are embedded for longer than the budget has


@dataclass(frozen=True)
class Extent:
    """The targets of a user in a split, the users (None for all), and the most and least candidates of a request."""

    targets: int
    users: int | None
    candidates: int
    least: int


@dataclass(frozen=True)
class Domain:
    """A history and how it is scored."""

    name: str
    file: str
    template: str
    extents: Mapping[str, Extent]


DOMAINS = (
    Domain(
        "lean",
        "chat/lean.jsonl.gz",
        "comment",
        {"train": Extent(3, 100, 10, 8), "dev": Extent(2, 40, 10, 8), "test": Extent(1, 150, 12, 12)},
    ),
    Domain(
        "everything",
        "mail/everything.jsonl.gz",
        "comment",
        {"train": Extent(16, 16, 10, 8), "dev": Extent(8, None, 10, 8), "test": Extent(8, None, 12, 12)},
    ),
    Domain(
        "git",
        "commits/git.jsonl.gz",
        "commit",
        {"train": Extent(3, 90, 10, 5), "dev": Extent(3, 40, 10, 8), "test": Extent(1, 150, 12, 12)},
    ),
    Domain(
        "coreboot",
        "commits/coreboot.jsonl.gz",
        "commit",
        {"train": Extent(3, 188, 20, 5), "dev": Extent(3, 40, 10, 8), "test": Extent(1, 150, 12, 12)},
    ),
)


def pearl(*words: object) -> None:
    """Run a command as a user does; the recipe ends where one fails."""
    line = [str(word) for word in words]
    sys.stderr.write(f"\n$ pearl {' '.join(line)}\n")
    subprocess.run([sys.executable, "-c", "from pearl.cli import main; main()", *line], check=True)


def scores_of(work: Path, domain: Domain, split: str) -> Path:
    return (work if split == "test" else KEPT) / f"{domain.name}-{split}.parquet"


def gains_of(work: Path, domain: Domain) -> Path:
    return work / f"{domain.name}-test.jsonl.gz"


def report_of(work: Path, domain: Domain, encoder: str = "") -> Path:
    return work / f"retrieval-{domain.name}{encoder and f'-{encoder}'}.json"


def compact(report: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a report of ``pearl eval retrieval`` that the documentation shows."""

    def rows(name: str, figures: Sequence[str]) -> list[dict[str, Any]]:
        return [{figure: row.get(figure) for figure in ("model", *figures)} for row in report[name]]

    return {
        **{name: report[name] for name in ("command", "n", "users")},
        **{name: rows(name, ("top1_gain", "share_of_best", "pearson_r")) for name in ("models", "baselines")},
        "differences": rows("differences", ("top1_gain", "top1_gain_ratio")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=Path, default=Path("work/domains"))
    parser.add_argument("--fit-minutes", type=float, default=12, help="budget of each fit, for embedding and fitting")
    options = parser.parse_args()
    os.chdir(ROOT)  # names in the results are relative to the repository
    work, data = options.work, options.data

    # equation 1, for each domain with the template that goes with it
    for domain in DOMAINS:
        for split, extent in domain.extents.items():
            wanted = scores_of(work, domain, split)
            if (gains_of(work, domain) if split == "test" else wanted).exists():
                continue
            out = work / wanted.name
            told: list[object] = ["--targets", extent.targets, "--candidates", extent.candidates]
            told += ["--least-candidates", extent.least, "--split", split, "--partition", "rolling", "--dtype", "int8"]
            told += [] if extent.users is None else ["--users", extent.users]
            told += ["--gains", gains_of(work, domain)] if split == "test" else []
            pearl("train", "score", "--history", data / domain.file, "--template", domain.template, *told, "--out", out)
            if wanted != out:  # its parts stay in the work folder
                shutil.copyfile(out, wanted)

    # on all of them, and on all but one
    minutes = ("--budget-minutes", options.fit_minutes)
    for left_out in (None, *DOMAINS):
        learned = [domain for domain in DOMAINS if domain is not left_out]
        name = ALL if left_out is None else f"without-{left_out.name}"
        if (work / "models" / name / "artifact.json").exists():
            continue
        words = [part for domain in learned for part in ("--history", data / domain.file)]
        for split in ("train", "dev", "test") if left_out is None else ("train", "dev"):
            words += [part for domain in learned for part in ("--scores", scores_of(work, domain, split))]
        words += ["--work", work / "fit", "--proxies", PROXIES, "--first-stage-only", *minutes]
        pearl("train", "fit", *words, "--out", work / "models" / name)

    # each domain's test users, with the model of all domains, the one that never saw it, and every baseline
    for domain in DOMAINS:
        models = [work / "models" / ALL, work / "models" / f"without-{domain.name}", *BASELINES]
        words = [part for model in models for part in ("--model", model)]
        gains = gains_of(work, domain)
        pearl("eval", "retrieval", "--gains", gains, *words, "--json", report_of(work, domain))
        # the cosines under the larger encoder, which needs its extra: pip install 'pearl[mpnet]'
        words = ["--encoder", MPNET, *(part for model in COSINES for part in ("--model", model))]
        pearl("eval", "retrieval", "--gains", gains, *words, "--json", report_of(work, domain, MPNET))
    reports = []
    for domain in DOMAINS:
        own, mpnet = (json.loads(report_of(work, domain, encoder).read_text()) for encoder in ("", MPNET))
        reports.append({"domain": domain.name, **compact(own), MPNET: compact(mpnet)})
    write_json(str(RESULTS / "domains.json"), {"domains": reports})
    subprocess.run([sys.executable, "docs/generate.py"], check=True)


if __name__ == "__main__":
    main()
