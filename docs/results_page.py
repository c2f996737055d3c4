"""docs/results.md: the tables of the result files in docs/results, with what they are in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.figures import Result, read_results
from benchmarks.report import section
from eval.drafts.tables import generation_tables, revision_tables
from eval.report.tables import Table, markdown, metrics_table, shown
from eval.retrieval.calibration import METRICS as CALIBRATION
from eval.retrieval.report import METRICS as RETRIEVAL
from eval.retrieval.tables import calibration_tables, retrieval_tables
from pearl.settings import EMBEDDED
from retriever.registry import ENTRIES

RESULTS = Path(__file__).resolve().parent / "results"
BENCHMARKS = RESULTS.parents[1] / "benchmarks" / "results"
SHOWN = {
    **{entry.name: entry.summary for entry in ENTRIES},
    EMBEDDED: "**PEARL**, the artifact that ships",
    "random (expected)": "chance",
    "best possible": "the best possible, which needs the target",
}
TIMED = ("cascade", "retrieval")  # benchmarks; docs/performance.md has all of them
Tables = Callable[[Any], Iterator[Table]]

# file, heading, what it is, tables, picture
PARTS: tuple[tuple[str, str, str, Tables, str | None], ...] = (
    (
        "retrieval.json",
        "What the retrievers choose",
        "Both projects' test users. The gain is that of the chosen document under SmolLM2-135M, in nats, summed over "
        "the target's tokens (equation 1 of the paper). `plain-kl` and `distill` are the same signals under other "
        "losses; `relevance-ce` is the cross-encoder trained on relevance, for as long as the recipe's budget let it: "
        "trained on all groups it is as good as `dense-requests` ([experiments](experiments.md), training again from "
        "nothing); `likelihood` is the paper's UPR, "
        "`dense-requests` the cosine with the documents' own requests.",
        retrieval_tables,
        None,
    ),
    (
        "retrieval-git.json",
        "On the git project, also trained on the other project",
        "`trained-on-coreboot` saw no text of this project in training.",
        retrieval_tables,
        None,
    ),
    (
        "retrieval-coreboot.json",
        "On the coreboot project, also trained on the other project",
        "`trained-on-git` saw no text of this project in training.",
        retrieval_tables,
        None,
    ),
    (
        "calibration.json",
        "How well the score predicts the gain",
        "The correlation of the best score s1 with the gain of the chosen document; the one with the drafts, the "
        "paper's table 6, is below. The requests, and the models trained beside the artifact that "
        "ships, are of a later run of the recipe than in the tables above.",
        calibration_tables,
        "calibration.svg",
    ),
    (
        "generation.json",
        "Drafts from the chosen documents",
        "Drafts by SmolLM2-135M, compared with what the users really wrote (the paper's tables 1b and 4).",
        generation_tables,
        None,
    ),
    (
        "generation-margin.json",
        "Showing only documents that score near the best",
        "The same with the margin that the artifact ships with, chosen on dev ([experiments](experiments.md)): "
        "documents that score further behind the best one are left out. `all-four` is the same artifact without it, "
        "`dense-requests` the best baseline of the table above. Another sample of the test users' requests, of a later "
        "run of the recipe.",
        generation_tables,
        None,
    ),
    (
        "revision.json",
        "Selective revision",
        "No revision, revising all, and revising below theta (the paper's table 3).",
        revision_tables,
        "revision.svg",
    ),
)


def results_page() -> str:
    lines = [
        "# Results\n",
        "Measured on held-out users, seen neither in training nor in any choice: users are split by a hash of their id "
        "into 45% to train on, 15% to choose by and 40% to test. Candidates are the user's texts before the request: "
        "a third by BM25, a third the most recent, the rest at random. `make train` makes everything again; each table "
        "names its command. Intervals are 95% (bootstrap over users).\n",
    ]
    for file, heading, text, tables, picture in PARTS:
        path = RESULTS / file
        if not path.exists():
            continue
        result = json.loads(path.read_text(encoding="utf-8"))
        lines += [f"## {heading}\n", f"{text}\n"]
        if picture and (RESULTS / picture).exists():
            lines.append(f"![{heading}](results/{picture})\n")
        lines += [markdown(short(table)) for table in tables(result)]
    lines += [line for each in read_results(BENCHMARKS) if each.benchmark in TIMED for line in _timed(each)]
    lines += ["## What the figures are\n", markdown(metrics_table((*RETRIEVAL, *CALIBRATION)))]
    return "\n".join(lines)


def _timed(result: Result) -> list[str]:
    file = f"{result.benchmark}.json"
    return [*section(result, BENCHMARKS), f"The figures as JSON: [{file}](../benchmarks/results/{file}).\n"]


def retriever_block() -> str:
    """The README's table: what ships, the single baselines and the trivial choices, best first."""
    result = json.loads((RESULTS / "retrieval.json").read_text(encoding="utf-8"))
    shown_metrics = [metric for metric in RETRIEVAL if metric.name in ("top1_gain", "share_of_best", "pearson_r")]
    rows = [row for row in (*result["models"], *result["baselines"]) if row["model"] in SHOWN]
    rows.sort(key=lambda row: -row["top1_gain"]["value"])
    table = Table(
        f"{result['n']:,} requests of {result['users']:,} held-out users of two projects. The gain is the "
        "log-likelihood, in nats, that the chosen document adds to the text the user really wrote. All figures, also "
        "without near-duplicates: [docs/results.md](docs/results.md).",
        ("chosen by", *(metric.title for metric in shown_metrics)),
        tuple(
            (SHOWN[row["model"]], *(shown(row[metric.name], metric.digits) for metric in shown_metrics)) for row in rows
        ),
    )
    return markdown(table)


def short(table: Table) -> Table:
    """Artifacts by their folder's name."""
    return replace(
        table,
        columns=tuple(_name(cell) for cell in table.columns),
        rows=tuple(tuple(_name(cell) for cell in row) for row in table.rows),
    )


def _name(cell: str) -> str:
    head, space, last = cell.rpartition(" ")
    return f"{head}{space}{Path(last).name}" if "/models/" in last else cell
