"""The tables and the picture of ``pearl eval likeness``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from eval.likeness.methods import EXPLAINED, LIKENESS
from eval.likeness.writers import OWN, SAME_DOMAIN, TOPIC_MATCHED
from eval.report.pictures import BLUE, GREY, ORANGE, canvas
from eval.report.tables import Columns, Json, Table, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {SAME_DOMAIN: "people of the same file", TOPIC_MATCHED: "the nearest passage by somebody else (BM25)"}


def likeness_tables(result: Json) -> Iterator[Table]:
    """AUC against each kind of impostor, then error rates and calibration, a row a file and length."""
    methods = result["methods"]
    parts = [{**file, **part} for file in result["files"] for part in file["lengths"]]
    for kind, title in TITLES.items():
        # two columns may be called words: the length, and a method
        rows = tuple(
            (part["file"], str(part["words"]), *(_figure(method, kind, part) for method in methods)) for part in parts
        )
        explained = "; ".join(f"{method}: {EXPLAINED[method]}" for method in methods)
        caption = f"AUC of a person's later passages against those by {title}. {explained}. "
        caption += "95% intervals by bootstrap over people."
        yield Table(caption, ("file", "words", *methods), rows, result["command"])
    caption = "Equal error rate and calibration of the probability, true and false claims in equal numbers."
    columns: Columns = {"file": "file", "words": lambda part: str(part["words"]), "people": "tested"}
    columns |= {"own": OWN, "others'": SAME_DOMAIN, "abstained": "abstained"}
    columns |= {"EER": partial(_figure, LIKENESS, "eer")}
    columns |= {"ECE": partial(_calibration, "ece"), "Brier": partial(_calibration, "brier")}
    yield Table.of(caption, parts, columns, result["command"])
    removed = tuple((file["file"], user) for file in result["files"] for user in file["removed"])
    if removed:
        yield Table("Impostors who are tested themselves, and were removed.", ("file", "user"), removed)


def _figure(method: str, name: str, part: Json) -> str:
    row: Json = next((row for row in part["methods"] if row["method"] == method), {})
    return shown(row.get(name), 3)


def _calibration(name: str, part: Json) -> str:
    return shown((part["calibration"] or {}).get(name), 3)


def likeness_figure(result: Json) -> Figure:
    """AUC by length for each file, and the share of true claims by the probability said."""
    figure, ((by_length, reliability),) = canvas(1, 2, (8.0, 3.4))
    for file in result["files"]:
        curve = [
            (part["words"], row[SAME_DOMAIN])
            for part in file["lengths"]
            for row in part["methods"]
            if row["method"] == LIKENESS
        ]
        by_length.plot([words for words, _ in curve], [auc["value"] for _, auc in curve], "o-", label=file["file"])
    by_length.set(xlabel="words", ylabel="AUC, same domain", ylim=(0.5, 1.0), xscale="log")
    by_length.set_xticks(*(2 * [[part["words"] for part in result["files"][0]["lengths"]]]), minor=False)
    by_length.minorticks_off()
    by_length.legend(fontsize=8)
    reliability.plot([0, 1], [0, 1], color=GREY, lw=0.8)
    bins = result["reliability"]
    reliability.plot([row["said"] for row in bins], [row["true"] / row["of"] for row in bins], "o-", color=BLUE)
    share = max(sum(row["of"] for row in bins), 1)
    reliability.bar(
        [row["said"] for row in bins], [row["of"] / share for row in bins], width=0.04, color=ORANGE, alpha=0.4
    )
    reliability.set(xlabel="probability said", ylabel="share true; bars: share of claims", xlim=(0, 1), ylim=(0, 1))
    return figure
