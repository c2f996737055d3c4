"""``pearl eval content``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.options import Resamples, RewardName, Seed, TextScorerName
from eval.commands.reporting import reporting
from eval.report.report import Report

ABOUT = """A line is a text and who wrote it; "prompt", short or detailed, says how much of the content it gave:

\b
  {"instruction": "7", "origin": "author", "prompt": "detailed", "text": "..."}
  {"instruction": "7", "origin": "some-model", "prompt": "short", "text": "..."}

The authors' files, with an instruction's "responses" in a record, are read, too; without a scorer their recorded scores
("score_pre") are shown.

To let a reward model know how good people's own writing can be, train it with their paragraphs as well, scored as the
paper scores them: 10 for award-winning authors, 7.5 for published students ({"paragraph": "...", "score": 7.5})."""
EXAMPLES = """
  pearl eval content --texts texts.jsonl --model work/reward --reference author --picture content.svg
  pearl eval content --texts texts.jsonl --scorer shorter --json - | jq .groups
  pearl eval content --texts less_content.json --texts more_content.json --reference expert
"""


@reporting("eval", "content", picture="Draw the scores of each group.", page=True)
def content(
    texts: list[Path] = typer.Option(..., metavar="T.jsonl", help="Texts with their origins, see below; repeatable."),
    scorer: TextScorerName = None,
    model: RewardName = None,
    reference: str | None = typer.Option(None, metavar="ORIGIN", help="Origin to compare with."),
    resamples: Resamples = 2000,
    seed: Seed = 0,
) -> Report:
    """Show the scores of texts by who wrote them, and by how detailed their prompt was."""
    from eval.recorded.quality.content import (
        content_figure,
        content_report,
        content_tables,
        read_texts,
        recorded_scorer,
    )
    from eval.recorded.quality.scorers import text_scorer
    from pearl.errors import InputError

    chosen = text_scorer(scorer, model)
    every = read_texts(texts)
    chosen = chosen or recorded_scorer(every)
    if chosen is None:
        raise InputError("nothing scores the texts: give --model or --scorer.", param="model")
    figures = content_report(every, chosen, reference, resamples=resamples, seed=seed)
    return Report(figures, content_tables, "Writing by its origin", content_figure)
