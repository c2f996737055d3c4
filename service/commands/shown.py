"""Showing tables, times and excerpts on the terminal, and asking before something that cannot be undone."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import typer

from pearl.errors import InputError
from pearl.records import Claim
from pearl.text.usable import printable
from pearl.text.words import SIGN, character_start
from service.store.apart import NOT_MINE, REASONS, Mark

# of the commands that list something page by page
WORDS_ARGUMENT = typer.Argument(None, metavar="[WORDS]", help="Words that the text must contain, in any order.")
LIMIT_OPTION = typer.Option(20, "--limit", min=1, max=1000, help="List at most this many.")
AFTER_OPTION = typer.Option(None, "--after", metavar="ID", help="Go on after this one.")
EXCERPT = 70  # characters
BEFORE_WORD = 20  # characters of an excerpt before the word that was searched for
PIPED_WIDTH = 160  # characters per line if there is no terminal
GAP = 2  # blanks between columns
WHOLE = 16  # characters of a cell that is never broken: a date with its time, the beginning of a key


def searched(words: Sequence[str] | None) -> str | None:
    """Join the words to search for; None if none are given. Raises InputError if all are blank."""
    if not words:
        return None
    if not any(word.strip() for word in words):
        raise InputError("Give at least one word to search for.")
    return " ".join(words)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, with numbers on the right. If the terminal is too narrow, each row is printed as fields on
    lines."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, PIPED_WIDTH)
    listed = [list(row) for row in rows]
    cells = [[f"{cell:,}" if isinstance(cell, int) else printable(str(cell)) for cell in row] for row in listed]
    widths = _widths(columns, cells, console.width)
    if widths is None:
        for row in cells:
            show_fields(zip(columns, row, strict=True))
            typer.echo()
        return
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for position, (name, width) in enumerate(zip(columns, widths, strict=True)):
        numbers = bool(listed) and all(isinstance(row[position], int) for row in listed)
        table.add_column(name, justify="right" if numbers else "left", overflow="fold", width=width)
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def _widths(columns: Sequence[str], cells: Sequence[Sequence[str]], line: int) -> list[int] | None:
    """Return column widths that fit into a line, made by narrowing the widest columns; None if that would break short
    cells. Ids are never broken, because people copy them."""
    from rich.cells import cell_len

    widths = [max(cell_len(text) for text in column) for column in zip(columns, *cells, strict=True)]
    excess = sum(widths) + GAP * (len(columns) - 1) - line
    for position in sorted(range(len(columns)), key=lambda position: -widths[position]):
        width = widths[position]
        if excess > 0 and width > WHOLE and columns[position] != "id":
            widths[position] = max(WHOLE, width - excess)
            excess -= width - widths[position]
    return None if excess > 0 else widths


def show_fields(fields: Iterable[tuple[str, object]]) -> None:
    """Print each name and its value on a line; values that are None are skipped."""
    for name, value in fields:
        if value is not None:
            typer.echo(f"{name + ':':<13} {printable(str(value))}")


def not_a_sample(mark: Mark, document_id: str) -> str:
    """Explain why drafts do not learn from a document that is set apart, and how to change that."""
    if mark.mine is False:
        return f"Drafts do not learn from it, as you said; if it is yours: pearl documents keep {document_id}"
    why = REASONS[mark.set_apart or NOT_MINE]
    return f"Drafts do not learn from it, for {why}; if it is yours all the same: pearl documents keep {document_id}"


def for_terminal(text: str) -> str:
    """Remove escape sequences from a text if standard output is a terminal."""
    if not sys.stdout.isatty():
        return text
    return "".join(character if character in "\n\t" else printable(character) for character in text)


def moment(seconds: float | None) -> str:
    """Format a time, given in Unix seconds, as local date and time to the minute; "-" for None."""
    if seconds is None:
        return "-"
    when = datetime.fromtimestamp(seconds, UTC)
    with suppress(OverflowError, ValueError):  # the first day of the year 1, some programs' "never", may lie before it
        when = when.astimezone()
    return when.replace(tzinfo=None).isoformat(" ", "minutes")


def excerpt(text: str, characters: int = EXCERPT) -> str:
    """Return the beginning of the text on one line, if possible cut between words."""
    from rich.cells import cell_len

    line = " ".join(text[: 4 * characters].split())
    if not line.isascii():
        characters = characters * len(line) // max(cell_len(line), 1)  # wide characters count twice
    if len(line) <= characters and len(text) <= 4 * characters:
        return line
    cut = line[: character_start(line, characters - 1)]
    words, _, half = cut.rpartition(" ")
    in_word = line[len(cut) : len(cut) + 1].strip() and not SIGN.search(half)
    return f"{words if words and in_word else cut.rstrip()}…"


def excerpt_with(text: str, words: str) -> str:
    """Return the beginning of the text; if the first of ``words`` comes later, the part around it."""
    beginning, word = excerpt(text), re.escape(words.split()[0])
    found = re.search(word, text, re.IGNORECASE)
    if found is None or re.search(word, beginning, re.IGNORECASE):
        return beginning
    return "…" + excerpt(text[character_start(text, max(0, found.start() - BEFORE_WORD)) :], EXCERPT - 1)


def confirm(question: str, *, yes: bool) -> None:
    """Ask the person, unless ``yes``; end the command if they decline. Raises InputError if standard input is no
    terminal."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"{question} Nobody can be asked here; give --yes to do it.")
    typer.confirm(question, abort=True, err=True)


EXPLAINED = {
    "carried_over": "carried over from",
    "unsupported": "in neither the request nor a sample",
    "commitment": "promised, and not asked for",
    "dropped": "in the request, not in the draft",
    "stronger": "firmer than the request",
    "weaker": "less firm than the request",
}


def claim_lines(claims: Iterable[Claim]) -> list[str]:
    """Return a line for each claim: its kind, its words, and why it was found."""
    return [f"{claim.kind}: '{printable(excerpt(claim.text))}' ({_why(claim)})" for claim in claims]


def _why(claim: Claim) -> str:
    return f"{EXPLAINED[claim.kind]} {claim.source}" if claim.source else EXPLAINED[claim.kind]
