"""``pearl eval experts``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.options import Overrides, PresetName, Resamples, Seed
from eval.commands.reporting import reporting
from eval.recorded.quality.experts import PRESETS
from eval.report.report import Report

ABOUT = """A record is a first draft and two edits of it, with a score each, and what experts make of them:

\b
  {"id": "t1", "genre": "fiction", "llm": "gpt", "first_draft": {"wqrm_score": 3.8, "candidate": "..."},
   "random_cot": {...},
   "best_cot": {...}, "annotations": [{"best_cot": "Most Preferred Writing Option", ...}, ...]}

""" + PRESETS.help()
EXAMPLES = """
  pearl eval experts --annotations WQRM_annotations.json.gz --picture experts.svg
  pearl eval experts --annotations WQRM_annotations.json.gz --choose raters=any --json - | jq .majority
  pearl eval experts --annotations WQRM_annotations.json.gz --model embedded --json - | jq .rescored
"""


@reporting("eval", "experts", picture="Draw agreement by gap, and the ranks.", page=True, presets=PRESETS)
def experts(
    annotations: Path = typer.Option(..., metavar="F.json", help="Triplets with scores and experts' rankings."),
    model: str | None = typer.Option(
        None,
        metavar="MODEL",
        help="Reward model to score the texts with, a folder or embedded: its agreement beside that of the recorded "
        "scores and of trivial scorers.",
    ),
    preset: PresetName = PRESETS.default,
    choose: Overrides = None,
    resamples: Resamples = 2000,
    seed: Seed = 0,
) -> Report:
    """Measure how often experts prefer the text with the higher score, by the gap of the scores."""
    from eval.recorded.quality.expert_tables import expert_tables, experts_figure
    from eval.recorded.quality.experts import read_triplets
    from eval.recorded.quality.gap_calibration import RIVALS, ExpertOptions, experts_report, rescored_report
    from eval.recorded.quality.scorers import OF_TEXTS, reward_scorer

    chosen = PRESETS.chosen(preset, choose)
    options = ExpertOptions(preset=preset, **chosen, resamples=resamples, seed=seed)
    triplets = read_triplets(annotations)
    figures = experts_report(triplets, options)
    if model is not None:
        scorers = [reward_scorer(model), *(OF_TEXTS[name] for name in RIVALS)]
        figures["rescored"] = rescored_report(triplets, scorers, options)
    return Report(figures, expert_tables, "Scores and experts", experts_figure)
