"""A report in one HTML file: tables and pictures inside it, nothing to load from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from pathlib import Path

from eval.report.render import html
from eval.report.tables import Table
from pearl.options import writing

STYLE = """
body { font: 15px/1.5 sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1.5rem 0; display: block; overflow-x: auto; font-size: 13px; }
caption { caption-side: bottom; text-align: left; color: #555; padding-top: .4rem; }
th, td { border-bottom: 1px solid #ddd; padding: .25rem .6rem; text-align: left; vertical-align: top; }
svg { max-width: 100%; height: auto; }
code { font-size: 12px; }
"""


def harmless_json(value: object) -> str:
    """JSON in which no text can end the element of a page that holds it."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def write_page(path: Path, title: str, command: str, pictures: Iterable[str], tables: Iterable[Table]) -> None:
    """``pictures`` are SVG elements. Raises InputError when the file cannot be written."""
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        f"<style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1><p><code>{escape(command)}</code></p>",
        *(f"<figure>{picture}</figure>" for picture in pictures),
        *map(html, tables),
        "</body></html>\n",
    ]
    with writing(f"--report {path}"):
        path.write_text("\n".join(parts), encoding="utf-8")
