"""``pearl eval``: one module per command."""

from __future__ import annotations

import typer

from eval.commands import (
    agreement,
    best_of,
    calibration,
    content,
    corrected,
    edits,
    experts,
    generation,
    likeness,
    manner,
    people,
    personalized,
    quality,
    questions,
    retrieval,
    revision,
    sets,
    shown,
    style,
)
from eval.commands.choose import former_parameters
from eval.recorded.personalized.presets import PRESETS as RECORDED_PRESETS
from eval.recorded.style.choices import PRESETS as STYLE_PRESETS
from pearl.options import bundled

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Measure retrieval, calibration, generation, revision and judges, every figure with its interval.",
)
app.command(epilog=retrieval.EXAMPLES)(bundled(retrieval.retrieval))
app.command(epilog=generation.EXAMPLES)(bundled(generation.generation))
app.command(epilog=calibration.EXAMPLES)(bundled(calibration.calibration))
app.command(epilog=revision.EXAMPLES)(bundled(revision.revision))
app.command(epilog=questions.EXAMPLES)(questions.questions)
app.command(epilog=shown.EXAMPLES)(bundled(shown.shown))
app.command(epilog=sets.EXAMPLES)(sets.sets)
app.command(epilog=agreement.EXAMPLES)(agreement.agreement)
app.command(epilog=corrected.EXAMPLES)(corrected.corrected)
app.command(epilog=personalized.EXAMPLES)(
    bundled(personalized.personalized, former_parameters(RECORDED_PRESETS.choices))
)
app.command(epilog=manner.EXAMPLES)(manner.manner)
app.command(epilog=experts.EXAMPLES)(experts.experts)
app.command(epilog=quality.EXAMPLES)(quality.quality)
app.command("best-of", epilog=best_of.EXAMPLES)(bundled(best_of.best_of))
app.command(epilog=edits.EXAMPLES)(edits.edits)
app.command(epilog=content.EXAMPLES)(content.content)
app.command(epilog=likeness.EXAMPLES)(bundled(likeness.likeness))
app.command(epilog=people.EXAMPLES)(people.people)
app.command(epilog=style.EXAMPLES)(bundled(style.style, former_parameters(STYLE_PRESETS.choices)))


@app.callback()
def root() -> None:
    pass
