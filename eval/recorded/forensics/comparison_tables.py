"""A comparison as tables, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence

from eval.recorded.forensics.tables import DIGITS, short_name, star, titles
from eval.report.tables import NOTHING, Json, Table, shown

FIGURES = ("strength", "relevance", "agreement", "agreement_of_all", "kappa", "kappa_randomized")
SIGNED = ("strength", "kappa", "kappa_randomized")
TESTED = ("agreement", *SIGNED)
LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def comparison_tables(figure: str, top: int) -> Callable[[Json], Iterator[Table]]:
    """The tables of a result: ``figure`` in every column, then the ``top`` and bottom annotators of each."""

    def tables(result: Json) -> Iterator[Table]:
        yield side_by_side(result, figure)
        if top:
            yield from (_extremes(result, place, top) for place in range(len(result["columns"])))

    return tables


def side_by_side(result: Json, figure: str) -> Table:
    """The annotators by the largest difference between columns."""
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
        "pairs; * at p < .05 after Bonferroni over all cells, or all differences."
    )
    return Table(caption, columns, cells, result.get("command", ""))


def by_spread(result: Json, figure: str) -> list[Json]:
    """The annotators by the largest difference of a figure between columns."""
    return sorted(result["annotators"], key=lambda row: -(spread(row, figure) or 0.0))


def is_grey(cell: Json, figure: str) -> bool:
    """True where agreement is not significant; how often an annotator chooses is not what is tested."""
    return figure in TESTED and not cell["significant"]


def spread(row: Json, figure: str) -> float | None:
    """The largest less the smallest value of a row; None without two."""
    values = [cell[figure]["value"] for cell in row["columns"] if cell and cell[figure]]
    return max(values) - min(values) if len(values) > 1 else None


def csv_of(result: Json, figure: str) -> str:
    """A line an annotator and a column, with the interval and the p-values."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(
        ["annotator", "id", "column", "n", figure, "low", "high", "p_value", "p_corrected", "p_holm", "max_diff"]
    )
    for row in by_spread(result, figure):
        for column, cell in zip(result["columns"], row["columns"], strict=True):
            if cell is None:
                continue
            interval = cell[figure] or {"value": "", "low": "", "high": ""}
            figures = [interval[name] for name in ("value", "low", "high")]
            p = [cell[name] for name in ("p_value", "p_corrected", "p_holm")]
            writer.writerow(
                [_safe(row["name"]), row["id"], _safe(column["name"]), column["n"], *figures, *p, spread(row, figure)]
            )
    return buffer.getvalue()


def latex_of(result: Json, figure: str) -> str:
    """A tabular for booktabs; values that are not significant are grey, which needs xcolor."""
    names = titles(result["annotators"])
    lines = [
        f"\\begin{{tabular}}{{l{'c' * len(result['columns'])}r}}",
        r"\toprule",
        " & ".join(["Annotator", *(_latex(column["name"]) for column in result["columns"]), "Max diff"]) + r" \\",
        r"\midrule",
    ]
    for row in by_spread(result, figure):
        gap = spread(row, figure)
        cells = [_latex_cell(cell, figure) for cell in row["columns"]]
        last = NOTHING if gap is None else f"{gap:.{DIGITS}f}"
        lines.append(" & ".join([_latex(names[row["id"]]), *cells, last]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _extremes(result: Json, place: int, top: int) -> Table:
    """The strongest and the weakest annotators of a column."""
    names = titles(result["annotators"])
    rows = [(names[row["id"]], cell) for row in result["annotators"] for cell in (row["columns"][place],) if cell]
    rows.sort(key=lambda row: -row[1]["strength"]["value"])
    ends: Sequence[tuple[str, Json]] = rows if len(rows) <= 2 * top else [*rows[:top], *rows[-top:]]
    cells = tuple((name, _cell(cell, "strength"), shown(cell["relevance"], DIGITS)) for name, cell in ends)
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
    gap = spread(row, figure)
    return NOTHING if gap is None else f"{gap:.{DIGITS}f}"


def _safe(name: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    text = short_name(name)
    return f"'{text}" if text[:1] in "=+-@\t\r" and text else text


def _latex(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text.replace("\n", " "))


def _latex_cell(cell: Json | None, figure: str) -> str:
    if cell is None or cell[figure] is None:
        return NOTHING
    value = cell[figure]
    text = f"{value['value']:.{DIGITS}f} {{\\tiny({value['low']:.{DIGITS}f}, {value['high']:.{DIGITS}f})}}"
    return text if not is_grey(cell, figure) else f"\\textcolor{{gray}}{{{text}}}"
