"""The page of ``pearl forensics report``: one HTML file with tables, a heatmap and example pairs.

Texts and names are escaped, in the tables and in the viewer's JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from eval.recorded.forensics.comparison import ColumnOptions, columns_of_files, compared
from eval.recorded.forensics.examples import Examples, examples_of
from eval.recorded.forensics.measures import MEASURES, Resampling
from eval.recorded.forensics.metrics import trait_pairs
from eval.recorded.forensics.pairs import TRAIT
from eval.recorded.forensics.tables import DIGITS, choices, ends, extremes, left_out, p_cell, side_by_side, titles
from eval.report.head import Head
from eval.report.render import harmless_json, html
from eval.report.tables import NOTHING, Json, Table, shown

TEMPLATE = Path(__file__).with_name("forensics_page.html")
PART = re.compile("@TABLES|@DATA")
BLUE, RED = (9, 105, 218), (207, 34, 46)
MUCH_OVERLAP = 0.2
IN_HEATMAP = 5  # strongest traits, and as many of the weakest
OTHERS = ("relevance", "agreement", "kappa", "kappa_randomized")


def reported(
    paths: Sequence[Path], options: ColumnOptions, resampling: Resampling, head: Head, examples: int
) -> tuple[dict[str, Any], str]:
    """Make the figures and the HTML page. Raises InputError for a file that cannot be read, and for a column whose
    reference chooses no response."""
    columns, without = columns_of_files(paths, options, least=1)
    figures = {**head.to_json(), **compared(columns, resampling), "left_out": without}
    first = columns[0]
    places = first.table.places
    rows = [row for row in figures["annotators"] if row["columns"][0] and row["type"] == TRAIT]
    rows.sort(key=lambda row: -_strength(row["columns"][0]))
    traits = [places[row["id"]] for row in ends(rows, IN_HEATMAP)]
    figures["trait_pairs"] = trait_pairs(first.table, resampling, traits)
    shown = examples_of(columns, [row["id"] for row in figures["annotators"]], examples)
    return figures, forensics_page(figures, shown)


def forensics_page(result: Json, examples: Examples) -> str:
    """Make the HTML page that shows a comparison's result, with example pairs in a viewer."""
    sections = (
        _head(result),
        *_strengths(result),
        *_extremes(result, top=5),
        *_others(result),
        *_heatmap(result),
        *_overall(result),
        *_meanings(),
    )
    parts = {"@TABLES": "\n".join(sections), "@DATA": _data(result, examples)}
    # in one pass: a name may be @DATA
    return PART.sub(lambda part: parts[part[0]], TEMPLATE.read_text(encoding="utf-8"))


def _head(result: Json) -> str:
    columns = ", ".join(  # isolated, or a number beside an Arabic name would change sides with it
        f"<bdi>{escape(column['name'])}</bdi> ({column['n']:,} of {column['pairs']:,} pairs)"
        for column in result["columns"]
    )
    return (
        f'<p class="note">{columns}.{escape(left_out(result))} <code>{escape(result["command"])}</code></p>'
        '<p class="note">Strength is how '
        "much the column encourages the annotator&#39;s trait, or how much the model shows it: from &minus;1 to 1, in "
        "brackets the 95% interval. Values that are not significant (p &ge; .05, one-tailed binomial, Bonferroni over "
        "all cells) are grey. A number leads to its pairs.</p>"
    )


def _strengths(result: Json) -> Iterator[str]:
    """A table of every annotator's strength in every column."""
    several = len(result["columns"]) > 1
    names = titles(result["annotators"])
    rows = list(enumerate(result["annotators"]))
    if not several:
        rows.sort(key=lambda row: -_strength(row[1]["columns"][0]))
    yield "<h2>Strength</h2>"
    header = ["annotator", *(column["name"] for column in result["columns"]), *(["Max diff"] if several else [])]
    body = [
        [
            _text(names[row["id"]]),
            *(_cell(cell, place, number) for number, cell in enumerate(row["columns"])),
            *([_gap(row)] if several else []),
        ]
        for place, row in rows
    ]
    yield _table(header, body)


def _extremes(result: Json, top: int) -> Iterator[str]:
    yield "<h2>Strongest and weakest</h2>"
    yield from (_wide(extremes(result, place, top)) for place in range(len(result["columns"])))


def _others(result: Json) -> Iterator[str]:
    """A table for each of the other figures, such as kappa."""
    for measure in MEASURES:
        if measure.name in OTHERS:
            table = _wide(side_by_side(result, measure.name))
            yield f"<details><summary>{escape(measure.title)}</summary>{table}</details>"


