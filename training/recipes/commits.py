"""The recipe from two projects' commits to the shipped artifact and the tables of docs/results.md: ``make train``.

    python training/recipes/commits.py --data ../shared/data/commits --budget-minutes 240

Flat on purpose: every step is a command that can be run by hand. What is done already in ``--work`` is not done again,
so what one run had no time to score or to draft, the next one does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from pearl.budget import Budget
from pearl.settings import EMBEDDED
from retriever.calibrated.artifact import CROSS_ENCODER, SHIPPED
from training.recipes.domains import DOMAINS, scores_of

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path("docs/results")
CORPORA = ("git", "coreboot")
BASELINES = ("bm25", "dense", "dense-requests", "recent")
LEAST_MINUTES = 60  # fitting the ablations and measuring what is chosen takes about half of them, by estimate
TRAINED, DRAFTED, REVISED = 0.5, 0.9, 0.97  # of the budget has passed after the training, the drafts, the revisions
COMPARED = 0.08  # of the budget for each cross-encoder that does not ship


def pearl(*arguments: object) -> None:
    """Run a command as a user does; the recipe ends where one fails."""
    line = [str(argument) for argument in arguments]
    sys.stderr.write(f"\n$ pearl {' '.join(line)}\n")
    subprocess.run([sys.executable, "-c", "from pearl.cli import main; main()", *line], check=True)


def named(*models: object) -> list[object]:
    return [part for model in models for part in ("--model", model)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/commits"))
    parser.add_argument("--work", type=Path, default=Path("work/embedded"))
    parser.add_argument("--out", type=Path, default=SHIPPED)
    parser.add_argument(
        "--budget-minutes",
        type=float,
        default=240,
        help="budget for everything; writes an artifact from what is done by then",
    )
    parser.add_argument("--drafted", type=int, default=200, help="draft at most this many test requests")
    options = parser.parse_args()
    if options.budget_minutes < LEAST_MINUTES:
        parser.error(f"--budget-minutes {options.budget_minutes:g}: it takes {LEAST_MINUTES} at least")
    budget = Budget(options.budget_minutes)
    work, out = options.work, options.out.resolve()
    histories = {name: options.data / f"{name}.jsonl.gz" for name in CORPORA}
    both = [part for path in histories.values() for part in ("--history", path)]
    fitted = ["--work", work]
    os.chdir(ROOT)  # names in the results are relative to the repository
    RESULTS.mkdir(parents=True, exist_ok=True)

    # the artifact that ships
    minutes = ("--budget-minutes", options.budget_minutes * TRAINED)
    pearl("train", "retriever", *both, *fitted, "--template", "commit", *minutes, "--llm", "embedded", "--out", out)
    # how much its choice helps is learned from four kinds of text, on the scores that are kept
    if not (out / CROSS_ENCODER).exists():
        level: list[object] = ["--work", work / "level"]
        for domain in DOMAINS:
            level += ["--history", options.data.parent / domain.file]
            level += [part for split in ("train", "dev") for part in ("--scores", scores_of(work, domain, split))]
        pearl("train", "level", "--model", out, *level)

    # its ablations and baselines, from the same scores
    models = work / "models"
    for name, loss in (("first-stage", "calibrated"), ("plain-kl", "kl"), ("distill", "distill")):
        pearl("train", "fit", *both, *fitted, "--first-stage-only", "--loss", loss, "--out", models / name)
    # with the cross-encoder, whatever dev made of it: python -m benchmarks cascade
    minutes = ("--budget-minutes", options.budget_minutes * COMPARED)
    pearl("train", "fit", *both, *fitted, *minutes, "--keep-cross-encoder", "--out", models / "two-stages")
    # last: with more time than the warm start had it is trained again, and so would be what starts from it
    pearl("train", "fit", *both, *fitted, *minutes, "--loss", "relevance", "--out", models / "relevance-ce")
    for name in CORPORA:
        elsewhere = ("--first-stage-only", "--out", models / f"trained-on-{name}")
        pearl("train", "fit", "--history", histories[name], *fitted, *elsewhere)
    shipped = EMBEDDED if out == SHIPPED else out
    baselines = [*named(*BASELINES), "--baseline", models / "relevance-ce"]
    ablations = named(*(models / name for name in ("first-stage", "plain-kl", "distill")))
    compared = [*named(shipped), *ablations, *baselines]

    # retrieval and calibration, on both projects, on each, and across them; UPR reads for minutes, so once
    test = {name: ("--gains", work / f"gains-test-{name}.jsonl.gz") for name in CORPORA}
    all_of_them = [part for option in test.values() for part in option]
    pearl("eval", "retrieval", *all_of_them, *compared, *named("likelihood"), "--json", RESULTS / "retrieval.json")
    for name, other in (CORPORA, CORPORA[::-1]):
        across = named(models / f"trained-on-{other}")
        pearl("eval", "retrieval", *test[name], *compared, *across, "--json", RESULTS / f"retrieval-{name}.json")
    calibration = ("--json", RESULTS / "calibration.json", "--picture", RESULTS / "calibration.svg")
    pearl("eval", "calibration", *all_of_them, *compared, *calibration)

    # what the embedded model writes with it: drafts as the service writes them, from all that was there before
    written = [*both, "--split", "test", "--template", "commit", "--limit", options.drafted]
    written += ["--generations", work / "generations.sqlite"]
    drafted = [*named(shipped), *baselines, *named("random"), "--k-shot"]
    minutes = ("--budget-minutes", budget.minutes_until(DRAFTED))
    pearl("eval", "generation", *written, *drafted, *minutes, "--json", RESULTS / "generation.json")
    revision = ("--json", RESULTS / "revision.json", "--picture", RESULTS / "revision.svg")
    minutes = ("--budget-minutes", budget.minutes_until(REVISED))
    pearl("eval", "revision", *written, *named(shipped), *minutes, *revision)
    subprocess.run([sys.executable, "docs/generate.py"], check=True)


if __name__ == "__main__":
    main()
