"""``pearl eval``: one module per command."""

from __future__ import annotations

import typer

from eval.commands import calibration, generation, retrieval, revision

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Measure retrieval, calibration, generation and revision, every figure with its interval.",
)
app.command(epilog=retrieval.EXAMPLES)(retrieval.retrieval)
app.command(epilog=generation.EXAMPLES)(generation.generation)
app.command(epilog=calibration.EXAMPLES)(calibration.calibration)
app.command(epilog=revision.EXAMPLES)(revision.revision)


@app.callback()
def root() -> None:
    pass