def _heatmap(result: Json) -> Iterator[str]:
    """A table of the strongest and weakest traits against each other: kappa, and the overlap below it."""
    if not result["trait_pairs"]:
        return
    names = titles(result["annotators"])
    pairs = {frozenset((pair["trait_id"], pair["against_id"])): pair for pair in result["trait_pairs"]}
    ids = list(dict.fromkeys(pair[trait] for pair in result["trait_pairs"] for trait in ("trait_id", "against_id")))
    body = [
        [f"<th>{escape(names[first])}</th>", *(_heat(pairs.get(frozenset((first, second)))) for second in ids)]
        for first in ids
    ]
    yield (
        "<h2>Trait against trait</h2>"
        '<p class="note">Cohen&#39;s kappa where both traits choose a text; below it the overlap, '
        "the pairs on which both choose as a share of those on which at least one does; bold where that is above "
        f"{MUCH_OVERLAP}. {escape(result['columns'][0]['file'])}</p>"
    )
    yield _table(["", *(names[id] for id in ids)], body, "heat")


def _heat(pair: Json | None) -> str:
    if pair is None:
        return "<td></td>"
    overlap = "" if pair["overlap"] is None else f"<br><small>{pair['overlap']['value']:.{DIGITS}f}</small>"
    if pair["kappa"] is None:
        return f"<td>{NOTHING}{overlap}</td>"
    value = pair["kappa"]["value"]
    text = f"{value:.{DIGITS}f}"
    if pair["overlap"]["value"] > MUCH_OVERLAP:
        text = f"<strong>{text}</strong>"
    title = f"{shown(pair['kappa'], DIGITS)}, {pair['both']:,} pairs"
    return f'<td style="{_colour(value)}" title="{title}">{text}{overlap}</td>'


def _overall(result: Json) -> Iterator[str]:
    rows = [{"column": column["name"], **choices(column["overall"])} for column in result["columns"]]
    yield "<h2>How the references choose</h2>" + _wide(Table.plain("", rows))


def _meanings() -> Iterator[str]:
    rows = [{"figure": one.title, "how it is computed": one.how, "source": one.source} for one in MEASURES]
    about = (
        "A: agreeing votes, D: disagreeing votes, where both choose a text; n: pairs on which the reference does. p_o: "
        "observed agreement, p_e: agreement by chance."
    )
    yield "<h2>The figures</h2>" + _wide(Table.plain(about, rows))


def _wide(table: Table) -> str:
    return f'<div class="wide">{html(table)}</div>'


def _text(text: str) -> str:
    return f"<td>{escape(text)}</td>"


def _cell(cell: Json | None, annotator: int, column: int) -> str:
    """A table cell with a strength and its interval, grey if not significant. The cell is a button that shows the pairs
    of the annotator and the column, given by their indices."""
    if cell is None or cell["strength"] is None:
        return f"<td>{NOTHING}</td>"
    value = cell["strength"]["value"]
    counts = f"agree {cell['agreed']:,}, disagree {cell['disagreed']:,}, neither {cell['not_applicable']:,}"
    title = f"{counts}; p {escape(p_cell(cell['p_corrected']))}"
    look = f' style="{_colour(value)}"' if cell["significant"] else ' class="grey"'
    button = f'<button type="button" data-annotator="{annotator}" data-column="{column}">{value:+.{DIGITS}f}</button>'
    return f'<td{look} title="{title}">{button} <small>{_bounds(cell["strength"])}</small></td>'


def _gap(row: Json) -> str:
    gap = row["max_difference"]
    if gap is None:
        return f"<td>{NOTHING}</td>"
    grey = "" if gap["significant"] else ' class="grey"'
    title = escape(f"{gap['column']} above {gap['against']}; p {p_cell(gap['p_corrected'])}")
    return f'<td{grey} title="{title}">{shown(gap["strength"], DIGITS)}</td>'


def _bounds(interval: Json) -> str:
    return f"({interval['low']:.{DIGITS}f}, {interval['high']:.{DIGITS}f})"


def _strength(cell: Json) -> float:
    return float(cell["strength"]["value"])


def _colour(value: float) -> str:
    red, green, blue = BLUE if value > 0 else RED
    return f"background: rgba({red}, {green}, {blue}, {min(abs(value), 1) * 0.6:.2f})"


def _table(header: Sequence[str], body: Sequence[Sequence[str]], kind: str = "") -> str:
    """An HTML table from plain texts for its header and HTML elements for its cells."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    rows = "\n".join(f"<tr>{''.join(cells)}</tr>" for cells in body)
    named = f' class="{kind}"' if kind else ""
    return f'<div class="wide"><table{named}><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>'


def _data(result: Json, examples: Examples) -> str:
    """The viewer's data as JSON that is safe inside a script element."""
    some = "All" if len(examples.shown) == examples.pairs else f"{len(examples.shown):,} of"
    return harmless_json(
        {
            "columns": [column["name"] for column in result["columns"]],
            "annotators": list(titles(result["annotators"]).values()),
            "pairs": examples.shown,
            "note": f"{some} {examples.pairs:,} pairs are in this page, some of every kind and annotator first.",
        }
    )
