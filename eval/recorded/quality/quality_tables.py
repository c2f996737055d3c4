"""The tables and the picture of ``pearl eval quality``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from eval.report.pictures import intervals_figure
from eval.report.tables import Json, Table, checks_table, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def quality_tables(result: Json) -> Iterator[Table]:
    """Accuracy over the sets, in each, by origin and with equal lengths; then what is wrong with the pairs."""
    parts = _parts(result)
    names = list(dict.fromkeys((result["scorer"], *result["baselines"])))
    rows = tuple(
        (name, result["prefers"][name], *(shown(accuracy[name], 3) for _, accuracy in parts.values())) for name in names
    )
    columns = ("scorer", "prefers", *(f"{title} ({number:,})" for title, (number, _) in parts.items()))
    over = f"Accuracy over {result['n']:,} pairs of {result['originals']:,} original texts"
    if len(result["sets"]) > 1:
        over += f"; the mean of {len(result['sets'])} sets counts each set once, the others each pair"
    drawn = "original texts" if result["originals"] > 1 else "pairs"
    sentences = [f"{over}. A coin decides ties. 95% intervals by bootstrap over {drawn}."]
    for title, difference in (
        ("", result["difference"]),
        (" with equal lengths", result["equal_length"]["difference"]),
    ):
        if difference:
            gap = shown(difference, 3, sign=True)
            sentences.append(f"Less the best other trivial scorer{title}, {difference['against']}: {gap}.")
    yield Table(" ".join(sentences), columns, rows, result["command"])
    for part in result["sets"]:
        yield from checks_table(part["findings"], part["file"] if len(result["sets"]) > 1 else "the items")


def _parts(result: Json) -> dict[str, tuple[int, Mapping[str, Json | None]]]:
    """The number of pairs and every accuracy, by the title of the column."""
    overall = {**result["intervals"]["baselines"], result["scorer"]: result["intervals"]["accuracy"]}
    several = len(result["sets"]) > 1
    parts: dict[str, tuple[int, Mapping[str, Json | None]]]
    parts = {"mean of sets" if several else "all pairs": (result["n"], overall)}
    if several:
        parts["each pair once"] = (result["n"], result["micro"]["accuracy"])
        parts |= {part["file"]: (part["n"], part["accuracy"]) for part in result["sets"]}
    if len(result["origins"]) > 1:
        parts |= {part["origin"]: (part["n"], part["accuracy"]) for part in result["origins"]}
    for name, part in result["better_is"].items():
        parts[f"the better is {name}"] = (part["n"], part["accuracy"])
    equal, regressed = result["equal_length"], result["length_regressed"]
    parts[f"lengths within {equal['within']:.0%}"] = (equal["n"], equal["accuracy"])
    parts["length regressed out"] = (regressed["n"], regressed["accuracy"])
    return parts


def quality_figure(result: Json) -> Figure:
    """Every scorer's accuracy, over all sets and with equal lengths."""
    (title, (_, every)), *_ = _parts(result).items()
    equal = result["equal_length"]["accuracy"]
    rows = {name: {title: every[name], "equal lengths": equal[name]} for name in every}
    return intervals_figure(rows, "share of the pairs in which it prefers the better text")
