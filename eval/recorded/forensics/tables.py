"""Tables of the results of feedback forensics. A comparison can also be written as LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from eval.recorded.forensics.pairs import distinct_names
from eval.report.tables import NOTHING, Columns, Json, Table, interval, named, shown

T = TypeVar("T")
DIGITS = 2
TEXTS = ("a", "b", "chosen", "rejected")
FIGURES = ("strength", "relevance", "agreement", "agreement_of_all", "kappa", "kappa_randomized")
SIGNED = ("strength", "kappa", "kappa_randomized")
TESTED = ("agreement", *SIGNED)
LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def metrics_tables(result: Json) -> Iterator[Table]:
    """Tables of annotators by strength and, if the result has them, of people's agreement and of trait pairs."""
    rows = sorted(result["annotators"], key=lambda row: -row["strength"]["value"])
    names = titles(rows)
    figures = ("relevance", "agreement", "kappa", "kappa_randomized")
    columns: Columns = {
        "annotator": lambda row: names[row["id"]],
        "strength": lambda row: _cell(row, "strength"),
        **{name.replace("_", " "): interval(name, DIGITS, sign=name in SIGNED) for name in figures},
        "p, Bonferroni": lambda row: p_cell(row["p_corrected"]),
    }
    yield Table.of(caption(result), rows, columns, result["command"])
    yield Table.facts("How the reference chooses; lengths in characters.", choices(result["overall"]))
    if "people" in result:
        columns = {"trait": lambda row: short_name(row["name"])}
        columns |= named("people judged relevance_agreement both_relevant choice_agreement")
        people = "Judges of traits against the common opinion of people (soft-unanimous); Wilson intervals."
        yield Table.of(people, result["people"], columns)
    if result.get("trait_pairs"):
        columns = {
            "traits": lambda row: f"{short_name(row['trait'])}, {short_name(row['against'])}",
            "kappa": interval("kappa", DIGITS, sign=True),
            "overlap": interval("overlap", DIGITS),
            "pairs": "both",
        }
        traits = "Trait against trait, the 20 strongest: kappa where both choose; overlap, those as a share of either."
        pairs = sorted(result["trait_pairs"], key=lambda row: -abs(row["kappa"]["value"]) if row["kappa"] else 0.0)
        yield Table.of(traits, pairs[:20], columns)


def choices(overall: Json) -> dict[str, Json]:
    """Shares in which a reference chooses text a and the longer text, and the texts' mean lengths, by the
    rows' names in a table."""
    return {
        "chooses text a": overall["text_a_chosen"],
        "chooses the longer text": overall["longer_chosen"],
        **{f"mean characters, {name}": overall[f"length_{name}"] for name in TEXTS},
    }


def caption(result: Json) -> str:
    """The caption of a table: the reference, the number of its pairs, and the meaning of intervals and stars."""
    return (
        f"Agreement with {result['reference']['name']} over the {result['n']:,} of {result['pairs']:,} pairs on which "
        "it chooses a response; 95% intervals by bootstrap over pairs; * at p < .05, one-tailed binomial, Bonferroni "
        f"over all rows.{left_out(result)}"
    )


def left_out(result: Json) -> str:
    """A sentence that says how many pairs were left out, and why; empty if no pair was left out."""
    known = result.get("left_out", {})  # comparisons written before did not say it
    reasons = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in known.items())
    return f" Left out: {reasons}." if reasons else ""


def titles(rows: Sequence[Json]) -> dict[str, str]:
    """Short names of annotators, by id; a name that two annotators have gets its id appended."""
    return distinct_names({row["id"]: short_name(row["name"]) for row in rows})


def short_name(name: str) -> str:
    """The name without the words that all traits begin with, "Select the response that"."""
    return name.removeprefix("Select the response that ").strip()


def star(row: Json) -> str:
    return "*" if row["significant"] else ""


def p_cell(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}"


def comparison_tables(figure: str, top: int, result: Json) -> Iterator[Table]:
    """The tables of a comparison: ``figure`` in every column, then the ``top`` strongest and the ``top`` weakest
    annotators of each column."""
    yield side_by_side(result, figure)
    if top:
        yield from (extremes(result, place, top) for place in range(len(result["columns"])))


