"""``pearl ratings``: the command that writes a page for raters."""

from __future__ import annotations

from pathlib import Path

import typer

from pearl.cli.commands import PathCommand, epilog, group
from pearl.cli.options import JSON_OPTION, check_outputs, write_json, write_text

ABOUT = """Items are those of pearl judge authorship, personalized, style-rank or style-detect: people are asked what
a judge is asked. The page is one file and needs no network. A rater opens it, gives a name, answers by keyboard, may
stop and go on in the same browser, and saves a file of ratings, which these read:

\b
  pearl eval agreement --ratings ratings.jsonl --raters Ann,Ben
  pearl eval personalized --ratings ratings.jsonl --records judged.jsonl
  pearl eval style --judgements judged.jsonl --human ratings.jsonl
  pearl eval corrected --judgements judged.jsonl --labels ratings.jsonl

Put the files of several raters together with cat. A text is rated for the "style" on its line; texts of
`pearl judge style-write` need a line for each style that people are to rate."""
EXAMPLES = """
  pearl ratings page --items drafts.jsonl --systems embedded bm25 --out page.html
  pearl ratings page --items people.jsonl --tie --raters Ann,Ben --out page.html
"""

RATERS_OPTION = typer.Option(
    None, "--raters", metavar="A,B", help="Every rater who was asked; a rating by another is an error."
)
app = group("Collect ratings by people.")


@app.command(cls=PathCommand, epilog=epilog(EXAMPLES, ABOUT))
def page(
    items: Path = typer.Option(..., metavar="ITEMS.jsonl", help="Items to rate, as a judge takes them."),
    out: Path = typer.Option(..., metavar="PAGE.html", help="Write the page to this file."),
    systems: tuple[str, str] | None = typer.Option(
        None, metavar="P B", help="Systems to compare, if drafts are by more than two."
    ),
    raters: str | None = typer.Option(
        None, metavar="A,B", help="Names to choose from; by default any name can be given."
    ),
    tie: bool = typer.Option(False, "--tie", help="Let raters say that a person would prefer neither text."),
    json: str | None = JSON_OPTION,
) -> None:
    """Write a page on which people rate the items of a judge."""
    from eval.recorded.rating_page import RatingOptions, rating_page
    from pearl.text.usable import counted

    check_outputs({"--out": out, "--json": json}, [items])
    text, counts = rating_page(items, RatingOptions(systems, names_of(raters), tie))
    write_text("--out", out, text)
    if json:
        write_json(json, {"page": str(out), **counts})
    else:
        typer.echo(f"{out}: {counted(counts['items'], 'item')}, answers {', '.join(counts['labels'])}")


@app.callback()
def root() -> None:
    pass


def names_of(option: str | None) -> list[str]:
    """The names in an option, separated by commas."""
    return [name.strip() for name in (option or "").split(",") if name.strip()]
