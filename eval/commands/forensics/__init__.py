"""``pearl forensics``: one module per command."""

from __future__ import annotations

import typer

from eval.commands.forensics import merge, metrics

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Find out what a model's, a person's or a feedback set's manner is made of.",
)
app.command(epilog=metrics.EXAMPLES)(metrics.metrics)
app.command(epilog=merge.EXAMPLES)(merge.merge)


@app.callback()
def root() -> None:
    pass