def side_by_side(result: Json, figure: str) -> Table:
    """A table of one figure, with a row per annotator and a column per column of the result. Annotators that differ
    most between columns come first."""
    names = titles(result["annotators"])
    cells = tuple(
        (names[row["id"]], *(_cell(cell, figure) for cell in row["columns"]), _difference(row, figure))
        for row in by_spread(result, figure)
    )
    columns = ("annotator", *(column["name"] for column in result["columns"]), "Max diff")
    sizes = ", ".join(f"{column['name']} {column['n']:,}" for column in result["columns"])
    caption = (
        f"{figure.replace('_', ' ').capitalize()}, by the largest difference between columns. Pairs: {sizes}. 95% "
        "intervals by bootstrap over pairs, of differences by the normal approximation, paired where columns share "
        f"pairs; * at p < .05 after Bonferroni over all cells, or all differences.{left_out(result)}"
    )
    return Table(caption, columns, cells, result.get("command", ""))


def by_spread(result: Json, figure: str) -> list[Json]:
    """The annotators, in descending order of the difference between a figure's largest and smallest value."""
    return sorted(result["annotators"], key=lambda row: -(spread(row, figure) or 0.0))


def ends(rows: list[T], number: int) -> list[T]:
    """The first ``number`` and the last ``number`` rows; all rows if there are not more."""
    return rows if len(rows) <= 2 * number else [*rows[:number], *rows[-number:]]


def is_grey(cell: Json, figure: str) -> bool:
    """True if ``figure`` has a significance test and the cell's result is not significant."""
    return figure in TESTED and not cell["significant"]


def spread(row: Json, figure: str) -> float | None:
    """The largest minus the smallest value of a figure in a row; None for fewer than two values."""
    values = [cell[figure]["value"] for cell in row["columns"] if cell and cell[figure]]
    return max(values) - min(values) if len(values) > 1 else None


def latex_of(result: Json, figure: str) -> str:
    """A LaTeX tabular of a figure, for the packages booktabs and xcolor. Values that are not significant are grey."""
    names = titles(result["annotators"])
    lines = [
        f"\\begin{{tabular}}{{l{'c' * len(result['columns'])}r}}",
        r"\toprule",
        " & ".join(["Annotator", *(_latex(column["name"]) for column in result["columns"]), "Max diff"]) + r" \\",
        r"\midrule",
    ]
    for row in by_spread(result, figure):
        cells = [_latex_cell(cell, figure) for cell in row["columns"]]
        lines.append(" & ".join([_latex(names[row["id"]]), *cells, _plain(spread(row, figure))]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def extremes(result: Json, place: int, top: int) -> Table:
    """A table of the ``top`` strongest and weakest annotators of one column; ``place`` is the column's index."""
    names = titles(result["annotators"])
    rows = [(names[row["id"]], cell) for row in result["annotators"] for cell in (row["columns"][place],) if cell]
    rows.sort(key=lambda row: -row[1]["strength"]["value"])
    cells = tuple((name, _cell(cell, "strength"), shown(cell["relevance"], DIGITS)) for name, cell in ends(rows, top))
    column = result["columns"][place]
    caption = f"{column['name']}: the {top} strongest and the {top} weakest of {len(rows)}."
    return Table(caption, ("annotator", "strength", "relevance"), cells)


def _cell(cell: Json | None, figure: str) -> str:
    if cell is None:
        return NOTHING
    return shown(cell[figure], DIGITS, sign=figure in SIGNED) + (star(cell) if figure in TESTED else "")


def _difference(row: Json, figure: str) -> str:
    difference = row["max_difference"]
    if figure == "strength" and difference:
        return shown(difference["strength"], DIGITS) + star(difference)
    return _plain(spread(row, figure))


def _plain(gap: float | None) -> str:
    return NOTHING if gap is None else f"{gap:.{DIGITS}f}"


def _latex(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text.replace("\n", " "))


def _latex_cell(cell: Json | None, figure: str) -> str:
    if cell is None or cell[figure] is None:
        return NOTHING
    value = cell[figure]
    text = f"{value['value']:.{DIGITS}f} {{\\tiny({value['low']:.{DIGITS}f}, {value['high']:.{DIGITS}f})}}"
    return text if not is_grey(cell, figure) else f"\\textcolor{{gray}}{{{text}}}"
