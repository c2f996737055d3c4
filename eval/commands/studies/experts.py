"""``pearl eval experts``: agreement of experts with the order of scores, and the ranks they gave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from eval.commands.options import Overrides, PresetName
from eval.commands.reporting import reporting
from eval.recorded.quality.experts import PRESETS, read_triplets
from eval.report.pictures import BLUE, GREY, ORANGE, canvas, values_and_reaches
from eval.report.report import Report
from eval.report.tables import Columns, Json, Table, interval, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ABOUT = """A record is a first draft and two edits of it, with a score each, and what experts make of them:

\b
  {"id": "t1", "genre": "fiction", "llm": "gpt", "first_draft": {"wqrm_score": 3.8, "candidate": "..."},
   "random_cot": {...},
   "best_cot": {...}, "annotations": [{"best_cot": "Most Preferred Writing Option", ...}, ...]}

""" + PRESETS.help()
EXAMPLES = """
  pearl eval experts --annotations WQRM_annotations.json.gz --picture experts.svg
  pearl eval experts --annotations WQRM_annotations.json.gz --choose raters=any --json - | jq .majority
  pearl eval experts --annotations WQRM_annotations.json.gz --model embedded --json - | jq .rescored
"""


@reporting("eval", "experts", picture="Draw agreement by gap, and the ranks.", page=True, presets=PRESETS)
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
    return Report(figures, expert_tables, "Scores and experts", experts_figure)


KINDS = {"individual": BLUE, "majority": ORANGE}
RANK_COLOURS = {"rank_1": BLUE, "rank_2": "#9db8d3", "rank_3": GREY}
RANK_COLUMNS = {"first": "rank_1", "second": "rank_2", "third": "rank_3"}


def expert_tables(result: Json) -> Iterator[Table]:
    """Yield agreement by gap, ranks over all and by domain and model, and the printed figures beside ours."""
    experts = ", ".join(f"{number} of {size}" for size, number in result["experts_of_a_triplet"].items())
    yield Table.of(
        f"Agreement of experts with the order of scores, by their gap: {result['rankings']:,} rankings of "
        f"{result['triplets']:,} triplets (triplets by number of experts: {experts}). Majorities over "
        f"{result['majority_triplets']:,} triplets; {result['undecided_pairs']:,} pairs without one are left out. 95% "
        "intervals by bootstrap over triplets.",
        _beside_majority(result),
        {"gap": "gap", "n": "n", "individual": "agreement", "majorities": "majorities", "majority": "majority"},
        result["command"],
    )
    shares: Columns = {title: interval(name, 2) for title, name in RANK_COLUMNS.items()}
    shares["mean rank"] = interval("mean_rank", 2)
    columns: Columns = {"": "version", "rankings": "n", **shares}
    yield Table.of("Ranks that experts gave.", result["ranks"], columns)
    number = result["majority_ranks"][0]["n"] if result["majority_ranks"] else 0
    caption = f"Ranks by majority, for the {number:,} triplets whose majority orders all three versions."
    yield Table.of(caption, result["majority_ranks"], {"": "version", "triplets": "n", **shares})
    grouped = [
        row | {"version": f"{group['genre']}, {group['llm']}: {row['version']}"}
        for group in result["groups"]
        for row in group["ranks"]
    ]
    yield Table.of("The same by domain and model.", grouped, columns)
    yield Table.of(
        "Figures that the paper prints, and what its file gives.",
        result["printed"],
        {
            "figure": "figure",
            "printed": lambda row: f"{row['printed']:g}",
            "ours": "ours",
            "against our interval": lambda row: "inside" if row["within_interval"] else "outside",
        },
    )
    if "rescored" in result:
        yield from _rescored_tables(result["rescored"])


def _rescored_tables(rescored: list[Json]) -> Iterator[Table]:
    """Agreement with the experts of other scores of the same texts, over all pairs and by quarters of their gaps."""
    yield Table.of(
        "Scores of the same texts by others, beside the recorded ones: agreement with experts, less that of the "
        "recorded scores over the pairs that both decide, and rank correlation with them. The best edit is the one "
        "that the recorded scores put first of twenty, which favours these.",
        rescored,
        {
            "scores": "scorer",
            "individual": lambda row: shown(_all(row["individual"]), 3),
            "less recorded": interval("more_than_recorded", sign=True),
            "majority": lambda row: shown(_all(row["majority"]), 3),
            "Spearman": interval("spearman", 2, sign=True),
        },
    )
    yield Table.of(
        "The same by gap, in quarters of the pairs by each scorer's own scale; as many of the experts, and of the "
        "majorities, prefer the higher score.",
        [
            row | {"scorer": scorer["scorer"]}
            for scorer in rescored[:2]
            for row in _beside_majority(scorer)
            if row["gap"] != "all"
        ],
        {"scores": "scorer", "gap": "gap", "n": "n", "individual": "agreement", "majority": "majority"},
    )


def _all(rows: list[Json]) -> Json | None:
    return next((row["agreement"] for row in rows if row["gap"] == "all"), None)


def _beside_majority(result: Json) -> list[dict[str, Any]]:
    """The agreement of individual experts by gap; each row also has the number and agreement of majorities, or None."""
    majority = {row["gap"]: {"majorities": row["n"], "majority": row["agreement"]} for row in result["majority"]}
    without = {"majorities": None, "majority": None}
    return [row | majority.get(row["gap"], without) for row in result["individual"]]


def experts_figure(result: Json) -> Figure:
    """Draw agreement by the gap of scores, for experts and for the majority, and the ranks of the three versions."""
    figure, ((agreement, ranks),) = canvas(1, 2, (9.6, 3.6))
    _draw_agreement(agreement, result)
    left = np.zeros(len(result["ranks"]))
    names = [row["version"] for row in result["ranks"]]
    for (name, colour), title in zip(RANK_COLOURS.items(), RANK_COLUMNS, strict=True):
        widths = [row[name]["value"] for row in result["ranks"]]
        ranks.barh(names, widths, left=left, color=colour, label=title)
        left = left + widths
    ranks.set(xlabel="share of rankings", xlim=(0, 1))
    ranks.invert_yaxis()
    agreement.legend(fontsize=8, loc="lower right")
    ranks.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(RANK_COLUMNS))
    return figure


def _draw_agreement(axes: Axes, result: Json) -> None:
    bins = [row["gap"] for row in result["individual"] if row["gap"][0].isdigit()]
    for kind, colour in KINDS.items():
        rows = {row["gap"]: row for row in result[kind] if row["agreement"]}
        xs = [x for x, name in enumerate(bins) if name in rows]
        values, reaches = values_and_reaches(rows[bins[x]]["agreement"] for x in xs)
        axes.errorbar(xs, values, yerr=reaches, fmt="o-", color=colour, ms=4, lw=1, capsize=2, label=kind)
    axes.axhline(0.5, color=GREY, lw=0.8, zorder=0)
    axes.set_xticks(range(len(bins)), bins)
    axes.set(ylim=(0, 1), xlabel="gap of the scores", ylabel="share that prefers the higher score")
