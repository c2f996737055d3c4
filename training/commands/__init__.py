"""``pearl train``: one module per step."""

from __future__ import annotations

import typer

from training.commands import score

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Train a retriever from histories, step by step.",
)
app.command(epilog=score.EXAMPLES)(score.score)


@app.callback()
def root() -> None:
    pass
