"""The tables and the picture of ``pearl eval experts``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from eval.report.pictures import BLUE, GREY, ORANGE, canvas, values_and_reaches
from eval.report.tables import NOTHING, Json, Table, interval, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = {"individual": BLUE, "majority": ORANGE}
RANK_COLOURS = {"rank_1": BLUE, "rank_2": "#9db8d3", "rank_3": GREY}
RANK_COLUMNS = {"first": "rank_1", "second": "rank_2", "third": "rank_3"}


def expert_tables(result: Json) -> Iterator[Table]:
    """Agreement by gap, ranks over all and by domain and model, and the printed figures beside ours."""
    majority = {row["gap"]: row for row in result["majority"]}
    rows = tuple(
        (row["gap"], f"{row['n']:,}", shown(row["agreement"], 3), *_majority_cells(majority.get(row["gap"])))
        for row in result["individual"]
    )
    experts = ", ".join(f"{number} of {size}" for size, number in result["experts_of_a_triplet"].items())
    yield Table(
        f"Agreement of experts with the order of scores, by their gap: {result['rankings']:,} rankings of "
        f"{result['triplets']:,} triplets (triplets by number of experts: {experts}). Majorities over "
        f"{result['majority_triplets']:,} triplets; {result['undecided_pairs']:,} pairs without one are left out. 95% "
        "intervals by bootstrap over triplets.",
        ("gap", "n", "individual", "majorities", "majority"),
        rows,
        result["command"],
    )
    columns = ("", "rankings", *RANK_COLUMNS, "mean rank")
    yield Table("Ranks that experts gave.", columns, tuple(_rank_rows(result["ranks"])))
    number = result["majority_ranks"][0]["n"] if result["majority_ranks"] else 0
    caption = f"Ranks by majority, for the {number:,} triplets whose majority orders all three versions."
    yield Table(caption, ("", "triplets", *RANK_COLUMNS, "mean rank"), tuple(_rank_rows(result["majority_ranks"])))
    grouped = (
        (f"{group['genre']}, {group['llm']}: {row[0]}", *row[1:])
        for group in result["groups"]
        for row in _rank_rows(group["ranks"])
    )
    yield Table("The same by domain and model.", columns, tuple(grouped))
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
            {
                "scorer": row["scorer"],
                "bin": own,
                "majority": next((m for m in row["majority"] if m["gap"] == own["gap"]), None),
            }
            for row in rescored[:2]
            for own in row["individual"]
            if own["gap"] != "all"
        ],
        {
            "scores": "scorer",
            "gap": lambda row: row["bin"]["gap"],
            "n": lambda row: f"{row['bin']['n']:,}",
            "individual": lambda row: shown(row["bin"]["agreement"], 3),
            "majority": lambda row: _majority_cells(row["majority"])[1],
        },
    )


def _all(rows: list[Json]) -> Json | None:
    return next((row["agreement"] for row in rows if row["gap"] == "all"), None)


def _majority_cells(row: Json | None) -> tuple[str, str]:
    return (NOTHING, NOTHING) if row is None else (f"{row['n']:,}", shown(row["agreement"], 3))


def _rank_rows(ranks: list[Json]) -> Iterator[tuple[str, ...]]:
    for row in ranks:
        shares = (shown(row[name], 2) for name in RANK_COLUMNS.values())
        yield (row["version"], f"{row['n']:,}", *shares, shown(row["mean_rank"], 2))


def experts_figure(result: Json) -> Figure:
    """Agreement over the gap of scores, for an expert and for the majority, and the ranks of the three versions."""
    figure, ((agreement, ranks),) = canvas(1, 2, (9.6, 3.6))
    _draw_agreement(agreement, result)
    left = [0.0] * len(result["ranks"])
    names = [row["version"] for row in result["ranks"]]
    for (name, colour), title in zip(RANK_COLOURS.items(), RANK_COLUMNS, strict=True):
        widths = [row[name]["value"] for row in result["ranks"]]
        ranks.barh(names, widths, left=left, color=colour, label=title)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    ranks.set_xlabel("share of rankings")
    ranks.set_xlim(0, 1)
    ranks.invert_yaxis()
    agreement.legend(fontsize=8, loc="lower right")
    ranks.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(RANK_COLUMNS))
    return figure


def _draw_agreement(axes: Axes, result: Json) -> None:
    bins = [row["gap"] for row in result["individual"] if row["gap"][0].isdigit()]
    for kind, colour in KINDS.items():
        rows = {row["gap"]: row for row in result[kind] if row["agreement"]}
        places = [place for place, name in enumerate(bins) if name in rows]
        values, reaches = values_and_reaches(rows[bins[place]]["agreement"] for place in places)
        axes.errorbar(places, values, yerr=reaches, fmt="o-", color=colour, ms=4, lw=1, capsize=2, label=kind)
    axes.axhline(0.5, color=GREY, lw=0.8, zorder=0)
    axes.set_xticks(range(len(bins)), bins)
    axes.set_ylim(0, 1)
    axes.set_xlabel("gap of the scores")
    axes.set_ylabel("share that prefers the higher score")
