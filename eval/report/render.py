"""Tables rendered: on a terminal, in Markdown, in HTML."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from eval.report.tables import Table

FILE_WIDTH = 160  # characters, where no terminal says how wide it is


def show(tables: Iterable[Table]) -> None:
    """Print the tables on standard output, the first column to the left and the others to the right."""
    from rich import box, table
    from rich.console import Console

    from pearl.texts import storable  # for paths that are not UTF-8

    console = Console()
    if not console.is_terminal:
        console.width = FILE_WIDTH
    for shown in tables:
        drawn = table.Table(
            *map(storable, shown.columns), box=box.SIMPLE_HEAD, caption=storable(shown.caption), caption_justify="left"
        )
        for position, column in enumerate(drawn.columns):
            column.justify = "right" if position else "left"
            column.overflow = "fold"  # a narrow terminal breaks a word; an ellipsis would hide names and digits
        for row in shown.rows:
            drawn.add_row(*map(storable, row))
        console.print(drawn)


def markdown(table: Table) -> str:
    """The table in Markdown, with caption and command in a paragraph below."""
    lines = [table.columns, ("---", *("---:" for _ in table.columns[1:])), *table.rows]
    cells = ("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    command = f" `{table.command}`" if table.command else ""
    return "\n".join(cells) + f"\n\n{table.caption}{command}\n"


def html(table: Table) -> str:
    """The table as an element of a page."""
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    caption = f"<caption>{escape(table.caption)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>"
