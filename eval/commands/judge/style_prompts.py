"""``pearl judge style-prompts``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.options import Seed
from eval.commands.reporting import reporting
from eval.report.report import Report

ABOUT = """For each request, let the generator write with a system prompt meant to steer it to the styles, and
without (`pearl judge style-write --prompt ...`). `pearl judge style-pairs --targets prompts` puts both into an item of
`pearl judge style-rank` with all the styles that were wanted, and into one for each style alone, --targets prompts_all
only into the first; "prompt_a" (or "prompt_b") names the prompt that steered text a (or b):

\b
  {"id": "1", "task": "email", "style": ["storytelling", "poetic and lyrical"], "request": "What is a prime number?",
   "text_a": "...", "text_b": "...", "prompt_a": "prefer", "generator": "ours"}

Judge them by validation_style (or ab_style), and those with all styles by validation_default (or ab_helpfulness), too.
A text that was steered well is taken when its styles are asked for, and not otherwise: the score is
(all + single + 100 - default) / 3, in percent."""
EXAMPLES = """
  pearl judge style-rank --items prompts.jsonl --scheme validation_style --judgements styles.jsonl
  pearl judge style-rank --items all.jsonl --scheme validation_default --judgements default.jsonl
  pearl judge style-prompts --judgements styles.jsonl --judgements default.jsonl
"""


@reporting("judge", "style-prompts")
def style_prompts(
    judgements: list[Path] = typer.Option(..., metavar="FILE.jsonl", help="Judgements of style-rank; repeatable."),
    seed: Seed = 0,
) -> Report:
    """Rank system prompts by how well they steer a generator to wanted styles, from judgements of style-rank."""
    from eval.judges.style_prompts import prompts_report, prompts_table

    return Report(prompts_report(judgements, seed), lambda result: [prompts_table(result)])
