"""``pearl eval experts``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.choose import CHOOSE_OPTION, spelled
from eval.commands.scored import Resamples, Seed
from eval.recorded.quality.expert_choices import PRESETS
from pearl.options import JSON_OPTION

EXAMPLES = """A record is a first draft and two edits of it, with a score each, and what experts make of them:

\b
  {"id": "t1", "genre": "fiction", "llm": "gpt", "first_draft": {"wqrm_score": 3.8}, "random_cot": {...},
   "best_cot": {...}, "annotations": [{"best_cot": "Most Preferred Writing Option", ...}, ...]}

@CHOICES

Examples:

\b
  pearl eval experts --annotations WQRM_annotations.json.gz --picture experts.svg
  pearl eval experts --annotations WQRM_annotations.json.gz --choose raters=any --json - | jq .majority
""".replace("@CHOICES", PRESETS.help())


def experts(
    annotations: Path = typer.Option(
        ..., "--annotations", metavar="F.json", help="Triplets with scores and experts' rankings."
    ),
    preset: str = typer.Option(PRESETS.default, "--preset", help="Preset of the choices below."),
    choose: list[str] = CHOOSE_OPTION,
    resamples: Resamples = 2000,
    seed: Seed = 0,
    picture: Path | None = typer.Option(None, metavar="FILE.svg", help="Draw agreement by gap, and the ranks."),
    report: Path | None = typer.Option(None, metavar="FILE.html", help="Write everything as one page."),
    json: str | None = JSON_OPTION,
) -> None:
    """Measure how often experts prefer the text with the higher score, by the gap of the scores."""
    from eval.recorded.quality.expert_tables import expert_tables, experts_figure
    from eval.recorded.quality.experts import read_triplets
    from eval.recorded.quality.gap_calibration import ExpertOptions, experts_report
    from eval.report.head import Head
    from eval.report.report import Outputs, Report

    outputs = Outputs(json, picture, report)
    outputs.check()
    chosen = PRESETS.chosen(preset, choose)
    head = Head.of(
        "eval",
        "experts",
        annotations=annotations,
        preset=preset,
        choose=spelled(chosen),
        resamples=resamples,
        seed=seed,
    )
    options = ExpertOptions(preset=preset, **chosen, resamples=resamples, seed=seed)
    figures = experts_report(read_triplets(annotations), options)
    outputs.write(Report(head, figures, expert_tables, "Scores and experts", experts_figure))
