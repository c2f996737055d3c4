"""Results of ``pearl judge personalized`` as tables."""

from __future__ import annotations

from collections.abc import Iterator

from eval.judges.self_preference import self_preference_tables
from eval.recorded.personalized.tables import personalized_tables
from eval.report.tables import NOTHING, Json, Table, shown


def persona_tables(result: Json) -> Iterator[Table]:
    """Tables of the records, then of the judge's preference for its own texts, and of the ablations."""
    yield from personalized_tables(result)
    yield from self_preference_tables(result["self_preference"])
    if result["ablation"]:
        yield modes_table(result)
        yield differences_table(result["ablation"])


def modes_table(result: Json) -> Table:
    ablation = result["ablation"]
    rows = tuple(
        (
            row["told"],
            f"{row['n']:,}",
            _share(row["accuracy"]),
            _share(row["accuracies"]["invalid_dropped"]),
            _share(row["high_share"]),
            _share(row["high"]),
            shown(row["auroc"], 3),
        )
        for row in ablation["modes"]
    )
    high = f"certainty {result['threshold']:g} or more"
    columns = ("told", "judgements", "accuracy", "with an answer only", high, "accuracy of these", "AUROC")
    caption = (
        f"What the judge makes of less: {ablation['items']:,} items, the same orders and runs; 95% intervals by "
        f"bootstrap over {ablation['personas']:,} personas."
    )
    return Table(caption, columns, rows, result["command"])


def _share(share: Json | None) -> str:
    return NOTHING if share is None else f"{shown(share['interval'], 3)} {share['part']}/{share['of']}"


def differences_table(ablation: Json) -> Table:
    rows = tuple(
        (
            row["told"],
            f"{row['n']:,}",
            shown(row["accuracy"], 3, sign=True),
            shown(row["high_share"], 3, sign=True),
            f"{row['items_better']:,} / {row['items_worse']:,}",
            f"{row['p_holm']:.3g}",
        )
        for row in ablation["differences"]
    )
    columns = ("told", "judgements", "accuracy", "share of high certainty", "items better / worse", "p (McNemar, Holm)")
    return Table(f"Each less {ablation['less']}, of the judgements that count in both.", columns, rows)
