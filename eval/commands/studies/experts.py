"""``pearl eval experts``: agreement of experts with the order of scores, and the ranks they gave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from eval.commands.options import Overrides, PresetName
from eval.commands.reporting import reporting
from eval.recorded.quality.experts import PRESETS, read_triplets
from eval.report.report import Report
from eval.report.tables import Declared, Json, Table, named, rows_tables

ABOUT = """A record is a first draft and two edits of it, with a score each, and what experts make of them:

\b
  {"id": "t1", "genre": "fiction", "llm": "gpt", "first_draft": {"wqrm_score": 3.8, "candidate": "..."},
   "random_cot": {...},
   "best_cot": {...}, "annotations": [{"best_cot": "Most Preferred Writing Option", ...}, ...]}

""" + PRESETS.help()
EXAMPLES = """
  pearl eval experts --annotations WQRM_annotations.json.gz
  pearl eval experts --annotations WQRM_annotations.json.gz --choose raters=any --json - | jq .majority
  pearl eval experts --annotations WQRM_annotations.json.gz --model embedded --json - | jq .rescored
"""


@reporting("eval", "experts", page=True, presets=PRESETS)
def experts(
    annotations: Path = typer.Option(..., metavar="F.json", help="Triplets with scores and experts' rankings."),
    model: str | None = typer.Option(
        None,
        metavar="MODEL",
        help="Reward model to score the texts with, a folder or embedded: its agreement beside that of the recorded "
        "scores and of trivial scorers.",
    ),
    preset: PresetName = PRESETS.default,
    choose: Overrides = None,
) -> Report:
    """Measure how often experts prefer the text with the higher score, by the gap of the scores."""
    from eval.recorded.quality.gap_calibration import RIVALS, ExpertOptions, experts_report, rescored_report
    from eval.recorded.quality.scorers import OF_TEXTS, reward_scorer

    chosen = PRESETS.chosen(preset, choose)
    options = ExpertOptions(preset=preset, **chosen)
    triplets = read_triplets(annotations)
    figures = experts_report(triplets, options)
    if model is not None:
        scorers = [reward_scorer(model), *(OF_TEXTS[name] for name in RIVALS)]
        figures["rescored"] = rescored_report(triplets, scorers, options)
    return Report(figures, expert_tables, "Scores and experts")


RANKS = "version n rank_1 rank_2 rank_3 mean_rank"
TABLES: Declared = {
    "ranks": ("Ranks that experts gave.", RANKS),
    "majority_ranks": ("Ranks by majority, for the triplets whose majority orders all three versions.", RANKS),
    "groups": ("The same by domain and model.", f"genre llm {RANKS}"),
    "printed": ("Figures that the paper prints, and what its file gives.", "figure printed ours within_interval"),
    "rescored": (
        "Scores of the same texts by others, beside the recorded ones: agreement with experts, less that of the "
        "recorded scores over the pairs that both decide, and rank correlation with them. The best edit is the one "
        "that the recorded scores put first of twenty, which favours these.",
        "scorer gap n agreement majorities majority more_than_recorded spearman",
    ),
    "by_gap": (
        "The same by gap, in quarters of the pairs by each scorer's own scale; as many of the experts, and of the "
        "majorities, prefer the higher score.",
        "scorer gap n agreement majorities majority",
    ),
}


def expert_tables(result: Json) -> Iterator[Table]:
    """Yield agreement by gap, ranks over all and by domain and model, and the printed figures beside ours."""
    experts = ", ".join(f"{number} of {size}" for size, number in result["experts_of_a_triplet"].items())
    yield Table.of(
        f"Agreement of experts with the order of scores, by their gap: {result['rankings']:,} rankings of "
        f"{result['triplets']:,} triplets (triplets by number of experts: {experts}). Majorities over "
        f"{result['majority_triplets']:,} triplets; {result['undecided_pairs']:,} pairs without one are left out. 95% "
        "intervals by bootstrap over triplets.",
        _beside_majority(result),
        named("gap n agreement majorities majority"),
        result["command"],
    )
    scored = [scorer | row for scorer in result.get("rescored", ()) for row in _beside_majority(scorer)]
    rows = {
        "groups": [group | row for group in result["groups"] for row in group["ranks"]],
        "rescored": [row for row in scored if row["gap"] == "all"],
        "by_gap": [row for row in scored if row["gap"] != "all"],
    }
    yield from rows_tables({**result, **rows}, TABLES)


def _beside_majority(result: Json) -> list[dict[str, Any]]:
    """The agreement of individual experts by gap; each row also has the number and agreement of majorities."""
    majority = {row["gap"]: {"majorities": row["n"], "majority": row["agreement"]} for row in result["majority"]}
    return [{**row, "majority": None, **majority.get(row["gap"], {})} for row in result["individual"]]
