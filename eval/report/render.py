"""Rendering tables on a terminal, in Markdown, and in one HTML file with pictures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html import escape
from pathlib import Path

from eval.report.tables import Table
from pearl.cli.options import write_text

FILE_WIDTH = 160  # characters, where no terminal says how wide it is
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
FROM_LEFT = "\u200e"  # behind an Arabic or Hebrew name: else a terminal that turns lines turns the row's numbers, too
STYLE = """
body { font: 15px/1.5 sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1.5rem 0; display: block; overflow-x: auto; font-size: 13px; }
caption { caption-side: bottom; text-align: left; color: #555; padding-top: .4rem; }
th, td { border-bottom: 1px solid #ddd; padding: .25rem .6rem; text-align: left; vertical-align: top; }
th, td, caption { unicode-bidi: plaintext; }
svg { max-width: 100%; height: auto; }
code { font-size: 12px; }
"""


def show(tables: Iterable[Table]) -> None:
    """Print the tables on standard output; the first column is aligned left, the others right."""
    from rich import box, table
    from rich.console import Console
    from rich.text import Text

    from pearl.text.usable import printable

    def whole(text: str) -> Text:
        """The text as it stands: a name in square brackets is no markup."""
        text = printable(text)
        return Text(text + FROM_LEFT if RIGHT_TO_LEFT.search(text) else text)

    console = Console()
    if not console.is_terminal:
        console.width = FILE_WIDTH
    for shown in tables:
        drawn = table.Table(box=box.SIMPLE_HEAD, caption=whole(shown.caption), caption_justify="left")
        for position, name in enumerate(shown.columns):
            # a narrow terminal breaks a word; an ellipsis would hide names and digits
            drawn.add_column(whole(name), justify="right" if position else "left", overflow="fold")
        for row in shown.rows:
            drawn.add_row(*map(whole, row))
        console.print(drawn)


def markdown(table: Table) -> str:
    """The table in Markdown, followed by a paragraph with its caption and command."""
    lines = [table.columns, ("---", *("---:" for _ in table.columns[1:])), *table.rows]
    cells = ("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    command = f" `{table.command}`" if table.command else ""
    return "\n".join(cells) + f"\n\n{table.caption}{command}\n"


def html(table: Table) -> str:
    """The table as an HTML element."""
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    caption = f"<caption>{escape(table.caption)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>"


def harmless_json(value: object) -> str:
    """JSON for embedding in an HTML script element; its texts cannot end the element."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def write_page(path: Path, title: str, command: str, pictures: Iterable[str], tables: Iterable[Table]) -> None:
    """Write an HTML page with pictures (SVG elements) and tables. Raises InputError when it cannot be written."""
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f"<style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1><p><code>{escape(command)}</code></p>",
        *(f"<figure>{picture}</figure>" for picture in pictures),
        *map(html, tables),
        "</body></html>\n",
    ]
    write_text("--report", path, "\n".join(parts))
