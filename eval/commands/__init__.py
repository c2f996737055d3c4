"""``pearl eval``: one module per command."""

from __future__ import annotations

import typer

from eval.commands import agreement, calibration, generation, personalized, retrieval, revision, shown, style

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Measure retrieval, calibration, generation, revision and judges, every figure with its interval.",
)
app.command(epilog=retrieval.EXAMPLES)(retrieval.retrieval)
app.command(epilog=generation.EXAMPLES)(generation.generation)
app.command(epilog=calibration.EXAMPLES)(calibration.calibration)
app.command(epilog=revision.EXAMPLES)(revision.revision)
app.command(epilog=shown.EXAMPLES)(shown.shown)
app.command(epilog=agreement.EXAMPLES)(agreement.agreement)
app.command(epilog=personalized.EXAMPLES)(personalized.personalized)
app.command(epilog=style.EXAMPLES)(style.style)


@app.callback()
def root() -> None:
    pass
